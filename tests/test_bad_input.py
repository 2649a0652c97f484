"""Invalid input and difficult data: each learner gives valid results or a clear error.

Each case in the tables has an input and the outcome that is expected of a learner:

- `Fits`: all results are finite, real and of the dtype of X. There are no warnings, except
  those that the case names. Warnings about convergence or disconnected graphs are ignored.
- `Raises`: the error says what is wrong and what is allowed.

If learners differ, the case has a dictionary from conditions to outcomes. The first condition that
a learner meets applies. There are three kinds of conditions:

- a property of learners, such as `needs_labels`
- a class and its parameters, such as `of(LLE, method="modified")`
- `based_on(LDA)`, which holds for LDA and for kernel learners that run LDA in their feature space

Prefer properties, because they also apply to learners that are added later.
"""

import pickle
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import array_api_strict
import numpy as np
import pandas as pd
import pytest
from estimators import (
    ABSENT,
    ONE_OF_EACH,
    accepts_sparse,
    each,
    each_with,
    fit,
    fitted_arrays,
    has_distance,
    has_n_components,
    has_partial_fit,
    host,
    is_kernel,
    is_linear,
    iterates,
    learned_arrays,
    learns_classes,
    learns_numbers,
    minimises_mean_loss,
    needs_labels,
    samples,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from dimetric import (
    ANMM,
    DMLMJ,
    ITML,
    KANMM,
    KPCA,
    LDA,
    LDML,
    LLE,
    LMNN,
    LSI,
    MDS,
    NCMC,
    PCA,
    Covariance,
    DMLEig,
    Isomap,
)
from dimetric.manifold._embedding import Embedding

# Other tests check the warnings about convergence, disconnected neighbour graphs and a weight of
# the identity that cannot be chosen.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The neighbour graph has:UserWarning"),
    pytest.mark.filterwarnings("ignore:identity_mix='auto' of:UserWarning"),
]

X, y = samples()
PAIR_ROWS = np.random.default_rng(0).integers(0, 60, size=(9, 2))
PAIR_VECTORS = X[PAIR_ROWS]


