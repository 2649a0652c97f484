"""Generate data sets whose classes and true coordinates are known.

Every data set is ``X = embed(coordinates) + noise * N(0, I)``. The noise is sampled last, so the
coordinates depend only on the seed and not on ``noise``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dimetric._arguments import check_types

__all__ = ["Toy", "make_parallel_bands", "make_rings", "make_s_curve", "make_swiss_roll"]

Floats: TypeAlias = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None

NEWTON_STEPS = 4  # enough for full precision on the whole Swiss roll


class Toy(NamedTuple):
    """A generated data set: ``X, y, coordinates = make_swiss_roll(1000)``.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    y : ndarray of shape (n_samples,)
        The class of each point (int), or its parameter along the curve (float).
    coordinates : ndarray of shape (n_samples, 2)
        The true coordinates of the points, without noise.
    """

    X: Floats
    y: NDArray[Any]
    coordinates: Floats


@check_types
def make_s_curve(n_samples: int = 100, *, noise: float = 0.0, random_state: Seed = None) -> Toy:
    r"""Sample an S-shaped sheet of height 2: two three-quarter circles of radius 1.

    .. math:: x(t, h) = (\sin t,\; h,\; \operatorname{sign}(t)(\cos t - 1)),
        \qquad |t| \le 3\pi/2,\; 0 \le h \le 2

    The speed :math:`|\partial x / \partial t|` is 1, so `t` is the signed arc length from the
    middle of the S. The coordinates `(t, h)` unroll the sheet isometrically.

    Parameters
    ----------
    n_samples : int, default=100
        Number of points.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise added to each feature.
    random_state : int, Generator, RandomState or None, default=None
        Random seed or random number generator.

    Returns
    -------
    Toy
        `X` has three features, `y` is the parameter t, and `coordinates` are (t, h).

    Examples
    --------
    >>> X, t, truth = make_s_curve(100, random_state=0)
    >>> X.shape, truth.shape
    ((100, 3), (100, 2))
    """
    rng = _checked_rng(n_samples, noise, random_state)
    u, v = rng.random((2, n_samples))
    t, h = 3 * np.pi * (u - 0.5), 2 * v
    X = np.column_stack([np.sin(t), h, np.sign(t) * (np.cos(t) - 1)])
    return Toy(_add_noise(X, noise, rng), t, np.column_stack([t, h]))


@check_types
def make_swiss_roll(
    n_samples: int = 100,
    *,
    noise: float = 0.0,
    hole: bool = False,
    uniform: bool = False,
    random_state: Seed = None,
) -> Toy:
    r"""Sample a sheet rolled up along the Archimedean spiral :math:`r = t`, with height 21.

    .. math:: x(t, h) = (t \cos t,\; h,\; t \sin t),
        \qquad 3\pi/2 \le t \le 9\pi/2,\; 0 \le h \le 21

    The coordinates `(s, h)` unroll the sheet isometrically, where `s` is the arc length from the
    centre of the spiral:

    .. math:: s(t) = \int_0^t \sqrt{1 + \tau^2}\, d\tau
        = \tfrac12 \left( t \sqrt{1 + t^2} + \operatorname{asinh} t \right)

    Parameters
    ----------
    n_samples : int, default=100
        Number of points.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise added to each feature.
    hole : bool, default=False
        Whether to cut the middle ninth out of the sheet. Geodesics around the hole are longer than
        straight lines in `coordinates`.
    uniform : bool, default=False
        Whether to sample s uniformly, which spreads the points evenly over the sheet. By default, t
        is sampled uniformly, and the outer turns are sparser.
    random_state : int, Generator, RandomState or None, default=None
        Random seed or random number generator.

    Returns
    -------
    Toy
        `X` has three features, `y` is the parameter t, and `coordinates` are (s, h).

    Examples
    --------
    >>> X, t, truth = make_swiss_roll(100, random_state=0)
    >>> bool(np.allclose(np.hypot(X[:, 0], X[:, 2]), t))
    True
    """
    rng = _checked_rng(n_samples, noise, random_state)
    u, v = rng.random((2, n_samples))
    if hole:
        cell = rng.choice([0, 1, 2, 3, 5, 6, 7, 8], n_samples)  # of a 3 x 3 grid without its middle
        u, v = (cell // 3 + u) / 3, (cell % 3 + v) / 3
    h, ends = 21 * v, np.array([1.5 * np.pi, 4.5 * np.pi])
    if uniform:
        s = np.interp(u, [0, 1], _spiral_length(ends))
        t = _spiral_parameter(s)
    else:
        t = np.interp(u, [0, 1], ends)
        s = _spiral_length(t)
    X = np.column_stack([t * np.cos(t), h, t * np.sin(t)])
    return Toy(_add_noise(X, noise, rng), t, np.column_stack([s, h]))


@check_types
def make_parallel_bands(
    n_samples: int = 100,
    *,
    n_classes: int = 2,
    n_features: int = 2,
    noise_features: int = 0,
    length: float = 1000.0,
    noise: float = 0.1,
    random_state: Seed = None,
) -> Toy:
    r"""Sample classes shaped as long, thin, parallel bands at a distance of 1 from each other.

    .. math:: x = (a,\; y,\; 0, \dots, 0) + \mathrm{noise} \cdot N(0, I),
        \qquad a \sim U(-\mathrm{length} / 2,\; \mathrm{length} / 2)

    Nearly all the variance lies along the first axis, which is independent of the class. The second
    axis separates the classes. If `n_samples` is at most `length`, the points of a band are so far
    apart that Euclidean neighbours often belong to other classes. A metric that shrinks the first
    axis separates the classes. PCA keeps the first axis, LDA the second.

    Parameters
    ----------
    n_samples : int, default=100
        Number of points.
    n_classes : int, default=2
        Number of bands. Their sizes differ by at most one point.
    n_features : int, default=2
        Number of features of the bands, at least 2. The bands are thin along all but the first.
    noise_features : int, default=0
        Number of additional features, which are standard normal and independent of the class.
    length : float, default=1000.0
        Length of the bands.
    noise : float, default=0.1
        Standard deviation of the Gaussian noise added to each feature of the bands.
    random_state : int, Generator, RandomState or None, default=None
        Random seed or random number generator.

    Returns
    -------
    Toy
        `X` has n_features + noise_features columns, `y` is the class, and `coordinates` are (a, y).

    Examples
    --------
    >>> X, y, _ = make_parallel_bands(100, noise_features=3, random_state=0)
    >>> X.shape
    (100, 5)
    >>> bool(np.all((X[:, 1] > 0.5) == y))
    True
    """
    rng = _checked_rng(n_samples, noise, random_state)
    _require_integer("n_features", n_features, 2)
    _require_integer("noise_features", noise_features, 0)
    if not 0 < length < math.inf:
        raise ValueError(f"length={length!r} is not a finite number > 0.")
    y = _balanced_labels(n_samples, n_classes, rng)
    coordinates = np.column_stack([length * (rng.random(n_samples) - 0.5), y])
    irrelevant = rng.standard_normal((n_samples, noise_features))
    bands = np.pad(coordinates, [(0, 0), (0, n_features - 2)])
    return Toy(np.hstack([_add_noise(bands, noise, rng), irrelevant]), y, coordinates)


@check_types
def make_rings(
    n_samples: int = 100, *, n_classes: int = 3, noise: float = 0.05, random_state: Seed = None
) -> Toy:
    r"""Sample concentric rings in the plane, one for each class, with radii 1, 2, 3, ...

    .. math:: x = r (\cos \varphi, \sin \varphi) + \mathrm{noise} \cdot N(0, I),
        \qquad r = y + 1,\; \varphi \sim U(0, 2\pi)

    All classes have the same mean. No linear map separates them, but a kernel map can.

    Parameters
    ----------
    n_samples : int, default=100
        Number of points.
    n_classes : int, default=3
        Number of rings. Their sizes differ by at most one point.
    noise : float, default=0.05
        Standard deviation of the Gaussian noise added to each feature.
    random_state : int, Generator, RandomState or None, default=None
        Random seed or random number generator.

    Returns
    -------
    Toy
        `X` has two features, `y` is the class, and `coordinates` are (radius, angle).

    Examples
    --------
    >>> X, y, _ = make_rings(100, random_state=0)
    >>> bool(np.all(np.rint(np.hypot(*X.T)) == y + 1))
    True
    """
    rng = _checked_rng(n_samples, noise, random_state)
    y = _balanced_labels(n_samples, n_classes, rng)
    radius, angle = y + 1.0, 2 * np.pi * rng.random(n_samples)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return Toy(_add_noise(X, noise, rng), y, np.column_stack([radius, angle]))


def _spiral_length(t: Floats) -> Floats:
    return (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2


def _spiral_parameter(s: Floats) -> Floats:
    # The arc length s(t) is convex and at least t^2 / 2. So t is at most sqrt(2 s), and Newton's
    # iterates, started there, decrease to t.
    t = np.sqrt(2 * s)
    for _ in range(NEWTON_STEPS):
        t = t - (_spiral_length(t) - s) / np.sqrt(1 + t**2)
    return t


def _balanced_labels(n_samples: int, n_classes: int, rng: np.random.Generator) -> NDArray[np.int_]:
    _require_integer("n_classes", n_classes, 1)
    if n_classes > n_samples:
        raise ValueError(f"n_classes={n_classes} is larger than n_samples={n_samples}.")
    return rng.permutation(np.arange(n_samples) % n_classes)


def _add_noise(X: Floats, noise: float, rng: np.random.Generator) -> Floats:
    return X + noise * rng.standard_normal(X.shape)


def _checked_rng(n_samples: int, noise: float, random_state: Seed) -> np.random.Generator:
    _require_integer("n_samples", n_samples, 1)
    if not 0 <= noise < math.inf:
        raise ValueError(f"noise={noise!r} is not a finite number >= 0.")
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**32, dtype=np.uint64))
    return np.random.default_rng(random_state)


def _require_integer(name: str, value: object, minimum: int) -> None:
    if not isinstance(value, int | np.integer) or value < minimum:
        raise ValueError(f"{name}={value!r} is not an integer >= {minimum}.")
