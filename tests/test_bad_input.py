"""Bad input and hard data: the right answer, or an error that says what is wrong.

Tables. A row says what each learner is to make of an input: it `Fits` (all that comes out is
finite, real and of X's dtype; no warning but the one that the row names, or one of convergence),
or it `Raises` an error
whose text names what is wrong and what is allowed. Where learners differ the row is a dictionary
from conditions to outcomes, and the first condition that the learner meets counts. A condition is
a trait, such as `needs_labels`; a class and its parameters, `of(LLE, method="modified")`; or
`within(LDA)`, which holds for LDA and for kernel learners that run LDA in their feature space.
Prefer traits: a new learner then finds its rows by itself.
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

# How far a solver came on such data, or into how many parts a graph falls, is its own affair, and
# tested there.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The neighbour graph has:UserWarning"),
]

X, y = samples()
INDEX = np.random.default_rng(0).integers(0, 60, size=(9, 2))


@dataclass(frozen=True)
class Fits:
    warns: str = ""  # pattern of a warning that must come; no other may
    may_warn: str = ""  # pattern of a warning that may come

    def check(self, call):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "The neighbour graph has")
            for name, value in call().items():
                assert np.isrealobj(value), name
                assert np.isfinite(value).all() or name == "gap_radius", name  # of all metrics
        texts = [str(w.message) for w in caught]
        allowed = self.warns or self.may_warn
        others = [text for text in texts if not (allowed and re.search(allowed, text))]
        assert not others, f"warnings that the row does not allow: {others}"
        assert texts or not self.warns, f"no warning says {self.warns!r}"


@dataclass(frozen=True)
class Raises:
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
    """A condition of a row: its name, as it is written in the table, and a test of a learner."""

    name: str
    holds: Callable

    def __call__(self, learner):
        return self.holds(learner)


def of(*classes, **params):
    """Return the condition of being one of some classes (of any, if none is given).

    Learners of a class that is derived from these do not meet it. Parameters must be as given.
    """

    def holds(learner):
        own = learner.get_params(deep=False)
        of_class = not classes or type(learner) in classes
        return of_class and all(name in own and own[name] == params[name] for name in params)

    told = [cls.__name__ for cls in classes] + [
        f"{name}={value!r}" for name, value in params.items()
    ]
    return Condition(f"of({', '.join(told)})", holds)


def linear_part(learner):
    """Return the learner that a kernel learner runs in its feature space; else the learner."""
    return learner._linear() if hasattr(learner, "_linear") else learner


def within(*classes, **params):
    """Return the condition `of`, for a learner or for the one that it runs in a feature space."""
    inner = of(*classes, **params)
    return Condition(f"within{inner.name[2:]}", lambda learner: inner(linear_part(learner)))


def anyone(learner):
    return True


def is_embedding(learner):
    return isinstance(learner, Embedding)


def warns_of_single_samples(learner):
    return getattr(linear_part(learner), "_needs_class_neighbors", False)


def outcome_of(row, learner):
    """Return what a row expects of a learner, and the condition that it meets ("" if none)."""
    if not isinstance(row, dict):
        return row, ""
    condition = next(condition for condition in row if condition(learner))
    return row[condition], getattr(condition, "name", "") or condition.__name__


def use(learner, X, y):
    """Fit a copy and return all that it can say about X."""
    learner = fit(learner, X, y)
    Z = learner.transform(X)
    said = fitted_arrays(learner) | {"transform": Z}
    if is_linear(learner):
        said |= {
            "inverse_transform": learner.inverse_transform(Z),
            "metric": learner.metric(),
        }
    if has_distance(learner):
        said["pair_distance"] = learner.pair_distance(INDEX % X.shape[0], X)
    said = {name: host(value) for name, value in said.items()}
    dtype = "float32" if str(X.dtype).endswith("float32") else "float64"
    assert {name: value.dtype for name, value in said.items()} == dict.fromkeys(said, dtype)
    facts = learner.metadata()
    assert facts["n_components"] == Z.shape[1]
    if is_linear(learner):
        assert facts["rank"] == rank(said["components_"])
    return said | {name: value for name, value in facts.items() if isinstance(value, float)}


def rank(L):
    """Return how many eigenvalues of L^T L are more than rounding errors."""
    values = np.linalg.svdvals(L / (np.abs(L).max() or 1)) ** 2
    return np.sum(values > L.shape[1] * np.finfo(L.dtype).eps * values[0])


def torch(values):
    return pytest.importorskip("torch").asarray(values)


strict = array_api_strict.asarray


def with_(value, dtype=float):
    """Return X with one bad value."""
    bad = X.astype(dtype)
    bad[3, 1] = value
    return bad


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def labelled(outcome):
    """Return an outcome for learners that look at y."""
    return {needs_labels: outcome, anyone: Fits()}


MANY_CLASSES = "The number of unique classes"  # scikit-learn's, for y of almost as many as samples
NAN = Raises("Input X contains NaN")
INFINITE = Raises("Input X contains (NaN or )?infinity")
COMPLEX = Raises("Complex data not supported")
ONE_D = Raises("Expected 2D array, got 1D array")
THREE_D = Raises("(Found array with dim 3|Expected 2D array, got 3D)")
NO_ROWS = Raises(r"Found array with 0 sample\(s\)")
NO_COLUMNS = Raises(r"0 feature\(s\)")
LENGTHS = labelled(Raises(r"inconsistent numbers of samples: \[60, 59\]"))
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
NO_SPREAD_WITHIN = {  # a class
    within(LSI, DMLEig): NO_SIMILAR,
    within(LDA): Raises("All samples of each class are identical"),
    within(DMLMJ): NO_FRIENDS,
    of(NCMC): Fits(warns=rf"3 of 3 {FEW_DISTINCT}.*\[0, 1, 2\]"),
}
NO_SPREAD = NO_SPREAD_WITHIN | {
    of(Covariance): Raises("All samples are identical"),
    of(ITML, prior="covariance"): Raises("All samples are identical"),
    of(LLE): Raises("All samples are equal, so there is nothing to embed"),
    of(PCA, whiten=True): Fits(warns="2 of 2 components have no variance"),
    anyone: Fits(),
}
OTHER_UNIT = Fits(warns=r"values of X are around \de[+-]\d+")  # init and reg are measured in it
HUGE = {minimises_mean_loss: OTHER_UNIT, of(ITML): OTHER_UNIT, anyone: Fits()}
FEW_FRIENDS = r"\d+ of \d+ samples have fewer than \d (friends|enemies)"
SINGLE = {
    within(LMNN): Fits(warns=rf"1 of 4 classes have a single sample.*\[3\]|{FEW_FRIENDS}"),
    warns_of_single_samples: Fits(warns=r"1 of 4 classes have a single sample.*\[3\]"),
    of(NCMC): Fits(warns=rf"1 of 4 {FEW_DISTINCT}.*\[3\]"),
    within(ANMM, DMLMJ): Fits(warns=r"1 of 60 samples have fewer than \d friends.*\(1 have none\)"),
    anyone: Fits(),
}
NEEDS_DENSE = Raises("needs dense samples|dense data is required", TypeError)
ONE_OF_TWO = Fits(warns=r"returns 1 component\(s\) instead of 2")
FEW = "X has only 3 distinct samples. n_neighbors=8 was reduced to 2"

ROWS = {
    # X is no matrix of real numbers
    "NaN": (lambda: (with_(np.nan), y), NAN),
    "NaN, float32": (lambda: (with_(np.nan, "float32"), y), NAN),
    "NaN, torch": (lambda: (torch(with_(np.nan)), y), Raises("Input X contains NaN")),
    "NaN, strict": (lambda: (strict(with_(np.nan)), y), Raises("Input X contains NaN")),
    "infinity": (lambda: (with_(np.inf), y), INFINITE),
    "minus infinity": (lambda: (with_(-np.inf), y), INFINITE),
    "infinity, torch": (lambda: (torch(with_(np.inf)), y), INFINITE),
    "infinity, strict": (lambda: (strict(with_(np.inf)), y), INFINITE),
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
        lambda: (with_({"a": 1}, object), y),
        Raises("must be a string or a real number", TypeError),
    ),
    "objects that are numbers": (lambda: (X.astype(object), y), Fits()),
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
            anyone: Raises("Sparse data was passed.*dense data is required", TypeError),
        },
    ),
    # y is no vector of labels
    "lengths": (lambda: (X, y[:-1]), LENGTHS),
    "lengths, torch": (lambda: (torch(X), torch(y[:-1])), LENGTHS),
    "no y": (lambda: (X, None), labelled(Raises("requires y to be passed"))),
    "no y, torch": (lambda: (torch(X), None), labelled(Raises("requires y to be passed"))),
    "y continuous": (lambda: (X, X[:, 0]), labelled(Raises("Unknown label type: continuous"))),
    "y continuous, torch": (
        lambda: (torch(X), torch(X[:, 0])),
        labelled(Raises("Unknown label type: continuous")),
    ),
    "y with NaN": (
        lambda: (X, np.where(y == 2, np.nan, y)),
        labelled(Raises("Input y contains NaN")),
    ),
    "y with NaN, torch": (
        lambda: (torch(X), torch(np.where(y == 2, np.nan, y))),
        labelled(Raises("Input y.*contains NaN")),
    ),
    "y with None": (
        lambda: (X, np.where(y == 2, None, y)),
        labelled(Raises("(Unknown label type|contains NaN|must be a string or a real number)")),
    ),
    "y of two columns": (
        lambda: (X, np.stack([y, y], 1)),
        labelled(Raises("y should be a 1d array")),
    ),
    "y of one column": (
        lambda: (X, y[:, None]),
        labelled(Fits(warns="A column-vector y was passed")),
    ),
    # classes
    "one class": (
        lambda: (X, np.zeros(60)),
        {
            of(LSI, DMLEig, ITML): ONE_CLASS,
            of(LDA, ANMM, DMLMJ): ONE_CLASS,
            minimises_mean_loss: Fits(warns=r"y has only one class, so \w+ has nothing to learn"),
            anyone: Fits(),
        },
    ),
    "a class of one": (lambda: (X, np.where(np.arange(60) == 7, 3, y)), SINGLE),
    "classes of one": (
        lambda: (X, np.arange(60)),
        {
            of(LSI, DMLEig): NO_SIMILAR,
            of(LDA): Raises("there are 60 samples and 60 classes", may_warn=MANY_CLASSES),
            of(LMNN): Fits(warns=f"60 of 60 classes have a sing|{FEW_FRIENDS}|{MANY_CLASSES}"),
            warns_of_single_samples: Fits(
                warns=f"60 of 60 classes have a single sample|{MANY_CLASSES}"
            ),
            of(LDML): Fits(warns=f"y has no class with two samples|{MANY_CLASSES}"),
            of(NCMC): Fits(warns=f"60 of 60 {FEW_DISTINCT}|{MANY_CLASSES}"),
            of(ANMM): Fits(warns=f"{FEW_FRIENDS}|{MANY_CLASSES}"),
            of(DMLMJ): NO_FRIENDS,
            needs_labels: Fits(warns=MANY_CLASSES),
            anyone: Fits(),
        },
    ),
    "k larger than a class": (
        lambda: (X, np.repeat([0, 1, 2], [2, 2, 56])),
        {
            of(n_friends=1): Fits(),
            of(n_neighbors=1): Fits(),
            within(ANMM, DMLMJ, LMNN): Fits(warns=FEW_FRIENDS),
            of(NCMC, n_centroids=3): Fits(warns=rf"2 of 3 {FEW_DISTINCT}.*\[0, 1\]"),
            anyone: Fits(),
        },
    ),
    "separable classes": (lambda: (X + 30 * y[:, None], y), Fits()),
    # variation
    "all features constant": (lambda: (np.ones((60, 4)), y), NO_SPREAD),
    "all samples 0": (lambda: (np.zeros((60, 4)), y), NO_SPREAD),
    "all features constant, torch": (lambda: (torch(np.ones((60, 4))), y), NO_SPREAD),
    "classes are points": (
        lambda: (np.eye(3, 4)[y], y),
        {
            of(LLE, method="standard"): Fits(warns=FEW),
            of(LLE): Raises("n_neighbors=2 must be at least [36] with method", may_warn=FEW),
        }
        | NO_SPREAD_WITHIN
        | {anyone: Fits()},
    ),
    "features constant": (lambda: (X * [1, 0, 1, 0] + [0, 5, 0, 0], y), Fits()),
    "features repeated": (lambda: (X[:, [0, 1, 0, 1]], y), Fits()),
    "classes spread along a line": (
        lambda: (np.eye(3, 4)[y] + X[:, :1] * [0, 0, 0, 1], y),
        {
            of(LDA, n_components=None, reg=0.0, shrinkage=None): ONE_OF_TWO,
            of(DMLMJ, alpha=0.0): ONE_OF_TWO,
            anyone: Fits(),
        },
    ),
    "samples repeated": (
        lambda: (X[np.arange(60) % 15], y),
        {within(DMLMJ): NO_FRIENDS, anyone: Fits()},  # as often as there are friends
    ),
    "samples repeated in other classes": (lambda: (X[np.arange(60) % 20], y), Fits()),
    # shapes
    "two samples": (
        lambda: (X[:2], [0, 1]),
        {
            of(LSI, DMLEig): NO_SIMILAR,
            of(LDA): Raises("more than the number of classes; there are 2 samples and 2 classes"),
            of(LLE): Raises("n_components=2 must be .*less than the number of distinct samples, 2"),
            of(LMNN): Fits(warns=f"2 of 2 classes have a single sample|{FEW_FRIENDS}"),
            warns_of_single_samples: Fits(warns="2 of 2 classes have a single sample"),
            of(LDML): Fits(warns="no class with two samples, so LDML has nothing to learn"),
            of(NCMC): Fits(warns=f"2 of 2 {FEW_DISTINCT}"),
            of(ANMM): Fits(warns=FEW_FRIENDS),
            of(DMLMJ): NO_FRIENDS,
            of(PCA, whiten=True): Fits(warns="1 of 2 components have no variance"),
            of(MDS, n_components=3): Raises("n_components=3 must be at most n_samples=2"),
            of(Isomap, n_neighbors=None): Fits(),
            of(Isomap): Raises(r"n_neighbors=\d must be at most the number of other samples, 1"),
            anyone: Fits(),
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
            anyone: Fits(),
        },
    ),
    "fewer samples than features": (lambda: samples(20, 50), Fits()),
    "fewer samples than features, torch": (
        lambda: tuple(map(torch, samples(20, 50))),
        Fits(),
    ),
    # sizes of numbers
    "1e150": (lambda: (X * 1e150, y), HUGE),
    "1e-150": (lambda: (X * 1e-150, y), HUGE),
    "1e150, torch": (lambda: (torch(X * 1e150), y), HUGE),
    "1e-150, strict": (lambda: (strict(X * 1e-150), y), HUGE),
    "1e200": (
        lambda: (X * 1e200, y),
        Raises("value of X is .*e[+]20[01], but float64 can represent squares only"),
    ),
    "float32, 1e15": (lambda: ((X * 1e15).astype("float32"), y), HUGE),
    "float32, 1e-15, torch": (lambda: (torch((X * 1e-15).astype("float32")), y), HUGE),
    "float32, 1e30": (
        lambda: ((X * 1e30).astype("float32"), y),
        Raises("value of X is .*e[+]30, but float32 can represent squares only"),
    ),
    "float32, 1e-30, torch": (
        lambda: (torch((X * 1e-30).astype("float32")), y),
        Raises("value of X is .*e-30, but torch.float32 can represent squares"),
    ),
    "features of all sizes": (lambda: (X * [1e8, 1, 1e-8, 1e3], y), Fits()),
    "far from the origin": (lambda: (X + 1e6, y), Fits()),
    # memory
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

ROWS = {row: ROWS[row] for row in ROWS if row.split(", ")[-1] not in ABSENT}

# Where the feature space of a kernel makes a difference
ONE_POINT = Raises("All samples are identical under this kernel")
NO_VARIANCE = "1 of 2 components have no variance"
KERNEL_ROWS = {
    "sparse": Raises("Sparse data was passed.*dense data is required", TypeError),
    "one class": {
        within(LDA, ANMM, DMLMJ): ONE_CLASS,
        within(LMNN): Fits(warns=r"y has only one class, so \w+ has nothing to learn"),
        anyone: Fits(),
    },
    "classes of one": {
        within(LDA): Raises("60 samples and 60 classes", may_warn=MANY_CLASSES),
        within(LMNN): Fits(warns=f"60 of 60 classes have a sing|{FEW_FRIENDS}|{MANY_CLASSES}"),
        within(ANMM): Fits(warns=f"{FEW_FRIENDS}|{MANY_CLASSES}"),
        within(DMLMJ): NO_FRIENDS,
        needs_labels: Fits(warns=MANY_CLASSES),
        anyone: Fits(),
    },
    "all features constant": ONE_POINT,
    "all samples 0": ONE_POINT,
    "all features constant, torch": ONE_POINT,
    "classes are points": {
        within(LDA): Raises("All samples of each class are identical"),
        within(DMLMJ): NO_FRIENDS,
        anyone: Fits(),
    },
    "two samples": {
        within(LDA): Raises("there are 2 samples and 2 classes"),
        of(KPCA, n_components=2): Fits(warns=NO_VARIANCE),
        of(KANMM, orthonormal="coefficients"): Fits(warns=FEW_FRIENDS),
        within(n_components=2): Raises("n_components=2 must be at most 1, the number of coord"),
        within(LMNN): Fits(warns=f"2 of 2 classes have a single sample|{FEW_FRIENDS}"),
        within(ANMM): Fits(warns=FEW_FRIENDS),
        within(DMLMJ): NO_FRIENDS,
        anyone: Fits(),
    },
    "one feature": {
        of(kernel="linear", n_components=2): Raises(
            "n_components=2 must be at most 1, the number of coord"
        ),
        anyone: Fits(),
    },
} | dict.fromkeys(
    [name for name in ROWS if ROWS[name][1] is HUGE], Fits(may_warn="values of X are around")
)


def entry(row, learner):
    """Return the entry of the tables that a learner is held to, and what that expects."""
    of_kernel = is_kernel(learner) and row in KERNEL_ROWS
    table, expected = ("KERNEL_ROWS", KERNEL_ROWS[row]) if of_kernel else ("ROWS", ROWS[row][1])
    outcome, condition = outcome_of(expected, learner)
    shared = next((name for name, value in globals().items() if value is expected), "")
    words = [
        f"{table}[{row!r}]",
        shared and f"the table {shared}",
        condition and f"key {condition}",
    ]
    return ", ".join(filter(None, words)), outcome


def check_row(row, learner):
    """Check that a learner does with the input of a row what the tables say."""
    samples, labels = ROWS[row][0]()
    place, outcome = entry(row, learner)
    try:
        outcome.check(lambda: use(learner, samples, labels))
    except BaseException as error:  # pytest.raises fails by one that is no Exception
        error.add_note(
            f"{learner} is held to {outcome}, by {place} in tests/test_bad_input.py. Where the "
            "learner is right, add a key for it above that one."
        )
        raise
    if outcome == Fits() and isinstance(learner.get_params().get("n_components"), int):
        assert fit(learner, samples, labels)._n_features_out == learner.n_components


@each()
@pytest.mark.parametrize("row", ROWS)
def test_fit(row, learner):
    check_row(row, learner)


def test_rows_are_not_found_by_parts_of_names():
    class LDAndMore(Covariance):
        """Has "LDA" in its name, and is another learner."""

    assert entry("one class", LDAndMore()) == ("ROWS['one class'], key anyone", Fits())
    assert entry("one class", LDA())[0] == "ROWS['one class'], key of(LDA, ANMM, DMLMJ)"


def test_failure_names_the_entry_to_edit():
    class NeverFits(PCA):
        def _fit(self, X, supervision, progress):
            raise ValueError("never")

    with pytest.raises(ValueError, match="never") as caught:
        check_row("1e150", NeverFits())
    (note,) = caught.value.__notes__
    assert "NeverFits() is held to Fits(" in note
    assert "ROWS['1e150'], the table HUGE, key anyone in tests/test_bad_input.py" in note


@pytest.mark.slow
@each(learners=ONE_OF_EACH)
def test_many_more_features_than_samples(learner):
    X, y = samples(62, 2000)
    learner = fit(learner, X, y)
    for array in (*learned_arrays(learner).values(), learner.transform(X)):
        assert np.isfinite(array).all()
    assert learner.metadata()["n_components"] == learner.transform(X).shape[1]
    if is_linear(learner):
        assert np.isfinite(learner.pair_distance(INDEX, X)).all()


def has_unit(learner):
    """Tell whether a parameter is a length."""
    return learner.get_params().get("radius") is not None


@each(lambda learner: not iterates(learner), lambda learner: not has_unit(learner))
@pytest.mark.parametrize(
    ("factor", "dtype"), [(1e150, "f8"), (1e-150, "f8"), (1e15, "f4"), (1e-15, "f4")]
)
def test_size_of_numbers_does_not_matter(learner, factor, dtype):
    scaled = (X * factor).astype(dtype)
    plain, learner = fit(learner, X, y), fit(learner, scaled, y)
    ratio = distances(learner, scaled) / distances(plain, X)
    assert np.ptp(ratio) <= (1e-9 if dtype == "f8" else 1e-3) * ratio.max()
    assert learner.metadata().get("rank") == plain.metadata().get("rank")


def distances(learner, X):
    if has_distance(learner):
        return learner.pair_distance(INDEX, X)
    Z = learner.embedding_.astype(float)
    Z = Z / np.abs(Z).max()  # their squares may leave the floating range
    return np.linalg.norm(Z[INDEX[:, 0]] - Z[INDEX[:, 1]], axis=1)


# Parameters

N_COMPONENTS = [0, -1, 0.0, 1.0, 1.5, -0.5, float("nan"), "three", [2]]


@each(has_n_components, learners=ONE_OF_EACH)
@pytest.mark.parametrize("value", N_COMPONENTS, ids=repr)
def test_n_components_that_are_no_number(learner, value):
    says = re.escape(f"Got {value!r} instead")
    says = rf"'n_components' parameter of {type(learner).__name__} must be .*an int in the .*{says}"
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, n_components=value)


@each(has_n_components)
@pytest.mark.parametrize("value", [5, 1000, 2**70], ids=repr)
def test_n_components_that_are_too_many(learner, value):
    says = rf"n_components={value} must be (at most|strictly less than) .*n_features.*=\s*[234]\b"
    if not is_linear(learner):  # there may be as many as samples
        value = max(value, 61)
        most = r".*(n_samples ?= ?60|n_landmarks=20|the number of coordinates)"
        says = rf"n_components={value} must be (at most|less than) {most}"
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, n_components=value)


@each(has_n_components)
@pytest.mark.parametrize("value", [1, np.int64(1), np.int8(1)], ids=repr)
def test_n_components_of_any_integer_type(learner, value):
    assert fit(learner, X, y, n_components=value).transform(X).shape == (60, 1)


@pytest.mark.parametrize(
    ("learner", "name"),
    [(learner, name) for learner in ONE_OF_EACH for name in learner.get_params(deep=False)],
    ids=str,
)
def test_every_parameter_is_checked(learner, name):
    says = rf"'{name}' parameter of {type(learner).__name__} must be .*Got <object"
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, **{name: object()})


INITS = {
    "columns": (np.eye(2, 3), {}, r"init has shape \(2, 3\); .*n_features=4 columns"),
    "rows": (np.eye(5, 4), {}, r"init has shape \(5, 4\); .*1 to 4 rows"),
    "other rows": (np.eye(3, 4), {"n_components": 2}, r"init has shape \(3, 4\); .*n_components=2"),
    "NaN": (np.full((2, 4), np.nan), {}, "init contains NaN"),
    "strings": ([["a", "b", "c", "d"]], {}, "could not convert string"),
    "1-D": (np.ones(4), {}, "Expected 2D array, got 1D"),
    "unknown": ("best", {}, "'init' parameter .*'pca'.*Got 'best' instead"),
    "too many for LDA": ("lda", {"n_components": 3}, "init='lda' has at most .*=2 rows, .* has 3"),
}


@each(is_linear, lambda learner: "init" in learner.get_params(), learners=ONE_OF_EACH)
@pytest.mark.parametrize("row", INITS)
def test_init(learner, row):
    init, params, says = INITS[row]
    with pytest.raises(ValueError, match=says):
        fit(learner, X, y, init=init, **params)


# After fit

P = X[INDEX]
USES = {
    "features": (lambda f: f.transform(X[:, :3]), r"X has 3 features, but \w+ is expecting 4"),
    "features, torch": (lambda f: f.transform(torch(X[:, :3])), "X has 3 features, but"),
    "NaN": (lambda f: f.transform(with_(np.nan)), "Input X contains NaN"),
    "NaN, torch": (lambda f: f.transform(torch(with_(np.nan))), "Input X contains NaN"),
    "1-D": (lambda f: f.transform(X[0]), "Expected 2D array, got 1D"),
    "complex": (lambda f: f.transform(X + 1j), "Complex data not supported"),
    "no samples": (lambda f: f.transform(X[:0]), r"Found array with 0 sample\(s\)"),
    "inverse: columns": (lambda f: f.inverse_transform(np.ones((3, 9))), "Z has 9 columns, but"),
    "inverse: 1-D": (lambda f: f.inverse_transform(X[0]), "Expected 2D array, got 1D"),
    "inverse: NaN": (lambda f: f.inverse_transform(f.transform(X) * np.nan), "contains NaN"),
    "inverse: NaN, torch": (
        lambda f: f.inverse_transform(torch(f.transform(X)) * np.nan),
        "contains NaN",
    ),
    "inverse: complex": (lambda f: f.inverse_transform(f.transform(X) + 1j), "Complex data"),
    "pairs: no X": (
        lambda f: f.pair_distance(INDEX),
        r"pairs has shape \(9, 2\), but without X it must .* have shape \(n_pairs, 2, 4\)",
    ),
    "pairs: three": (lambda f: f.pair_distance(P[:, [0, 1, 1]]), r"pairs has shape \(9, 3, 4\)"),
    "pairs: features": (lambda f: f.pair_distance(P[:, :, 1:]), r"pairs has shape \(9, 2, 3\)"),
    "pairs: 1-D": (lambda f: f.pair_distance(P[0, 0]), "Expected 2D array, got 1D|pairs has shape"),
    "pairs: NaN": (lambda f: f.pair_distance(P * np.nan), "pairs contains NaN"),
    "pairs: infinity": (lambda f: f.pair_distance(np.full_like(P, np.inf)), "pairs contains inf"),
    "pairs: NaN, torch": (lambda f: f.pair_distance(torch(P * np.nan)), "pairs contains NaN"),
    "pairs: NaN, strict": (lambda f: f.pair_distance(strict(P * np.nan)), "pairs contains NaN"),
    "pairs: complex": (lambda f: f.pair_distance(P + 1j), "Complex data not supported"),
    "pairs: complex, torch": (lambda f: f.pair_distance(torch(P + 1j)), "Complex data"),
    "pairs: strings": (lambda f: f.pair_distance(P.astype(str).astype(object) + "m"), "convert"),
    "rows: too large": (
        lambda f: f.pair_distance([[0, 1], [2, 60]], X),
        r"pairs\[1\] = \[2, 60\] contains a row index outside X, which has 60 samples",
    ),
    "rows: negative": (lambda f: f.pair_distance([[0, -1]], X), r"pairs\[0\] = \[0, -1\] contains"),
    "rows: too large, torch": (
        lambda f: f.pair_distance(torch([[0, 60]]), torch(X)),
        r"pairs\[0\] = \[0, 60\] contains a row index outside X",
    ),
    "rows: floats": (lambda f: f.pair_distance([[0.0, 1.0]], X), "must be an integer array"),
    "rows: bool": (lambda f: f.pair_distance(INDEX > 9, X), "dtype bool, .*must be an integer"),
    "rows: three": (lambda f: f.pair_distance([[0, 1, 2]], X), r"shape \(1, 3\)"),
    "rows: vectors": (lambda f: f.pair_distance(P, X), r"(shape \(9, 2, 4\)|dim 3)"),
    "rows: features": (lambda f: f.pair_distance(INDEX, X[:, :3]), "X has 3 features, but"),
    "score": (lambda f: f.pair_score([[2, 60]], X), "contains a row index outside X"),
}


@cache
def fitted(learner):
    """Return a learner fitted to X, y; a test that changes it fails."""
    return fit(learner, X, y)


USES = {row: USES[row] for row in USES if row.split(", ")[-1] not in ABSENT}


def can_be_used(learner, row):
    if row.startswith("inverse"):
        return is_linear(learner)
    return has_distance(learner) or not row.startswith(("pairs", "rows", "score"))


@each_with("row", USES, where=can_be_used)
def test_use(learner, row):
    call, says = USES[row]
    state = pickle.dumps(fitted(learner))
    Raises(says).check(lambda: call(fitted(learner)))
    assert pickle.dumps(fitted(learner)) == state


METHODS = {
    "transform": (X,),
    "inverse_transform": (X,),
    "metric": (),
    "transformer": (),
    "metadata": (),
    "pair_distance": (P,),
    "pair_score": (P,),
    "get_feature_names_out": (),
}


def is_method(learner, name):
    return callable(getattr(learner, name, None))


@each_with("method", METHODS, where=is_method, learners=ONE_OF_EACH)
def test_not_fitted(learner, method):
    says = f"This {type(learner).__name__} instance is not fitted yet"
    with pytest.raises(NotFittedError, match=says):
        getattr(clone(learner), method)(*METHODS[method])


BLOCKS = {
    "features": (lambda: (X[:, :3], y), "X has 3 features, but"),
    "NaN": (lambda: (with_(np.nan), y), "Input X contains NaN"),
    "1-D": (lambda: (X[0], y), "Expected 2D array, got 1D"),
    "no samples": (lambda: (X[:0], y[:0]), r"0 sample\(s\)"),
}


@each(has_partial_fit)
@pytest.mark.parametrize("row", BLOCKS)
def test_bad_block_leaves_the_learner_alone(learner, row):
    data, says = BLOCKS[row]
    learner = clone(learner).partial_fit(X, y)
    state = pickle.dumps(learner)
    Raises(says).check(lambda: learner.partial_fit(*data()))
    assert pickle.dumps(learner) == state
