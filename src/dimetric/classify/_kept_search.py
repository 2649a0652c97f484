"""What nearest-neighbour models keep between predictions."""

from abc import abstractmethod
from typing import Any

from dimetric._arrays.namespaces import Array, to_host
from dimetric.neighbors.approximate.index import ApproximateIndex
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.index import NeighborIndex
from dimetric.neighbors.metric_search import Metric


class KeptSearchMixin:
    """Estimator that prepares the search among its training samples once.

    The prepared search is built from other attributes, so pickles and model files do not hold it.
    """

    metric: Metric
    metric_params: dict[str, Any] | None
    search: Any
    n_neighbors: int
    search_used_: str
    search_recall_: float
    learner_: Any
    _points: Array

    @property
    def _index(self) -> NeighborIndex:
        """The training samples, prepared for searches. ``fit`` builds the index.

        Pickles and model files do not hold it, so the first search after loading builds it again.
        """
        index = self.__dict__.get("_search_index")
        settings = self._points, self.metric, self.metric_params, self.search
        if index is None or any(
            kept is not given for kept, given in zip(index.settings, settings, strict=True)
        ):
            points, metric, params, search = settings
            is_mapped = self.learner_ is not None
            index = NeighborIndex(points, metric, params, is_mapped=is_mapped, search=search)
            self.__dict__["_search_index"] = index
        return index

    def _build_search(self) -> None:
        """Prepare the search, and measure the recall if it is approximate."""
        index, log = self._index, SearchLog(self.search)
        index.build()
        if isinstance(index.euclidean, ApproximateIndex):
            log.record_index(index.euclidean, to_host(index.distinct), self.n_neighbors)
        if self.search is not None:
            self.search_used_, self.search_recall_ = log.metadata().values()

    def _values(self) -> Any:
        """Return :meth:`_values_of_points`, computed once for all predictions."""
        index = self._index
        if index.values is None:
            index.values = self._values_of_points()
        return index.values

    @abstractmethod
    def _values_of_points(self) -> Any:
        """Return the values of the training samples whose weighted sums give predictions."""

    def _forget_search(self) -> None:
        """Drop what belongs to the last fit."""
        for name in ("_search_index", "search_used_", "search_recall_"):
            self.__dict__.pop(name, None)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_search_index"}
