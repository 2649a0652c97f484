"""The registry of estimators that the contract suite runs on.

To register a learner, add its class and the keyword arguments of a few cheap variants. The class
itself tells what a variant supports (labels, sparse input, partial_fit, a fast path).

If a test combines the variants with another parameter, or with the examples of hypothesis, `make
test` runs only the first variant of each class. tests/conftest.py marks the others as slow.
"""

from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors
from sklearn.utils import get_tags

from dimetric import (
    ANMM,
    DMLMJ,
    ITML,
    KANMM,
    KDA,
    KDMLMJ,
    KLMNN,
    KPCA,
    LDA,
    LDML,
    LLE,
    LMNN,
    LSI,
    MCML,
    MDS,
    MLKR,
    NCA,
    NCMC,
    NCMML,
    PCA,
    Covariance,
    DMLEig,
    EnergyClassifier,
    Isomap,
    Kernelized,
    KNNClassifier,
    KNNRegressor,
    MetricEnsembleClassifier,
    MultiMetricKNNClassifier,
    NCMCClassifier,
    NCMClassifier,
)
from dimetric.kernels import Kernel
from dimetric.kernels._base import KernelMetric
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.learners._linear import LinearMetric
from dimetric.manifold._embedding import Embedding
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.solvers import ProjectedGradient
from dimetric.supervision.labels import Labels, Targets

VARIANTS = {
    PCA: [
        {},
        {"n_components": 0.9},
        {"n_components": 2, "whiten": True},
        {"n_components": 2, "svd_solver": "full"},
        {"n_components": 2, "svd_solver": "covariance_eigh"},
        {"n_components": 2, "svd_solver": "incremental"},
        {"n_components": 2, "svd_solver": "randomized", "random_state": 0},
        {"n_components": 1, "svd_solver": "arpack", "random_state": 0},
    ],
    Covariance: [{}, {"reg": 0.1}, {"identity_mix": 0.2}],
    LDA: [{}, {"n_components": 1}, {"shrinkage": 0.3}, {"shrinkage": "auto"}, {"reg": 0.1}],
    ANMM: [
        {},
        {"n_components": 2},
        {"n_components": 1, "n_friends": 1, "n_enemies": 4},
        {"search": NearestNeighbors()},
    ],
    DMLMJ: [
        {},
        {"n_components": 2},
        {"n_components": 2, "n_neighbors": 1, "alpha": 0.0},
        {"identity_mix": "auto"},
    ],
    NCA: [
        {},
        {"n_components": 2, "reg": 0.01},
        {"reg": 0.1},
        {"init": "random", "random_state": 0, "reg": 0.1},
        {"cost": "absolute"},
        {"class_weight": "balanced", "reg": 0.1},
    ],
    MLKR: [{}, {"n_components": 2, "reg": 0.3}],
    LMNN: [
        {},
        {"n_components": 2},
        {"reg": 0.1},
        {"n_neighbors": 4, "mu": 0.7, "n_passes": 2},
        {"class_weight": "balanced", "unlabelled_reg": 0.1},
        {"search": NearestNeighbors()},
    ],
    MCML: [{}, {"n_components": 2}, {"reg": 0.1}, {"reg": 0.1, "identity_mix": 0.3}],
    LDML: [
        {},
        {"n_components": 2, "reg": 0.1, "identity_mix": "auto"},
        {"b": 2.0},
        {"unlabelled_reg": 0.1},
    ],
    NCMML: [{}, {"n_components": 2}, {"reg": 0.1}, {"unlabelled_reg": 0.1}],
    NCMC: [
        {"n_centroids": 2, "random_state": 0},
        {"n_components": 2, "random_state": 0},
        {"n_centroids": 2, "reg": 0.1, "random_state": 0},
    ],
    MDS: [
        {},
        {"n_components": 3, "metric": "cityblock"},
        {"metric": "chebyshev", "additive_constant": True},
        {"n_landmarks": 20, "random_state": 0},
        {"algorithm": "smacof"},
        {"algorithm": "smacof", "metric_mds": False},
    ],
    Isomap: [
        {},
        {"n_neighbors": None, "radius": 5.0, "path_method": "FW"},
        {"n_neighbors": 7, "metric": "minkowski", "metric_params": {"p": 3}, "n_components": 1},
        {"n_landmarks": 20, "random_state": 0},
        {"regressor": KNeighborsRegressor(1, algorithm="brute")},
        {"search": NearestNeighbors(algorithm="brute")},
    ],
    LLE: [
        {"n_neighbors": 8},
        {"n_neighbors": 8, "method": "modified", "search": NearestNeighbors()},
        {"n_neighbors": 8, "method": "hessian"},
        {"n_neighbors": 8, "method": "ltsa", "eigen_solver": "arpack"},
    ],
    ITML: [
        {"random_state": 0},
        {"gamma": 0.1, "prior": "covariance", "random_state": 0},
        {"prior": "random", "random_state": 0},
    ],
    LSI: [{}, {"diagonal": True}, {"solver": ProjectedGradient()}, {"reg": 0.0}],
    DMLEig: [{}, {"smoothing": 1.0, "reg": 3.0, "class_weight": "balanced"}],
    KPCA: [
        {},
        {"n_components": 2, "kernel": Kernel("poly", degree=2)},
        {"n_components": 0.9, "kernel": "laplacian"},
        {"n_components": 2, "kernel": Kernel(n_landmarks=20, random_state=0)},
        {"n_components": 2, "kernel": Kernel(n_landmarks=20, landmarks="greedy")},
    ],
    Kernelized: [
        {"learner": LDA(reg=0.1), "kernel": Kernel(n_landmarks=20, random_state=0)},
        {"learner": PCA(2), "kernel": "laplacian"},
    ],
    KDA: [
        {},
        {"kernel": "linear", "reg": 0.0},
        {"n_components": 1, "kernel": Kernel(n_components=0.9)},
    ],
    KANMM: [
        {},
        {"n_components": 2, "kernel": Kernel("poly", degree=2)},
        {"n_components": 2, "orthonormal": "coefficients"},
    ],
    KDMLMJ: [{}, {"n_components": 2, "kernel": Kernel(n_components=10)}],
    KLMNN: [
        {"kernel": Kernel(n_components=5), "reg": 0.01},
        {"n_components": 2, "kernel": "linear"},
    ],
}

