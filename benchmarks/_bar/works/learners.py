"""Works of metric learning. Our fits have no penalty, because those of the peers have none."""

from functools import partial

from _bar import qualities
from _bar.data import Data, classes, digit_pairs, normal, nothing, table
from _bar.process import Side
from _bar.qualities import Quality, objective
from _bar.work import Bar, Work

NCA = objective("NCA", higher_is_better=True)
LMNN = objective("LMNN", higher_is_better=False)
MCML = objective("MCML", higher_is_better=False)
LDML = objective("LDML", higher_is_better=True)
NCMML = objective("NCMML", higher_is_better=True)
# The random state fixes the centroids at which both maps are evaluated.
NCMC = objective("NCMC", higher_is_better=True, random_state=0)

ALL_PAIRS = Side("limit", "all_pairs")
KERNEL_EIGENVECTORS = Side("limit", "kernel_eigenvectors")
MAP_AND_GRADIENT = Side("limit", "map_and_gradient")
SEARCH = Side("limit", "inner_products")


def _ours(name: str, **params: object) -> Side:
    return Side("dimetric", "fit", {"name": name, "params": params})


def _nca(
    data: partial[Data],
    ratio: float,
    megabytes: float | None = None,
    quick_data: partial[Data] | None = None,
) -> Work:
    return Work(
        row="nca",
        name="NCA, scikit-learn",
        data=data,
        ours=_ours("NCA", reg=0.0, tol=1e-5),  # the tolerance of scikit-learn
        peer=Side("scikit_learn", "fit", {"name": "NeighborhoodComponentsAnalysis", "params": {}}),
        limit=ALL_PAIRS,
        limit_per_iteration=True,
        bar=Bar(ratio, megabytes=megabytes),
        quality=NCA,
        quick_data=quick_data,
    )


def _against_pydml(
    row: str,
    name: str,
    quality: Quality,
    limit: Side,
    ratio: float,
    data: partial[Data],
    *,
    theirs: str = "",
    their_params: dict[str, object] | None = None,
    per_iteration: bool = True,
    quick: bool = True,
    quick_data: partial[Data] | None = None,
    **params: object,
) -> Work:
    return Work(
        row=row,
        name=f"{name}, pyDML",
        data=data,
        ours=_ours(name, **params),
        peer=Side("pydml", "fit", {"name": theirs or name, "params": their_params or {}}),
        limit=limit,
        limit_per_iteration=per_iteration,
        bar=Bar(ratio),
        quality=quality,
        quick=quick,
        quick_data=quick_data,
    )


def _pairwise(data: partial[Data], *, quick: bool) -> list[Work]:
    """Return the works whose objectives are sums over pairs or triplets."""
    work = partial(_against_pydml, "pairwise", ratio=20, data=data, quick=quick)
    less = partial(data, step=2)  # for the slowest in the quick run
    constrained = {"reg": 0.0, "delta": 1e-6, "max_iter": 1000}
    return [
        work("NCA", NCA, ALL_PAIRS, reg=0.0),
        work("LMNN", LMNN, MAP_AND_GRADIENT, reg=0.0),
        work("MCML", MCML, ALL_PAIRS, reg=0.0),
        work("LDML", LDML, ALL_PAIRS, reg=0.0),
        work(
            *("LSI", qualities.LSI, ALL_PAIRS),
            their_params={"supervised": True},
            quick_data=less,
            **constrained,
        ),
        work(*("DMLEig", qualities.DML_EIG, ALL_PAIRS), theirs="DML_eig", **constrained),
        _kernel_learner("KLMNN", "pairwise", data, quick=quick, quick_data=less),
    ]


def _kernel_learner(
    name: str,
    row: str,
    data: partial[Data],
    *,
    quick: bool = True,
    quick_data: partial[Data] | None = None,
    limit: Side = ALL_PAIRS,
    **params: object,
) -> Work:
    """Return a work with pyDML's kernel."""
    kernel = {"name": "rbf", "gamma": "auto"}
    return Work(
        row=row,
        name=f"{name}, pyDML",
        data=data,
        ours=Side("dimetric", "fit_transform", {"name": name, "params": params, "kernel": kernel}),
        peer=Side("pydml", "fit_transform", {"name": name, "params": {"kernel": "rbf"}}),
        limit=limit,
        bar=Bar(20),
        quality=qualities.ACCURACY_OF_EMBEDDING,
        quick=quick,
        quick_data=quick_data,
    )