@dataclass(frozen=True)
class Fits:
    """Expect valid results.

    `warns` is the pattern of a required warning, and `may_warn` of an optional one. No other
    warnings are allowed.
    """

    warns: str = ""
    may_warn: str = ""

    def check(self, call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The neighbour graph has")
            warnings.filterwarnings("ignore", "identity_mix='auto' of")
            for name, value in call().items():
                assert np.isrealobj(value), name
                # gap_radius is infinite if the gap holds for all metrics.
                assert np.isfinite(value).all() or name == "gap_radius", name
        texts = [str(w.message) for w in caught]
        allowed = self.warns or self.may_warn
        others = [text for text in texts if not (allowed and re.search(allowed, text))]
        assert not others, f"unexpected warnings: {others}"
        assert texts or not self.warns, f"no warning matches {self.warns!r}"


@dataclass(frozen=True)
class Raises:
    """Expect an error that matches `says`. Warnings that match `may_warn` are ignored."""

    says: str
    error: type = ValueError
    may_warn: str = "^$"

    def check(self, call):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", self.may_warn)
            with pytest.raises(self.error, match=self.says):
                call()


@dataclass(frozen=True)
class Condition:
    """A condition on learners, with the name that it has in the tables."""

    name: str
    holds: Callable

    def __call__(self, learner):
        return self.holds(learner)


def of(*classes, **params):
    """Return the condition that a learner has one of the classes and the given parameters.

    Without classes, only the parameters count. Subclasses do not meet the condition.
    """

    def holds(learner):
        actual = learner.get_params(deep=False)
        has_class = not classes or type(learner) in classes
        return has_class and all(name in actual and actual[name] == params[name] for name in params)

    arguments = [cls.__name__ for cls in classes] + [
        f"{name}={value!r}" for name, value in params.items()
    ]
    return Condition(f"of({', '.join(arguments)})", holds)


def linear_part(learner):
    """Return the learner that a kernel learner runs in its feature space, or else the learner."""
    return learner._linear() if hasattr(learner, "_linear") else learner


def based_on(*classes, **params):
    """Return the condition that `of` holds for a learner or for its `linear_part`."""
    inner = of(*classes, **params)
    return Condition(f"based_on{inner.name[2:]}", lambda learner: inner(linear_part(learner)))


def any_learner(learner):
    return True


def is_embedding(learner):
    return isinstance(learner, Embedding)


def warns_about_single_samples(learner):
    return getattr(linear_part(learner), "_needs_class_neighbors", False)


def outcome_of(outcomes, learner):
    """Return the outcome that applies to a learner, and the name of its condition.

    The name is empty if `outcomes` is one outcome for all learners.
    """
    if not isinstance(outcomes, dict):
        return outcomes, ""
    condition = next(condition for condition in outcomes if condition(learner))
    return outcomes[condition], getattr(condition, "name", "") or condition.__name__


def results_of(learner, X, y):
    """Fit a copy, check dtypes and metadata, and return the results of all methods by name."""
    learner = fit(learner, X, y)
    Z = learner.transform(X)
    results = fitted_arrays(learner) | {"transform": Z}
    if is_linear(learner):
        results |= {
            "inverse_transform": learner.inverse_transform(Z),
            "metric": learner.metric(),
        }
    if has_distance(learner):
        results["pair_distance"] = learner.pair_distance(PAIR_ROWS % X.shape[0], X)
    results = {name: host(value) for name, value in results.items()}
    dtype = "float32" if str(X.dtype).endswith("float32") else "float64"
    assert {name: value.dtype for name, value in results.items()} == dict.fromkeys(results, dtype)
    facts = learner.metadata()
    assert facts["n_components"] == Z.shape[1]
    if is_linear(learner):
        assert facts["rank"] == rank(results["components_"])
    return results | {name: value for name, value in facts.items() if isinstance(value, float)}


def rank(L):
    """Return the number of eigenvalues of L^T L that exceed rounding errors."""
    values = np.linalg.svdvals(L / (np.abs(L).max() or 1)) ** 2
    return np.sum(values > L.shape[1] * np.finfo(L.dtype).eps * values[0])


def torch(values):
    return pytest.importorskip("torch").asarray(values)


strict = array_api_strict.asarray


def X_with(value, dtype=float):
    """Return X with one value replaced."""
    changed = X.astype(dtype)
    changed[3, 1] = value
    return changed


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def if_labels_needed(outcome, numbers=None):
    """Return outcomes that apply the given one to learners that need labels.

    The outcome of learners that need numbers may differ. The other learners ignore y, so they fit.
    """
    return {learns_numbers: numbers or outcome, needs_labels: outcome, any_learner: Fits()}


# scikit-learn warns if there are almost as many classes as samples.
MANY_CLASSES = "The number of unique classes"
NAN = Raises("Input X contains NaN")
INFINITE = Raises("Input X contains (NaN or )?infinity")
COMPLEX = Raises("Complex data not supported")
ONE_D = Raises("Expected 2D array, got 1D array")
THREE_D = Raises("(Found array with dim 3|Expected 2D array, got 3D)")
NO_ROWS = Raises(r"Found array with 0 sample\(s\)")
NO_COLUMNS = Raises(r"0 feature\(s\)")
DIFFERENT_LENGTHS = if_labels_needed(Raises(r"inconsistent numbers of samples: \[60, 59\]"))
NO_FRIENDS = Raises(
    "Every sample has distance 0 from its friends or has no friends",
    may_warn=r".*fewer than \d (friends|enemies)|The number of unique",
)
FEW_DISTINCT = "classes have fewer distinct samples than n_centroids"
NO_SIMILAR = Raises(
    "needs similar samples that differ, but the samples of each class",
    may_warn=MANY_CLASSES,
)
ONE_CLASS = Raises("requires at least 2 classes, but y has only 1")
IDENTICAL_WITHIN_CLASSES = {
    based_on(LSI, DMLEig): NO_SIMILAR,
    based_on(LDA): Raises("All samples of each class are identical"),
    based_on(DMLMJ): NO_FRIENDS,
    of(NCMC): Fits(warns=rf"3 of 3 {FEW_DISTINCT}.*\[0, 1, 2\]"),
}
ALL_IDENTICAL = IDENTICAL_WITHIN_CLASSES | {
    of(Covariance): Raises("All samples are identical"),
    of(ITML, prior="covariance"): Raises("All samples are identical"),
    of(LLE): Raises("All samples are equal, so there is nothing to embed"),
    of(PCA, whiten=True): Fits(warns="2 of 2 components have no variance"),
    any_learner: Fits(),
}
EXTREME_SCALE = {any_learner: Fits()}
FEW_FRIENDS = r"\d+ of \d+ samples have fewer than \d (friends|enemies)"
CLASS_WITH_ONE_SAMPLE = {
    based_on(LMNN): Fits(warns=rf"1 of 4 classes have a single sample.*\[3\]|{FEW_FRIENDS}"),
    warns_about_single_samples: Fits(warns=r"1 of 4 classes have a single sample.*\[3\]"),
    of(NCMC): Fits(warns=rf"1 of 4 {FEW_DISTINCT}.*\[3\]"),
    based_on(ANMM, DMLMJ): Fits(
        warns=r"1 of 60 samples have fewer than \d friends.*\(1 have none\)"
    ),
    any_learner: Fits(),
}
NEEDS_DENSE = Raises("needs dense samples|dense data is required", TypeError)
ONE_COMPONENT_OF_TWO = Fits(warns=r"returns 1 component\(s\) instead of 2")
REDUCED_NEIGHBORS = "X has only 3 distinct samples. n_neighbors=8 was reduced to 2"

CASES = {
    # X is not a matrix of real numbers
    "NaN": (lambda: (X_with(np.nan), y), NAN),
    "NaN, float32": (lambda: (X_with(np.nan, "float32"), y), NAN),
    "NaN, torch": (lambda: (torch(X_with(np.nan)), y), Raises("Input X contains NaN")),
    "NaN, strict": (lambda: (strict(X_with(np.nan)), y), Raises("Input X contains NaN")),
    "infinity": (lambda: (X_with(np.inf), y), INFINITE),
    "minus infinity": (lambda: (X_with(-np.inf), y), INFINITE),
    "infinity, torch": (lambda: (torch(X_with(np.inf)), y), INFINITE),
    "infinity, strict": (lambda: (strict(X_with(np.inf)), y), INFINITE),
    "no samples": (lambda: (X[:0], y[:0]), NO_ROWS),
    "no samples, torch": (lambda: (torch(X[:0]), y[:0]), NO_ROWS),
    "no samples, strict": (lambda: (strict(X[:0]), y[:0]), NO_ROWS),
    "no features": (lambda: (X[:, :0], y), NO_COLUMNS),
    "no features, torch": (lambda: (torch(X[:, :0]), y), NO_COLUMNS),
    "one sample": (lambda: (X[:1], y[:1]), Raises(r"1 sample\(s\).*minimum of 2")),
    "one sample, torch": (lambda: (torch(X[:1]), y[:1]), Raises(r"1 sample\(s\).*minimum.*of 2")),
    "0-D": (lambda: (np.float64(3), y), Raises("Expected 2D array, got scalar array")),
    "1-D": (lambda: (X[:, 0], y), ONE_D),
    "1-D, torch": (lambda: (torch(X[:, 0]), y), ONE_D),
    "1-D, strict": (lambda: (strict(X[:, 0]), y), ONE_D),
    "3-D": (lambda: (X[:, :, None], y), THREE_D),
    "3-D, torch": (lambda: (torch(X[:, :, None]), y), THREE_D),
    "complex": (lambda: (X + 1j, y), COMPLEX),
    "complex, torch": (lambda: (torch(X + 1j), y), COMPLEX),
    "complex, strict": (lambda: (strict(X + 1j), y), COMPLEX),
    "strings": (lambda: (np.full((60, 4), "long"), y), Raises("could not convert string.*long")),
    "objects": (
        lambda: (X_with({"a": 1}, object), y),
        Raises("must be a string or a real number", TypeError),
    ),
    "numbers of dtype object": (lambda: (X.astype(object), y), Fits()),
    "a column of strings": (
        lambda: (pd.DataFrame(X).assign(name="long").set_axis(list("abcde"), axis=1), y),
        Raises("could not convert string.*long"),
    ),
    "sparse": (
        lambda: (sparse.csr_array(X), y),
        {
            of(svd_solver="full"): NEEDS_DENSE,
            of(svd_solver="incremental"): NEEDS_DENSE,
            accepts_sparse: Fits(),
            any_learner: Raises("Sparse data was passed.*dense data is required", TypeError),
        },
    ),
    # y is not a vector of labels
    "different lengths": (lambda: (X, y[:-1]), DIFFERENT_LENGTHS),
    "different lengths, torch": (lambda: (torch(X), torch(y[:-1])), DIFFERENT_LENGTHS),
    "no y": (lambda: (X, None), if_labels_needed(Raises("requires y to be passed"))),
    "no y, torch": (lambda: (torch(X), None), if_labels_needed(Raises("requires y to be passed"))),
    "continuous y": (
        lambda: (X, X[:, 0]),
        if_labels_needed(Raises("Unknown label type: continuous"), numbers=Fits()),
    ),
    "continuous y, torch": (
        lambda: (torch(X), torch(X[:, 0])),
        if_labels_needed(Raises("Unknown label type: continuous"), numbers=Fits()),
    ),
    "y with NaN": (
        lambda: (X, np.where(y == 2, np.nan, y)),
        if_labels_needed(Raises("Input y contains NaN")),
    ),
    "y with NaN, torch": (
        lambda: (torch(X), torch(np.where(y == 2, np.nan, y))),
        if_labels_needed(Raises("Input y.*contains NaN")),
    ),
    "y with None": (
        lambda: (X, np.where(y == 2, None, y)),
        if_labels_needed(
            Raises("(Unknown label type|contains NaN|must be a string or a real number)"),
            numbers=Raises("learns from numbers, but y has dtype object"),
        ),
    ),
    "y with two columns": (
        lambda: (X, np.stack([y, y], 1)),
        if_labels_needed(Raises("y should be a 1d array"), numbers=Fits()),
    ),
    "y with one column": (
        lambda: (X, y[:, None]),
        if_labels_needed(Fits(warns="A column-vector y was passed"), numbers=Fits()),
    ),
    # classes
    "one class": (
        lambda: (X, np.zeros(60)),
        {
            of(LSI, DMLEig, ITML): ONE_CLASS,
            of(LDA, ANMM, DMLMJ): ONE_CLASS,
            learns_numbers: Fits(warns=r"All targets are equal, so \w+ has nothing to learn"),
            minimises_mean_loss: Fits(warns=r"y has only one class, so \w+ has nothing to learn"),
            any_learner: Fits(),
        },
    ),
    "a class with one sample": (
        lambda: (X, np.where(np.arange(60) == 7, 3, y)),
        CLASS_WITH_ONE_SAMPLE,
    ),
    "only classes with one sample": (
        lambda: (X, np.arange(60)),
        {
            of(LSI, DMLEig): NO_SIMILAR,
            of(LDA): Raises("there are 60 samples and 60 classes", may_warn=MANY_CLASSES),
            of(LMNN): Fits(warns=f"60 of 60 classes have a sing|{FEW_FRIENDS}|{MANY_CLASSES}"),
            warns_about_single_samples: Fits(
                warns=f"60 of 60 classes have a single sample|{MANY_CLASSES}"
            ),
            of(LDML): Fits(warns=f"y has no class with two samples|{MANY_CLASSES}"),
            of(NCMC): Fits(warns=f"60 of 60 {FEW_DISTINCT}|{MANY_CLASSES}"),
            of(ANMM): Fits(warns=f"{FEW_FRIENDS}|{MANY_CLASSES}"),
            of(DMLMJ): NO_FRIENDS,
            learns_numbers: Fits(),
            needs_labels: Fits(warns=MANY_CLASSES),
            any_learner: Fits(),
        },
    ),
    "classes smaller than n_neighbors": (
        lambda: (X, np.repeat([0, 1, 2], [2, 2, 56])),
        {
            of(n_friends=1): Fits(),
            of(n_neighbors=1): Fits(),
            based_on(ANMM, DMLMJ, LMNN): Fits(warns=FEW_FRIENDS),
            of(NCMC, n_centroids=3): Fits(warns=rf"2 of 3 {FEW_DISTINCT}.*\[0, 1\]"),
            any_learner: Fits(),
        },
    ),
    "separable classes": (lambda: (X + 30 * y[:, None], y), Fits()),
    # constant features and duplicates
    "all features constant": (lambda: (np.ones((60, 4)), y), ALL_IDENTICAL),
    "all samples zero": (lambda: (np.zeros((60, 4)), y), ALL_IDENTICAL),
    "all features constant, torch": (lambda: (torch(np.ones((60, 4))), y), ALL_IDENTICAL),
    "identical samples in each class": (
        lambda: (np.eye(3, 4)[y], y),
        {
            of(LLE, method="standard"): Fits(warns=REDUCED_NEIGHBORS),
            of(LLE, method="modified"): Fits(warns=REDUCED_NEIGHBORS),
            of(LLE): Raises(
                "n_neighbors=2 must be at least [36] with method", may_warn=REDUCED_NEIGHBORS
            ),
        }
        | IDENTICAL_WITHIN_CLASSES
        | {any_learner: Fits()},
    ),
    "some features constant": (lambda: (X * [1, 0, 1, 0] + [0, 5, 0, 0], y), Fits()),
    "duplicate features": (lambda: (X[:, [0, 1, 0, 1]], y), Fits()),
    "classes vary in one direction": (
        lambda: (np.eye(3, 4)[y] + X[:, :1] * [0, 0, 0, 1], y),
        {
            of(LDA, reg="auto", shrinkage=None): Fits("class means differ in a direction"),
            of(DMLMJ, alpha=0.0): ONE_COMPONENT_OF_TWO,
            any_learner: Fits(),
        },
    ),
    "duplicate samples": (
        lambda: (X[np.arange(60) % 15], y),
        {based_on(DMLMJ): NO_FRIENDS, any_learner: Fits()},  # all friends are duplicates
    ),
    "duplicate samples in other classes": (lambda: (X[np.arange(60) % 20], y), Fits()),
    # shapes
    "two samples": (
        lambda: (X[:2], [0, 1]),
        {
            of(LSI, DMLEig): NO_SIMILAR,
            of(LDA): Raises("the number of classes, but there are 2 samples and 2 classes"),
            of(LLE): Raises("n_components=2 must be .*less than the number of distinct samples, 2"),
            of(LMNN): Fits(warns=f"2 of 2 classes have a single sample|{FEW_FRIENDS}"),
            warns_about_single_samples: Fits(warns="2 of 2 classes have a single sample"),
            of(LDML): Fits(warns="no class with two samples, so LDML has nothing to learn"),
            of(NCMC): Fits(warns=f"2 of 2 {FEW_DISTINCT}"),
            of(ANMM): Fits(warns=FEW_FRIENDS),
            of(DMLMJ): NO_FRIENDS,
            of(PCA, whiten=True): Fits(warns="1 of 2 components have no variance"),
            of(MDS, n_components=3): Raises("n_components=3 must be at most n_samples=2"),
            of(Isomap, n_neighbors=None): Fits(),
            of(Isomap): Raises(r"n_neighbors=\d must be at most the number of other samples, 1"),
            any_learner: Fits(),
        },
    ),
    "one feature": (
        lambda: (X[:, :1], y),
        {
            of(LLE): Raises("n_components=2 must be at most n_features = 1"),
            is_embedding: Fits(),
            of(n_components=2): Raises(r"n_components=2 must be at most .*n_features\)?=1"),
            of(svd_solver="arpack"): Raises(
                r"n_components=1 must be strictly less than .*n_features\)?=1"
            ),
            any_learner: Fits(),
        },
    ),
    "fewer samples than features": (lambda: samples(20, 50), Fits()),
    "fewer samples than features, torch": (
        lambda: tuple(map(torch, samples(20, 50))),
        Fits(),
    ),
    # scale of the values
    "1e150": (lambda: (X * 1e150, y), EXTREME_SCALE),
    "1e-150": (lambda: (X * 1e-150, y), EXTREME_SCALE),
    "1e150, torch": (lambda: (torch(X * 1e150), y), EXTREME_SCALE),
    "1e-150, strict": (lambda: (strict(X * 1e-150), y), EXTREME_SCALE),
    "1e200": (
        lambda: (X * 1e200, y),
        Raises("value of X is .*e[+]20[01], but float64 can represent squares only"),
    ),
    "float32, 1e15": (lambda: ((X * 1e15).astype("float32"), y), EXTREME_SCALE),
    "float32, 1e-15, torch": (lambda: (torch((X * 1e-15).astype("float32")), y), EXTREME_SCALE),
    "float32, 1e30": (
        lambda: ((X * 1e30).astype("float32"), y),
        Raises("value of X is .*e[+]30, but float32 can represent squares only"),
    ),
    "float32, 1e-30, torch": (
        lambda: (torch((X * 1e-30).astype("float32")), y),
        Raises("value of X is .*e-30, but torch.float32 can represent squares"),
    ),
    "features of different scales": (lambda: (X * [1e8, 1, 1e-8, 1e3], y), Fits()),
    "far from the origin": (lambda: (X + 1e6, y), Fits()),
    # dtypes and memory layout
    "float16": (lambda: (X.astype("float16"), y), Fits()),
    "float16, torch": (lambda: (torch(X.astype("float16")), y), Fits()),
    "long double": (lambda: (X.astype("longdouble"), y), Fits()),
    "other byte order": (lambda: (X.astype(">f8"), y), Fits()),
    "int64": (lambda: ((4 * X).astype("int64"), y), Fits()),
    "int8": (lambda: ((20 * X).clip(-128, 127).astype("int8"), y), Fits()),
    "uint8, torch": (lambda: (torch((9 * X + 99).astype("uint8")), y), Fits()),
    "bool": (lambda: (X > 0, y), Fits()),
    "bool, strict": (lambda: (strict(X > 0), y), Fits()),
    "read-only": (lambda: (read_only(X), read_only(y)), Fits()),
    "reversed view": (lambda: (X[::-1, ::-1], y[::-1]), Fits()),
}

CASES = {case: CASES[case] for case in CASES if case.split(", ")[-1] not in ABSENT}

# Cases in which kernel learners have other outcomes
IDENTICAL_UNDER_KERNEL = Raises("All samples are identical under this kernel")
NO_VARIANCE = "1 of 2 components have no variance"
KERNEL_CASES = {
    "one class": {
        based_on(LDA, ANMM, DMLMJ): ONE_CLASS,
        based_on(LMNN): Fits(warns=r"y has only one class, so \w+ has nothing to learn"),
        any_learner: Fits(),
    },
    "only classes with one sample": {
        based_on(LDA): Raises("60 samples and 60 classes", may_warn=MANY_CLASSES),
        based_on(LMNN): Fits(warns=f"60 of 60 classes have a sing|{FEW_FRIENDS}|{MANY_CLASSES}"),
        based_on(ANMM): Fits(warns=f"{FEW_FRIENDS}|{MANY_CLASSES}"),
        based_on(DMLMJ): NO_FRIENDS,
        needs_labels: Fits(warns=MANY_CLASSES),
        any_learner: Fits(),
    },
    "all features constant": IDENTICAL_UNDER_KERNEL,
    "all samples zero": IDENTICAL_UNDER_KERNEL,
    "all features constant, torch": IDENTICAL_UNDER_KERNEL,
    "identical samples in each class": {
        based_on(LDA): Raises("All samples of each class are identical"),
        based_on(DMLMJ): NO_FRIENDS,
        any_learner: Fits(),
    },
    "two samples": {
        based_on(LDA): Raises("there are 2 samples and 2 classes"),
        of(KPCA, n_components=2): Fits(warns=NO_VARIANCE),
        of(KANMM, orthonormal="coefficients"): Fits(warns=FEW_FRIENDS),
        based_on(n_components=2): Raises("n_components=2 must be at most 1, the number of coord"),
        based_on(LMNN): Fits(warns=f"2 of 2 classes have a single sample|{FEW_FRIENDS}"),
        based_on(ANMM): Fits(warns=FEW_FRIENDS),
        based_on(DMLMJ): NO_FRIENDS,
        any_learner: Fits(),
    },
    "one feature": {
        of(kernel="linear", n_components=2): Raises(
            "n_components=2 must be at most 1, the number of coord"
        ),
        any_learner: Fits(),
    },
} | dict.fromkeys(
    [name for name in CASES if CASES[name][1] is EXTREME_SCALE],
    Fits(may_warn="values of X are around"),
)


def table_entry(case, learner):
    """Return the name and the outcome of the table entry that applies to a learner."""
    has_own_case = is_kernel(learner) and case in KERNEL_CASES
    table = "KERNEL_CASES" if has_own_case else "CASES"
    outcomes = KERNEL_CASES[case] if has_own_case else CASES[case][1]
    outcome, condition = outcome_of(outcomes, learner)
    shared = next((name for name, value in globals().items() if value is outcomes), "")
    parts = [
        f"{table}[{case!r}]",
        shared and f"the table {shared}",
        condition and f"key {condition}",
    ]
    return ", ".join(filter(None, parts)), outcome


def check_case(case, learner):
    """Check that a learner has the outcome that the tables expect."""
    samples, labels = CASES[case][0]()
    name, outcome = table_entry(case, learner)
    try:
        outcome.check(lambda: results_of(learner, samples, labels))
    except BaseException as error:  # pytest.raises fails with a BaseException
        error.add_note(
            f"{learner} should meet {outcome}, according to {name} in tests/test_bad_input.py. "
            "If the learner is right, add a more specific key above this one."
        )
        raise
    if outcome == Fits() and isinstance(learner.get_params().get("n_components"), int):
        assert fit(learner, samples, labels)._n_features_out == learner.n_components


@each()
@pytest.mark.parametrize("case", CASES)
def test_fit_has_the_expected_outcome(case, learner):
    check_case(case, learner)


def test_conditions_do_not_match_parts_of_class_names():
    class LDAndMore(Covariance):
        """A learner other than LDA, although its name begins with "LDA"."""

    assert table_entry("one class", LDAndMore()) == ("CASES['one class'], key any_learner", Fits())
    assert table_entry("one class", LDA())[0] == "CASES['one class'], key of(LDA, ANMM, DMLMJ)"


def test_failure_names_the_entry_to_edit():
    class NeverFits(PCA):
        def _fit(self, X, supervision, progress):
            raise ValueError("never")

    with pytest.raises(ValueError, match="never") as caught:
        check_case("1e150", NeverFits())
    (note,) = caught.value.__notes__
    assert "NeverFits() should meet Fits(" in note
    assert (
        "CASES['1e150'], the table EXTREME_SCALE, key any_learner in tests/test_bad_input.py"
        in note
    )


@pytest.mark.slow
@each(learners=ONE_OF_EACH)
def test_many_more_features_than_samples(learner):
    X, y = samples(62, 2000)
    learner = fit(learner, X, y)
    for array in (*learned_arrays(learner).values(), learner.transform(X)):
        assert np.isfinite(array).all()
    assert learner.metadata()["n_components"] == learner.transform(X).shape[1]
    if is_linear(learner):
        assert np.isfinite(learner.pair_distance(PAIR_ROWS, X)).all()


def has_length_parameter(learner):
    """Return whether a parameter has the unit of X."""
    return learner.get_params().get("radius") is not None


@each(lambda learner: not iterates(learner), lambda learner: not has_length_parameter(learner))
@pytest.mark.parametrize(
    ("factor", "dtype"), [(1e150, "f8"), (1e-150, "f8"), (1e15, "f4"), (1e-15, "f4")]
)
def test_scale_of_X_does_not_matter(learner, factor, dtype):
    scaled = (X * factor).astype(dtype)
    plain, learner = fit(learner, X, y), fit(learner, scaled, y)
    ratio = distances(learner, scaled) / distances(plain, X)
    assert np.ptp(ratio) <= (1e-9 if dtype == "f8" else 1e-3) * ratio.max()
    assert learner.metadata().get("rank") == plain.metadata().get("rank")


def distances(learner, X):
    if has_distance(learner):
        return learner.pair_distance(PAIR_ROWS, X)
    Z = learner.embedding_.astype(float)
    Z = Z / np.abs(Z).max()  # squares could overflow or underflow
    return np.linalg.norm(Z[PAIR_ROWS[:, 0]] - Z[PAIR_ROWS[:, 1]], axis=1)


# Parameters

INVALID_N_COMPONENTS = [0, -1, 0.0, 1.0, 1.5, -0.5, float("nan"), "three", [2]]


@each(has_n_components, learners=ONE_OF_EACH)
@pytest.mark.parametrize("value", INVALID_N_COMPONENTS, ids=repr)
def test_invalid_n_components_raises(learner, value):
    says = re.escape(f"Got {value!r} instead")
    says = rf"'n_components' parameter of {type(learner).__name__} must be .*an int in the .*{says}"
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, n_components=value)


