"""Pairs and triplets instead of labels: the contract of every learner that accepts them."""

import pickle
import re

import numpy as np
import pytest
from estimators import (
    LEARNERS,
    ONE_OF_EACH,
    each,
    each_with,
    fit,
    fitted_arrays,
    host,
    needs_labels,
    samples,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import ITML, Pairs, Triplets

X, y = samples()
PAIRS = Pairs.from_labels(y, 300, random_state=0)
TRIPLETS = Triplets.from_labels(y, 300, random_state=0)
GIVEN = {"pairs": PAIRS, "triplets": TRIPLETS}


def accepted(learner):
    """Return the kinds of supervision that a learner accepts instead of labels."""
    return [source for source in learner._supervision_kinds if source != "y"]


def each_source(learners=LEARNERS):
    chosen = [(learner, source) for learner in learners for source in accepted(learner)]
    return pytest.mark.parametrize(("learner", "source"), chosen, ids=str)


def learned(learner, source, samples=X, given=None, **params):
    given = GIVEN[source] if given is None else given
    params |= {"n_passes": 1}  # later passes choose targets by labels
    return changed(learner, **params).fit(samples, **{source: given})


def changed(learner, **params):
    """Return a clone with a seed, and with those of the parameters that it has."""
    params |= {"random_state": 0}
    known = {name: value for name, value in params.items() if name in learner.get_params()}
    return clone(learner).set_params(**known)


def assert_same_metric(a, b, tol=1e-6):
    M = host(a.metric())
    assert_allclose(host(b.metric()), M, rtol=0, atol=tol * np.abs(M).max())


# Choice of the supervision


@each(needs_labels, learners=ONE_OF_EACH)
def test_missing_or_several_kinds_of_supervision_raise(learner):
    name = type(learner).__name__
    for kind in (TypeError, ValueError):  # SupervisionError is both
        with pytest.raises(kind, match=f"This {name} estimator requires y to be passed"):
            clone(learner).fit(X)
    for source in accepted(learner):
        says = f"labels y or {source}. Pass only one of y and {source}"
        with pytest.raises(TypeError, match=says):
            clone(learner).fit(X, y, **{source: GIVEN[source]})


@each_with(
    "source",
    GIVEN,
    where=lambda learner, source: source not in accepted(learner),
    learners=ONE_OF_EACH,
)
def test_unsupported_supervision_raises(learner, source):
    wanted = " or ".join(["labels y", *accepted(learner)]) if needs_labels(learner) else "X alone"
    says = f"{type(learner).__name__} learns from {wanted}, not {source}."
    with pytest.raises(TypeError, match=re.escape(says)):
        clone(learner).fit(X, **{source: GIVEN[source]})


WRONG = {
    "pairs": {
        "pairs must be Pairs, got list": [[0, 1]],
        "pairs must be Pairs, got Triplets": TRIPLETS,
        "pairs refer to 59 samples, but X has 60": Pairs([[0, 1]], [[0, 2]], 59),
        "pairs[1] = [2, 60] contains a row index outside X": Pairs([[0, 1], [2, 60]], [[0, 2]]),
        "pairs is empty": Pairs(),
        "got 1 similar and 0 dissimilar ones. Pairs.from_similar": Pairs([[0, 1]]),
        "got 0 similar and 1 dissimilar ones.": Pairs([], [[0, 1]]),
    },
    "triplets": {
        "triplets must be Triplets, got ndarray": np.array([[0, 1, 2]]),
        "triplets refer to 61 samples, but X has 60": Triplets([0], [1], [2], 61),
        "triplets[0] = [0, 1, 99] contains a row index outside X": Triplets([0], [1], [99]),
        "triplets is empty": Triplets([], [], []),
    },
}


@each_source(ONE_OF_EACH)
def test_invalid_supervision_raises(learner, source):
    learner = learned(learner, source)
    for says, given in WRONG[source].items():
        with pytest.raises((TypeError, ValueError), match=re.escape(says)):
            learner.fit(X, **{source: given})
        assert not [name for name in vars(learner) if name.endswith("_")]  # nothing fitted remains
    with pytest.raises(ValueError, match=f"X is None, but {source} hold row indices of X"):
        learner.fit_transform(None, **{source: GIVEN[source]})
    with pytest.raises(ValueError, match="contains NaN"):
        learner.fit(np.where(X > 0, np.nan, X), **{source: GIVEN[source]})


# Results


@each_source()
def test_fitted_attributes(learner, source):
    learner = learned(learner, source)
    assert learner.components_.shape[1] == 4
    assert np.isfinite(learner.transform(X)).all()
    assert not hasattr(learner, "classes_")
    facts = learner.metadata()
    assert facts["n_components"] == len(learner.components_)
    assert np.isfinite([facts["initial_objective"], facts["final_objective"]]).all()
    again = pickle.loads(pickle.dumps(learner))
    assert_array_equal(again.transform(X), learner.transform(X))


@each_source()
def test_noisy_feature_gets_little_weight(learner, source):
    noisy = X * [1, 1, 1, 0] + np.random.default_rng(0).normal(size=(60, 1)) * [0, 0, 0, 5]
    learner = learned(learner, source, noisy)
    M = learner.metric()
    assert M[3, 3] < 0.2 * np.trace(M)


@each_source(ONE_OF_EACH)
def test_refit_leaves_nothing_of_the_first_fit(learner, source):
    by_labels = fit(learner, X, y)
    again = clone(by_labels).fit(X, y).fit(X, **{source: GIVEN[source]})
    assert not hasattr(again, "classes_")
    fresh = learned(learner, source)
    assert vars(again).keys() == vars(fresh).keys()
    assert_array_equal(again.components_, fresh.components_)
    again.fit(X, y)
    assert vars(again).keys() == vars(by_labels).keys()


@each_source()
def test_result_does_not_depend_on_the_order_of_constraints_or_samples(learner, source):
    rng, given = np.random.default_rng(0), GIVEN[source]
    expected = learned(learner, source)
    shuffled = given[rng.permutation(len(given))]
    assert_array_equal(learned(learner, source, X, shuffled).components_, expected.components_)
    order = rng.permutation(60)
    new_row = np.argsort(order)
    reordered = given._of(new_row[given.rows], given.kinds, 60, None)
    assert_same_metric(expected, learned(learner, source, X[order], reordered))


@each_source([learner for learner in LEARNERS if not isinstance(learner, ITML)])
def test_repeating_all_constraints_changes_only_the_scale(learner, source):
    """ITML is left out: it sums over the pairs, so repeating them acts like doubling gamma."""
    given = GIVEN[source]
    twice = given[np.concatenate([np.arange(len(given))] * 2)]
    assert len(twice) == 2 * len(given)
    once, again = (learned(learner, source, X, some).metric() for some in (given, twice))
    assert_allclose(again / np.trace(again), once / np.trace(once), atol=1e-3)


@each_source()
def test_namespaces_match_numpy(learner, source, namespace):
    expected = learned(learner, source)
    found = learned(learner, source, namespace.asarray(X))
    assert type(found.components_) is type(namespace.asarray(X))
    assert_same_metric(expected, found, tol=1e-5)
    if namespace.__name__ == "numpy":
        in_float32 = learned(learner, source, X.astype("float32"))
        assert in_float32.components_.dtype == np.float32


@each_source(ONE_OF_EACH)
def test_constraints_of_vectors_match_those_of_row_indices(learner, source):
    given = GIVEN[source]
    if source == "pairs":
        vectors = Pairs.from_arrays(X[given.similar], X[given.dissimilar])
    else:
        vectors = Triplets.from_arrays(*(X[column] for column in given.rows.T))
    by_rows, by_vectors = learned(learner, source), learned(learner, source, None, vectors)
    if "bounds" not in learner.get_params():  # bounds depend on all samples
        values = [fitted.metadata()["final_objective"] for fitted in (by_rows, by_vectors)]
        assert_allclose(*values, rtol=1e-3, atol=1e-3)
    assert_array_equal(
        by_vectors.components_, learned(learner, source, vectors.points, vectors).components_
    )
    Z = changed(learner).fit_transform(None, **{source: vectors})
    assert_array_equal(Z, by_vectors.transform(vectors.points))
    framed = (
        changed(learner).set_output(transform="pandas").fit_transform(None, **{source: vectors})
    )
    assert_array_equal(framed, Z)
    with pytest.raises(ValueError, match="but X has 60"):
        learned(learner, source, X, vectors)


@each_source(ONE_OF_EACH)
def test_vectors_of_any_namespace(learner, source, namespace):
    given = GIVEN[source]
    if source == "pairs":
        columns, kind = (X[given.similar], X[given.dissimilar]), Pairs
    else:
        columns, kind = [X[column] for column in given.rows.T], Triplets
    vectors = kind.from_arrays(*map(namespace.asarray, columns))
    found = learned(learner, source, None, vectors)
    assert type(found.components_) is type(namespace.asarray(X))
    assert_same_metric(learned(learner, source, None, kind.from_arrays(*columns)), found, tol=1e-5)


@each_source(ONE_OF_EACH)
def test_result_of_a_few_constraints_is_finite(learner, source):
    wide, _ = samples(20, 30)
    few = {"pairs": Pairs([[0, 3]], [[0, 1]]), "triplets": Triplets([0], [3], [1])}
    found = learned(learner, source, wide, few[source], reg=0.1)
    for array in fitted_arrays(found).values():
        assert np.isfinite(host(array)).all()


@each_source(ONE_OF_EACH)
def test_result_with_identical_dissimilar_samples_is_finite(learner, source):
    found = learned(learner, source, X[np.arange(60) % 30], reg=0.1)
    assert np.isfinite(host(found.components_)).all()


# scikit-learn


@each_source(ONE_OF_EACH)
def test_pipeline_routes_supervision_to_the_learner(learner, source):
    given = GIVEN[source]
    with config_context(enable_metadata_routing=True):
        asking = clone(learner).set_fit_request(**{source: True})
        pipeline = make_pipeline(StandardScaler(), asking).fit(X, **{source: given})
    Z = StandardScaler().fit_transform(X)
    assert_array_equal(pipeline[-1].components_, learned(learner, source, Z).components_)


@pytest.mark.parametrize("n", [60, 100])
@pytest.mark.parametrize("n_samples", [None, 60])
@each_source(ONE_OF_EACH)
def test_sklearn_grid_search_raises(learner, source, n, n_samples):
    """Splitting X would change the samples that the row indices refer to."""
    given = type(GIVEN[source]).from_labels(
        y[:20], n, random_state=0
    )  # rows that exist in each fold
    given = given._of(given.rows, given.kinds, n_samples, None)
    with config_context(enable_metadata_routing=True):
        asking = clone(learner).set_fit_request(**{source: True})
        search = GridSearchCV(asking, {"max_iter": [5]}, cv=KFold(2), scoring=lambda *_: 0.0)
        with pytest.raises(ValueError, match=r"use dimetric\.selection"):
            search.fit(X, **{source: given})


# Samples without a label


def semi_supervised(learner):
    return "unlabelled" in learner.get_params()


@each(semi_supervised)
@pytest.mark.parametrize("none", [-1, 9.0, "none"])
def test_unlabelled_samples_are_left_out(learner, none):
    rng = np.random.default_rng(0)
    known = np.flatnonzero(rng.uniform(size=60) < 0.7)
    labels = y.astype(np.asarray(none).dtype if none != "none" else "U4")
    labels[np.setdiff1d(np.arange(60), known)] = none
    learner = changed(learner)
    found = fit(learner, X, labels, unlabelled=none)
    expected = fit(learner, X[known], labels[known])
    assert_array_equal(found.components_, expected.components_)
    assert_array_equal(found.classes_, expected.classes_)
    if hasattr(found, "targets_"):
        targets = np.full((60, expected.targets_.shape[1]), -1)
        targets[known] = np.append(known, -1)[expected.targets_]
        assert_array_equal(found.targets_, targets)


@each(semi_supervised, learners=ONE_OF_EACH)
def test_unlabelled_is_opt_in(learner):
    labels = np.where(np.arange(60) < 20, -1, y)
    assert_array_equal(fit(learner, X, labels).classes_, [-1, 0, 1, 2])
    with pytest.raises(ValueError, match="All samples are unlabelled: every value of y is -1"):
        fit(learner, X, np.full(60, -1), unlabelled=-1)
