"""Variants of each estimator: parameters that select other branches of the code."""

from typing import Any

from _same.spec import Spec

_GD = Spec("GradientDescent")
_SGD = Spec("SGD", batch_size=32)
_CONSTANT_RATE = Spec("GradientDescent", learning_rate="constant", eta0=0.01)
_OTHER_RATE = Spec("SGD", batch_size=16, eta0=0.1, increase=1.1, decrease=0.3)
_PROJECTED = Spec("ProjectedGradient")
_UNCONSTRAINED: list[dict[str, Any]] = [
    {},
    {"n_components": 2},
    {"reg": 0.1},
    {"init": "random", "reg": 0.1},
    {"init": "identity", "max_iter": 5},
    {"init": "pca", "n_components": 2, "tol": 1e-3},
    {"init": "lda", "n_components": 2},
    {"solver": Spec("LBFGS"), "max_iter": 20},
    {"solver": _GD, "max_iter": 10},
    {"solver": _CONSTANT_RATE, "max_iter": 10},
    {"solver": _SGD, "max_iter": 5},
    {"solver": _OTHER_RATE, "max_iter": 5, "n_components": 2},
]
_CONVEX = [*_UNCONSTRAINED, {"solver": _PROJECTED}, {"solver": _PROJECTED, "reg": 0.1}]