@each(has_n_components)
@pytest.mark.parametrize("value", [5, 1000, 2**70], ids=repr)
def test_too_large_n_components_raises(learner, value):
    says = rf"n_components={value} must be (at most|strictly less than) .*n_features.*=\s*[234]\b"
    if not is_linear(learner):  # the number of features is not a limit
        value = max(value, 61)
        limit = r".*(n_samples ?= ?60|n_landmarks=20|the number of coordinates)"
        says = rf"n_components={value} must be (at most|less than) {limit}"
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, n_components=value)


@each(has_n_components)
@pytest.mark.parametrize("value", [1, np.int64(1), np.int8(1)], ids=repr)
def test_n_components_may_have_any_integer_type(learner, value):
    assert fit(learner, X, y, n_components=value).transform(X).shape == (60, 1)


@pytest.mark.parametrize(
    ("learner", "name"),
    [(learner, name) for learner in ONE_OF_EACH for name in learner.get_params(deep=False)],
    ids=str,
)
def test_every_parameter_is_validated(learner, name):
    says = rf"'{name}' parameter of {type(learner).__name__} must be .*Got <object"
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, **{name: object()})


INVALID_INITS = {
    "wrong number of columns": (
        np.eye(2, 3),
        {},
        r"init has shape \(2, 3\), .*n_features=4 columns",
    ),
    "more rows than features": (np.eye(5, 4), {}, r"init has shape \(5, 4\), .*1 to 4 rows"),
    "rows and n_components differ": (
        np.eye(3, 4),
        {"n_components": 2},
        r"init has shape \(3, 4\), .*n_components=2",
    ),
    "NaN": (np.full((2, 4), np.nan), {}, "init contains NaN"),
    "strings": ([["a", "b", "c", "d"]], {}, "could not convert string"),
    "1-D": (np.ones(4), {}, "Expected 2D array, got 1D"),
    "unknown name": ("best", {}, "'init' parameter .*'pca'.*Got 'best' instead"),
    "too many rows for LDA": (
        "lda",
        {"n_components": 3},
        "init='lda' (has at most .*=2 rows, .* has 3|needs class labels)",
    ),
}


