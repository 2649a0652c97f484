"""Models of the published experiments: learners, kernels, dimensions and parameters."""

from typing import Any

import numpy as np
from sklearn.base import clone

import dimetric
from dimetric.data import DataSet
from dimetric.experiments._protocol import DATA_SETS, SMALL_DATA_SETS
from dimetric.kernels import Kernel

TITLES = {
    1: "Nearest neighbours under learned distances",
    2: "Nearest centroids under learned distances",
    3: "Nearest neighbours under distances learned with kernels",
    4: "Nearest neighbours after dimensionality reduction",
}
LINEAR_LEARNERS = ("LDA", "ITML", "DMLMJ", "NCA", "LMNN", "LSI", "DML-eig", "MCML", "LDML")
KERNEL_LEARNERS = ("KPCA", "KDA", "KANMM", "KDMLMJ", "KLMNN")
KERNELS = {
    "Linear": Kernel("linear"),
    "Poly-2": Kernel("poly", degree=2),
    "Poly-3": Kernel("poly", degree=3),
    "RBF": Kernel("rbf"),
    "Laplacian": Kernel("laplacian"),
}
REDUCTION_LEARNERS = ("PCA", "LDA", "ANMM", "DMLMJ", "NCA", "LMNN")
DIMENSIONS = (1, 2, 3, 5, 10, 20, 30, 40, 50)
REDUCTION_DATA_SETS = ("sonar", "movement_libras", "spambase")
TIED_PARAMETERS = ("n_neighbors", "n_friends", "n_enemies")  # set to the k of the k-NN classifier

Plan = dict[tuple[str, str], Any]


def data_set_names(experiment: int) -> list[str]:
    """Return the names of the data sets of an experiment."""
    return list(
        {1: DATA_SETS, 2: DATA_SETS, 3: SMALL_DATA_SETS, 4: REDUCTION_DATA_SETS}[experiment]
    )


def plan(experiment: int, k: int, data: DataSet) -> Plan:
    """Return the models of an experiment, keyed by row and column of its table.

    The rows are data sets, or dimensions in experiment 4. The columns are learners.
    """
    if experiment == 4:
        return _reductions(k, data)
    models = {1: _linear, 2: _centroids, 3: _kernels}[experiment](k)
    return {(data.name, column): model for column, model in models.items()}


def _linear(k: int) -> dict[str, Any]:
    return {"Euclidean": None} | {name: _learner(name, k) for name in LINEAR_LEARNERS}


def _centroids(k: int) -> dict[str, Any]:
    from dimetric import NCMC, NCMML, NCMCClassifier, NCMClassifier

    models = {"Euclidean + NCM": NCMClassifier(), "NCMML": NCMClassifier(NCMML())}
    for n in (2, 3):
        models[f"Euclidean + NCM ({n} ctrd)"] = NCMCClassifier(n)
        models[f"NCMC ({n} ctrd)"] = NCMCClassifier(n, learner=NCMC(n_centroids=n))
    return models


def _kernels(k: int) -> dict[str, Any]:
    return {"Euclidean": None} | {
        f"{name} [{title}]": _learner(name, k, kernel=clone(kernel))
        for name in KERNEL_LEARNERS
        for title, kernel in KERNELS.items()
    }


def _reductions(k: int, data: DataSet) -> Plan:
    d, n_discriminants = data.X.shape[1], len(np.unique(np.asarray(data.y))) - 1
    dimensions = {str(n): n for n in DIMENSIONS if n <= d} | {
        "classes - 1": n_discriminants,
        "max": d,
    }
    models = {}
    for row, n in dimensions.items():
        for name in REDUCTION_LEARNERS:
            if name == "LDA" and n > n_discriminants:
                continue
            # init="auto" would start from LDA. If classes are small, SGD does not recover from it.
            options = {"solver": "sgd", "init": "pca"} if name == "LMNN" else {}
            models[row, name] = _learner(name, k, n_components=n, **options)
    return models


def _learner(name: str, k: int, **options: Any) -> Any:
    """Return a learner with its tied parameters set to k."""
    learner = getattr(dimetric, {"DML-eig": "DMLEig"}.get(name, name))(**options)
    tied = [each for each in TIED_PARAMETERS if each in learner.get_params()]
    return learner.set_params(**dict.fromkeys(tied, k))


def is_tied_to_k(model: Any) -> bool:
    """Return whether a model has parameters that are set to k."""
    return model is not None and bool(set(TIED_PARAMETERS) & set(model.get_params()))


def baselines(experiment: int, learner_names: list[str]) -> dict[str, str]:
    """Return the baseline of each learner."""
    if experiment == 4:
        return {}
    if experiment != 2:
        return {each: "Euclidean" for each in learner_names if each != "Euclidean"}
    return {
        each: {"NCMML": "Euclidean + NCM"}.get(each, each.replace("NCMC", "Euclidean + NCM"))
        for each in learner_names
        if not each.startswith("Euclidean")
    }