MODELS = [
    KNNClassifier(),
    KNNClassifier(2, learner=LDA(), weights="distance"),
    KNNClassifier(learner=LDA(), weights="softmax"),
    KNNClassifier(learner=LDA(), search=NearestNeighbors()),
    KNNRegressor(),
    KNNRegressor(learner=PCA(1), weights="distance"),
    KNNRegressor(weights="softmax"),
    NCMClassifier(),
    NCMClassifier(LDA()),
    NCMCClassifier(2, random_state=0),
    NCMCClassifier([1, 2, 3], learner=LDA(), random_state=0),
    EnergyClassifier(PCA()),
    EnergyClassifier(),
    MetricEnsembleClassifier(n_estimators=4, random_state=0),
    MetricEnsembleClassifier(LDA(), n_estimators=3, bootstrap=True, random_state=0),
    MultiMetricKNNClassifier(max_iter=20),
    MultiMetricKNNClassifier(learner=LDA(), max_iter=5, reg=0.1),
]
LEARNERS = [cls(**params) for cls, variants in VARIANTS.items() for params in variants]
ONE_OF_EACH = [cls(**variants[0]) for cls, variants in VARIANTS.items()]
ABSENT = [library for library in ("torch", "cupy", "dpnp") if find_spec(library) is None]
NAMESPACES = [name for name in ("numpy", "torch", "array_api_strict") if name not in ABSENT]
name_of = cache(str)  # the repr of an estimator is slow, and tests have many ids


def is_linear(learner):
    """Return whether the learned map is linear."""
    return isinstance(learner, LinearMetric)


def is_kernel(learner):
    """Return whether the map is learned in the feature space of a kernel."""
    return isinstance(learner, KernelMetric)


def has_distance(learner):
    return is_linear(learner) or is_kernel(learner)


def needs_labels(learner):
    return get_tags(learner).target_tags.required


def learns_classes(learner):
    """Return whether a learner needs class labels."""
    return needs_labels(learner) and learner._learns_from_classes()


def learns_numbers(learner):
    """Return whether a learner needs targets that are numbers. Codes of classes are numbers."""
    return needs_labels(learner) and not learner._learns_from_classes()


def has_n_components(learner):
    """Return whether the number of components can be chosen."""
    return "n_components" in learner.get_params()


def accepts_sparse(learner):
    return get_tags(learner).input_tags.sparse


def has_partial_fit(learner):
    return hasattr(learner, "partial_fit")


def iterates(learner):
    return learner._max_steps() > 0


def minimises_mean_loss(learner):
    """Return whether a learner minimises a mean loss over maps, by several solvers."""
    return isinstance(learner, MeanLossMetric)


def objective_of(learner, X, codes):
    """Return the objective of samples that are sorted by class; `codes` are their classes."""
    given = Labels(codes, np.unique(codes))
    if learns_numbers(learner):
        given = Targets(codes.astype(np.float64))
    return learner._objective(X, given, np.arange(X.shape[0]))


def has_fast_path(learner):
    """Return whether the objective is a rule over all pairs with a fast path for NumPy."""
    if not minimises_mean_loss(learner):
        return False
    X, y = samples()
    objective = objective_of(learner, X, np.sort(y))
    return type(objective) is PairwiseObjective and objective.rule.fast is not None


