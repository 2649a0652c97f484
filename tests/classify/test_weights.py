"""Sample weights and class weights of classifiers and regressors."""

import numpy as np
import pytest
from estimators import MODELS, host, samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from weighted import IGNORED_WARNINGS, Shift

from dimetric import (
    PCA,
    EnergyClassifier,
    KNNClassifier,
    KNNRegressor,
    MetricEnsembleClassifier,
    MultiMetricKNNClassifier,
    NCMCClassifier,
    NCMClassifier,
)

pytestmark = IGNORED_WARNINGS

X, y = samples(n=40)
NEW = samples(n=20, seed=1)[0]
RNG = np.random.default_rng(0)
W = RNG.uniform(0.1, 3, size=len(X))
SOME = W * (np.arange(len(X)) % 4 != 1)  # a quarter of the weights are 0
CLASSIFIERS = [model for model in MODELS if is_classifier(model)]
FIRST = [model for i, model in enumerate(MODELS) if type(model) not in map(type, MODELS[:i])]


def each_of(models):
    """Parametrize a test over models. Only the first of each class is quick."""
    marked = [
        pytest.param(model, marks=[] if model in FIRST else [pytest.mark.slow]) for model in models
    ]
    return pytest.mark.parametrize("model", marked, ids=str)


each, each_classifier = each_of(MODELS), each_of(CLASSIFIERS)


def naive_shares(distances, k, weights):
    """Return the weight of each point. Points tied at the k-th distance share the rest."""
    kth = np.sort(distances)[k - 1]
    nearer, tied = distances < kth - 1e-9, np.abs(distances - kth) <= 1e-9
    of_distance = 1 / distances if weights == "distance" else np.ones(len(distances))
    return of_distance * (nearer + tied * (k - nearer.sum()) / tied.sum())


def naive_vote(points, query, values, w, k, weights):
    """Return the weighted sum of the values of the neighbours, and the sum of their weights."""
    each = naive_shares(np.linalg.norm(points - query, axis=1), k, weights) * w
    return each @ values, each.sum()


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("on_grid", [False, True], ids=["distinct", "ties"])
def test_votes_match_the_formula(weights, on_grid):
    points = np.round(X[:, :2]) if on_grid else X[:, :2]
    new = (np.round(NEW[:, :2]) if on_grid else NEW[:, :2]) + 0.25
    model = KNNClassifier(5, weights=weights).fit(points, y, sample_weight=W)
    votes = [naive_vote(points, x, np.eye(3)[y], W, 5, weights) for x in new]
    assert_allclose(model.predict_proba(new), [sums / total for sums, total in votes])
    target = X[:, 2]
    model = KNNRegressor(5, weights=weights).fit(points, target, sample_weight=W)
    means = [naive_vote(points, x, target, W, 5, weights) for x in new]
    assert_allclose(model.predict(new), [value / total for value, total in means])


@pytest.mark.parametrize("on_grid", [False, True], ids=["distinct", "equal rows"])
def test_leave_one_out_votes_match_the_formula(on_grid):
    points = np.round(X[:, :2]) if on_grid else X[:, :2]
    others = [np.arange(len(X)) != i for i in range(len(X))]
    rows = list(zip(points, others, strict=True))
    model = KNNClassifier(4).fit(points, y, sample_weight=W)
    votes = [naive_vote(points[o], x, np.eye(3)[y[o]], W[o], 4, "uniform") for x, o in rows]
    assert_allclose(model.predict_proba(), [sums / total for sums, total in votes])
    model = KNNRegressor(4).fit(points, X, sample_weight=W)
    means = [naive_vote(points[o], x, X[o], W[o], 4, "uniform") for x, o in rows]
    assert_allclose(model.predict(), [value / total for value, total in means])


@pytest.mark.parametrize("on_grid", [False, True], ids=["distinct", "ties"])
def test_votes_with_a_metric_for_each_class(on_grid):
    points = np.round(X[:, :2]) if on_grid else X[:, :2]
    model = MultiMetricKNNClassifier(4, max_iter=3).fit(points, y, sample_weight=W)
    if on_grid:
        model.components_ = np.stack([np.eye(2)] * 3)  # equal metrics, so that distances tie
    maps = model.components_[y]

    def distances(x):
        return np.linalg.norm(np.einsum("nij,nj->ni", maps, points - x), axis=1)

    new = np.round(NEW[:, :2]) + 0.5 if on_grid else NEW[:, :2]
    votes = [(naive_shares(distances(x), 4, "uniform") * W) @ np.eye(3)[y] for x in new]
    assert_allclose(model.predict_proba(new), [each / each.sum() for each in votes])
    votes = []
    for i, x in enumerate(points):
        o = np.arange(len(X)) != i
        votes.append((naive_shares(distances(x)[o], 4, "uniform") * W[o]) @ np.eye(3)[y[o]])
    assert_allclose(model.predict_proba(), [each / each.sum() for each in votes])


