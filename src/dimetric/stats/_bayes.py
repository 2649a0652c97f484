"""Bayesian comparison of two learners."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from dimetric._arguments import check_types
from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.random_state import random_generator

__all__ = ["Posterior", "correlated_t_test", "sign_test", "signed_rank_test"]

BLOCK_VALUES = 2**22  # random numbers generated at once, which take 32 MiB


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior probabilities that learner a or b is better, given their scores.

    Attributes
    ----------
    left, rope, right : float
        Probabilities that a is better, that a and b are practically equivalent (their difference
        lies in the region of practical equivalence, the rope), and that b is better. They sum to 1.
    samples : ndarray of shape (n_samples, 3) or (n_samples,)
        Samples of the posterior: the fractions of data sets on which a is better, on which both
        are equivalent, and on which b is better. For :func:`correlated_t_test`, samples of the
        difference b - a.
    """

    left: float
    rope: float
    right: float
    samples: np.ndarray

    def __repr__(self) -> str:
        return f"Posterior(left={self.left:.4f}, rope={self.rope:.4f}, right={self.right:.4f})"


@check_types
def sign_test(
    a: Any,
    b: Any,
    rope: float = 0.01,
    random_state: Any = None,
    *,
    s: float = 1.0,
    z0: float = 0.0,
    n_samples: int = 50_000,
) -> Posterior:
    r"""Compare two learners over many data sets by the signs of their differences.

    .. math:: (\theta_l, \theta_e, \theta_r) \sim \mathrm{Dirichlet}(n_l + s\,[z_0 < -r],\;
              n_e + s\,[|z_0| \le r],\; n_r + s\,[z_0 > r])

    Here :math:`n_l, n_e, n_r` count the differences :math:`z = b - a` below, within and above the
    rope :math:`[-r, r]`. The prior is one more difference :math:`z_0` with weight s. The
    probability of an outcome is the frequency with which its :math:`\theta` is the largest of the
    three [1]_. With r = 0, half of :math:`\theta_e` is added to each side, and
    :math:`\theta_e = 0`, as in the sign test based on the Dirichlet process [2]_.

    Parameters
    ----------
    a, b : array-like of shape (n_data_sets,)
        Scores of the two learners. Higher is better.
    rope : float, default=0.01
        Bound r of the rope: differences of at most r count as practically equivalent.
    random_state : int, RandomState or None, default=None
        Random seed of the posterior samples.
    s, z0 : float, default=1.0, 0.0
        Weight and value of the prior difference.
    n_samples : int, default=50_000
        Number of posterior samples.

    Returns
    -------
    Posterior
        ``left`` is the probability that a is better, and ``right`` that b is better.

    References
    ----------
    .. [1] A. Benavoli, G. Corani, J. Demsar, M. Zaffalon, "Time for a change: a tutorial for
       comparing multiple classifiers through Bayesian analysis", Journal of Machine Learning
       Research 18, 2017.
    .. [2] A. Benavoli, F. Mangili, G. Corani, M. Zaffalon, F. Ruggeri, "A Bayesian Wilcoxon
       signed-rank test based on the Dirichlet process", International Conference on Machine
       Learning, 2014.

    Examples
    --------
    >>> a, b = [0.81, 0.90, 0.75, 0.66, 0.93], [0.86, 0.95, 0.75, 0.72, 0.98]
    >>> posterior = sign_test(a, b, random_state=0)
    >>> round(posterior.left, 1), round(posterior.rope, 1), round(posterior.right, 1)
    (0.0, 0.2, 0.8)
    """
    a, b = _checked_scores(a, b)
    _check_options(rope, s, z0, n_samples)
    regions = _regions(np.append(z0, b - a), rope + np.append(0.0, _rounding_error(a, b)))
    alpha = np.bincount(regions, weights=np.append(s, np.ones(len(a))), minlength=3)
    fractions = np.zeros((int(n_samples), 3))
    # A region of weight 0 keeps the fraction 0, because the generator rejects weights of 0.
    fractions[:, alpha > 0] = random_generator(random_state).dirichlet(
        alpha[alpha > 0], int(n_samples)
    )
    return _posterior_from_fractions(fractions, rope)


