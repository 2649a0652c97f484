"""Which learners to try on samples of some size, and which of their parameters."""

from typing import Any

import dimetric
from dimetric.advice._settings import SETTINGS
from dimetric.kernels import Kernel


def candidate_learners(n_samples: int, n_features: int) -> dict[str, Any]:
    """Return the learners that suit samples of some size, the fastest first.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the samples.

    Examples
    --------
    >>> list(candidate_learners(150, 4))
    ['PCA', 'LDA', 'ANMM', 'DMLMJ', 'NCMML', 'KDA', 'MCML', 'NCA', 'LDML', 'LMNN']
    >>> list(candidate_learners(60, 5000))
    ['PCA', 'KPCA', 'KDA']
    """
    learners: dict[str, Any] = {"PCA": dimetric.PCA(0.95)}
    if n_features > SETTINGS.max_linear_features:
        n_kernel = min(SETTINGS.n_reduced_components, n_samples // 2)
        kpca = dimetric.KPCA(n_kernel, kernel=Kernel())
        return learners | {"KPCA": kpca, "KDA": dimetric.KDA(kernel=Kernel())}
    # With all components, ANMM only rotates the samples, which changes no distance.
    learners |= {"LDA": dimetric.LDA(), "ANMM": dimetric.ANMM(max(1, n_features // 2))}
    full_metric = n_features <= SETTINGS.max_metric_features
    if full_metric:
        learners |= {"DMLMJ": dimetric.DMLMJ(), "NCMML": dimetric.NCMML()}
    learners["KDA"] = dimetric.KDA(kernel=Kernel())
    if full_metric:
        learners["MCML"] = dimetric.MCML()
    n_components = None if full_metric else SETTINGS.n_reduced_components
    learners["NCA"] = dimetric.NCA(n_components)
    if full_metric:
        learners["LDML"] = dimetric.LDML()
    learners["LMNN"] = dimetric.LMNN(n_components)
    return learners


def candidate_grid(learner: Any, n_features: int) -> dict[str, list[Any]]:
    """Return values of a learner's parameters that are worth trying; its own come first.

    Parameters
    ----------
    learner : learner
        The learner. Parameters of a kernel that is given by its name are not varied.
    n_features : int
        Number of features.

    Examples
    --------
    >>> candidate_grid(dimetric.NCA(), 13)
    {'n_components': [None, 6, 3]}
    >>> candidate_grid(dimetric.KPCA(kernel=Kernel()), 13)
    {'kernel__gamma': ['scale', 'auto']}
    """
    own = learner.get_params()
    half, quarter = max(1, n_features // 2), max(1, n_features // 4)
    tried: dict[str, dict[str, list[Any]]] = {
        "PCA": {"n_components": [0.9, 0.99, 0.8]},
        "KPCA": {"kernel__gamma": ["auto"]},
        "LDA": {"reg": [0.01, 0.1]},
        "DMLMJ": {"n_neighbors": [5, 10]},
        "KDA": {"reg": [0.01, 1.0], "kernel__gamma": ["auto"]},
        "KDMLMJ": {"kernel__gamma": ["auto"]},
        "KANMM": {"kernel__gamma": ["auto"]},
        "KLMNN": {"kernel__gamma": ["auto"]},
        "LMNN": {"n_components": [half], "n_neighbors": [5]},
        "ITML": {"gamma": [0.1, 10.0]},
        "Covariance": {"reg": [0.01, 0.1]},
        "LSI": {"reg": [0.1, 10.0]},
        "DMLEig": {"reg": [0.1, 10.0]},
    }
    of_learner = tried.get(type(learner).__name__)
    if of_learner is None:
        of_learner = {"n_components": [half, quarter]} if "n_components" in own else {}
    grid = {}
    for name, values in of_learner.items():
        if name not in own:  # a kernel given by its name
            continue
        others = [each for each in values if each != own[name]]
        grid[name] = list(dict.fromkeys([own[name], *others]))
    return {name: values for name, values in grid.items() if len(values) > 1}
