"""Eigenvalue ratios and residual variances by dimension."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA as TheirPCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import KPCA, LDA, LMNN, MDS, NCA, PCA, Isomap
from dimetric.data import make_s_curve
from dimetric.quality import eigenvalue_ratios, residual_variances

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)


def test_ratios_match_the_eigenvalues_of_the_covariance():
    expected = np.sort(np.linalg.eigvalsh(np.cov(X.T)))[::-1]
    expected = expected / expected.sum()
    assert_allclose(eigenvalue_ratios(PCA(4).fit(X)), expected[:4])
    assert_allclose(eigenvalue_ratios(TheirPCA(4).fit(X)), expected[:4])
    assert_allclose(eigenvalue_ratios(KPCA(4, kernel="linear").fit(X)), expected[:4], rtol=1e-6)
    assert_allclose(eigenvalue_ratios(make_pipeline(PCA(3), PCA(2)).fit(X)).sum(), 1, atol=0.2)
    assert_allclose(eigenvalue_ratios(LDA().fit(X, y)).sum(), 1)
    assert_allclose(eigenvalue_ratios(MDS(13).fit(X)), expected, atol=1e-9)


def test_learner_without_eigenvalues_raises():
    with pytest.raises(ValueError, match="NCA has no eigenvalues"):
        eigenvalue_ratios(NCA().fit(X, y))


def test_residual_variance_of_classical_scaling():
    result = residual_variances(MDS(), X, [1, 3])
    for k, value in result.items():
        Z = MDS(k).fit_transform(X)
        assert_allclose(value, 1 - np.corrcoef(pdist(X), pdist(Z))[0, 1] ** 2, rtol=1e-6)


def test_residual_variance_of_smacof():
    rows = X[::6]
    result = residual_variances(MDS(algorithm="smacof"), rows, [2])
    Z = MDS(2, algorithm="smacof").fit_transform(rows)
    assert_allclose(result[2], 1 - np.corrcoef(pdist(rows), pdist(Z))[0, 1] ** 2, rtol=1e-6)


def test_residual_variance_of_isomap():
    sheet = make_s_curve(500, random_state=0).X
    result = residual_variances(Isomap(n_neighbors=8), sheet)
    assert list(result) == [1, 2, 3]
    for k, value in result.items():
        assert_allclose(value, Isomap(n_neighbors=8, n_components=k).fit(sheet).residual_variance())
    assert result[2] < 0.1 * result[1]


def test_invalid_dimensions_or_estimator_raises():
    with pytest.raises(ValueError, match=r"dimensions=\[0\] must be ints from 1 to 177"):
        residual_variances(MDS(), X, [0])
    with pytest.raises(ValueError, match="StandardScaler has no parameter n_components"):
        residual_variances(StandardScaler(), X)


@pytest.mark.parametrize("learner", [NCA(), LMNN(tol=1e-6), MDS(algorithm="smacof")])
def test_history_starts_and_ends_with_the_objectives_in_the_metadata(learner):
    metadata = learner.fit(X, y).metadata()
    assert learner.history_[0] == pytest.approx(metadata["initial_objective"])
    assert learner.history_[-1] == pytest.approx(metadata["final_objective"], rel=1e-3)
    assert len(learner.history_) > metadata["n_iter"]