CLOSED: dict[str, list[dict[str, Any]]] = {
    "PCA": [
        {},
        {"n_components": 0.9},
        {"n_components": 2, "whiten": True},
        {"n_components": 2, "svd_solver": "full"},
        {"n_components": 2, "svd_solver": "covariance_eigh"},
        {"n_components": 2, "svd_solver": "incremental"},
        {"n_components": 2, "svd_solver": "randomized"},
        {"n_components": 1, "svd_solver": "arpack"},
    ],
    "Covariance": [{}, {"reg": 0.1}],
    "LDA": [{}, {"n_components": 1}, {"shrinkage": 0.3}, {"shrinkage": "auto"}, {"reg": 0.1}],
    "ANMM": [{}, {"n_components": 2}, {"n_components": 1, "n_friends": 1, "n_enemies": 4}],
    "DMLMJ": [{}, {"n_components": 2}, {"n_components": 2, "n_neighbors": 1, "alpha": 0.0}],
    "KPCA": [
        {},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="poly", degree=2)},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="sigmoid", gamma=0.01, coef0=0.5)},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="linear")},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="cosine")},
        {"n_components": 0.9, "kernel": Spec("Kernel", kernel="laplacian")},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="rbf", gamma="auto")},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="rbf", n_landmarks=20)},
        {"n_components": 2, "kernel": Spec("Kernel", n_landmarks=20, landmarks="greedy")},
        {"n_components": 2, "kernel": Spec("Kernel", n_landmarks=20, landmarks="kmeans")},
        {"n_components": 3, "fit_inverse_transform": True, "alpha": 0.1},
    ],
    "KDA": [
        {},
        {"kernel": Spec("Kernel", kernel="linear"), "reg": 0.0},
        {"n_components": 1, "kernel": Spec("Kernel", n_components_kernel=0.9)},
    ],
    "KANMM": [
        {},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="poly", degree=2)},
        {"n_components": 2, "orthonormal": "coefficients"},
    ],
    "KDMLMJ": [{}, {"n_components": 2, "kernel": Spec("Kernel", n_components_kernel=10)}],
    "Kernelized": [
        {"learner": Spec("LDA", reg=0.1), "kernel": Spec("Kernel", n_landmarks=20)},
        {"learner": Spec("PCA", n_components=2), "kernel": Spec("Kernel", kernel="laplacian")},
    ],
    "MDS": [
        {},
        {"n_components": 3, "metric": "cityblock"},
        {"metric": "chebyshev", "additive_constant": True},
        {"n_landmarks": 20},
    ],
    "Isomap": [
        {},
        {"n_neighbors": 8, "path_method": "FW"},
        {"n_neighbors": None, "radius": 5.0},
        {"n_neighbors": 7, "metric": "minkowski", "metric_params": {"p": 3}, "n_components": 1},
        {"n_landmarks": 20},
    ],
    "LLE": [
        {"n_neighbors": 8},
        {"n_neighbors": 8, "method": "modified"},
        {"n_neighbors": 8, "method": "hessian"},
        {"n_neighbors": 8, "method": "ltsa", "eigen_solver": "arpack"},
        {"n_neighbors": 8, "eigen_solver": "dense", "n_components": 3},
    ],
}
ITERATIVE: dict[str, list[dict[str, Any]]] = {
    "NCA": _UNCONSTRAINED,
    "LMNN": [
        *_CONVEX,
        {"n_neighbors": 4, "mu": 0.7, "n_passes": 2},
        {"n_neighbors": 1, "mu": 0.2},
    ],
    "MCML": _CONVEX,
    "LDML": [*_CONVEX, {"b": 2.0}],
    "NCMML": _CONVEX,
    "NCMC": [*_UNCONSTRAINED, {"n_centroids": 2}, {"n_centroids": [1, 2, 3]}],
    "ITML": [
        {},
        {"gamma": 0.1, "prior": "covariance"},
        {"n_constraints": 50, "bounds": (1.0, 9.0)},
        {"solver": Spec("BregmanProjections"), "max_iter": 30},
    ],
    "LSI": [
        {},
        {"diagonal": True},
        {"reg": 0.0},
        {"delta": 0.5, "reg": 3.0},
        {"solver": Spec("ProjectedGradient"), "max_iter": 20},
        {"solver": Spec("ProjectedGradient"), "diagonal": True, "max_iter": 20},
    ],
    "DMLEig": [
        {},
        {"smoothing": 1.0, "reg": 3.0},
        {"reg": 0.0},
        {"solver": Spec("FrankWolfe"), "max_iter": 20},
        {"solver": Spec("FrankWolfe", schedule="averaging"), "max_iter": 20},
    ],
    "KLMNN": [
        {"kernel": Spec("Kernel", n_components_kernel=5), "reg": 0.01},
        {"n_components": 2, "kernel": Spec("Kernel", kernel="linear")},
        {"solver": _GD, "max_iter": 10},
    ],
    "Kernelized": [
        {"learner": Spec("NCA", max_iter=10), "kernel": Spec("Kernel", n_components_kernel=6)},
    ],
    "MDS": [
        {"algorithm": "smacof"},
        {"algorithm": "smacof", "metric_mds": False},
        {"algorithm": "smacof", "init": "random", "n_init": 2, "max_iter": 50},
    ],
}
CLASSIFIERS: dict[str, list[dict[str, Any]]] = {
    "KNNClassifier": [
        {},
        {"n_neighbors": 5, "weights": "distance"},
        {"learner": Spec("LDA", reg=0.01)},
        {"learner": Spec("NCA", max_iter=10)},
        {"learner": Spec("KDA")},
    ],
    "NCMClassifier": [{}, {"learner": Spec("NCMML", max_iter=10)}],
    "NCMCClassifier": [{"n_centroids": 2}, {"learner": Spec("NCMC", n_centroids=2, max_iter=10)}],
    "EnergyClassifier": [{}, {"learner": Spec("LMNN", max_iter=10), "mu": 0.3}],
    "MultiMetricKNNClassifier": [{"max_iter": 20}, {"learner": Spec("PCA"), "reg": 0.1}],
    "KNNRegressor": [
        {},
        {"n_neighbors": 4, "weights": "distance"},
        {"learner": Spec("PCA", n_components=2)},
    ],
}
CLOSED_CLASSIFIERS = ("KNNClassifier", "KNNRegressor")
SEEDED = {"NCMCClassifier", "PCA", "Isomap", *CLOSED, *ITERATIVE} - {
    "Covariance", "LDA", "ANMM", "DMLMJ", "LLE", "LSI", "DMLEig",
}  # fmt: skip
