"""The parts of the features in a squared distance."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import LEARNERS, MODELS, each, host, is_linear, samples
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA as TheirPCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import (
    KPCA,
    LDA,
    NCA,
    PCA,
    KNNClassifier,
    KNNRegressor,
    MetricEnsembleClassifier,
    MultiMetricKNNClassifier,
    NCMClassifier,
)

X, y = samples()
A, B = X[:10], X[10:20]
SEVERAL_METRICS = (MetricEnsembleClassifier, MultiMetricKNNClassifier)


def naive_parts(M, x, x2):
    """Return the parts of a squared distance by a loop."""
    delta = x - x2
    return np.array(
        [delta[k] * sum(M[k, l] * delta[l] for l in range(len(M))) for k in range(len(M))]
    )


@each(is_linear, learners=LEARNERS)
def test_parts_match_the_formula_and_sum_to_the_squared_distance(learner):
    learner = clone(learner).fit(X, y)
    M = host(learner.metric())
    parts = learner.explain_pair(A, B)
    scale = np.abs(parts).max()
    expected = [naive_parts(M, a, b) for a, b in zip(A, B, strict=True)]
    assert_allclose(parts, expected, rtol=0, atol=1e-9 * scale)
    squared = learner.pair_distance(np.stack([A, B], axis=1)) ** 2
    assert_allclose(parts.sum(axis=1), squared, rtol=1e-9, atol=1e-9 * scale)
    assert learner.explain_pair(A[0], B[0]).shape == (4,)
    assert_allclose(learner.explain_pair(A[0], B[0]), parts[0], atol=1e-12 * scale)
    assert_allclose(learner.explain_pair(A[0], A[0]), 0)


def test_one_sample_and_a_block():
    learner = NCA().fit(X, y)
    expected = [learner.explain_pair(A[0], b) for b in B]
    for parts in (learner.explain_pair(A[0], B), learner.explain_pair(B, A[0])):
        assert_allclose(parts, expected)
    with pytest.raises(ValueError, match="x has 10 rows and x2 has 3 rows"):
        learner.explain_pair(A, B[:3])
    assert learner.explain_pair(A[:1], B[:1]).shape == (1, 4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_namespaces(namespace, dtype):
    data = namespace.asarray(X.astype(dtype))
    learner = LDA().fit(data, namespace.asarray(y))
    parts = learner.explain_pair(data[0, :], data[10:20, :])
    assert isinstance(parts, type(data))
    assert parts.dtype == data.dtype
    expected = LDA().fit(X, y).explain_pair(X[0], X[10:20])
    assert_allclose(host(parts), expected, rtol=1e-3, atol=1e-3)


def test_rows_of_data_frames():
    frame = pd.DataFrame(X, columns=list("abcd"))
    learner = NCA().fit(frame, y)
    expected = NCA().fit(X, y).explain_pair(X[0], X[1])
    for pair in (
        (frame.iloc[0], frame.iloc[1]),
        (frame.iloc[0].astype(object), frame.iloc[1]),
    ):
        assert_allclose(learner.explain_pair(*pair), expected)
    assert_allclose(learner.explain_pair(frame[:1], frame[1:2]), [expected])
    with pytest.raises(ValueError, match="feature names should match"):
        learner.explain_pair(frame.iloc[0][::-1], frame.iloc[1])
    polars = pl.DataFrame(X, schema=list("abcd"))
    assert_allclose(NCA().fit(polars, y).explain_pair(polars[:1], polars[1:2]), [expected])


def test_sparse_rows():
    learner = PCA(2).fit(sparse.csr_array(X))
    expected = PCA(2).fit(X).explain_pair(A, B)
    parts = learner.explain_pair(sparse.csr_array(A), sparse.csr_array(B))
    assert_allclose(parts, expected, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [each for each in MODELS if not isinstance(each, SEVERAL_METRICS)],
    ids=str,
)
def test_classifiers_and_regressors(model):
    model = clone(model).fit(X, y)
    learner = model.learner_
    expected = (A - B) ** 2 if learner is None else learner.explain_pair(A, B)
    assert_allclose(model.explain_pair(A, B), expected)
    assert_allclose(model.explain_pair(A[0], B[0]), expected[0])
    if hasattr(model, "kneighbors"):
        distances, rows = model.kneighbors(A, 1)
        parts = model.explain_pair(A, X[rows[:, 0]])
        assert_allclose(parts.sum(axis=1), distances[:, 0] ** 2, atol=1e-9)


def test_parts_of_a_pipeline_refer_to_scaled_features():
    learner = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), NCA()))
    model = KNNClassifier(learner=learner).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    expected = NCA().fit(Z, y).explain_pair(Z[:10], Z[10:20])
    assert_allclose(model.explain_pair(A, B), expected, rtol=1e-6)


def test_errors():
    with pytest.raises(NotFittedError):
        NCA().explain_pair(A, B)
    with pytest.raises(NotFittedError):
        KNNClassifier().explain_pair(A, B)
    with pytest.raises(ValueError, match="KPCA has no matrix M to explain distances"):
        KNNClassifier(learner=KPCA(2)).fit(X, y).explain_pair(A, B)
    with pytest.raises(ValueError, match="PCA has no matrix M"):
        NCMClassifier(TheirPCA()).fit(X, y).explain_pair(A, B)
    with pytest.raises(ValueError, match="metric='cityblock' is not Euclidean"):
        KNNRegressor(metric="cityblock").fit(X, y).explain_pair(A, B)
    with pytest.raises(ValueError, match="has a metric for each class"):
        MultiMetricKNNClassifier(max_iter=100).fit(X, y).explain_pair(A, B)
    learner = NCA().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but NCA is expecting 4"):
        learner.explain_pair(A[:, :3], B)
    with pytest.raises(ValueError, match="contains NaN"):
        learner.explain_pair(A[0], np.full(4, np.nan))