def test_centroids_are_weighted_means():
    model = NCMClassifier().fit(X, y, sample_weight=W)
    means = [np.average(X[y == c], axis=0, weights=W[y == c]) for c in range(3)]
    assert_allclose(model.centroids_, means)
    repeats = RNG.integers(0, 4, size=len(X))
    weighted = NCMClassifier().fit(X, y, sample_weight=repeats)
    repeated = NCMClassifier().fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    assert_allclose(weighted.centroids_, repeated.centroids_)


def naive_energies(Z, new, codes, w, k, mu):
    """Return the energies of mapped samples, with sample weights of mean 1."""
    w = w / np.mean(w)
    D = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    energies = np.zeros((len(new), 3))
    for q, z in enumerate(new):
        d = np.sum((Z - z) ** 2, axis=1)
        for c in range(3):
            targets = np.sort(d[codes == c])[:k]
            others = np.flatnonzero(codes != c)
            second = sum(w[l] * max(0, 1 + t - d[l]) for t in targets for l in others)
            third = 0.0
            for i in others:
                same = np.flatnonzero((codes == codes[i]) & (np.arange(len(Z)) != i))
                for j in same[np.argsort(D[i, same])[:k]]:
                    third += w[i] * max(0, 1 + D[i, j] - d[i])
            energies[q, c] = (1 - mu) * targets.sum() + mu * (second + third)
    return energies


def test_energies_match_the_formula():
    model = EnergyClassifier(PCA(), n_neighbors=2, mu=0.4).fit(X, y, sample_weight=W)
    Z, new = model.learner_.transform(X), model.learner_.transform(NEW[:5])
    assert_allclose(model.energy(NEW[:5]), naive_energies(Z, new, y, W, 2, 0.4))


@each
def test_weight_0_is_absence(model):
    present = SOME > 0
    weighted = clone(model).fit(X, y, sample_weight=SOME)
    absent = clone(model).fit(X[present], y[present], sample_weight=SOME[present])
    assert_allclose(weighted.predict(NEW), absent.predict(NEW))
    if hasattr(model, "predict_proba"):
        assert_allclose(weighted.predict_proba(NEW), absent.predict_proba(NEW))
    if isinstance(model, KNNClassifier | KNNRegressor):
        assert weighted.n_samples_fit_ == present.sum()
        assert_allclose(weighted.predict(), absent.predict())
        assert weighted.score() == absent.score()
        assert_allclose(weighted.score(None, y, SOME), absent.score(sample_weight=SOME[present]))
        for arguments in ((), (NEW,)):
            expected = absent.kneighbors(*arguments)
            distances, rows = weighted.kneighbors(*arguments)
            assert_allclose(distances, expected[0])
            assert_array_equal(rows, np.flatnonzero(present)[expected[1]])
    if isinstance(model, EnergyClassifier):
        rows = np.append(np.flatnonzero(present), -1)
        assert_array_equal(weighted.targets_[present], rows[absent.targets_])
        assert np.all(weighted.targets_[~present] == -1)
        assert_array_equal(weighted.target_weights_[present], absent.target_weights_)


@pytest.mark.slow
@each
def test_constant_weights_change_nothing(model):
    plain = clone(model).fit(X, y)
    for weight in (np.ones(len(X)), np.full(len(X), 0.5), 5.0):
        weighted = clone(model).fit(X, y, sample_weight=weight)
        assert_allclose(weighted.predict(NEW), plain.predict(NEW), rtol=1e-10)
    refitted = clone(model).fit(X, y, sample_weight=SOME).fit(X, y)
    assert vars(refitted).keys() == vars(plain).keys()
    assert_array_equal(refitted.predict(NEW), plain.predict(NEW))


