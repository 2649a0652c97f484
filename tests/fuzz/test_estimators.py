"""Random parameters and samples for every estimator, with all of its methods."""

import numpy as np
import pytest
from estimators import MODELS, VARIANTS, is_kernel
from fuzzing import (
    ANYTHING,
    Refused,
    arguments,
    assert_finite,
    containers,
    defaults_of,
    examples,
    labels,
    matrices,
    obeying_rules,
)
from hypothesis import given
from hypothesis import strategies as st

from dimetric import LDA, NCA, PCA, Covariance, Pairs, Triplets
from dimetric.kernels import Kernel
from dimetric.solvers import SGD, FrankWolfe, GradientDescent, ProjectedGradient

pytestmark = pytest.mark.slow

CLASSES = [*VARIANTS, *dict.fromkeys(type(model) for model in MODELS)]

# Reasonable values of the parameters, and some that only suit a part of the samples.
CHOICES = {
    "n_components": [1, 2, 3, 0.5, "mle", 50],
    "n_neighbors": [1, 2, 5, 15, None],
    "n_friends": [1, 4, 20],
    "n_enemies": [1, 4, 20],
    "n_centroids": [1, 2, 9, [1, 2, 3]],
    "reg": [0.0, 1e-8, 0.1, 10.0, 1e6],
    "alpha": [0.0, 0.5, 1.0],
    "mu": [0.1, 0.5, 1.0, None],
    "shrinkage": [None, "auto", 0.0, 0.5, 1.0],
    "init": ["auto", "identity", "pca", "lda", "random", "classical_mds", np.eye(2)],
    "solver": [
        *("lbfgs", "bgd", "sgd", "projections", "frank-wolfe"),
        *(SGD(batch_size=4), GradientDescent(), ProjectedGradient(), FrankWolfe()),
    ],
    "max_iter": [1, 3, 20],
    "tol": [0.0, 1e-9, 1e-1],
    "warm_start": [True],
    "random_state": [0, None, np.random.RandomState(1)],
    "unlabelled": [-1, "", "a"],
    "whiten": [True],
    "svd_solver": ["full", "covariance_eigh", "randomized", "arpack", "incremental"],
    "metric": ["cityblock", "chebyshev", "cosine", "precomputed"],
    "metric_params": [{"p": 3}, {"w": np.ones(3)}],
    "radius": [0.0, 1.0, 1e9],
    "path_method": ["D", "FW"],
    "n_landmarks": [1, 3, 12],
    "regressor": [None],
    "method": ["modified", "hessian", "ltsa"],
    "eigen_solver": ["dense", "arpack"],
    "algorithm": ["smacof", "classical"],
    "additive_constant": [True],
    "metric_mds": [False],
    "n_init": [1, 2],
    "eps": [0.0, 1e-2],
    "normalized_stress": [True, False],
    "kernel": [
        *("linear", "poly", "laplacian", "sigmoid", "cosine", "precomputed"),
        *(Kernel(n_landmarks=3), Kernel("poly", degree=5), Kernel(gamma=1e9)),
        Kernel(n_components=0.5),
    ],
    "fit_inverse_transform": [True],
    "orthonormal": ["coefficients"],
    "gamma": [1e-3, 1e3, np.inf],
    "bounds": [(0.1, 10.0), (5.0, 1.0)],
    "prior": ["identity", "covariance", "random", np.eye(2)],
    "n_constraints": [1, 30],
    "b": [0.0, 1.0, None],
    "targets": [None],
    "n_passes": [1, 3],
    "smoothing": [None, 1e-3, 10.0],
    "delta": [0.0, 0.5, 1.0],
    "diagonal": [True],
    "learner": [None, PCA(1), LDA(), NCA(max_iter=3), Covariance()],
    "weights": ["uniform", "distance", None],
}
LIMITS = {"max_iter": 20, "n_passes": 2}  # keep fits short