def each(*conditions, learners=LEARNERS):
    """Parametrize a test over the learners that meet all conditions, as `learner`."""
    chosen = [learner for learner in learners if all(meets(learner) for meets in conditions)]
    return pytest.mark.parametrize("learner", chosen, ids=name_of)


def each_with(name, values, *, where, learners=LEARNERS):
    """Parametrize a test over each learner with each value for which where(learner, value)."""
    pairs = [(learner, value) for learner in learners for value in values if where(learner, value)]
    return pytest.mark.parametrize(("learner", name), pairs, ids=name_of)


REPEATED_SAMPLES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
# Learners for which scikit-learn's check of weights against repeated samples fails, and why.
NO_REPEATED_SAMPLES = {
    (ANMM, DMLMJ, KANMM, KDMLMJ, LMNN, KLMNN): "a repeated sample is its own nearest neighbour",
    (NCA, MLKR, MCML): "a repeated sample is its own nearest neighbour",
    (NCMML, NCMC): "the solver stops at a tolerance, and repeated samples change its path",
    (LDML, LSI, DMLEig): "a repeated sample also forms pairs with its copies, and sums are means",
    (ITML,): "the pairs that are sampled depend on the number of rows",
}
FEW_SAMPLES = "with fewer samples than features, components without variance are arbitrary"
LANDMARKS = "the check has fewer samples than landmarks, unless samples are repeated"


def expected_failures(estimator):
    """Return the checks of scikit-learn that an estimator fails, with the reasons."""
    failures = {}
    for classes, reason in NO_REPEATED_SAMPLES.items():
        if isinstance(estimator, classes):
            failures |= dict.fromkeys(REPEATED_SAMPLES, reason)
    if isinstance(estimator, PCA) and estimator.n_components is None:
        failures |= dict.fromkeys(REPEATED_SAMPLES, FEW_SAMPLES)
    if "n_landmarks" in name_of(estimator):
        failures |= dict.fromkeys(REPEATED_SAMPLES, LANDMARKS)
    needs_distinct = isinstance(estimator, DMLMJ | KDMLMJ) or (
        isinstance(estimator, NCMC) and estimator.n_centroids == 3
    )
    if needs_distinct:
        checks = ("check_sample_weights_shape", "check_sample_weights_not_overwritten")
        failures |= dict.fromkeys(checks, "each class of the check has two distinct samples")
    return failures


def each_check(estimators):
    """Parametrize a test over scikit-learn's checks, without those of absent array libraries."""
    from sklearn.utils.estimator_checks import parametrize_with_checks

    mark = parametrize_with_checks(estimators, expected_failed_checks=expected_failures)
    names, cases = mark.args
    cases = [case for case in cases if not any(f"'{library}'" in repr(case) for library in ABSENT)]
    return pytest.mark.parametrize(names, cases, ids=cache(mark.kwargs["ids"]))


def samples(n=60, d=4, n_classes=3, seed=0):
    """Return samples of overlapping classes, with features of different scales.

    All values are multiples of 1/1024.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) + 1.2 * (y[:, None] == np.arange(d))
    X *= 1 + np.arange(d)[::-1] / 2
    return np.round(1024 * X) / 1024, y


def fit(learner, X, y, /, **params):
    """Fit a copy of a learner with the given parameters."""
    return clone(learner).set_params(**params).fit(X, y)


def host(a):
    """Return an array or data frame of any library as a NumPy array."""
    if hasattr(a, "detach"):
        return a.detach().cpu().numpy()
    if sparse.issparse(a):
        return a.toarray()
    return np.from_dlpack(a) if hasattr(a, "__array_namespace__") else np.asarray(a)


def fitted_arrays(learner):
    """Return the fitted attributes that are floating-point arrays."""
    return {
        name: value
        for name, value in vars(learner).items()
        if name.endswith("_") and getattr(value, "ndim", 0) and "float" in str(value.dtype)
    }


def learned_arrays(learner, rows=slice(None)):
    """Return the arrays that define the learned map, on the host.

    Embeddings have one row per training sample. `rows` selects and reorders these rows.
    """
    if isinstance(learner, Embedding):
        return {"embedding_": host(learner.embedding_)[rows]}
    if isinstance(learner, KernelMetric):  # different coefficients can define the same map
        rows = slice(None) if hasattr(learner, "landmarks_") else rows
        return {"mapped": host(learner._mapped(learner.X_fit_))[rows]}
    return {name: host(getattr(learner, name)) for name in ("components_", "offset_")}


def largest_entry(learner):
    """Return the largest absolute value of the learned map."""
    return np.abs(next(iter(learned_arrays(learner).values()))).max()
