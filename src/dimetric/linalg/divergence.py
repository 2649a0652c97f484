"""Divergences: LogDet between positive matrices, Kullback-Leibler and Jeffrey between Gaussians."""

import numpy as np

from dimetric._arrays.namespaces import Array, eps, like, namespace


def logdet_divergence(M: Array, M0: Array) -> float:
    r"""Return the LogDet divergence, the Bregman divergence of :math:`-\log\det` [1]_.

    .. math:: D(M, M_0) = \mathrm{tr}(M M_0^{-1}) - \log\det(M M_0^{-1}) - d

    It is 0 where both are equal, positive elsewhere, and the same for :math:`A M A^T` and
    :math:`A M_0 A^T` with any invertible A. It is infinite where M is not positive definite;
    an M0 that is not is a ValueError.

    References
    ----------
    .. [1] B. Kulis, M. A. Sustik, I. S. Dhillon, "Low-rank kernel learning with Bregman matrix
       divergences", JMLR 10, 2009.

    Examples
    --------
    >>> round(logdet_divergence(np.diag([2.0, 1.0]), np.eye(2)), 6)  # 2 - log 2 - 1
    0.306853
    """
    return _logdet(M, _whitening(like(M0, M), "M0"))


def gaussian_kl(mean_p: Array | None, cov_p: Array, mean_q: Array | None, cov_q: Array) -> float:
    r"""Return the Kullback-Leibler divergence of Gaussians by their :func:`logdet_divergence` D.

    .. math:: \mathrm{KL}(p \| q) = \tfrac12 D(\Sigma_p, \Sigma_q)
              + \tfrac12 (\mu_p - \mu_q)^T \Sigma_q^{-1} (\mu_p - \mu_q)

    The covariances stand for M and M0 there, also where they are not positive definite [1]_.

    Parameters
    ----------
    mean_p, mean_q : array of shape (d,) or None
        None is a mean of 0.
    cov_p, cov_q : array of shape (d, d)

    References
    ----------
    .. [1] J. V. Davis, I. S. Dhillon, "Differential entropic clustering of multivariate
       Gaussians", NeurIPS 2006.

    Examples
    --------
    >>> gaussian_kl(np.array([3.0, 0.0]), np.eye(2), None, np.eye(2))
    4.5
    """
    return _kl(_difference(mean_p, mean_q, cov_p), cov_p, like(cov_q, cov_p), "cov_q")


def gaussian_jeffrey(
    mean_p: Array | None, cov_p: Array, mean_q: Array | None, cov_q: Array
) -> float:
    r"""Return the Jeffrey divergence between two Gaussians, the sum of both :func:`gaussian_kl`.

    .. math:: \mathrm{JF}(p, q) = \tfrac12 \mathrm{tr}(\Sigma_p \Sigma_q^{-1}
              + \Sigma_p^{-1} \Sigma_q) - d + \tfrac12 (\mu_p - \mu_q)^T
              (\Sigma_p^{-1} + \Sigma_q^{-1}) (\mu_p - \mu_q)

    Parameters as there, but both covariances must be positive definite [1]_.

    References
    ----------
    .. [1] B. Nguyen, C. Morell, B. De Baets, "Supervised distance metric learning through
       maximization of the Jeffrey divergence", Pattern Recognition 64, 2017.

    Examples
    --------
    >>> round(gaussian_jeffrey(None, np.diag([2.0, 1.0]), None, np.eye(2)), 6)
    0.25
    """
    delta, cov_q = _difference(mean_p, mean_q, cov_p), like(cov_q, cov_p)
    return _kl(delta, cov_p, cov_q, "cov_q") + _kl(delta, cov_q, cov_p, "cov_p")


def _kl(delta: Array, P: Array, Q: Array, name: str) -> float:
    xp = namespace(P)
    T = _whitening(Q, name)
    return (_logdet(P, T) + float(xp.sum((T @ delta) ** 2))) / 2


def _logdet(M: Array, T: Array) -> float:
    """Return the divergence of M to the matrix that T whitens."""
    xp = namespace(M)
    spectrum = _spectrum(M)
    if spectrum is None:
        return np.inf
    scale, values, V = spectrum
    # With roots instead of matrices the conditioning is not squared, and a sum over singular
    # values loses nothing where the divergence is near 0.
    s = xp.linalg.svdvals((V.T * xp.sqrt(values)[:, None] * scale) @ T.T)
    return max(float(xp.sum((s - 1) * (s + 1) - 2 * xp.log(s))), 0.0)


def _whitening(S: Array, name: str) -> Array:
    """Return T with ``T @ S @ T.T = I``."""
    spectrum = _spectrum(S)
    if spectrum is None:
        raise ValueError(f"{name} must be positive definite: add a small multiple of I to it.")
    scale, values, V = spectrum
    return V.T / namespace(S).sqrt(values)[:, None] / scale


def _spectrum(S: Array) -> tuple[Array, Array, Array] | None:
    """Return the scales of S and the spectrum of what they leave; None if S is not definite.

    With a diagonal of ones, a feature in millimetres beside one in kilometres is no null direction.
    An eigendecomposition, since namespaces differ in how their Cholesky says no.
    """
    xp = namespace(S)
    variances = xp.linalg.diagonal(S)
    if not xp.all(variances > 0):
        return None
    scale = xp.sqrt(variances)
    values, V = xp.linalg.eigh((S + S.T) / 2 / scale / scale[:, None])
    definite = values[0] > values.shape[0] * eps(values) * values[-1]
    return (scale, values, V) if definite else None


def _difference(mean_p: Array | None, mean_q: Array | None, cov: Array) -> Array:
    zero = namespace(cov).zeros_like(cov[0, :])
    p, q = (zero if mean is None else like(mean, cov) for mean in (mean_p, mean_q))
    return p - q
