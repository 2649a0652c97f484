"""Nearest neighbours compared with scikit-learn, and with loops if distances are tied."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, load_iris, load_wine
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import LDA, NCA, PCA, KNNClassifier, KNNRegressor
from dimetric.neighbors import metric_search as search
from dimetric.neighbors import queries
from dimetric.neighbors.ties import Neighborhoods


def fading(distances):
    return np.exp(-distances / 100)


WEIGHTS = ["uniform", "distance", fading, None]
LOADERS = [load_iris, load_wine, load_digits]


def split(load):
    """Return training and new samples, with duplicates within and between the two."""
    X, y = load(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no other ties
    train, new = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    train, new = np.append(train, train[::10]), np.append(new, train[:40])
    return X[train], y[train], X[new], y[new]


def large_only_once():
    """Yield each data set with each number of neighbours.

    The largest data set is marked slow, except for one number of neighbours.
    """
    for load in LOADERS:
        for k in (1, 2, 4, 7):
            slow = load is load_digits and k != 4
            yield pytest.param(load, k, marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize(("load", "k"), list(large_only_once()))
@pytest.mark.parametrize("weights", WEIGHTS)
def test_classifier_matches_scikit_learn(load, weights, k):
    X, y, X_new, y_new = split(load)
    ours = KNNClassifier(k, weights=weights).fit(X, y)
    # Use a tree: with matrix products, scikit-learn's distance of duplicates is not exactly 0.
    theirs = KNeighborsClassifier(k, weights=weights, algorithm="kd_tree").fit(X, y)
    for new in (X_new, None):
        assert_array_equal(ours.predict(new), theirs.predict(new))
        assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-12)
        assert_allclose(ours.kneighbors(new)[0], theirs.kneighbors(new)[0], atol=1e-12)
    assert ours.score(X_new, y_new) == theirs.score(X_new, y_new)
    assert ours.score() == ours.score(None, y)


def test_tied_votes_go_to_the_first_class():
    X, y = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array(["b", "a", "d", "c"])
    for weights in WEIGHTS:
        ours = KNNClassifier(4, weights=weights).fit(X, y)
        theirs = KNeighborsClassifier(4, weights=weights).fit(X, y)
        assert ours.predict([[2.0]]) == theirs.predict([[2.0]])
    assert KNNClassifier(4).fit(X, y).predict([[2.0]]) == ["a"]


def by_loops(X, y, new, k, exclude_self):
    """Return the fractions of votes of the k nearest samples. Tied samples share votes."""
    result = []
    for i, x in enumerate(new):
        D = np.sum((x - X) ** 2, axis=1)
        others = np.arange(len(X)) != i if exclude_self else np.full(len(X), True)
        kth = np.sort(D[others])[k - 1]
        nearer, tied = others & (kth > D), others & (kth == D)
        votes = np.bincount(y[nearer], minlength=3).astype(float)
        share = (k - np.sum(nearer)) / np.sum(tied)
        result.append((votes + share * np.bincount(y[tied], minlength=3)) / k)
    return np.array(result)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 20), st.integers(1, 9))
def test_tied_samples_share_votes(seed, d, k):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, size=(40, d)).astype(float), rng.integers(0, 3, size=40)
    y[:3] = 0, 1, 2
    new = rng.integers(0, 2, size=(10, d)).astype(float)
    model = KNNClassifier(k).fit(X, y)
    assert_allclose(model.predict_proba(new), by_loops(X, y, new, k, False))
    assert_allclose(model.predict_proba(), by_loops(X, y, X, k, True))


@pytest.mark.parametrize("k", [1, 3, 4, 8])
@pytest.mark.parametrize("d", [1, 2, 3, 20])
def test_ties_on_a_grid_match_scikit_learn(d, k):
    rng = np.random.default_rng(d)
    X, new = (rng.integers(0, 3, size=(n, d)).astype(float) for n in (80, 40))
    y, values = rng.integers(0, 3, size=80), rng.normal(size=80)
    # Distances between integers are exact, so a stable sort keeps tied samples in row order.
    D = np.sum((new[:, None] - X) ** 2, axis=2)
    nearest = np.argsort(D, axis=1, kind="stable")[:, :k]
    ours = KNNClassifier(k).fit(X, y)
    assert_array_equal(ours.kneighbors(new)[1], nearest)
    theirs = KNeighborsClassifier(k, algorithm="brute").fit(X, y)
    assert_allclose(ours.kneighbors(new)[0], theirs.kneighbors(new)[0])
    # scikit-learn finds the same neighbours unless the k-th distance is tied with the next.
    ordered = np.sort(D, axis=1)
    untied = ordered[:, k - 1] < ordered[:, k]
    assert_allclose(ours.predict_proba(new)[untied], theirs.predict_proba(new)[untied])
    regressor = KNNRegressor(k).fit(X, values)
    assert_allclose(regressor.predict(new)[untied], values[nearest[untied]].mean(axis=1))
    assert_allclose(
        KNNClassifier(k).fit(X, values > 0).predict_proba(new)[:, 1],
        KNNRegressor(k).fit(X, (values > 0).astype(float)).predict(new),
    )


@pytest.mark.parametrize("few", [0, 5000])
def test_ties_are_the_same_in_every_search(namespace, few, monkeypatch):
    monkeypatch.setattr(queries, "MAX_PRODUCT_SAMPLES", few)
    monkeypatch.setattr(search, "import_compiled", lambda name: None)
    rng = np.random.default_rng(0)
    for d in (2, 15):
        X = rng.integers(0, 2, size=(300, d)).astype(float)
        data = namespace.asarray(X)
        D = np.sqrt(np.sum((X[:, None] - X) ** 2, axis=2))
        nearest = np.argsort(D[:, :200], axis=1, kind="stable")[:, :5]
        assert_array_equal(Neighborhoods(data, 5, data[:200, :]).listed(5)[1], nearest)
        np.fill_diagonal(D, np.inf)
        nearest = np.argsort(D, axis=1, kind="stable")[:, :5]
        assert_array_equal(Neighborhoods(data, 5).listed(5)[1], nearest)


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("n_outputs", [0, 1, 3])
def test_regressor_matches_scikit_learn(weights, n_outputs):
    X, y = load_diabetes(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-4, size=X.shape)
    if n_outputs:
        y = np.stack([y, y**2, -y], axis=1)[:, :n_outputs]
    ours = KNNRegressor(4, weights=weights).fit(X[::2], y[::2])
    theirs = KNeighborsRegressor(4, weights=weights).fit(X[::2], y[::2])
    for new in (X[1::2], X[:20], None):
        assert ours.predict(new).shape == theirs.predict(new).shape
        assert_allclose(ours.predict(new), theirs.predict(new))
    assert_allclose(ours.score(X[1::2], y[1::2]), theirs.score(X[1::2], y[1::2]))
    assert_allclose(ours.score(), theirs.score(None, y[::2]))


@pytest.mark.parametrize("learner", [LDA(), PCA(2), NCA(max_iter=5)])
@pytest.mark.filterwarnings("ignore:NCA did not converge")
def test_neighbours_are_searched_among_mapped_samples(learner):
    X, y = load_wine(return_X_y=True)
    ours = KNNClassifier(5, learner=learner).fit(X, y)
    Z = learner.fit(X, y).transform(X)
    assert_allclose(ours.learner_.transform(X), Z)
    theirs = KNeighborsClassifier(5).fit(Z, y)
    assert_array_equal(ours.predict(X), theirs.predict(Z))
    assert_array_equal(ours.predict(), theirs.predict(None))


def test_leave_one_out_matches_refits():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)
    model = KNNClassifier(3).fit(X, y)
    others = ~np.eye(len(X), dtype=bool)
    expected = [
        KNNClassifier(3).fit(X[others[i]], y[others[i]]).predict(X[i : i + 1])[0]
        for i in range(len(X))
    ]
    assert_array_equal(model.predict(), expected)
    assert model.score() == np.mean(expected == y)


@pytest.mark.parametrize("made", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_matches_dense(made):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    model = KNNClassifier().fit(made(X), y)
    assert_array_equal(model.predict(made(X)), KNNClassifier().fit(X, y).predict(X))
    mapped = KNNClassifier(learner=PCA(5, random_state=0))
    expected = mapped.fit(X, y).predict(X)
    assert_array_equal(mapped.fit(made(X), y).predict(made(X)), expected)


def test_too_many_neighbours_raise():
    X, y = np.arange(4.0)[:, None], np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="n_neighbors=5 is larger than n_samples=4"):
        KNNClassifier(5).fit(X, y)
    model = KNNClassifier(4).fit(X, y)
    assert model.predict(X).shape == (4,)
    with pytest.raises(ValueError, match="between 1 and the number of other training samples, 3"):
        model.predict()
    with pytest.raises(ValueError, match="n_neighbors=0 must be an int between 1 and"):
        model.kneighbors(X, 0)


def test_bad_weights():
    X, y = np.arange(4.0)[:, None], np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match="All neighbours of a sample have weight 0"):
        KNNClassifier(weights=lambda d: 0 * d).fit(X, y).predict(X)
    for wrong in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match="weights must return finite numbers of at least 0"):
            KNNClassifier(weights=lambda d, w=wrong: w + 0 * d).fit(X, y).predict(X)
    with pytest.raises(
        ValueError, match=r"shape as the distances, \(4, 3\), but returned .* \(3,\)"
    ):
        KNNClassifier(weights=lambda d: d[0]).fit(X, y).predict(X)
    with pytest.raises(ValueError, match="'weights' parameter of KNNRegressor"):
        KNNRegressor(weights="near").fit(X, y)


def test_bad_targets():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="Input y contains NaN"):
        KNNRegressor(1).fit(X, [1.0, np.nan, 2.0, 3.0])
    with pytest.raises(ValueError, match="Found array with dim 3"):
        KNNRegressor(1).fit(X, np.zeros((4, 2, 2)))
    refused = r"LDA\(\) learns from one class per sample, but y has continuous targets. Use MLKR"
    with pytest.raises(ValueError, match=refused):
        KNNRegressor(1, learner=LDA()).fit(X, [1.5, 2.5, 3.5, 4.5])


def test_parameters_of_the_learner_are_validated():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="'n_components' parameter of NCA"):
        KNNClassifier(learner=NCA(n_components=-1)).fit(X, y)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("manhattan", None),
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 2}),
        ("chebyshev", None),
        ("cosine", None),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 3.0, 4.0])}),
        (lambda a, b: np.abs(a - b).sum(), None),
    ],
)
@pytest.mark.parametrize("learner", [None, PCA(4)], ids=str)
def test_metrics_match_scikit_learn(metric, params, learner):
    X, y, X_new, _ = split(load_iris)
    ours = KNNClassifier(5, metric=metric, metric_params=params, learner=learner).fit(X, y)
    Z, Z_new = ((each if learner is None else ours.learner_.transform(each)) for each in (X, X_new))
    p = (params or {}).get("p", 2)
    others = None if metric == "minkowski" else params
    theirs = KNeighborsClassifier(5, metric=metric, p=p, metric_params=others).fit(Z, y)
    assert_allclose(ours.predict_proba(X_new), theirs.predict_proba(Z_new))
    assert_allclose(ours.predict_proba(), theirs.predict_proba(None))
    assert_allclose(ours.kneighbors(X_new)[0], theirs.kneighbors(Z_new)[0], atol=1e-12)
    regressor = KNNRegressor(5, metric=metric, metric_params=params, learner=learner).fit(X, y)
    assert_allclose(regressor.predict(X_new), ours.predict_proba(X_new) @ np.arange(3))


def test_precomputed_distances():
    X, y, X_new, _ = split(load_iris)
    D, D_new = (search.distances_between(each, X) for each in (X, X_new))
    model, expected = KNNClassifier(metric="precomputed").fit(D, y), KNNClassifier().fit(X, y)
    assert_allclose(model.predict_proba(D_new), expected.predict_proba(X_new))
    assert_allclose(model.predict_proba(), expected.predict_proba())
    assert model.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="metric='precomputed' cannot be combined with a learner"):
        KNNClassifier(metric="precomputed", learner=PCA()).fit(D, y)
    with pytest.raises(ValueError, match=r"must be a square matrix .* it has shape \(83, 4\)"):
        KNNClassifier(metric="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="distances, which must not be negative"):
        KNNClassifier(metric="precomputed").fit(-D, y)
    with pytest.raises(ValueError, match="must be a dense matrix of distances, but it is sparse"):
        KNNClassifier(metric="precomputed").fit(sparse.csr_array(D), y)


def test_bad_metrics():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"metric='nearest' is unknown\. Use a function or one of"):
        KNNClassifier(metric="nearest").fit(X, y)
    with pytest.raises(ValueError, match=r"'mahalanobis' requires metric_params={'VI': \.\.\.}"):
        KNNRegressor(metric="mahalanobis").fit(X, y)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_several_outputs_match_scikit_learn(weights):
    X, y, X_new, _ = split(load_iris)
    X, y = X[:75], y[:75]  # without duplicates
    names = np.array(["a", "b", "c"])[y[::-1]]
    for outputs in (np.stack([y, y[::-1] > 0], axis=1), np.stack([names, names[::-1]], axis=1)):
        ours = KNNClassifier(4, weights=weights).fit(X, outputs)
        theirs = KNeighborsClassifier(4, weights=weights, algorithm="kd_tree").fit(X, outputs)
        for new in (X_new, None):
            assert_array_equal(ours.predict(new), theirs.predict(new))
            pairs = zip(ours.predict_proba(new), theirs.predict_proba(new), strict=True)
            for fractions, expected in pairs:
                assert_allclose(fractions, expected, atol=1e-12)
        for classes, expected in zip(ours.classes_, theirs.classes_, strict=True):
            assert_array_equal(classes, expected)
        correct = np.all(ours.predict() == outputs, axis=1)
        assert ours.score() == ours.score(None, outputs) == np.mean(correct)
    with pytest.raises(ValueError, match="y has shape"):
        ours.score(X, outputs[:, :1])


def test_one_column_of_labels_is_one_output():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        model = KNNClassifier().fit(X, y[:, None])
    assert model.predict(X).shape == (150,)


@pytest.mark.parametrize("learner", [NCA(), LDA(), make_pipeline(StandardScaler(), NCA())], ids=str)
def test_class_learners_refuse_continuous_targets(learner):
    X, y = load_diabetes(return_X_y=True)
    wanted = "learns from one class per sample, but y has {}. Use MLKR or NCA"
    with pytest.raises(ValueError, match=wanted.format("continuous targets")):
        KNNRegressor(learner=learner).fit(X[:50], y[:50] + 0.5)
    for whole in (y, y.astype(int)):  # 214 distinct integers in 442 rows
        with pytest.raises(ValueError, match=wanted.format("continuous targets")):
            KNNRegressor(learner=learner).fit(X, whole)
    with pytest.raises(ValueError, match=wanted.format("2 outputs")):
        KNNRegressor(learner=learner).fit(X[:50], np.stack([y, y], axis=1)[:50])
    labels = r"y has 2 outputs. Use NCA\(cost=\"jaccard\"\) for several labels"
    with pytest.raises(ValueError, match=labels):
        KNNClassifier(learner=learner).fit(X[:50], np.stack([y > 90, y > 150], axis=1)[:50])
    model = KNNRegressor(learner=PCA(3)).fit(X, np.stack([y, -y], axis=1))
    assert_allclose(model.predict(X)[:, 0], -model.predict(X)[:, 1])


def test_class_learners_accept_targets_that_are_classes():
    X, y = load_iris(return_X_y=True)
    for targets in (y, y.astype(float)):
        assert KNNRegressor(learner=LDA()).fit(X, targets).score() > 0.95
    X, y = load_diabetes(return_X_y=True)
    for learner in (PCA(3), make_pipeline(StandardScaler(), PCA(3))):
        KNNRegressor(learner=learner).fit(X, y)


def test_metric_that_returns_nan_raises():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(150, 3)) * 0.1 + 1000.3  # a row of equal values has no correlation
    for weights in ("uniform", "distance"):
        model = KNNClassifier(5, metric="correlation", weights=weights).fit(X, np.arange(150) % 2)
        with pytest.raises(ValueError, match="metric='correlation' returned NaN"):
            model.predict_proba(X)
