"""Which learners are worth a try on samples of some size, and which of their parameters."""

from typing import Any

import dimetric

FEW = 300  # features up to which a metric of all their pairs is learned
WIDE = 2000  # features up to which directions among them are


def sensible(n_samples: int, n_features: int, n_classes: int) -> dict[str, Any]:
    """Return the learners that suit samples of some size, the fastest first.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        The size.

    Examples
    --------
    >>> list(sensible(150, 4, 3))
    ['PCA', 'LDA', 'ANMM', 'DMLMJ', 'NCMML', 'KDA', 'MCML', 'NCA', 'LDML', 'LMNN']
    >>> list(sensible(60, 5000, 2))
    ['PCA', 'KPCA', 'KDA']
    """
    found: dict[str, Any] = {"PCA": dimetric.PCA(0.95)}
    if n_features > WIDE:
        return found | {"KPCA": dimetric.KPCA(min(50, n_samples // 2)), "KDA": dimetric.KDA()}
    # With all components ANMM but turns the samples, which changes no distance.
    found |= {"LDA": dimetric.LDA(), "ANMM": dimetric.ANMM(max(1, n_features // 2))}
    if n_features <= FEW:
        found |= {"DMLMJ": dimetric.DMLMJ(), "NCMML": dimetric.NCMML()}
    found["KDA"] = dimetric.KDA()
    if n_features <= FEW:
        found["MCML"] = dimetric.MCML()
    rows = None if n_features <= FEW else 50
    found["NCA"] = dimetric.NCA(rows)
    if n_features <= FEW:
        found["LDML"] = dimetric.LDML()
    found["LMNN"] = dimetric.LMNN(rows)
    return found


def grid_of(learner: Any, n_features: int) -> dict[str, list[Any]]:
    """Return values of a learner's parameters that are worth a try; the first are its own.

    Parameters
    ----------
    learner : learner
        The learner.
    n_features : int
        Number of features.

    Examples
    --------
    >>> grid_of(dimetric.NCA(), 13)
    {'n_components': [None, 6, 3]}
    """
    own = learner.get_params(deep=False)
    half, quarter = max(1, n_features // 2), max(1, n_features // 4)
    tried: dict[str, dict[str, list[Any]]] = {
        "PCA": {"n_components": [0.9, 0.99, 0.8]},
        "KPCA": {"gamma": ["auto"]},
        "LDA": {"reg": [0.01, 0.1]},
        "DMLMJ": {"n_neighbors": [5, 10]},
        "KDA": {"reg": [0.01, 1.0], "gamma": ["auto"]},
        "KDMLMJ": {"gamma": ["auto"]},
        "KANMM": {"gamma": ["auto"]},
        "KLMNN": {"gamma": ["auto"]},
        "LMNN": {"n_components": [half], "n_neighbors": [5]},
        "ITML": {"gamma": [0.1, 10.0]},
        "Covariance": {"reg": [0.01, 0.1]},
        "LSI": {"reg": [0.1, 10.0]},
        "DMLEig": {"reg": [0.1, 10.0]},
    }
    of_learner = tried.get(type(learner).__name__)
    if of_learner is None:
        of_learner = {"n_components": [half, quarter]} if "n_components" in own else {}
    found = {}
    for name, values in of_learner.items():
        others = [each for each in values if each != own[name]]
        found[name] = list(dict.fromkeys([own[name], *others]))
    return {name: values for name, values in found.items() if len(values) > 1}