@each(is_linear, lambda learner: "init" in learner.get_params(), learners=ONE_OF_EACH)
@pytest.mark.parametrize("case", INVALID_INITS)
def test_invalid_init_raises(learner, case):
    init, params, says = INVALID_INITS[case]
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, init=init, **params)


@each(learns_classes, learners=ONE_OF_EACH)
def test_error_for_other_targets_names_learners_that_accept_them(learner):
    name = type(learner).__name__
    says = rf"{name} learns from classes, but y contains fractions.* MLKR or NCA with a cost, such"
    with pytest.raises(ValueError, match=says):
        fit(learner, X, X[:, 0])
    for mixed in (np.array([1, "a", 2.5] * 20, dtype=object), X[:, 0].astype(object)):
        with pytest.raises(ValueError, match=rf"{name} learns from classes.*dtype object"):
            fit(learner, X, mixed)


# Methods of fitted learners

INVALID_CALLS = {
    "wrong features": (
        lambda f: f.transform(X[:, :3]),
        r"X has 3 features, but \w+ is expecting 4",
    ),
    "wrong features, torch": (lambda f: f.transform(torch(X[:, :3])), "X has 3 features, but"),
    "NaN": (lambda f: f.transform(X_with(np.nan)), "Input X contains NaN"),
    "NaN, torch": (lambda f: f.transform(torch(X_with(np.nan))), "Input X contains NaN"),
    "1-D": (lambda f: f.transform(X[0]), "Expected 2D array, got 1D"),
    "complex": (lambda f: f.transform(X + 1j), "Complex data not supported"),
    "no samples": (lambda f: f.transform(X[:0]), r"Found array with 0 sample\(s\)"),
    "inverse: wrong columns": (
        lambda f: f.inverse_transform(np.ones((3, 9))),
        "Z has 9 columns, but",
    ),
    "inverse: 1-D": (lambda f: f.inverse_transform(X[0]), "Expected 2D array, got 1D"),
    "inverse: NaN": (lambda f: f.inverse_transform(f.transform(X) * np.nan), "contains NaN"),
    "inverse: NaN, torch": (
        lambda f: f.inverse_transform(torch(f.transform(X)) * np.nan),
        "contains NaN",
    ),
    "inverse: complex": (lambda f: f.inverse_transform(f.transform(X) + 1j), "Complex data"),
    "pairs: no X": (
        lambda f: f.pair_distance(PAIR_ROWS),
        r"pairs has shape \(9, 2\), but without X it must .* have shape \(n_pairs, 2, 4\)",
    ),
    "pairs: three vectors": (
        lambda f: f.pair_distance(PAIR_VECTORS[:, [0, 1, 1]]),
        r"pairs has shape \(9, 3, 4\)",
    ),
    "pairs: wrong features": (
        lambda f: f.pair_distance(PAIR_VECTORS[:, :, 1:]),
        r"pairs has shape \(9, 2, 3\)",
    ),
    "pairs: 1-D": (
        lambda f: f.pair_distance(PAIR_VECTORS[0, 0]),
        "Expected 2D array, got 1D|pairs has shape",
    ),
    "pairs: NaN": (lambda f: f.pair_distance(PAIR_VECTORS * np.nan), "pairs contains NaN"),
    "pairs: infinity": (
        lambda f: f.pair_distance(np.full_like(PAIR_VECTORS, np.inf)),
        "pairs contains inf",
    ),
    "pairs: NaN, torch": (
        lambda f: f.pair_distance(torch(PAIR_VECTORS * np.nan)),
        "pairs contains NaN",
    ),
    "pairs: NaN, strict": (
        lambda f: f.pair_distance(strict(PAIR_VECTORS * np.nan)),
        "pairs contains NaN",
    ),
    "pairs: complex": (lambda f: f.pair_distance(PAIR_VECTORS + 1j), "Complex data not supported"),
    "pairs: complex, torch": (lambda f: f.pair_distance(torch(PAIR_VECTORS + 1j)), "Complex data"),
    "pairs: strings": (
        lambda f: f.pair_distance(PAIR_VECTORS.astype(str).astype(object) + "m"),
        "convert",
    ),
    "rows: index too large": (
        lambda f: f.pair_distance([[0, 1], [2, 60]], X),
        r"pairs\[1\] = \[2, 60\] contains a row index outside X, which has 60 samples",
    ),
    "rows: negative index": (
        lambda f: f.pair_distance([[0, -1]], X),
        r"pairs\[0\] = \[0, -1\] contains",
    ),
    "rows: index too large, torch": (
        lambda f: f.pair_distance(torch([[0, 60]]), torch(X)),
        r"pairs\[0\] = \[0, 60\] contains a row index outside X",
    ),
    "rows: floats": (lambda f: f.pair_distance([[0.0, 1.0]], X), "must be an integer array"),
    "rows: bool": (lambda f: f.pair_distance(PAIR_ROWS > 9, X), "dtype bool, .*must be an integer"),
    "rows: three indices": (lambda f: f.pair_distance([[0, 1, 2]], X), r"shape \(1, 3\)"),
    "rows: vectors": (lambda f: f.pair_distance(PAIR_VECTORS, X), r"(shape \(9, 2, 4\)|dim 3)"),
    "rows: wrong features": (
        lambda f: f.pair_distance(PAIR_ROWS, X[:, :3]),
        "X has 3 features, but",
    ),
    "score: index too large": (
        lambda f: f.pair_score([[2, 60]], X),
        "contains a row index outside X",
    ),
}