@st.composite
def estimators(draw, cls, wild):
    """Draw the parameters of an estimator, starting from one of its registered variants.

    If `wild` is true, one of them has a value of any type.
    """
    variants = VARIANTS.get(cls) or [m.get_params(deep=False) for m in MODELS if type(m) is cls]
    params = dict(draw(st.sampled_from(variants)))
    defaults = defaults_of(cls)
    params |= {name: value for name, value in LIMITS.items() if name in defaults}
    params |= draw(arguments(defaults, CHOICES, wild))
    if defaults.keys() & {"verbose"}:
        params["verbose"] = 0
    return params


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@given(data=st.data())
@examples(12)
def test_fit_and_all_methods(cls, data):
    """A fit gives finite results in all methods, or a clear error."""
    wild = data.draw(st.sampled_from([None] * 5 + ["params", "X", "y"]))
    params = data.draw(estimators(cls, wild=wild == "params"))
    X = data.draw(matrices())
    given_X = data.draw(containers(X, wild=wild == "X"))
    y = data.draw(labels(len(X), wild=wild == "y"))
    try:
        estimator = obeying_rules(cls, **params)
        fitted = obeying_rules(estimator.fit, *((given_X,) if y is None else (given_X, y)))
    except Refused:
        return
    for name in ("embedding_", "components_", "centroids_"):
        assert_finite(getattr(fitted, name, 0.0), name)
    for name in dir(type(fitted)):
        if isinstance(getattr(type(fitted), name), property):
            _check_call(fitted, "__getattribute__", (name,))
    new = data.draw(containers(data.draw(matrices())))
    for name, argument_lists in method_calls(data.draw, X, given_X, new, y).items():
        if name == "metric" and is_kernel(fitted):
            continue  # a kernel's distance has no matrix
        for args in argument_lists if callable(getattr(fitted, name, None)) else ():
            _check_call(fitted, name, args)


def method_calls(draw, X, given_X, new, y):
    """Return lists of arguments by the name of a method. The last methods change the estimator."""
    first = np.random.default_rng(0).integers(0, len(X), 4)
    rows = np.column_stack([first, (first + 1) % len(X)])
    anything = draw(ANYTHING)
    pairs = Pairs(rows[:1], [], n_samples=len(X))
    if len(X) > 4:
        pairs = Pairs([[0, 1], [2, 3]], [[0, 2], [1, 4]], n_samples=len(X))
    pair_arguments = [(X[rows],), (rows, given_X), (pairs, X), (anything,), (rows, new)]
    triplets = Triplets([0, 1], [1, 0], [2, 2], n_samples=len(X)) if len(X) > 2 else anything
    return {
        "transform": [(given_X,), (new,)],
        "inverse_transform": [(np.zeros((2, 1)),), (np.zeros((1, 2)),), (anything,)],
        "get_feature_names_out": [(), (anything,)],
        "predict": [(given_X,), (new,), ()],
        "predict_proba": [(given_X,), ()],
        "energy": [(given_X,), (new,)],
        "score": [(given_X, y), (given_X,), (), (given_X, y, anything)],
        "score_samples": [(given_X,), (new,)],
        "kneighbors": [(), (given_X, 1), (new, anything), (None, 1, False)],
        "pair_distance": pair_arguments,
        "pair_score": pair_arguments,
        "score_triplets": [(triplets, X), (triplets, given_X), (anything, X)],
        "metric": [()],
        "get_covariance": [()],
        "get_precision": [()],
        "residual_variance": [(), (1,), (anything,)],
        "reconstruction_error": [()],
        "transformer": [()],
        "metadata": [()],
        "calibrate_threshold": [(pairs, X), (pairs, given_X)],
        "predict_pairs": pair_arguments,
        "score_pairs": [(pairs, X), (pairs, given_X), (anything,)],
        "partial_fit": [(new,), (given_X, y), (anything,)],
        "fit_transform": [(new,) if y is None else (given_X, y)],
    }


def _check_call(fitted, name, args):
    """Check that a method of a fitted estimator gives finite numbers or a clear error."""
    try:
        result = obeying_rules(getattr(fitted, name), *args)
    except Refused:
        return
    if name == "metadata":
        assert isinstance(result, dict)
        return
    for part in result if isinstance(result, tuple | list) else [result]:
        assert_finite(part, name)


@pytest.mark.parametrize(
    "cls", [cls for cls in VARIANTS if hasattr(cls, "pair_distance")], ids=lambda cls: cls.__name__
)
@given(data=st.data())
@examples(4)
def test_fit_to_pairs_and_triplets(cls, data):
    """A fit to pairs or triplets gives a finite map, or a clear error."""
    X = data.draw(matrices())
    count = data.draw(st.integers(0, 8))
    index = st.lists(st.integers(-1, len(X)), min_size=count, max_size=count)
    columns = [np.array(data.draw(index), dtype=int) for _ in range(4)]
    params = data.draw(estimators(cls, wild=False))
    try:
        if data.draw(st.booleans()):
            pairs = np.column_stack(columns[:2]), np.column_stack(columns[2:])
            given_pairs = {"pairs": obeying_rules(Pairs, *pairs, n_samples=len(X))}
        else:
            given_pairs = {"triplets": obeying_rules(Triplets, *columns[:3], n_samples=len(X))}
        fitted = obeying_rules(cls(**params).fit, X, **given_pairs)
    except Refused:
        return
    for name in ("transform", "pair_distance"):
        args = (X,) if name == "transform" else (X[:2][None],)
        _check_call(fitted, name, args)
