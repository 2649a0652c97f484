"""The registry: the contract suite runs over all that is listed here.

To register a learner, add its class and the keyword arguments of a few cheap variants. What a
variant can do (labels, sparse input, partial_fit, a fast path) is asked of the class itself.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from dimetric import (
    ANMM,
    DMLMJ,
    ITML,
    LDA,
    LDML,
    LMNN,
    LSI,
    MCML,
    NCA,
    NCMC,
    NCMML,
    PCA,
    Covariance,
    DMLEig,
)
from dimetric._descent.metric import GradientMetric

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
    Covariance: [{}, {"reg": 0.1}],
    LDA: [{}, {"n_components": 1}, {"shrinkage": 0.3}, {"shrinkage": "auto"}, {"reg": 0.1}],
    ANMM: [{}, {"n_components": 2}, {"n_components": 1, "n_friends": 1, "n_enemies": 4}],
    DMLMJ: [{}, {"n_components": 2}, {"n_components": 2, "n_neighbors": 1, "alpha": 0.0}],
    NCA: [
        {},
        {"n_components": 2},
        {"reg": 0.1},
        {"init": "random", "random_state": 0, "reg": 0.1},
    ],
    LMNN: [
        {},
        {"n_components": 2},
        {"reg": 0.1},
        {"n_neighbors": 4, "mu": 0.7, "n_passes": 2},
    ],
    MCML: [{}, {"n_components": 2}, {"reg": 0.1}],
    LDML: [{}, {"n_components": 2, "reg": 0.1}, {"b": 2.0}],
    NCMML: [{}, {"n_components": 2}, {"reg": 0.1}],
    NCMC: [
        {"n_centroids": 2, "random_state": 0},
        {"n_components": 2, "random_state": 0},
        {"n_centroids": 2, "reg": 0.1, "random_state": 0},
    ],
    ITML: [{"random_state": 0}, {"gamma": 0.1, "prior": "covariance", "random_state": 0}],
    LSI: [{}, {"diagonal": True}, {"solver": "projected"}, {"reg": 0.0}],
    DMLEig: [{}, {"smoothing": 1.0, "reg": 3.0}],
}

LEARNERS = [cls(**params) for cls, variants in VARIANTS.items() for params in variants]
ONE_OF_EACH = [cls(**variants[0]) for cls, variants in VARIANTS.items()]


def needs_labels(learner):
    return get_tags(learner).target_tags.required


def reduces(learner):
    """Tell whether the number of components can be chosen."""
    return "n_components" in learner.get_params()


def accepts_sparse(learner):
    return get_tags(learner).input_tags.sparse


def has_partial_fit(learner):
    return hasattr(learner, "partial_fit")


def iterates(learner):
    return "max_iter" in learner.get_params()


def has_fast_path(learner):
    rule = getattr(type(learner), "_rule", GradientMetric._rule)
    return rule is not GradientMetric._rule and learner._rule().fast is not None


def each(*conditions, learners=LEARNERS):
    """Parametrize a test over the learners that meet all conditions, as `learner`."""
    chosen = [learner for learner in learners if all(meets(learner) for meets in conditions)]
    return pytest.mark.parametrize("learner", chosen, ids=str)


def samples(n=60, d=4, n_classes=3, seed=0):
    """Return overlapping classes, with features of different size: multiples of 1/1024."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) + 1.2 * (y[:, None] == np.arange(d))
    X *= 1 + np.arange(d)[::-1] / 2
    return np.round(1024 * X) / 1024, y


def fit(learner, X, y, **params):
    """Fit a copy."""
    return clone(learner).set_params(**params).fit(X, y)


def host(a):
    """Return an array or data frame of any library as NumPy's."""
    if hasattr(a, "detach"):
        return a.detach().cpu().numpy()
    return np.from_dlpack(a) if hasattr(a, "__array_namespace__") else np.asarray(a)


def fitted_arrays(learner):
    """Return the fitted attributes that are arrays of numbers, but for labels and row numbers."""
    others = ("classes_", "feature_names_in_", "targets_")
    return {
        name: value
        for name, value in vars(learner).items()
        if name.endswith("_") and name not in others and getattr(value, "ndim", 0)
    }