@cache
def fitted(learner):
    """Return the learner fitted to X and y. Tests share the result and must not change it."""
    return fit(learner, X, y)


INVALID_CALLS = {
    case: INVALID_CALLS[case] for case in INVALID_CALLS if case.split(", ")[-1] not in ABSENT
}


def has_called_method(learner, case):
    if case.startswith("inverse"):
        return is_linear(learner)
    return has_distance(learner) or not case.startswith(("pairs", "rows", "score"))


@each_with("case", INVALID_CALLS, where=has_called_method)
def test_invalid_call_raises_and_changes_nothing(learner, case):
    call, says = INVALID_CALLS[case]
    state = pickle.dumps(fitted(learner))
    Raises(says).check(lambda: call(fitted(learner)))
    assert pickle.dumps(fitted(learner)) == state


METHOD_ARGUMENTS = {
    "transform": (X,),
    "inverse_transform": (X,),
    "metric": (),
    "transformer": (),
    "metadata": (),
    "pair_distance": (PAIR_VECTORS,),
    "pair_score": (PAIR_VECTORS,),
    "get_feature_names_out": (),
    "get_covariance": (),
    "get_precision": (),
    "score_samples": (X,),
    "score": (X,),
}


def has_method(learner, name):
    return callable(getattr(learner, name, None))


@each_with("method", METHOD_ARGUMENTS, where=has_method, learners=ONE_OF_EACH)
def test_method_of_an_unfitted_learner_raises(learner, method):
    says = f"This {type(learner).__name__} instance is not fitted yet"
    with pytest.raises(NotFittedError, match=says):
        getattr(clone(learner), method)(*METHOD_ARGUMENTS[method])


INVALID_BLOCKS = {
    "wrong features": (lambda: (X[:, :3], y), "X has 3 features, but"),
    "NaN": (lambda: (X_with(np.nan), y), "Input X contains NaN"),
    "1-D": (lambda: (X[0], y), "Expected 2D array, got 1D"),
    "no samples": (lambda: (X[:0], y[:0]), r"0 sample\(s\)"),
}


@each(has_partial_fit)
@pytest.mark.parametrize("case", INVALID_BLOCKS)
def test_invalid_block_does_not_change_the_learner(learner, case):
    data, says = INVALID_BLOCKS[case]
    learner = clone(learner).partial_fit(X, y)
    state = pickle.dumps(learner)
    Raises(says).check(lambda: learner.partial_fit(*data()))
    assert pickle.dumps(learner) == state
