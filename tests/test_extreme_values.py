"""Values near the limits of float64, and arguments of wrong types, raise clear errors."""

import numpy as np
import pandas as pd
import pytest
from estimators import samples

import dimetric
from dimetric import LDA, MDS, PCA, EnergyClassifier, NCMClassifier, Pairs, Triplets
from dimetric.advice import insight
from dimetric.benchmark import Cell, Store
from dimetric.classify import KNNClassifier, decision_regions
from dimetric.selection import cross_validate, tune, tune_knn
from dimetric.solvers import LBFGS, FrankWolfe

X, Y = samples(n=30)
HUGE = 1e307 * X


@pytest.mark.parametrize(
    "call",
    [
        lambda: LDA().fit(X * 1e-100, Y).transform(1e308 * np.sign(X)),
        lambda: MDS(metric="cityblock").fit(X).transform(HUGE),
        lambda: NCMClassifier().fit(X, Y).predict(HUGE),
        lambda: EnergyClassifier(PCA()).fit(X, Y).predict(HUGE),
        lambda: Pairs.from_neighbors(HUGE, Y),
        lambda: decision_regions(KNNClassifier().fit(X[:, :2], Y), 1.7e308 * np.sign(X[:, :2])),
        lambda: dimetric.compare(pd.DataFrame(HUGE).assign(y=Y), target="y", budget=0.5),
    ],
)
def test_numbers_that_overflow(call):
    with pytest.raises(ValueError, match=r"too large|largest|[Rr]escale"):
        call()


def test_neighbors_of_subnormal_numbers():
    pairs = Pairs.from_neighbors(X * 1e-140, Y, random_state=0)
    np.testing.assert_array_equal(pairs.rows, Pairs.from_neighbors(X, Y, random_state=0).rows)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Pairs.from_labels([1, "a", None]), "several types"),
        (lambda: Pairs.from_neighbors(X[:3], [1, "a", None]), "several types"),
        (lambda: Triplets.from_scores([[0, 1], [0, 2]], [1j, 2.0]), "complex"),
        (lambda: Pairs([[0, 5]]).reordered([1, 0]), "each row index from 0 to 5"),
        (lambda: Pairs([[0, 1]]).reordered(None), "order must contain"),
        (lambda: cross_validate(KNNClassifier(), None, Y), "X=None must be an array"),
        (lambda: tune_knn(LDA(), X, []), r"y has shape \(0,\), but X has 30"),
        (lambda: insight(None, X, Y, list("abcd")), "methods fit and transform"),
        (lambda: insight(LDA(), X[:, 0], Y, ["a"]), "X and y have shapes"),
        (lambda: insight(LDA(), X, Y, ["a"]), "feature_names has 1 names"),
        (lambda: insight(LDA(), X, Y, list("abcd"), groups=[1]), "groups has shape"),
        (lambda: Store().get(3), "keys=3"),
        (lambda: Store().get([3]), "keys contains 3, which is not a string"),
        (lambda: Store().add("fit", {"key": Cell(2**63, "PCA", 3, 0, 0)}), "not a string"),
        (lambda: LBFGS().minimise(None, np.ones(2)), "function=None"),
        (lambda: FrankWolfe().minimise(lambda x: (0.0, x), np.ones(3)), "x0 has 3 elements"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_random_search_leaves_the_global_random_state():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    tune(LDA(), X, Y, {"reg": [0.1, 0.2, 0.3]}, n_iter=2)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
