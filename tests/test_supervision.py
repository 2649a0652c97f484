"""Tests of all learners that accept pairs or triplets instead of labels."""

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
    learns_classes,
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
SUPERVISION = {"pairs": PAIRS, "triplets": TRIPLETS}


def accepted_kinds(learner):
    """Return the kinds of supervision that a learner accepts instead of labels."""
    return [kind for kind in learner._supervision_kinds if kind != "y"]


def each_kind(learners=LEARNERS):
    """Parametrize a test over the learners and the kinds of supervision that they accept."""
    chosen = [(learner, kind) for learner in learners for kind in accepted_kinds(learner)]
    return pytest.mark.parametrize(("learner", "kind"), chosen, ids=str)


def fitted_to(learner, kind, samples=X, supervision=None, **params):
    """Return a learner fitted to pairs or triplets, which are `SUPERVISION` by default."""
    supervision = SUPERVISION[kind] if supervision is None else supervision
    # Further passes need labels to choose targets, and weights of classes need labels.
    params |= {"n_passes": 1, "class_weight": None}
    return seeded_clone(learner, **params).fit(samples, **{kind: supervision})


def seeded_clone(learner, **params):
    """Return a clone with a fixed seed. Parameters that the learner does not have are ignored."""
    params |= {"random_state": 0}
    known = {name: value for name, value in params.items() if name in learner.get_params()}
    return clone(learner).set_params(**known)


def assert_same_metric(a, b, tol=1e-6):
    M = host(a.metric())
    assert_allclose(host(b.metric()), M, rtol=0, atol=tol * np.abs(M).max())


# Invalid supervision


@each(needs_labels, learners=ONE_OF_EACH)
def test_missing_or_several_kinds_of_supervision_raise(learner):
    name = type(learner).__name__
    for error in (TypeError, ValueError):  # SupervisionError is both
        with pytest.raises(error, match=f"This {name} estimator requires y to be passed"):
            clone(learner).fit(X)
    for kind in accepted_kinds(learner):
        says = f"labels y or {kind}. Pass only one of y and {kind}"
        with pytest.raises(TypeError, match=says):
            clone(learner).fit(X, y, **{kind: SUPERVISION[kind]})


@each_with(
    "kind",
    SUPERVISION,
    where=lambda learner, kind: kind not in accepted_kinds(learner),
    learners=ONE_OF_EACH,
)
def test_unsupported_supervision_raises(learner, kind):
    wanted = (
        " or ".join(["labels y", *accepted_kinds(learner)]) if needs_labels(learner) else "X alone"
    )
    says = f"{type(learner).__name__} learns from {wanted}, not {kind}."
    with pytest.raises(TypeError, match=re.escape(says)):
        clone(learner).fit(X, **{kind: SUPERVISION[kind]})