def _centroids(data: partial[Data], *, quick: bool = True) -> list[Work]:
    work = partial(_against_pydml, "centroids", ratio=5, data=data, quick=quick)
    return [
        work("NCMML", NCMML, MAP_AND_GRADIENT, reg=0.0),
        work("NCMC", NCMC, MAP_AND_GRADIENT, reg=0.0, random_state=0),
    ]


def _pca(n: int, d: int) -> Work:
    fitted = {"inputs": ["X"], "results": ["explained_variance_ratio_"]}
    options = {"name": "PCA", "params": {"n_components": 10, "random_state": 0}, **fitted}
    solvers = {"choice": "svd_solver", "values": ["covariance_eigh", "randomized"]}
    return Work(
        row="pca",
        name="PCA to 10, scikit-learn",
        data=partial(normal, n, d, 0.5, "float32"),
        ours=Side("dimetric", "fit", options),
        peer=Side("scikit_learn", "fastest_fit", options | solvers),
        limit=Side("limit", "scatter"),
        bar=Bar(1),
        quality=qualities.EXPLAINED_VARIANCE,
    )


IRIS, WINE = partial(table, "iris", scaling="minmax"), partial(table, "wine", scaling="minmax")
CANCER = partial(table, "breast_cancer", scaling="minmax")
DIGITS = partial(table, "digits", scaling="minmax")

WORKS = (
    # A matrix of all pairs would take 200 MB.
    _nca(partial(classes, 5000, 50), 6, 100, quick_data=partial(classes, 2000, 50)),
    _nca(DIGITS, 4),
    Work(
        row="pairwise",
        name="LMNN, metric-learn",
        data=partial(table, "digits", scaling="none"),
        quick_data=partial(table, "digits", scaling="none", step=2),
        ours=_ours("LMNN", reg=0.0),
        peer=Side("metric_learn", "lmnn", {"params": {}}),
        limit=MAP_AND_GRADIENT,
        limit_per_iteration=True,
        bar=Bar(20),
        quality=LMNN,
    ),
    *_pairwise(IRIS, quick=True),
    *_pairwise(WINE, quick=False),
    *_pairwise(CANCER, quick=False),
    *_centroids(WINE),
    *_centroids(DIGITS),
    *_centroids(partial(classes, 5000, 50), quick=False),
    Work(
        row="centroids",
        name="NCMML, 10 iterations",
        data=partial(classes, 100_000, 50),
        ours=_ours("NCMML", reg=0.0, max_iter=10),
        limit=MAP_AND_GRADIENT,
        limit_per_iteration=True,
        bar=Bar(megabytes=200),
        quick=False,
    ),
    Work(
        row="itml",
        name="ITML, metric-learn",
        data=partial(digit_pairs, 4000),
        quick_data=partial(digit_pairs, 1000),
        ours=Side("dimetric", "itml", {"params": {}}),
        peer=Side("metric_learn", "itml", {"params": {}}),
        limit=Side("limit", "listed_pairs"),
        limit_per_iteration=True,
        bar=Bar(20),
        quality=qualities.ITML,
    ),
    *(
        _against_pydml(
            *("spectral", name, qualities.ACCURACY_OF_MAP, SEARCH, 10, DIGITS),
            per_iteration=False,
        )
        for name in ("ANMM", "DMLMJ")
    ),
    _kernel_learner("KDA", "kernels", WINE, limit=KERNEL_EIGENVECTORS),
    # pyDML keeps as many components as there are features.
    *(
        _kernel_learner(name, "kernels", WINE, limit=KERNEL_EIGENVECTORS, n_components=13)
        for name in ("KANMM", "KDMLMJ")
    ),
    *(_pca(n, d) for n, d in ((200_000, 50), (50_000, 300))),
    Work(
        row="experiment",
        name="Experiment 1, k = 3",
        data=partial(nothing, "34 data sets, 3,400 fits"),
        ours=Side("dimetric", "experiment", {"number": 1, "n_neighbors": 3}),
        bar=Bar(seconds=2400),
        quick=False,
        seconds_limit=3600,
        needs=("data",),
    ),
)