@each
def test_the_scale_of_weights_does_not_matter(model):
    model, scaled = (clone(model).fit(X, y, sample_weight=c * W) for c in (1, 1024))
    assert_allclose(model.predict(NEW), scaled.predict(NEW))


def test_precomputed_distances_with_weight_0():
    D = np.linalg.norm(X[:, None] - X, axis=2)
    new = np.linalg.norm(NEW[:, None] - X, axis=2)
    model = KNNClassifier(metric="precomputed").fit(D, y, sample_weight=SOME)
    expected = KNNClassifier().fit(X, y, sample_weight=SOME)
    assert_allclose(model.predict_proba(new), expected.predict_proba(NEW))
    assert_allclose(model.predict_proba(), expected.predict_proba())
    assert_array_equal(model.kneighbors(new)[1], expected.kneighbors(NEW)[1])
    with pytest.raises(ValueError, match="X must be a square matrix"):
        KNNClassifier(metric="precomputed").fit(D[:, :-1], y, sample_weight=SOME)


@each
def test_weights_in_other_namespaces(model, namespace):
    weights = namespace.asarray(SOME)
    result = clone(model).fit(namespace.asarray(X), namespace.asarray(y), sample_weight=weights)
    expected = clone(model).fit(X, y, sample_weight=SOME)
    assert_allclose(host(result.predict(namespace.asarray(NEW))), expected.predict(NEW), rtol=1e-6)


BAD = {
    "negative": (-W, r"sample_weight\[0\] is -.* must not be negative"),
    "all zero": (np.zeros(len(X)), "All sample weights are zero"),
    "NaN": (np.where(W > 2, np.nan, W), "weights must be finite"),
    "length": (W[:-1], r"sample_weight has shape \(39,\), but X has 40 samples"),
    "matrix": (W[:, None], "sample_weight has shape"),
    "text": (np.full(len(X), "heavy"), "sample_weight must contain numbers"),
}


@each
def test_bad_weights(model):
    fitted = clone(model).fit(X, y)
    for weights, sentence in BAD.values():
        with pytest.raises(ValueError, match=sentence):
            clone(model).fit(X, y, sample_weight=weights)
        with pytest.raises(ValueError, match=sentence):
            fitted.score(X, y, sample_weight=weights)


def test_too_few_samples_of_positive_weight():
    weights = np.zeros(len(X))
    weights[:2] = 1
    with pytest.raises(ValueError, match="n_neighbors=3 is larger than n_samples=2, the number"):
        KNNClassifier().fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="at least 2 samples, but only 1 of 40"):
        EnergyClassifier().fit(X, y, sample_weight=weights * (np.arange(len(X)) == 0))


# Class weights


@each_classifier
def test_class_weights_are_factors_of_sample_weights(model):
    factors = {0: 2.0, 1: 0.5}
    by_class = clone(model).set_params(class_weight=factors).fit(X, y, sample_weight=W)
    expected = clone(model).fit(X, y, sample_weight=W * np.array([2, 0.5, 1])[y])
    assert_allclose(by_class._class_scores(NEW), expected._class_scores(NEW), rtol=1e-6)


@pytest.mark.slow
@each_classifier
def test_balanced_classes_have_the_same_total_weight(model):
    rare = np.flatnonzero((y > 0) | (np.arange(len(y)) % 2 == 0))
    model = clone(model).set_params(class_weight="balanced")
    balanced = model.fit(X[rare], y[rare])
    weights = len(rare) / 3 / np.bincount(y[rare])[y[rare]]
    expected = clone(model).set_params(class_weight=None)
    expected.fit(X[rare], y[rare], sample_weight=weights)
    assert_allclose(balanced._class_scores(NEW), expected._class_scores(NEW), rtol=1e-6)


@each_classifier
def test_a_class_of_weight_0_is_absent(model):
    names = np.array(["a", "b", "c"])[y]
    if isinstance(model, NCMCClassifier):
        model = clone(model).set_params(n_centroids=2)
    by_class = clone(model).set_params(class_weight={"b": 0}).fit(X, names)
    by_sample = clone(model).fit(X, names, sample_weight=names != "b")
    for fitted in (by_class, by_sample):
        assert_array_equal(fitted.classes_, ["a", "c"])
        assert set(fitted.predict(NEW)) <= {"a", "c"}