INVALID_SUPERVISION = {
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


@each_kind(ONE_OF_EACH)
def test_invalid_supervision_raises(learner, kind):
    learner = fitted_to(learner, kind)
    for says, supervision in INVALID_SUPERVISION[kind].items():
        with pytest.raises((TypeError, ValueError), match=re.escape(says)):
            learner.fit(X, **{kind: supervision})
        assert not [name for name in vars(learner) if name.endswith("_")]  # nothing fitted remains
    with pytest.raises(ValueError, match=f"{kind} contains row indices, so X is required"):
        learner.fit_transform(None, **{kind: SUPERVISION[kind]})
    with pytest.raises(ValueError, match="contains NaN"):
        learner.fit(np.where(X > 0, np.nan, X), **{kind: SUPERVISION[kind]})


# Results


@each_kind()
def test_fitted_attributes(learner, kind):
    learner = fitted_to(learner, kind)
    assert learner.components_.shape[1] == 4
    assert np.isfinite(learner.transform(X)).all()
    assert not hasattr(learner, "classes_")
    facts = learner.metadata()
    assert facts["n_components"] == len(learner.components_)
    assert np.isfinite([facts["initial_objective"], facts["final_objective"]]).all()
    again = pickle.loads(pickle.dumps(learner))
    assert_array_equal(again.transform(X), learner.transform(X))


@each_kind()
def test_noisy_feature_gets_little_weight(learner, kind):
    noisy = X * [1, 1, 1, 0] + np.random.default_rng(0).normal(size=(60, 1)) * [0, 0, 0, 5]
    learner = fitted_to(learner, kind, noisy)
    M = learner.metric()
    assert M[3, 3] < 0.2 * np.trace(M)


@each_kind(ONE_OF_EACH)
def test_refit_leaves_nothing_of_the_first_fit(learner, kind):
    by_labels = fit(learner, X, y)
    again = clone(by_labels).fit(X, y).fit(X, **{kind: SUPERVISION[kind]})
    assert not hasattr(again, "classes_")
    expected = fitted_to(learner, kind)
    assert vars(again).keys() == vars(expected).keys()
    assert_array_equal(again.components_, expected.components_)
    again.fit(X, y)
    assert vars(again).keys() == vars(by_labels).keys()


@each_kind()
def test_result_does_not_depend_on_the_order_of_constraints_or_samples(learner, kind):
    rng, supervision = np.random.default_rng(0), SUPERVISION[kind]
    expected = fitted_to(learner, kind)
    shuffled = supervision[rng.permutation(len(supervision))]
    assert_array_equal(fitted_to(learner, kind, X, shuffled).components_, expected.components_)
    order = rng.permutation(60)
    new_row = np.argsort(order)
    reordered = supervision._of(new_row[supervision.rows], supervision.kinds, 60, None)
    assert_same_metric(expected, fitted_to(learner, kind, X[order], reordered))


@each_kind([learner for learner in LEARNERS if not isinstance(learner, ITML)])
def test_repeating_all_constraints_changes_only_the_scale(learner, kind):
    """ITML is left out: it sums over the pairs, so repeating them acts like doubling gamma."""
    supervision = SUPERVISION[kind]
    twice = supervision[np.concatenate([np.arange(len(supervision))] * 2)]
    assert len(twice) == 2 * len(supervision)
    once, again = (fitted_to(learner, kind, X, some).metric() for some in (supervision, twice))
    assert_allclose(again / np.trace(again), once / np.trace(once), atol=1e-3)


@each_kind()
def test_namespaces_match_numpy(learner, kind, namespace):
    expected = fitted_to(learner, kind)
    found = fitted_to(learner, kind, namespace.asarray(X))
    assert type(found.components_) is type(namespace.asarray(X))
    assert_same_metric(expected, found, tol=1e-5)
    if namespace.__name__ == "numpy":
        in_float32 = fitted_to(learner, kind, X.astype("float32"))
        assert in_float32.components_.dtype == np.float32


@each_kind(ONE_OF_EACH)
def test_constraints_of_vectors_match_those_of_row_indices(learner, kind):
    supervision = SUPERVISION[kind]
    if kind == "pairs":
        vectors = Pairs.from_arrays(X[supervision.similar], X[supervision.dissimilar])
    else:
        vectors = Triplets.from_arrays(*(X[column] for column in supervision.rows.T))
    by_rows, by_vectors = fitted_to(learner, kind), fitted_to(learner, kind, None, vectors)
    if "bounds" not in learner.get_params():  # bounds depend on all samples
        values = [fitted.metadata()["final_objective"] for fitted in (by_rows, by_vectors)]
        assert_allclose(*values, rtol=1e-3, atol=1e-3)
    assert_array_equal(
        by_vectors.components_, fitted_to(learner, kind, vectors.points, vectors).components_
    )
    Z = seeded_clone(learner).fit_transform(None, **{kind: vectors})
    assert_array_equal(Z, by_vectors.transform(vectors.points))
    frame = (
        seeded_clone(learner).set_output(transform="pandas").fit_transform(None, **{kind: vectors})
    )
    assert_array_equal(frame, Z)
    with pytest.raises(ValueError, match="but X has 60"):
        fitted_to(learner, kind, X, vectors)


@each_kind(ONE_OF_EACH)
def test_vectors_of_any_namespace(learner, kind, namespace):
    supervision = SUPERVISION[kind]
    if kind == "pairs":
        columns, cls = (X[supervision.similar], X[supervision.dissimilar]), Pairs
    else:
        columns, cls = [X[column] for column in supervision.rows.T], Triplets
    vectors = cls.from_arrays(*map(namespace.asarray, columns))
    found = fitted_to(learner, kind, None, vectors)
    assert type(found.components_) is type(namespace.asarray(X))
    assert_same_metric(fitted_to(learner, kind, None, cls.from_arrays(*columns)), found, tol=1e-5)


@each_kind(ONE_OF_EACH)
def test_result_of_a_few_constraints_is_finite(learner, kind):
    wide, _ = samples(20, 30)
    few = {"pairs": Pairs([[0, 3]], [[0, 1]]), "triplets": Triplets([0], [3], [1])}
    found = fitted_to(learner, kind, wide, few[kind], reg=0.1)
    for array in fitted_arrays(found).values():
        assert np.isfinite(host(array)).all()


@each_kind(ONE_OF_EACH)
def test_result_with_identical_dissimilar_samples_is_finite(learner, kind):
    found = fitted_to(learner, kind, X[np.arange(60) % 30], reg=0.1)
    assert np.isfinite(host(found.components_)).all()


# Pipelines and searches of scikit-learn


@each_kind(ONE_OF_EACH)
def test_pipeline_routes_supervision_to_the_learner(learner, kind):
    supervision = SUPERVISION[kind]
    with config_context(enable_metadata_routing=True):
        requesting = clone(learner).set_fit_request(**{kind: True})
        pipeline = make_pipeline(StandardScaler(), requesting).fit(X, **{kind: supervision})
    Z = StandardScaler().fit_transform(X)
    assert_array_equal(pipeline[-1].components_, fitted_to(learner, kind, Z).components_)


@pytest.mark.parametrize("n", [60, 100])
@pytest.mark.parametrize("n_samples", [None, 60])
@each_kind(ONE_OF_EACH)
def test_sklearn_grid_search_raises(learner, kind, n, n_samples):
    """Splitting X would change the samples that the row indices refer to."""
    cls = type(SUPERVISION[kind])
    supervision = cls.from_labels(y[:20], n, random_state=0)  # these rows exist in each fold
    supervision = supervision._of(supervision.rows, supervision.kinds, n_samples, None)
    with config_context(enable_metadata_routing=True):
        requesting = clone(learner).set_fit_request(**{kind: True})
        search = GridSearchCV(requesting, {"max_iter": [5]}, cv=KFold(2), scoring=lambda *_: 0.0)
        with pytest.raises(ValueError, match=r"use dimetric\.selection"):
            search.fit(X, **{kind: supervision})


# Unlabelled samples


def accepts_unlabelled(learner):
    return learns_classes(learner) and "unlabelled" in learner.get_params()


def ignores_unlabelled(learner):
    """Return whether unlabelled samples are left out. LDA and KDA use their total scatter."""
    params = learner.get_params()
    uses_scatter = "unlabelled_weight" in params and params.get("shrinkage") != "auto"
    return not uses_scatter and not params.get("unlabelled_reg")


@each(accepts_unlabelled, ignores_unlabelled)
@pytest.mark.parametrize("marker", [-1, 9.0, "none"])
def test_unlabelled_samples_are_ignored(learner, marker):
    rng = np.random.default_rng(0)
    known = np.flatnonzero(rng.uniform(size=60) < 0.7)
    labels = y.astype(np.asarray(marker).dtype if marker != "none" else "U4")
    labels[np.setdiff1d(np.arange(60), known)] = marker
    learner = seeded_clone(learner)
    found = fit(learner, X, labels, unlabelled=marker)
    expected = fit(learner, X[known], labels[known])
    assert_array_equal(found.components_, expected.components_)
    assert_array_equal(found.classes_, expected.classes_)
    if hasattr(found, "targets_"):
        targets = np.full((60, expected.targets_.shape[1]), -1)
        targets[known] = np.append(known, -1)[expected.targets_]
        assert_array_equal(found.targets_, targets)


@each(accepts_unlabelled, learners=ONE_OF_EACH)
def test_unlabelled_samples_need_the_parameter(learner):
    labels = np.where(np.arange(60) < 20, -1, y)
    assert_array_equal(fit(learner, X, labels).classes_, [-1, 0, 1, 2])
    with pytest.raises(ValueError, match="All samples are unlabelled: every value of y is -1"):
        fit(learner, X, np.full(60, -1), unlabelled=-1)
