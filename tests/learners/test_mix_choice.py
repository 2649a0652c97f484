"""Tests of the weight of the identity that is chosen on held-out samples, pairs or triplets."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import dimetric
from dimetric import (
    DMLMJ,
    ITML,
    LDA,
    LDML,
    LMNN,
    MCML,
    MLKR,
    NCA,
    NCMC,
    NCMML,
    Kernelized,
    Pairs,
    Triplets,
)
from dimetric.learners import _mix_choice
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._identity_mix import mixed
from dimetric.learners._mix_choice import GRID, choose_mix
from dimetric.supervision.labels import Labels

X, y = load_iris(return_X_y=True)
X = X - X.mean(axis=0)


def chosen(learner, *args, **kwargs):
    """Return the chosen weight and the scores of all weights."""
    facts = clone(learner).set_params(identity_mix="auto").fit(*args, **kwargs).metadata()
    assert facts["identity_mix_grid"] == list(GRID)
    return facts["identity_mix"], facts["identity_mix_scores"]


def parts_of(X, codes):
    """Return the part of each sample."""
    labels = Labels(codes, np.unique(codes[codes >= 0]))
    order = in_canonical_order(X, labels, by_class=False)[2]
    part_of = np.empty(len(X), dtype=int)
    part_of[order] = _mix_choice._parts_of_samples(X[order], labels.reordered(order))
    return part_of


def noise_problem():
    """Return many features and few samples, of which a learned metric only finds noise."""
    A = np.random.default_rng(0).normal(size=(60, 60))
    labels = np.repeat([0, 1], 30)
    A[labels == 1] += 0.5  # every feature is equally useful
    return A, labels


def test_labels_by_a_naive_loop():
    A = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # without tied distances
    part_of, learner = parts_of(A, y), DMLMJ()
    expected = np.zeros(len(GRID))
    for part in range(4):
        held_out = part_of == part
        L = clone(learner).fit(A[~held_out], y[~held_out]).components_
        for j, a in enumerate(GRID):
            Z = A @ mixed(L, a).T
            knn = KNeighborsClassifier(7).fit(Z[~held_out], y[~held_out])
            for probabilities, label in zip(
                knn.predict_proba(Z[held_out]), y[held_out], strict=True
            ):
                expected[j] += np.log((7 * probabilities[label] + 1) / (7 + 3)) / len(y)
    a, scores = chosen(learner, A, y)
    np.testing.assert_allclose(scores, expected)
    assert a == max(
        each for each, score in zip(GRID, scores, strict=True) if score > max(scores) - 1e-9
    )


def test_mixing_uses_the_chosen_weight_and_a_fit_to_all_samples():
    learner = MCML(identity_mix="auto").fit(X, y)
    a = learner.metadata()["identity_mix"]
    np.testing.assert_allclose(learner.metric(), MCML(identity_mix=a).fit(X, y).metric())


@pytest.mark.parametrize("learner", [LDML(reg=0.0, tol=1e-5), MCML(reg=0.0, tol=1e-5)], ids=repr)
def test_few_samples_and_many_features_get_much_of_the_identity(learner):
    a, scores = chosen(learner, *noise_problem())
    assert a >= 0.5
    assert scores[-1] > scores[0]


def test_a_metric_that_matters_gets_little_of_the_identity():
    A = np.random.default_rng(0).normal(size=(300, 6)) * [1, 20, 20, 20, 20, 20]
    assert chosen(NCMML(), A, (A[:, 0] > 0).astype(int))[0] <= 0.02


def test_targets():
    A, targets = make_friedman1(120, n_features=8, random_state=0)
    a, scores = chosen(MLKR(), A, targets)
    assert max(scores) == scores[GRID.index(a)] < 1
    # With a = 1, the score is that of k-NN with the Euclidean distance.
    part_of = np.full(120, -1)
    part_of[np.argsort(targets)] = np.arange(120) % 4
    predictions = np.empty(120)
    for part in range(4):
        held_out = part_of == part
        knn = KNeighborsRegressor(7).fit(A[~held_out], targets[~held_out])
        predictions[held_out] = knn.predict(A[held_out])
    expected = r2_score(targets, predictions)
    assert np.isclose(scores[-1], expected)
    both = np.column_stack([targets, -targets])
    np.testing.assert_allclose(chosen(NCA(cost="squared"), A, both)[1][-1], expected)


def test_pairs():
    A, labels = noise_problem()
    pairs = Pairs.from_labels(labels, 300, random_state=0)
    a, scores = chosen(LDML(reg=0.001), A, pairs=pairs)
    assert a >= 0.2
    assert 0.5 < max(scores) <= 1
    squares = np.array([0.5, 1.0, 2.0, 2.0])
    similar = np.array([True, False, True, False])
    expected = roc_auc_score(similar, -squares)
    assert _mix_choice.area_under_curve(squares, similar) == expected
    assert chosen(ITML(random_state=0), X, pairs=Pairs.from_labels(y, 400, random_state=0))[0] < 1


def test_triplets():
    triplets = Triplets.from_labels(y, 300, random_state=0)
    a, scores = chosen(LMNN(), X, triplets=triplets)
    assert scores[GRID.index(a)] == max(scores) > 0.9


def test_the_order_of_rows_the_names_of_classes_and_a_random_state_do_not_matter():
    rng = np.random.default_rng(0)
    order, A = rng.permutation(len(y)), X + rng.normal(scale=1e-3, size=X.shape)  # without ties
    (a, scores), (b, others) = chosen(LDML(), A, y), chosen(LDML(), A[order], y[order])
    assert a == b
    np.testing.assert_allclose(scores, others, rtol=1e-12)
    np.testing.assert_allclose(scores, chosen(LDML(), A, (y + 1) % 3)[1], rtol=1e-12)
    state = np.random.RandomState(0)
    learner = ITML(identity_mix="auto", random_state=state).fit(X, y)
    plain = ITML(random_state=np.random.RandomState(0)).fit(X, y)
    np.testing.assert_array_equal(learner.history_, plain.history_)


def test_parts_keep_equal_samples_together_and_lone_samples_in_training():
    codes = np.array([0] * 9 + [1] * 3 + [2, -1])
    A = np.arange(14.0)[:, None]
    A[1] = A[0]
    part_of = parts_of(A, codes)
    assert part_of[0] == part_of[1]
    assert np.all(part_of[:9] >= 0)
    assert len(set(part_of[9:12])) == 3
    assert part_of[12] == part_of[13] == -1


def test_small_classes_weights_and_unlabelled_samples():
    labels = np.where(np.arange(len(y)) == 0, 7, y)  # one sample is alone in its class
    labels[1:3] = 8
    labels[10:40] = -1
    weights = np.random.default_rng(0).uniform(0, 2, size=len(y))
    weights[50:60] = 0
    for learner in (
        LDA(unlabelled=-1),
        LMNN(unlabelled=-1),
        LDML(unlabelled=-1, unlabelled_reg=0.1),
        NCMC(n_centroids=2, unlabelled=-1, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert chosen(learner, X, labels, sample_weight=weights)[0] in GRID


def test_given_targets_of_lmnn():
    A, labels = X[::3], y[::3]
    targets = LMNN().fit(A, labels).targets_
    a, scores = chosen(LMNN(targets=targets), A, labels)
    assert a in GRID
    np.testing.assert_allclose(scores, chosen(LMNN(), A, labels)[1], atol=0.05)


def test_a_weight_is_not_chosen_from_too_few_samples():
    with pytest.warns(UserWarning, match="too few samples"):
        facts = NCMML(identity_mix="auto").fit(X[[0, 149]], [0, 1]).metadata()
    assert facts["identity_mix"] == 0.0
    assert "identity_mix_scores" not in facts
    with pytest.warns(UserWarning, match="too few samples"):
        ITML(identity_mix="auto").fit(X, pairs=Pairs([[0, 1]], [[0, 149]]))


def test_large_parts_are_sampled_and_scored_in_blocks(monkeypatch):
    expected = chosen(LDA(), X, y)
    monkeypatch.setattr(_mix_choice, "BLOCK_ENTRIES", 500)
    assert chosen(LDA(), X, y) == expected
    monkeypatch.setattr(_mix_choice, "MAX_HELD_OUT", 10)
    np.testing.assert_allclose(chosen(LDA(), X, y)[1], expected[1], atol=0.05)


def test_warm_starts_do_not_see_held_out_samples():
    learner = LDML(identity_mix="auto", warm_start=True).fit(X, y)
    first = learner.metadata()
    assert learner.fit(X, y).metadata()["identity_mix_scores"] == first["identity_mix_scores"]


def test_no_fits_without_auto(monkeypatch):
    monkeypatch.setattr("dimetric.learners._linear.choose_mix", None)
    NCMML(identity_mix=0.1).fit(X, y)
    with pytest.raises(TypeError):
        NCMML(identity_mix="auto").fit(X, y)


def test_kernel_learners_and_model_files(tmp_path):
    learner = Kernelized(LDA(reg=0.1, identity_mix="auto")).fit(X, y)
    assert learner.metadata()["identity_mix"] in GRID
    dimetric.save(learner, tmp_path / "model.dimetric")
    assert dimetric.load(tmp_path / "model.dimetric").metadata() == learner.metadata()


def test_without_supervision_nothing_is_chosen():
    assert choose_mix(LDA(), X, None) is None