def test_bad_class_weights():
    for model in CLASSIFIERS:
        with pytest.raises(ValueError, match="class_weight contains 7, which is not a class"):
            clone(model).set_params(class_weight={7: 1}).fit(X, y)
        with pytest.raises(ValueError, match="'class_weight' parameter"):
            clone(model).set_params(class_weight="equal").fit(X, y)
    with pytest.raises(ValueError, match="All sample weights are zero"):
        KNNClassifier(class_weight={1: 0}).fit(X, y, sample_weight=y == 1)


def test_class_weights_of_several_outputs():
    Y = np.column_stack([y == 0, X[:, 0] > 0]).astype(int)
    weights = 1.0 + Y[:, 0] + 3 * (Y[:, 1] == 0) * (1 + Y[:, 0])
    model = KNNClassifier(class_weight=[{1: 2}, {0: 4}]).fit(X, Y)
    expected = KNNClassifier().fit(X, Y, sample_weight=weights)
    assert_allclose(np.array(model.predict_proba(NEW)), np.array(expected.predict_proba(NEW)))
    balanced = KNNClassifier(class_weight="balanced").fit(X, Y)
    from sklearn.utils.class_weight import compute_sample_weight

    expected = KNNClassifier().fit(X, Y, sample_weight=compute_sample_weight("balanced", Y))
    assert_allclose(np.array(balanced.predict_proba(NEW)), np.array(expected.predict_proba(NEW)))
    with pytest.raises(ValueError, match="class_weight is a dict, but y has 2 outputs"):
        KNNClassifier(class_weight={1: 2}).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight has 1 entries, but y has 2 outputs"):
        KNNClassifier(class_weight=[{1: 2}]).fit(X, Y)


# Weights of the learner


class Weighing(PCA):
    """An unsupervised learner that records its weights."""

    _accepts_weights = True

    def _fit(self, X, supervision, progress):
        self.weights_ = supervision.weights
        return super()._fit(X, None, progress)


@each_of([model for model in MODELS if not isinstance(model, MetricEnsembleClassifier)])
@pytest.mark.parametrize("learner", [Shift(), Weighing()], ids=["foreign", "own"])
def test_learners_get_the_weights_of_the_samples_used(model, learner):
    model = clone(model).set_params(learner=learner).fit(X, y, sample_weight=SOME)
    assert_array_equal(model.learner_.weights_, SOME[SOME > 0])
    pipeline = make_pipeline(StandardScaler(), MinMaxScaler(), learner)
    model = clone(model).set_params(learner=make_pipeline(pipeline)).fit(X, y, sample_weight=SOME)
    inner = model.learner_[0]
    assert_array_equal(inner[-1].weights_, SOME[SOME > 0])
    assert_allclose(inner[0].mean_, np.average(X, axis=0, weights=SOME))


@each
def test_learners_without_weights_are_fitted_without_them(model):
    class Plain(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            return self

        def transform(self, X):
            return X

    class Unweighted(PCA):
        _accepts_weights = False

    for learner in (Plain(), Unweighted(), make_pipeline(MinMaxScaler(), Unweighted())):
        model = clone(model).set_params(learner=learner).fit(X, y, sample_weight=W)
        assert model.predict(NEW).shape == (20,)


def test_class_weights_reach_the_learner():
    model = KNNClassifier(learner=Shift(), class_weight={0: 3}).fit(X, y)
    assert_array_equal(model.learner_.weights_, np.array([3, 1, 1])[y])


def test_weighted_centroids_of_several_clusters():
    model = NCMCClassifier(1, random_state=0).fit(X, y, sample_weight=W)
    assert_allclose(model.centroids_, NCMClassifier().fit(X, y, sample_weight=W).centroids_)
    # The best two clusters of three points depend on their weights.
    points, labels = np.array([[0.0], [4.0], [9.0]]), np.zeros(3)
    for weights, expected in (
        ([1, 1, 1], [2, 9]),
        ([1, 1, 0.1], [0, 49 / 11]),
    ):
        model = NCMCClassifier(2, random_state=0).fit(points, labels, sample_weight=weights)
        assert_allclose(np.sort(model.centroids_.ravel()), expected)
    repeats = np.arange(len(X)) % 3 + 1
    weighted = NCMCClassifier(2, random_state=0).fit(X, y, sample_weight=repeats)
    repeated = NCMCClassifier(2, random_state=0).fit(
        np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    )
    assert_allclose(weighted.score(X, y, repeats), repeated.score(X, y, repeats), atol=0.1)
