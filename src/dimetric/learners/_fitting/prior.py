"""The prior metric of ITML."""

import numpy as np
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, to_host
from dimetric.learners.covariance import Covariance
from dimetric.linalg.psd import square_root

# A prior is singular if the ratio of its eigenvalues is at most this many rounding errors times d.
SINGULARITY_IN_EPS = 100


def root_of_prior(prior: str | Array, X: Array, rng: np.random.RandomState) -> np.ndarray:
    """Return T such that T^T T is the prior.

    Parameters
    ----------
    prior : {"identity", "covariance", "random"} or array of shape (d, d)
        The prior, as passed to ITML.
    X : array of shape (n, d)
        Samples.
    rng : RandomState
        Random numbers of "random".
    """
    d = X.shape[1]
    if isinstance(prior, str):
        if prior == "identity":
            return np.eye(d)
        if prior == "covariance":
            return to_host(Covariance().fit(X).components_).astype(np.float64)
        R = np.linalg.qr(rng.normal(size=(2 * d, d))).R
        return R * (d / np.sum(R**2)) ** 0.5
    return _root_of_definite(checked_prior(prior, d))


def checked_prior(prior: Array, d: int) -> np.ndarray:
    """Return a given prior as an array. Raise unless its shape is (d, d)."""
    M0 = check_array(to_host(prior), dtype=np.float64, input_name="prior")
    if M0.shape != (d, d):
        raise ValueError(f"prior has shape {M0.shape}, but must have shape ({d}, {d}).")
    return M0


def _root_of_definite(M0: np.ndarray) -> np.ndarray:
    """Return T such that T^T T is the prior, or raise if the prior is not positive definite.

    The features are scaled to a unit diagonal first, so that their units do not decide whether the
    prior counts as singular.
    """
    diagonal = np.diag(M0)
    if not np.all(diagonal > 0):
        i = int(np.argmin(diagonal))
        raise ValueError(
            f"prior must be positive definite, but its diagonal entry {i} is {diagonal[i]:.3g}."
        )
    units = np.sqrt(diagonal)
    scaled = M0 / units / units[:, None]
    if not np.allclose(scaled, scaled.T, rtol=0, atol=1e-6):
        raise ValueError("prior must be symmetric. Pass (prior + prior.T) / 2 instead.")
    scaled = (scaled + scaled.T) / 2
    smallest, largest = np.linalg.eigvalsh(scaled)[[0, -1]]
    if smallest <= SINGULARITY_IN_EPS * len(M0) * np.finfo(np.float64).eps * largest:
        raise ValueError(
            "prior must be positive definite, but it is singular or has a negative eigenvalue: "
            f"scaled to a diagonal of 1, its smallest eigenvalue is {smallest:.3g}. Add a small "
            "multiple of the identity to it."
        )
    return square_root(scaled) * units
