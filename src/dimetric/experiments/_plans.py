"""The models of the published experiments: learners, kernels, dimensions, parameters tied to k."""

from typing import Any

import numpy as np
from sklearn.base import clone

import dimetric
from dimetric.data import DataSet
from dimetric.experiments._protocol import SETS, SMALL_SETS
from dimetric.kernels import Kernel

TITLES = {
    1: "Nearest neighbours under learned distances",
    2: "Nearest centroids under learned distances",
    3: "Nearest neighbours under distances learned by kernels",
    4: "Nearest neighbours after reduction to few dimensions",
}
LINEAR = ("LDA", "ITML", "DMLMJ", "NCA", "LMNN", "LSI", "DML-eig", "MCML", "LDML")
KERNEL = ("KPCA", "KDA", "KANMM", "KDMLMJ", "KLMNN")
KERNELS = {
    "Linear": Kernel("linear"),
    "Poly-2": Kernel("poly", degree=2),
    "Poly-3": Kernel("poly", degree=3),
    "RBF": Kernel("rbf"),
    "Laplacian": Kernel("laplacian"),
}
REDUCING = ("PCA", "LDA", "ANMM", "DMLMJ", "NCA", "LMNN")
DIMENSIONS = (1, 2, 3, 5, 10, 20, 30, 40, 50)
REDUCED_SETS = ("sonar", "movement_libras", "spambase")
TIED_PARAMETERS = ("n_neighbors", "n_friends", "n_enemies")  # equal to k, the voting neighbours

Plan = dict[tuple[str, str], Any]


def sets_of(experiment: int) -> list[str]:
    """Return the names of the data sets of an experiment."""
    return list({1: SETS, 2: SETS, 3: SMALL_SETS, 4: REDUCED_SETS}[experiment])


def plan(experiment: int, k: int, data: DataSet) -> Plan:
    """Return the models of an experiment by row and column of its table.

    Rows are data sets, in experiment 4 dimensions; columns are learners.
    """
    if experiment == 4:
        return _reductions(k, data)
    made = {1: _linear, 2: _centroids, 3: _kernels}[experiment](k)
    return {(data.name, column): model for column, model in made.items()}


def _linear(k: int) -> dict[str, Any]:
    return {"Euclidean": None} | {name: _learner(name, k) for name in LINEAR}


def _centroids(k: int) -> dict[str, Any]:
    from dimetric import NCMC, NCMML, NCMCClassifier, NCMClassifier

    found = {"Euclidean + NCM": NCMClassifier(), "NCMML": NCMClassifier(NCMML())}
    for n in (2, 3):
        found[f"Euclidean + NCM ({n} ctrd)"] = NCMCClassifier(n)
        found[f"NCMC ({n} ctrd)"] = NCMCClassifier(n, learner=NCMC(n_centroids=n))
    return found


def _kernels(k: int) -> dict[str, Any]:
    return {"Euclidean": None} | {
        f"{name} [{title}]": _learner(name, k, kernel=clone(kernel))
        for name in KERNEL
        for title, kernel in KERNELS.items()
    }


def _reductions(k: int, data: DataSet) -> Plan:
    d, most = data.X.shape[1], len(np.unique(np.asarray(data.y))) - 1
    dimensions = {str(n): n for n in DIMENSIONS if n <= d} | {"classes - 1": most, "max": d}
    found = {}
    for row, n in dimensions.items():
        for name in REDUCING:
            if name == "LDA" and n > most:
                continue
            # init="auto" starts from LDA: with small classes, mini-batches do not recover from it.
            options = {"solver": "sgd", "init": "pca"} if name == "LMNN" else {}
            found[row, name] = _learner(name, k, n_components=n, **options)
    return found


def _learner(name: str, k: int, **options: Any) -> Any:
    """Return a learner whose tied parameters are k."""
    learner = getattr(dimetric, {"DML-eig": "DMLEig"}.get(name, name))(**options)
    tied = [each for each in TIED_PARAMETERS if each in learner.get_params()]
    return learner.set_params(**dict.fromkeys(tied, k))


def is_tied_to_k(model: Any) -> bool:
    """Tell whether a model has parameters that follow the number of neighbours that vote."""
    return model is not None and bool(set(TIED_PARAMETERS) & set(model.get_params()))


def baselines(experiment: int, columns: list[str]) -> dict[str, str]:
    """Return the baseline of each learner."""
    if experiment == 4:
        return {}
    if experiment != 2:
        return {each: "Euclidean" for each in columns if each != "Euclidean"}
    return {
        each: {"NCMML": "Euclidean + NCM"}.get(each, each.replace("NCMC", "Euclidean + NCM"))
        for each in columns
        if not each.startswith("Euclidean")
    }
