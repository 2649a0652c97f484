"""The choice of a solver of PCA, by the shape of the samples and the number of components."""

from numbers import Integral
from typing import Any

from scipy import sparse

from dimetric._arrays.namespaces import Array
from dimetric.linalg.row_basis import MAX_DENSE_ENTRIES

TRUNCATED_SOLVERS = ("arpack", "randomized")  # compute only the first components
DENSE_SOLVERS = ("full", "incremental")  # do not support sparse samples
# svd_solver="auto" chooses by the same limits as scikit-learn.
MAX_COVARIANCE_FEATURES = 1000  # with more, S is too large
MIN_SAMPLES_PER_FEATURE = 10  # with fewer, S does not save time
MAX_FULL_SIZE = 500  # if X is larger, a few components are computed by the randomised solver
FEW_COMPONENTS = 0.8  # less than this fraction of all components counts as few
# The limits for sparse X are chosen by experiment.
MAX_SPARSE_COVARIANCE_FEATURES = 500
MAX_SPARSE_COVARIANCE_FEATURES_ALL = 5000  # if more than a few components are needed


def covariance_is_fast(n: int, d: int) -> bool:
    """Return whether "auto" computes the covariance of n dense samples with d features."""
    return d <= MAX_COVARIANCE_FEATURES and n >= MIN_SAMPLES_PER_FEATURE * d


def choose_solver(svd_solver: str, X: Array, n_components: Any) -> str:
    """Return the solver, chosen by shape as in scikit-learn if `svd_solver` is "auto".

    Parameters
    ----------
    svd_solver : str
        Name of the solver, or "auto".
    X : array or sparse matrix of shape (n, d)
        Samples.
    n_components : int, float, str or None
        The parameter of PCA.

    Examples
    --------
    >>> import numpy as np
    >>> choose_solver("auto", np.zeros((40, 4)), None)
    'covariance_eigh'
    """
    n, d = X.shape
    if svd_solver != "auto":
        if sparse.issparse(X) and svd_solver in DENSE_SOLVERS:
            raise TypeError(
                f"svd_solver={svd_solver!r} needs dense samples. For sparse X, use 'auto', "
                "'covariance_eigh', 'randomized' or 'arpack'."
            )
        return svd_solver
    is_few = isinstance(n_components, Integral) and n_components < FEW_COMPONENTS * min(n, d)
    if sparse.issparse(X):
        return _choose_sparse_solver(n, d, n_components, is_few)
    if covariance_is_fast(n, d):
        return "covariance_eigh"
    return "randomized" if is_few and max(n, d) > MAX_FULL_SIZE else "full"


def _choose_sparse_solver(n: int, d: int, n_components: Any, is_few: bool) -> str:
    """Return the solver for sparse samples."""
    if d <= (MAX_SPARSE_COVARIANCE_FEATURES if is_few else MAX_SPARSE_COVARIANCE_FEATURES_ALL):
        return "covariance_eigh"
    if is_few:
        return "arpack"
    if n * d <= MAX_DENSE_ENTRIES:
        return "full"
    raise ValueError(
        f"n_components={n_components!r} is not supported for sparse X of shape {(n, d)}. It must "
        f"be an int below {FEW_COMPONENTS * min(n, d):.0f}."
    )


def check_n_components(k: Any, solver: str, largest: int, n_features: int) -> None:
    """Raise a ValueError if `n_components` does not suit the solver or the shape of X.

    Parameters
    ----------
    k : int, float, "mle" or None
        The parameter `n_components` of PCA.
    solver : str
        Name of the solver.
    largest : int
        The smaller of the numbers of samples and features.
    n_features : int
        Number of features.
    """
    if isinstance(k, Integral) and int(k) > largest - (solver == "arpack"):
        limit = "strictly less than" if solver == "arpack" else "at most"
        raise ValueError(
            f"n_components={k} must be {limit} min(n_samples, n_features)={largest} with "
            f"svd_solver={solver!r} (n_features={n_features})."
        )
    if solver == "arpack" and largest < 2:
        raise ValueError(
            f"svd_solver='arpack' needs at least 2 samples and 2 features; n_features={n_features}."
        )
    if k == "mle" and largest < n_features:
        raise ValueError(
            f"n_components='mle' is only supported if n_samples >= n_features, but X has {largest} "
            f"samples and {n_features} features. Use an int or a fraction of the variance."
        )
    if k is not None and not isinstance(k, Integral) and solver in TRUNCATED_SOLVERS:
        meaning = "needs all eigenvalues" if k == "mle" else "is a fraction of the variance"
        raise ValueError(
            f"n_components={k!r} {meaning}, which svd_solver={solver!r} does not support. Use an "
            "int, or one of the solvers 'auto', 'full', 'covariance_eigh' and 'incremental'."
        )
