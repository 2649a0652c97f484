"""The settings of an approximate search, and the parameter ``search`` of estimators."""

from numbers import Integral
from typing import Any, ClassVar

from scipy import sparse
from sklearn.base import BaseEstimator

from dimetric._arguments import ArgumentErrorMixin
from dimetric._compat import HasMethods, Interval, StrOptions, check_params
from dimetric.neighbors.metric_search import Metric, is_euclidean


class ApproximateNeighbors(ArgumentErrorMixin, BaseEstimator):
    r"""Settings of an approximate search for nearest neighbours by faiss.

    Pass it as the parameter `search` of an estimator, such as
    :class:`~dimetric.KNNClassifier`, :class:`~dimetric.Isomap` or :class:`~dimetric.LMNN`. Without
    it, all searches are exact.

    faiss finds candidates for the neighbours in single precision. Their distances are then computed
    in double precision, so distances are exact, even if some neighbours are missed. The recall is
    measured in every fit:

    .. math:: \mathrm{recall} = \frac{1}{m k} \sum_{i=1}^m |\{j \in A_k(x_i) : d(x_i, x_j) \le
              r_k(x_i)\}|

    :math:`A_k(x_i)` are the k neighbours found, :math:`r_k(x_i)` is the exact distance of the k-th
    neighbour, and the sum runs over m = 400 random samples. A recall of less than 0.9 issues a
    warning.

    Parameters
    ----------
    kind : {"ivf", "hnsw", "flat"}, default="ivf"
        "ivf" divides the points into clusters by k-means, and compares a query with the points of
        the nearest clusters [1]_. "hnsw" searches a hierarchical graph of near points [2]_. It
        often has a higher recall, but the graph takes more time and memory. "flat" compares a query
        with all points.
    min_samples : int, default=50000
        Smallest number of points for an approximate search. Among fewer points, the search is
        exact. Friends are searched within each class, so this is the size of a class.
    n_lists : int or None, default=None
        Number of clusters of "ivf". None stands for :math:`2 \sqrt n`. (faiss: nlist)
    n_probes : int, default=16
        Number of clusters that a query of "ivf" is compared with. With more clusters, the recall is
        higher. With all clusters, the search finds the same neighbours as "flat". (faiss: nprobe)
    n_links : int, default=32
        Number of links of each point in the graph of "hnsw". With more links, the recall is higher,
        and the graph takes more time and memory. (faiss: M)
    ef_search : int, default=64
        Number of points that a query of "hnsw" keeps while it follows the links. With more points,
        the recall is higher, and the search takes longer. (faiss: efSearch)
    random_state : int, default=0
        Random seed of k-means, of the graph, and of the samples that measure the recall.

    Notes
    -----
    The same settings and points give the same result. To ensure this, one thread builds the graph
    of "hnsw".

    In classifiers and regressors, neighbours that are tied at the k-th distance share votes as in
    an exact search, if they are found. In learners, they do not share places: those that come first
    in the order of coordinates are chosen among the found ones.

    faiss is part of the extra `ann`: ``pip install "dimetric[ann]"``.

    References
    ----------
    .. [1] M. Douze et al., "The Faiss library", IEEE Transactions on Big Data, 2025.
    .. [2] Y. A. Malkov, D. A. Yashunin, "Efficient and robust approximate nearest neighbor search
       using hierarchical navigable small world graphs", IEEE Transactions on Pattern Analysis and
       Machine Intelligence 42, 2020.

    Examples
    --------
    >>> from dimetric import KNNClassifier
    >>> from dimetric.data import make_swiss_roll
    >>> X, t, _ = make_swiss_roll(2000, random_state=0)
    >>> search = ApproximateNeighbors(min_samples=1000)
    >>> model = KNNClassifier(search=search).fit(X, t > 9)
    >>> model.search_used_, model.search_recall_ > 0.95
    ('ivf', True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions({"hnsw", "ivf", "flat"})],
        "min_samples": [Interval(Integral, 0, None, closed="left")],
        "n_lists": [Interval(Integral, 1, None, closed="left"), None],
        "n_probes": [Interval(Integral, 1, None, closed="left")],
        "n_links": [Interval(Integral, 2, None, closed="left")],
        "ef_search": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, 2**31 - 1, closed="both")],
    }

    def __init__(
        self,
        kind: str = "ivf",
        *,
        min_samples: int = 50_000,
        n_lists: int | None = None,
        n_probes: int = 16,
        n_links: int = 32,
        ef_search: int = 64,
        random_state: int = 0,
    ) -> None:
        self.kind = kind
        self.min_samples = min_samples
        self.n_lists = n_lists
        self.n_probes = n_probes
        self.n_links = n_links
        self.ef_search = ef_search
        self.random_state = random_state


SEARCH_PARAMETER: dict[str, list[Any]] = {
    "search": [
        ApproximateNeighbors,
        HasMethods(["fit", "kneighbors"]),
        HasMethods(["fit", "transform"]),
        None,
    ]
}


def is_approximate(search: Any, n_points: int) -> bool:
    """Return whether a value of `search` asks for an approximate search among some points.

    Examples
    --------
    >>> is_approximate(None, 10**6), is_approximate(ApproximateNeighbors(), 100)
    (False, False)
    """
    if isinstance(search, ApproximateNeighbors):
        return n_points >= search.min_samples
    return search is not None


def name_of_search(search: Any) -> str:
    """Return the kind of an approximate search, or the class of another object."""
    return search.kind if isinstance(search, ApproximateNeighbors) else type(search).__name__


def remedy_for(search: Any) -> str:
    """Return how to find more neighbours."""
    advice = {
        "hnsw": f"Increase ef_search={getattr(search, 'ef_search', '')} or n_links",
        "ivf": f"Increase n_probes={getattr(search, 'n_probes', '')}",
    }.get(name_of_search(search), "Choose more accurate settings of the search")
    return f"{advice}, or set search=None for an exact search."


def check_search(
    search: Any,
    X: Any = None,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
) -> None:
    """Raise if `search` is invalid, or if it does not support the samples or the metric."""
    if search is None:
        return
    if isinstance(search, type):
        raise ValueError(
            f"search={search.__name__} is a class. Pass an object: {search.__name__}()."
        )
    if isinstance(search, ApproximateNeighbors):
        check_params(search)
    if not is_euclidean(metric, metric_params):
        raise ValueError(
            f"metric={metric!r} cannot be combined with search={search!r}, which searches in "
            "Euclidean distance. Set search=None, or metric='euclidean'."
        )
    if sparse.issparse(X):
        raise ValueError(
            f"search={search!r} needs dense samples, but the samples are sparse. Set search=None, "
            "or map the samples to a few components first, for example by PCA(n_components=50)."
        )
