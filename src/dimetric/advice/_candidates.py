"""The learners to compare, and the grids of parameters to tune."""

from typing import Any

import dimetric
from dimetric.advice._race_options import predicts
from dimetric.advice._selection import FAVOURITE
from dimetric.advice._settings import SETTINGS
from dimetric.kernels import Kernel
from dimetric.kernels.kernel import FUNCTION_PARAMETERS

KERNELIZED_NCA = "Kernelized NCA"
REGRESSION_REG = 0.3  # weight of the ridge of learners for numbers
MAX_KLMNN_ITERATIONS = 50  # more take long, and hardly change the neighbours
N_ENSEMBLE_MEMBERS = 12  # as accurate on average as the default of 20, in 60 % of the time
N_KERNEL_COMPONENTS = 5  # of NCA in the space of a kernel


def candidate_learners(n_samples: int, n_features: int, kind: str = "classes") -> dict[str, Any]:
    """Return the learners that are fast enough for data of a given size.

    The learners that win most often come first.

    Parameters
    ----------
    n_samples, n_features : int
        Number of samples, and of features.
    kind : {"classes", "ordinal", "continuous"}, default="classes"
        What the target contains.

    Examples
    --------
    >>> list(candidate_learners(150, 4))[:11]
    ['LDA', 'KDA', 'NCA', 'MCML', 'Ensemble', 'PCA', 'ANMM', 'DMLMJ', 'NCMML', 'LDML', 'LMNN']
    >>> list(candidate_learners(150, 4))[11:]
    ['ITML', 'LSI', 'DMLEig', 'NCMC', 'KANMM', 'KDMLMJ', 'Kernelized NCA', 'KLMNN']
    >>> list(candidate_learners(60, 5000))
    ['PCA', 'KPCA', 'KDA', 'KANMM', 'KDMLMJ', 'Kernelized NCA', 'KLMNN']
    >>> list(candidate_learners(150, 4, "ordinal"))
    ['PCA', 'Covariance', 'MLKR diagonal', 'MLKR', 'NCA']
    """
    if kind != "classes":
        return _regression_learners(n_samples, n_features, kind)
    pca, kda = dimetric.PCA(0.95), dimetric.KDA(kernel=Kernel())
    if n_features > SETTINGS.max_linear_features:
        n_kernel = min(SETTINGS.n_reduced_components, n_samples // 2)
        kpca = dimetric.KPCA(n_kernel, kernel=Kernel())
        return {"PCA": pca, "KPCA": kpca, "KDA": kda} | _kernel_learners()
    full_metric = n_features <= SETTINGS.max_metric_features
    n_components = None if full_metric else SETTINGS.n_reduced_components
    learners = {"LDA": dimetric.LDA(), "KDA": kda, "NCA": dimetric.NCA(n_components)}
    if full_metric:
        learners |= {
            "MCML": dimetric.MCML(),
            FAVOURITE: dimetric.MetricEnsembleClassifier(n_estimators=N_ENSEMBLE_MEMBERS),
        }
    learners |= {"PCA": pca, "ANMM": dimetric.ANMM()}
    if full_metric:
        learners |= {
            "DMLMJ": dimetric.DMLMJ(),
            "NCMML": dimetric.NCMML(),
            "LDML": dimetric.LDML(),
        }
    learners["LMNN"] = dimetric.LMNN(n_components)
    if full_metric:
        learners |= {
            "ITML": dimetric.ITML(),
            "LSI": dimetric.LSI(),
            "DMLEig": dimetric.DMLEig(),
            "NCMC": dimetric.NCMC(),
        }
    return learners | _kernel_learners()


def _kernel_learners() -> dict[str, Any]:
    """Return the kernel learners other than KDA, the fastest first."""
    return {
        "KANMM": dimetric.KANMM(kernel=Kernel()),
        "KDMLMJ": dimetric.KDMLMJ(kernel=Kernel()),
        KERNELIZED_NCA: kernelized_nca(),
        "KLMNN": dimetric.KLMNN(kernel=Kernel(), max_iter=MAX_KLMNN_ITERATIONS),
    }


def kernelized_nca() -> Any:
    """Return NCA of the features of a kernel, with few components."""
    return dimetric.Kernelized(dimetric.NCA(N_KERNEL_COMPONENTS), kernel=Kernel())


def _regression_learners(n_samples: int, n_features: int, kind: str) -> dict[str, Any]:
    """Return the learners for numbers, the fastest first."""
    learners: dict[str, Any] = {"PCA": dimetric.PCA(0.95)}
    if n_features > SETTINGS.max_linear_features:
        n_kernel = min(SETTINGS.n_reduced_components, n_samples // 2)
        return learners | {"KPCA": dimetric.KPCA(n_kernel, kernel=Kernel())}
    full_metric = n_features <= SETTINGS.max_metric_features
    if full_metric:
        learners["Covariance"] = dimetric.Covariance()
    n_components = None if full_metric else SETTINGS.n_reduced_components
    cost = "absolute" if kind == "ordinal" else "squared"
    # Without a ridge, a full map overfits tables of a few hundred rows.
    return learners | {
        "MLKR diagonal": dimetric.MLKR(diagonal=True, reg=REGRESSION_REG),
        "MLKR": dimetric.MLKR(n_components, reg=REGRESSION_REG),
        "NCA": dimetric.NCA(n_components, cost=cost, reg=REGRESSION_REG),
    }


def candidate_grid(learner: Any, n_features: int) -> dict[str, list[Any]]:
    """Return a grid of parameters to tune. The current value of each parameter comes first.

    Parameters
    ----------
    learner : learner
        The learner. If its kernel is given by name, the grid has no kernel parameters. The grid
        of a classifier is empty.
    n_features : int
        Number of features.

    Examples
    --------
    >>> candidate_grid(dimetric.NCA(), 13)
    {'n_components': [None, 6, 3]}
    >>> candidate_grid(dimetric.KPCA(kernel=Kernel()), 13)
    {'kernel__gamma': ['scale', 'auto']}
    """
    if predicts(learner):
        return {}
    current = learner.get_params()
    half, quarter = max(1, n_features // 2), max(1, n_features // 4)
    alternatives: dict[str, dict[str, list[Any]]] = {
        "PCA": {"n_components": [0.9, 0.99, 0.8]},
        "KPCA": {"kernel__gamma": ["auto"]},
        "LDA": {"reg": [0.01, 0.1]},
        "DMLMJ": {"n_neighbors": [5, 10]},
        "KDA": {"reg": [0.01, 1.0], "kernel__gamma": ["auto"]},
        "KDMLMJ": {"kernel__gamma": ["auto"]},
        "KANMM": {"kernel__gamma": ["auto"]},
        "KLMNN": {"kernel__gamma": ["auto"]},
        "MLKR": {"reg": [0.03, 1.0]},
        "LMNN": {"n_components": [half], "n_neighbors": [5]},
        "ITML": {"gamma": [0.1, 10.0]},
        "Covariance": {"reg": [0.01, 0.1]},
        "LSI": {"reg": [0.1, 10.0]},
        "DMLEig": {"reg": [0.1, 10.0]},
    }
    name = type(learner).__name__
    if name == "NCA" and current.get("cost", "zero-one") != "zero-one":
        name = "MLKR"
    to_try = alternatives.get(name)
    if to_try is None:
        to_try = {"n_components": [half, quarter]} if "n_components" in current else {}
    grid = {}
    for name, values in to_try.items():
        kernel = current.get("kernel__name")
        has_effect = name != "kernel__gamma" or kernel in FUNCTION_PARAMETERS["gamma"][1]
        if name not in current or not has_effect:  # the kernel is given by name, or has no gamma
            continue
        others = [each for each in values if each != current[name]]
        grid[name] = list(dict.fromkeys([current[name], *others]))
    return {name: values for name, values in grid.items() if len(values) > 1}
