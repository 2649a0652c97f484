"""The probabilistic model of PCA, and the number of components by its evidence."""

from math import log, pi
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, is_dask, namespace, to_host
from dimetric._arrays.validation import checked_samples
from dimetric.blocks.lazy import lazy_on_dask, mean_over_blocks
from dimetric.supervision._weights import checked_sample_weight

BLOCK_ENTRIES = 2**22  # numbers in a block of samples


class ProbabilisticPCAMixin:
    r"""Mixin with the Gaussian model of which PCA is the maximum-likelihood solution [1]_.

    .. math:: x \sim N(\mu, C), \qquad C = V^T (\Lambda - \sigma^2 I) V + \sigma^2 I

    The rows of V are the k principal axes, :math:`\Lambda` holds their variances, and
    :math:`\sigma^2`, the ``noise_variance_``, is the mean variance of the other directions.
    Whitening does not change the model.

    References
    ----------
    .. [1] M. E. Tipping, C. M. Bishop, "Probabilistic principal component analysis", Journal of
       the Royal Statistical Society B 61, 1999.
    """

    components_: Array
    offset_: Array
    explained_variance_: Array
    noise_variance_: float
    n_samples_: float

    def get_covariance(self) -> Array:
        r"""Return the covariance of the probabilistic model.

        Returns
        -------
        C : array of shape (n_features, n_features)
            :math:`V^T (\Lambda - \sigma^2 I) V + \sigma^2 I`.
        """
        V, variances = self._axes_and_variances()
        return self._model_matrix(V, variances - self.noise_variance_, self.noise_variance_)

    def get_precision(self) -> Array:
        r"""Return the inverse of :meth:`get_covariance`.

        Returns
        -------
        P : array of shape (n_features, n_features)
            :math:`V^T (\Lambda^{-1} - \sigma^{-2} I) V + \sigma^{-2} I`. Raises a ValueError if the
            covariance is singular.
        """
        V, variances = self._axes_and_variances()
        k, d = V.shape
        smallest = min(float(variances[-1]), self.noise_variance_ if k < d else np.inf)
        if smallest <= self._smallest_variance(variances, d):
            raise ValueError(
                f"The covariance is singular, because the model of {k} components has no variance "
                f"in some of the {d} directions. Use fewer components, or drop constant features."
            )
        outside = 1 / self.noise_variance_ if k < d else 0.0
        return self._model_matrix(V, 1 / variances - outside, outside)

    @lazy_on_dask
    def score_samples(self, X: Array) -> Array:
        r"""Return the log-likelihood of each sample under the probabilistic model.

        .. math:: \log p(x) = -\tfrac12 \big( d \log 2\pi + \log\det C
                  + (x - \mu)^T C^{-1} (x - \mu) \big)

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. Sparse samples are made dense block by block.

        Returns
        -------
        log_likelihood : array of shape (n_samples,)
            In the array library, dtype and device of X. If the covariance is singular, directions
            without variance get a variance at the level of rounding errors. The result is then
            large for samples in the span of the training samples, and very small for others.
        """
        V, variances = self._axes_and_variances()
        samples = checked_samples(self, X, reset=False)
        xp, (n, d) = namespace(samples), samples.shape
        k, smallest = V.shape[0], self._smallest_variance(variances, d)
        V, variances, mean = (
            asarray_like(a, samples, dtype=xp.float64) for a in (V, variances, self.offset_)
        )
        variances, noise = xp.clip(variances, min=smallest), max(self.noise_variance_, smallest)
        constant = d * log(2 * pi) + float(xp.sum(xp.log(variances)))
        constant += (d - k) * log(noise) if k < d else 0.0
        parts = []
        for rows in row_blocks(n, max(1, BLOCK_ENTRIES // d)):
            block = samples[rows, :]
            block = xp.astype(block.toarray() if sparse.issparse(block) else block, xp.float64)
            scores = (block - mean) @ V.T
            squares = xp.sum(scores**2 / variances, axis=1)
            if k < d:
                squares = squares + xp.sum((block - mean - scores @ V) ** 2, axis=1) / noise
            parts.append(-(constant + squares) / 2)
        return xp.astype(xp.concat(parts), samples.dtype, copy=False)

    def score(self, X: Array, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log-likelihood of samples under the probabilistic model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples in the mean.

        Returns
        -------
        score : float
            Mean of :meth:`score_samples`.
        """
        if is_dask(X):
            return mean_over_blocks(self, X, sample_weight=sample_weight)
        values = self.score_samples(X)
        weights = checked_sample_weight(sample_weight, values.shape[0])
        if weights is not None:
            return float(np.average(to_host(values).astype(np.float64), weights=weights))
        xp = namespace(values)
        return float(xp.mean(xp.astype(values, xp.float64)))

    def _axes_and_variances(self) -> tuple[Array, Array]:
        """Return the principal axes, as rows of length 1, and their variances, in float64."""
        check_is_fitted(self)
        if not hasattr(self, "noise_variance_"):
            raise ValueError(
                "This PCA has no noise_variance_, because an earlier version of dimetric fitted "
                "it. Fit it again."
            )
        xp = namespace(self.components_)
        L = xp.astype(self.components_, xp.float64)
        lengths = xp.linalg.vector_norm(L, axis=1, keepdims=True)  # not 1 after whitening
        V = L / xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        # Whitened components without variance are 0, and come last. Any axes orthogonal to the
        # others replace them. With k < d, they belong to the directions outside of V instead.
        rank = int(xp.sum(xp.astype(lengths > 0, xp.int64)))
        if rank < V.shape[0] == V.shape[1]:
            V = xp.concat([V[:rank, :], xp.linalg.svd(V)[2][rank:, :]])
        return V, xp.astype(self.explained_variance_, xp.float64)

    def _model_matrix(self, V: Array, inside: Array, outside: float) -> Array:
        """Return the matrix V^T diag(inside) V + outside I, in the dtype of the components."""
        xp = namespace(V)
        eye = xp.eye(V.shape[1], dtype=V.dtype, device=V.device)
        M = (V.T * inside) @ V + outside * eye
        return xp.astype((M + M.T) / 2, self.components_.dtype)

    def _smallest_variance(self, variances: Array, d: int) -> float:
        """Return the variance that rounding errors alone can cause, which is positive."""
        rounding = max(self.n_samples_, d) * eps(self.components_)
        if float(variances[0]) == 0:
            raise ValueError("All samples are identical, so the model of PCA has no density.")
        return rounding**2 * float(variances[0])


def noise_variance(all_variances: Array, total: float, k: int, n: int, d: int) -> float:
    """Return the mean variance of the d - k directions other than the first k components.

    Parameters
    ----------
    all_variances : array of shape (m,)
        The computed variances, descending. They may be all min(n, d) variances, or fewer.
    total : float
        Total variance.
    k : int
        Number of components.
    n, d : int
        Numbers of samples and features.

    Examples
    --------
    >>> noise_variance(np.array([4.0, 2.0, 1.0]), 7.0, 1, 100, 3)
    1.5
    """
    if k == min(n, d):
        return 0.0
    xp, rounding = namespace(all_variances), max(n, d) * eps(all_variances)
    if all_variances.shape[0] >= min(n, d):  # the sum is more accurate than the difference
        rest, noise = float(xp.sum(all_variances[k:])), rounding**2 * total
    else:
        rest, noise = total - float(xp.sum(all_variances[:k])), rounding * total
    return rest / (d - k) if rest > noise else 0.0


def most_evident_dimension(variances: np.ndarray, n: float) -> int:
    r"""Return the number of components with the largest evidence, by Minka's approximation [1]_.

    .. math:: p(X \mid k) \approx p(U) \Big( \prod_{j \le k} \lambda_j \Big)^{-n/2}
              v^{-n (d - k) / 2}\, (2\pi)^{(m + k) / 2}\, |A|^{-1/2}\, n^{-k/2}

    Here :math:`\lambda_j` are the variances of all d directions in descending order, v is the mean
    of the last d - k of them, :math:`m = dk - k(k+1)/2`, p(U) is the density of the uniform prior
    of k axes, and

    .. math:: |A| = \prod_{i \le k} \prod_{j > i} n\, (\lambda_i - \lambda_j)
              \Big( \frac{1}{\hat\lambda_j} - \frac{1}{\lambda_i} \Big), \qquad
              \hat\lambda_j = \lambda_j \text{ if } j \le k \text{, otherwise } v.

    Parameters
    ----------
    variances : ndarray of shape (d,)
        Variances in descending order.
    n : float
        Number of samples, or the sum of their weights.

    Returns
    -------
    k : int
        A number from 1 to d - 1 (1 if d = 1). Components without variance are not counted.

    References
    ----------
    .. [1] T. P. Minka, "Automatic choice of dimensionality for PCA", NeurIPS 2000.

    Examples
    --------
    >>> most_evident_dimension(np.array([9.0, 8.0, 1.1, 1.0, 0.9]), 100)
    2
    """
    d = len(variances)
    noise = max(n, d) * np.finfo(np.float64).eps * variances[0]
    rank = int(np.sum(variances > noise))
    if d == 1 or rank <= 1:
        return 1
    evidence = _log_evidence(np.maximum(variances, noise), n)
    return 1 + int(np.argmax(evidence[:rank]))


def _log_evidence(variances: np.ndarray, n: float) -> np.ndarray:
    """Return the logarithm of the evidence for k = 1, ..., d - 1 components, up to a constant."""
    d = len(variances)
    k = np.arange(1, d)
    logs = np.log(variances)
    v = np.cumsum(variances[::-1])[::-1][1:] / (d - k)
    # Equal variances would make |A| zero, so differences are at least as large as rounding errors.
    tiny = np.finfo(np.float64).eps * variances[0]
    later = np.triu(np.ones((d, d), dtype=bool), 1)  # pairs with j > i
    first = np.tri(d - 1, d, dtype=bool)  # i <= k, for each k
    gaps = np.where(later, np.log(np.maximum(variances[:, None] - variances, tiny)), 0.0)
    ratios = np.where(later, gaps - logs[:, None] - logs, 0.0)  # log(1 / l_j - 1 / l_i)
    to_v = np.log(np.maximum(variances - v[:, None], tiny)) - logs - np.log(v)[:, None]
    m = d * k - k * (k + 1) / 2
    log_det = np.cumsum(np.sum(gaps, axis=1))[:-1] + np.cumsum(np.sum(ratios, axis=0))[:-1]
    log_det += (d - k) * np.sum(np.where(first, to_v, 0.0), axis=1) + m * np.log(n)
    halves = (d - k + 1) / 2
    log_prior = np.cumsum(gammaln(halves) - halves * np.log(np.pi)) - k * np.log(2)
    likelihood = -n / 2 * (first @ logs + (d - k) * np.log(v))
    volume = (m + k) / 2 * np.log(2 * np.pi) - log_det / 2 - k / 2 * np.log(n)
    return log_prior + likelihood + volume
