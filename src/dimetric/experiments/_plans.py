"""What the published experiments fit: learners, kernels, dimensions, and what is tied to k."""

from typing import Any

import numpy as np

import dimetric
from dimetric.data import DataSet
from dimetric.experiments._protocol import SETS, SMALL_SETS

TITLES = {
    1: "Nearest neighbours under learned distances",
    2: "Nearest centroids under learned distances",
    3: "Nearest neighbours under distances learned by kernels",
    4: "Nearest neighbours after reduction to few dimensions",
}
LINEAR = ("LDA", "ITML", "DMLMJ", "NCA", "LMNN", "LSI", "DML-eig", "MCML", "LDML")
KERNEL = ("KPCA", "KDA", "KANMM", "KDMLMJ", "KLMNN")
KERNELS: dict[str, dict[str, Any]] = {
    "Linear": {"kernel": "linear"},
    "Poly-2": {"kernel": "poly", "degree": 2},
    "Poly-3": {"kernel": "poly", "degree": 3},
    "RBF": {"kernel": "rbf"},
    "Laplacian": {"kernel": "laplacian"},
}
REDUCING = ("PCA", "LDA", "ANMM", "DMLMJ", "NCA", "LMNN")
DIMENSIONS = (1, 2, 3, 5, 10, 20, 30, 40, 50)
REDUCED_SETS = ("sonar", "movement_libras", "spambase")
TIED = ("n_neighbors", "n_friends", "n_enemies")

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
        f"{name} [{kernel}]": _learner(name, k, **options)
        for name in KERNEL
        for kernel, options in KERNELS.items()
    }


def _reductions(k: int, data: DataSet) -> Plan:
    d, most = data.X.shape[1], len(np.unique(np.asarray(data.y))) - 1
    dimensions = {str(n): n for n in DIMENSIONS if n <= d} | {"classes - 1": most, "max": d}
    found = {}
    for row, n in dimensions.items():
        for name in REDUCING:
            if name == "LDA" and n > most:
                continue
            # From LDA, as "auto" starts, mini-batches do not find back where classes are small.
            options = {"solver": "sgd", "init": "pca"} if name == "LMNN" else {}
            found[row, name] = _learner(name, k, n_components=n, **options)
    return found


def _learner(name: str, k: int, **options: Any) -> Any:
    """Return a learner with what is tied to the number of neighbours."""
    learner = getattr(dimetric, {"DML-eig": "DMLEig"}.get(name, name))(**options)
    tied = [each for each in TIED if each in learner.get_params()]
    return learner.set_params(**dict.fromkeys(tied, k))


def baselines(experiment: int, columns: list[str]) -> dict[str, str]:
    """Return what each learner is to be better than."""
    if experiment == 4:
        return {}
    if experiment != 2:
        return {each: "Euclidean" for each in columns if each != "Euclidean"}
    return {
        each: {"NCMML": "Euclidean + NCM"}.get(each, each.replace("NCMC", "Euclidean + NCM"))
        for each in columns
        if not each.startswith("Euclidean")
    }
