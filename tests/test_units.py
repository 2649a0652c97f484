"""Tests that the unit of X does not matter: distances learned from c X are proportional to those
learned from X, and `reg` has the same effect.
"""

import numpy as np
import pytest
from estimators import (
    LEARNERS,
    ONE_OF_EACH,
    each,
    fit,
    minimises_mean_loss,
    name_of,
    samples,
)
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from dimetric import (
    ITML,
    LDML,
    LMNN,
    LSI,
    MCML,
    MLKR,
    NCA,
    NCMC,
    NCMML,
    DMLEig,
    Kernelized,
    MultiMetricKNNClassifier,
    Pairs,
    Triplets,
)
from dimetric.manifold._embedding import Embedding

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, y = samples()
NEW = samples(20, seed=5)[0]
RIDGED = [NCA, NCMC, NCMML, MCML, LDML, LMNN, MLKR]  # learners with a ridge
SOLVERS = [
    cls(solver=solver, max_iter=10, random_state=0)
    for cls in RIDGED
    for solver in ("sgd", "bgd", "sdp")
    if solver in cls._named_objects["solver"]
]
IN_FEATURE_SPACE = [
    Kernelized(learner, kernel=kernel)
    for learner in (NCA(), NCA(reg=0.1), LMNN(), NCMC(random_state=0), ITML(random_state=0), LSI())
    for kernel in ("linear", "rbf")
]
# A radius has the unit of X.
CASES = [learner for learner in LEARNERS if getattr(learner, "radius", None) is None]
CASES += SOLVERS + IN_FEATURE_SPACE
WIDE = np.random.default_rng(1).normal(size=(30, 40)) + np.arange(30)[:, None] % 3 / 2


def distances(learner, unit, A=X, new=NEW):
    """Return the distances between training samples and new samples, as learned in a unit."""
    train = learner.embedding_ if isinstance(learner, Embedding) else learner.transform(unit * A)
    return pdist(np.vstack([train, learner.transform(unit * new)]))


def proportionality_error(D, expected):
    """Return the largest deviation of D from the best multiple of `expected`, relative to both."""
    ratio = D @ expected / (expected @ expected)
    return np.abs(D / ratio - expected).max() / expected.max()


@pytest.mark.parametrize("learner", ONE_OF_EACH, ids=name_of)
def test_a_power_of_two_as_unit_changes_nothing(learner):
    """Multiplication by a power of two causes no rounding errors."""
    D, expected = (distances(fit(learner, c * X, y), c) for c in (2.0**20, 1.0))
    assert proportionality_error(D, expected) < 1e-14


@pytest.mark.slow
@pytest.mark.parametrize("unit", [2.0**-20, 1e-8, 1e-3, 1e3, 1e8])
@pytest.mark.parametrize("learner", CASES, ids=name_of)
def test_distances_are_proportional_in_any_unit(learner, unit):
    """Solvers amplify rounding errors, most of all NCA with a coordinate for each sample."""
    D, expected = (distances(fit(learner, c * X, y), c) for c in (unit, 1.0))
    tolerance = 1e-4 if isinstance(getattr(learner, "learner", None), NCA) else 1e-6
    assert proportionality_error(D, expected) < (1e-14 if unit == 2.0**-20 else tolerance)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("cls", [NCA, NCMC, MCML, LMNN, MLKR])
def test_distances_are_proportional_with_a_ridge(cls, unit):
    learner = cls(random_state=0, reg=0.02)
    D, expected = (distances(fit(learner, c * X, y), c) for c in (unit, 1.0))
    assert proportionality_error(D, expected) < 1e-6


@pytest.mark.parametrize("learner", SOLVERS[:3], ids=name_of)
def test_distances_are_proportional_for_other_solvers(learner):
    D, expected = (distances(fit(learner, c * X, y), c) for c in (1e6, 1.0))
    assert proportionality_error(D, expected) < 1e-6


@each(minimises_mean_loss, learners=ONE_OF_EACH)
def test_distances_are_proportional_with_more_features_than_samples(learner):
    """New samples differ in directions in which the training samples do not vary."""
    labels, new = np.arange(30) % 3, np.eye(3, 40)
    D, expected = (distances(fit(learner, c * WIDE, labels), c, WIDE, new) for c in (2.0**-20, 1.0))
    assert proportionality_error(D, expected) < 1e-12


@pytest.mark.parametrize("reg", [0.0, 0.1])
@pytest.mark.parametrize(
    ("cls", "kind"), [(LDML, "pairs"), (ITML, "pairs"), (DMLEig, "pairs"), (LMNN, "triplets")]
)
def test_pairs_and_triplets_in_any_unit(cls, kind, reg):
    rows = np.arange(60).reshape(-1, 3)
    given = Triplets(*rows.T) if kind == "triplets" else Pairs(rows[:, :2], rows[:, 1:])
    learner = cls(reg=reg) if cls is not ITML else cls()
    D, expected = (distances(clone(learner).fit(c * X, **{kind: given}), c) for c in (1e3, 1.0))
    assert proportionality_error(D, expected) < 1e-6


@pytest.mark.parametrize("reg", [0.0, 0.1])
def test_predictions_with_a_metric_for_each_class_in_any_unit(reg):
    model, expected = (
        MultiMetricKNNClassifier(reg=reg, max_iter=20).fit(c * X, y) for c in (1e3, 1.0)
    )
    assert_allclose(1e3 * model.components_, expected.components_, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(1e3 * NEW), expected.predict(NEW))


def test_samples_of_which_most_are_identical():
    A = np.where(np.arange(60)[:, None] < 40, 1.0, X)
    D, expected = (distances(NCA().fit(c * A, y), c, A) for c in (2.0**20, 1.0))
    assert proportionality_error(D, expected) < 1e-14


@pytest.mark.parametrize("cls", [NCMC, NCA, MCML, MLKR])
def test_the_metadata_do_not_depend_on_the_unit(cls):
    for reg in (0.0, 0.1):
        learner = cls(reg=reg, random_state=0)
        facts, expected = (fit(learner, c * X, y).metadata() for c in (1e6, 1.0))
        assert (facts["n_iter"], facts["reason"]) == (expected["n_iter"], expected["reason"])
        for name in ("initial_objective", "final_objective"):
            assert facts[name] == pytest.approx(expected[name], rel=1e-6)


def test_features_of_different_units_do_not_stop_nca():
    A, labels = load_wine(return_X_y=True)
    assert NCA(reg=0.0, tol=1e-5).fit(A, labels).metadata()["final_objective"] > 0.99


@pytest.mark.parametrize(
    ("cls", "load"),
    [(cls, load_iris) for cls in (NCA, NCMC, MCML)]
    + [
        pytest.param(cls, load, marks=pytest.mark.slow)
        for cls in RIDGED
        for load in (load_wine, load_iris)
    ],
)
def test_a_tiny_ridge_changes_little(cls, load):
    """With a tiny ridge, the best scale of the start may be huge."""
    A, labels = load(return_X_y=True)
    A, learner = A[::2] / A.std(axis=0), cls(random_state=0)
    free = fit(learner, A, labels[::2], reg=0.0)
    for reg in (1e-12, 1e-8, 1e-6):
        ridged = fit(learner, A, labels[::2], reg=reg)
        values = [f.metadata()["final_objective"] for f in (ridged, free)]
        assert values[0] == pytest.approx(values[1], abs=0.02)