@check_types
def signed_rank_test(
    a: Any,
    b: Any,
    rope: float = 0.01,
    random_state: Any = None,
    *,
    s: float = 0.5,
    z0: float = 0.0,
    n_samples: int = 50_000,
) -> Posterior:
    r"""Compare two learners over many data sets by the signs and sizes of their differences.

    .. math:: \theta_l = \sum_{i,j} w_i w_j\, [z_i + z_j < -2r], \qquad
              \theta_r = \sum_{i,j} w_i w_j\, [z_i + z_j > 2r], \qquad
              w \sim \mathrm{Dirichlet}(s, 1, \dots, 1)

    The differences :math:`z = b - a` are preceded by the prior difference :math:`z_0` with weight
    s, and :math:`\theta_e = 1 - \theta_l - \theta_r`. This is a Bayesian version of Wilcoxon's
    signed-rank test [1]_. With r = 0, a sum of 0 counts half on each side, and
    :math:`\theta_e = 0`.

    Parameters
    ----------
    a, b : array-like of shape (n_data_sets,)
        Scores of the two learners. Higher is better.
    rope : float, default=0.01
        Bound r of the rope: differences of at most r count as practically equivalent.
    random_state : int, RandomState or None, default=None
        Random seed of the posterior samples.
    s, z0 : float, default=0.5, 0.0
        Weight and value of the prior difference. The weight s must be positive.
    n_samples : int, default=50_000
        Number of posterior samples.

    Returns
    -------
    Posterior
        ``left`` is the probability that a is better, and ``right`` that b is better.

    References
    ----------
    .. [1] A. Benavoli, F. Mangili, G. Corani, M. Zaffalon, F. Ruggeri, "A Bayesian Wilcoxon
       signed-rank test based on the Dirichlet process", International Conference on Machine
       Learning, 2014.

    Examples
    --------
    >>> a, b = [0.81, 0.90, 0.75, 0.66, 0.93], [0.86, 0.95, 0.75, 0.72, 0.98]
    >>> signed_rank_test(a, b, random_state=0).right > 0.9
    True
    """
    a, b = _checked_scores(a, b)
    _check_options(rope, s, z0, n_samples)
    if s == 0:
        raise ValueError("s=0 must be positive: the signed-rank test requires a prior.")
    z = np.append(z0, b - a)
    edge = rope + np.append(0.0, _rounding_error(a, b))
    regions = _regions(z[:, None] + z, edge[:, None] + edge)
    below, above = (regions == 0).astype(np.float64), (regions == 2).astype(np.float64)
    weights = np.append(s, np.ones(len(a)))
    fractions = np.empty((int(n_samples), 3))
    for rows, w in _dirichlet_blocks(weights, int(n_samples), random_state):
        fractions[rows, 0] = np.sum((w @ below) * w, axis=1)
        fractions[rows, 2] = np.sum((w @ above) * w, axis=1)
    fractions[:, 1] = 1 - fractions[:, 0] - fractions[:, 2]
    return _posterior_from_fractions(fractions, rope)


@check_types
def correlated_t_test(
    a: Any,
    b: Any,
    rope: float = 0.01,
    random_state: Any = None,
    *,
    n_repeats: int = 1,
    n_samples: int = 50_000,
) -> Posterior:
    r"""Compare two learners on one data set by their scores in each fold of a cross-validation.

    .. math:: \delta \sim \mathrm{St}\Bigl( n - 1,\; \bar z,\;
              \bigl(\tfrac{1}{n} + \tfrac{\rho}{1 - \rho}\bigr) \hat\sigma^2_z \Bigr),
              \qquad \rho = \frac{1}{\text{folds}}

    Training sets overlap, so the differences :math:`z = b - a` are correlated. Their correlation is
    estimated as :math:`\rho`, the correction of Nadeau and Bengio [1]_. The probabilities are
    exact, not estimated from posterior samples.

    Parameters
    ----------
    a, b : array-like of shape (n_repeats * n_folds,)
        Scores of the two learners in the same folds. Higher is better.
    rope : float, default=0.01
        Bound of the rope: differences of at most `rope` count as practically equivalent.
    random_state : int, RandomState or None, default=None
        Random seed of the posterior samples.
    n_repeats : int, default=1
        Number of repeats of the cross-validation.
    n_samples : int, default=50_000
        Number of posterior samples.

    Returns
    -------
    Posterior
        ``left`` is the probability that a is better, and ``right`` that b is better.

    References
    ----------
    .. [1] G. Corani, A. Benavoli, "A Bayesian approach for comparing cross-validated algorithms on
       multiple data sets", Machine Learning 100, 2015.

    Examples
    --------
    >>> a, b = [0.81, 0.80, 0.85, 0.83, 0.79], [0.86, 0.84, 0.91, 0.87, 0.85]
    >>> correlated_t_test(a, b, random_state=0)
    Posterior(left=0.0004, rope=0.0016, right=0.9980)
    """
    a, b = _checked_scores(a, b)
    _check_options(rope, 0.0, 0.0, n_samples)
    is_count = isinstance(n_repeats, Integral) and n_repeats >= 1
    if not is_count or len(a) % n_repeats or len(a) // n_repeats < 2:
        raise ValueError(
            f"n_repeats={n_repeats!r} must divide the {len(a)} scores into equal parts of at least "
            "2 folds."
        )
    from scipy.stats import t  # slow to import, so only where needed

    z, n_folds = b - a, len(a) // n_repeats
    mean, scale = float(np.mean(z)), float(np.std(z, ddof=1))
    scale *= (1 / len(z) + 1 / (n_folds - 1)) ** 0.5
    rng = random_generator(random_state)
    rounding = float(np.max(_rounding_error(a, b)))
    if scale <= rounding:  # the difference is the same in all folds: the posterior is a point
        region = np.eye(3)[[_regions(np.asarray(mean), rope + rounding)]]
        left, inside, right = _without_empty_rope(region, rope)[0].tolist()
        return Posterior(left, inside, right, np.full(int(n_samples), mean))
    df = len(z) - 1
    left = float(t.cdf(-rope, df, mean, scale))
    right = float(t.sf(rope, df, mean, scale))
    samples = mean + scale * rng.standard_t(df, int(n_samples))
    inside = max(0.0, 1 - left - right) if rope > 0 else 0.0
    return Posterior(left, inside, right, samples)


