"""Plot of the posterior of a Bayesian comparison in a triangle."""

from typing import Any, Self

import numpy as np

from dimetric._arguments import check_types
from dimetric.plot._display import StyledDisplay
from dimetric.plot._matplotlib import plain_text
from dimetric.plot._palette import theme_of
from dimetric.stats import Posterior, sign_test, signed_rank_test

__all__ = ["SimplexDisplay"]

TESTS = {"sign": sign_test, "signed_rank": signed_rank_test}
# Corners at which these probabilities are 1: a is better, no difference, b is better.
CORNERS = np.array([[0.0, 0.0], [0.5, 3**0.5 / 2], [1.0, 0.0]])
MAX_NAME_LENGTH = 30  # characters
HEXAGONS_PER_ROW = 50
CENTRE = CORNERS.mean(axis=0)


class SimplexDisplay(StyledDisplay):
    r"""Posterior samples of a Bayesian test in a triangle (2-simplex).

    Each point is one posterior sample of three probabilities: that the first learner is better,
    that there is no practical difference, and that the second learner is better. Each probability
    has a corner. The larger the probability, the closer the point lies to that corner. The inner
    lines divide the triangle into three regions, in each of which one probability is the largest.
    The number at each corner is the fraction of the points in its region.

    Parameters
    ----------
    posterior : Posterior
        A result of :func:`~dimetric.stats.sign_test` or
        :func:`~dimetric.stats.signed_rank_test`.
    names : tuple of str, default=("a", "b")
        Names of the two learners.

    Attributes
    ----------
    points_ : matplotlib artist
        The posterior samples, as hexagonal bins.
    text_ : list of matplotlib Text
        Names and probabilities at the corners.

    Examples
    --------
    >>> a, b = [0.81, 0.90, 0.75, 0.66, 0.93], [0.86, 0.95, 0.75, 0.72, 0.98]
    >>> display = SimplexDisplay.from_scores(a, b, names=("PCA", "NCA"), random_state=0)
    >>> [each.get_text() for each in display.text_]
    ['PCA\n0.00', 'no difference\n0.19', 'NCA\n0.81']
    """

    @check_types
    def __init__(self, posterior: Posterior, *, names: tuple[str, str] = ("a", "b")) -> None:
        self.posterior = posterior
        self.names = names

    @classmethod
    @check_types
    def from_scores(
        cls,
        a: Any,
        b: Any,
        *,
        names: tuple[str, str] = ("a", "b"),
        test: str = "sign",
        rope: float = 0.01,
        random_state: Any = None,
        ax: Any = None,
        **artist_kwargs: Any,
    ) -> Self:
        """Compare two learners with a Bayesian test and plot its posterior.

        Parameters
        ----------
        a, b : array-like of shape (n_data_sets,)
            Scores of the two learners on each data set. Higher is better.
        names : tuple of str, default=("a", "b")
            Names of the two learners.
        test : {"sign", "signed_rank"}, default="sign"
            The Bayesian test.
        rope : float, default=0.01
            Region of practical equivalence: differences up to this size count as no difference.
        random_state : int, RandomState or None, default=None
            Random seed of the posterior samples.
        ax, **artist_kwargs
            As in :meth:`plot`.
        """
        if test not in TESTS:
            raise ValueError(f"test={test!r} must be 'sign' or 'signed_rank'.")
        posterior = TESTS[test](a, b, rope=rope, random_state=random_state)
        return cls(posterior, names=names).plot(ax=ax, **artist_kwargs)

    def _draw(self, ax: Any, artist_kwargs: dict[str, Any]) -> None:
        samples = np.asarray(self.posterior.samples)
        if samples.ndim != 2 or samples.shape[1] != 3:
            raise ValueError(
                f"posterior.samples has shape {samples.shape}, but must have three columns. Use "
                "the result of sign_test or signed_rank_test, not of correlated_t_test."
            )
        if len(self.names) != 2:
            raise ValueError(f"names={self.names!r} must hold the names of the two learners.")
        longest = max(len(plain_text(name, MAX_NAME_LENGTH)) for name in self.names)
        ax = self._open_axes(ax, (4.2 + 0.16 * max(0, longest - 12), 3.9))
        points, theme = samples @ CORNERS, theme_of(ax)
        defaults = {
            "gridsize": HEXAGONS_PER_ROW,
            "mincnt": 1,
            "cmap": theme.sequential_cmap(),
            "bins": "log",
            "extent": (0, 1, 0, 3**0.5 / 2),
            "linewidths": 0.1,
        }
        self.points_ = ax.hexbin(*points.T, **(defaults | artist_kwargs))
        (outline,) = ax.fill(*CORNERS.T, fill=False, edgecolor=theme.ink)
        self.points_.set_clip_path(outline)
        for i, j in ((0, 1), (1, 2), (0, 2)):
            ax.plot(
                *np.stack([CENTRE, (CORNERS[i] + CORNERS[j]) / 2]).T, color=theme.ink, linewidth=0.6
            )
        self.text_ = self._labels(ax)
        ax.set(xlim=(-0.14, 1.14), ylim=(-0.16, 1.06), aspect="equal")
        ax.set_axis_off()

    def _labels(self, ax: Any) -> list[Any]:
        """Write names and probabilities at the corners."""
        posterior = self.posterior
        labels = zip(
            (self.names[0], "no difference", self.names[1]),
            (posterior.left, posterior.rope, posterior.right),
            CORNERS,
            ("top", "bottom", "top"),
            (-0.02, 0.02, -0.02),
            strict=True,
        )
        return [
            ax.text(
                x,
                y + gap,
                f"{plain_text(name, MAX_NAME_LENGTH)}\n{probability:.2f}",
                ha="center",
                va=where,
            )
            for name, probability, (x, y), where, gap in labels
        ]
