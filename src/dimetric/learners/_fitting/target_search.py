"""The search for target neighbours of learners such as LMNN."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, to_host
from dimetric._compat import Interval, Progress
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.approximate.search import SEARCH_PARAMETER
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.objective import Smoothable
from dimetric.supervision.labels import Supervision

# With SGD, larger classes are split into random groups of this size to search for targets.
MAX_FRIENDS_SEARCHED = 5_000


class TargetMetric(MeanLossMetric[Smoothable]):
    """Base class of learners that pull samples towards targets, given or nearest in their class."""

    n_neighbors: int
    targets: Array | None
    search: Any
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MeanLossMetric._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "targets": ["array-like", None],
        **SEARCH_PARAMETER,
    }
    _keeps_rows = True  # because `targets` holds row indices of X
    _search_log: SearchLog | None = None  # the searches of the current fit

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        log = self._search_log = SearchLog(self.search)
        try:
            return super()._fit(X, supervision, progress) | log.metadata()
        finally:
            del self._search_log

    def _select_rows(self, rows: np.ndarray) -> None:
        if self.targets is not None:
            targets = np.asarray(to_host(self.targets))
            new_row = np.full(len(targets) + 1, -1)  # the last entry maps -1 to -1
            new_row[rows] = np.arange(len(rows))
            self.targets = new_row[targets[rows]]

    def _nearest_targets(self, X: Array, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the nearest neighbours of the same class, for samples sorted by class."""
        in_groups = self._solver().uses_batches and self.search is None
        return nearest_targets(
            X,
            codes,
            self.n_neighbors,
            max_group_size=MAX_FRIENDS_SEARCHED if in_groups else None,
            random_state=self.random_state,
            search=self._search_log,
        )