def _without_empty_rope(fractions: np.ndarray, rope: float) -> np.ndarray:
    """Return the fractions. If the rope is 0, divide that of the rope between the two sides."""
    if rope > 0:
        return fractions
    half, zeros = fractions[:, 1] / 2, np.zeros(len(fractions))
    return np.stack([fractions[:, 0] + half, zeros, fractions[:, 2] + half], axis=1)


def _posterior_from_fractions(fractions: np.ndarray, rope: float) -> Posterior:
    """Return how often each of the three fractions is the largest. Ties are divided equally.

    Without a rope, only the two sides are compared.
    """
    fractions = _without_empty_rope(fractions, rope)
    largest = fractions == np.max(fractions, axis=1, keepdims=True)
    left, inside, right = np.mean(largest / np.sum(largest, axis=1, keepdims=True), axis=0)
    return Posterior(float(left), float(inside), float(right), fractions)


def _regions(z: np.ndarray, edge: Any) -> np.ndarray:
    """Return 0 for differences below the rope ``[-edge, edge]``, 1 within and 2 above it."""
    return 1 + (z > edge).astype(np.int64) - (z < -edge).astype(np.int64)


def _rounding_error(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a bound on the rounding error of b - a. In binary, 0.85 - 0.84 exceeds 0.01."""
    return 8 * np.finfo(np.float64).eps * np.maximum(np.abs(a), np.abs(b))


def _dirichlet_blocks(
    alpha: np.ndarray, n_samples: int, random_state: Any
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield samples of a Dirichlet distribution, one block of rows at a time."""
    rng = random_generator(random_state)
    for rows in row_blocks(n_samples, max(1, BLOCK_VALUES // len(alpha))):
        yield rows, rng.dirichlet(alpha, rows.stop - rows.start)


def _checked_scores(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    checked = []
    for name, scores in (("a", a), ("b", b)):
        scores = check_array(scores, dtype=np.float64, ensure_2d=False, input_name=name)
        if scores.ndim != 1:
            raise ValueError(
                f"{name} has shape {scores.shape}, but must be one-dimensional: one score for each "
                "data set or fold."
            )
        checked.append(scores)
    if len(checked[0]) != len(checked[1]):
        raise ValueError(
            f"a has {len(checked[0])} scores and b has {len(checked[1])}, but both must be scores "
            "on the same data sets or folds."
        )
    return checked[0], checked[1]


def _check_options(rope: Any, s: Any, z0: Any, n_samples: Any) -> None:
    for name, value in (("rope", rope), ("s", s)):
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise ValueError(f"{name}={value!r} must be a finite number of at least 0.")
    if not isinstance(z0, Real) or not np.isfinite(float(z0)):
        raise ValueError(f"z0={z0!r} must be a finite number.")
    if not isinstance(n_samples, Integral) or n_samples < 1:
        raise ValueError(f"n_samples={n_samples!r} must be an int of at least 1.")
