"""The posterior of a Bayesian comparison as points in a triangle."""

from typing import Any, Self

import numpy as np

from dimetric.plot._display import StyledDisplay
from dimetric.plot._matplotlib import plain
from dimetric.stats import Posterior, sign_test, signed_rank_test

__all__ = ["SimplexDisplay"]

TESTS = {"sign": sign_test, "signed_rank": signed_rank_test}
# Where a is certainly better, where there is certainly no difference, where b certainly is better.
CORNERS = np.array([[0.0, 0.0], [0.5, 3**0.5 / 2], [1.0, 0.0]])
MAX_NAME = 30  # characters
CENTRE = CORNERS.mean(axis=0)


class SimplexDisplay(StyledDisplay):
    r"""Samples from the posterior of a Bayesian test, in a triangle.

    Each point is a sample of three shares: of the data sets on which the first learner is better,
    on which there is no practical difference, and on which the second learner is better. The
    nearer the point is to a corner, the larger is that share. The verdict is the corner that is
    nearest to most of the points; the inner lines separate the verdicts.

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
        The samples.
    text_ : list of matplotlib Text
        Names and probabilities at the corners.

    Examples
    --------
    >>> a, b = [0.81, 0.90, 0.75, 0.66, 0.93], [0.86, 0.95, 0.75, 0.72, 0.98]
    >>> display = SimplexDisplay.from_scores(a, b, names=("PCA", "NCA"), random_state=0)
    >>> [each.get_text() for each in display.text_]
    ['PCA\n0.00', 'no difference\n0.19', 'NCA\n0.81']
    """

    def __init__(self, posterior: Posterior, *, names: tuple[str, str] = ("a", "b")) -> None:
        self.posterior = posterior
        self.names = names

    @classmethod
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
        **artist: Any,
    ) -> Self:
        """Compare two learners by a Bayesian test, and draw its posterior.

        Parameters
        ----------
        a, b : array-like of shape (n_data_sets,)
            Scores of the two learners, higher is better.
        names : tuple of str, default=("a", "b")
            Their names.
        test : {"sign", "signed_rank"}, default="sign"
            The Bayesian test.
        rope : float, default=0.01
            Largest difference that does not matter in practice.
        random_state : int, RandomState or None, default=None
            Randomness of the samples.
        ax, **artist
            As in :meth:`plot`.
        """
        if test not in TESTS:
            raise ValueError(f"test={test!r} must be 'sign' or 'signed_rank'.")
        posterior = TESTS[test](a, b, rope=rope, random_state=random_state)
        return cls(posterior, names=names).plot(ax=ax, **artist)

    def _draw(self, ax: Any, artist: dict[str, Any]) -> None:
        samples = np.asarray(self.posterior.samples)
        if samples.ndim != 2 or samples.shape[1] != 3:
            raise ValueError(
                "The posterior holds differences, as of correlated_t_test: a triangle shows the "
                "three shares of sign_test or signed_rank_test."
            )
        if len(self.names) != 2:
            raise ValueError(f"names must be those of the two learners, not {self.names!r}.")
        longest = max(len(plain(name, MAX_NAME)) for name in self.names)
        ax = self._open_axes(ax, (4.2 + 0.16 * max(0, longest - 12), 3.9))
        places = samples @ CORNERS
        options = {
            "gridsize": 50,
            "mincnt": 1,
            "cmap": "viridis",
            "bins": "log",
            "extent": (0, 1, 0, 3**0.5 / 2),
            "linewidths": 0.1,
        }
        self.points_ = ax.hexbin(*places.T, **(options | artist))
        (outline,) = ax.fill(*CORNERS.T, fill=False, edgecolor="black")
        self.points_.set_clip_path(outline)
        for i, j in ((0, 1), (1, 2), (0, 2)):
            ax.plot(
                *np.stack([CENTRE, (CORNERS[i] + CORNERS[j]) / 2]).T, color="black", linewidth=0.6
            )
        self.text_ = self._labels(ax)
        ax.set(xlim=(-0.14, 1.14), ylim=(-0.16, 1.06), aspect="equal")
        ax.set_axis_off()

    def _labels(self, ax: Any) -> list[Any]:
        """Write names and probabilities at the corners."""
        found = self.posterior
        labels = zip(
            (self.names[0], "no difference", self.names[1]),
            (found.left, found.rope, found.right),
            CORNERS,
            ("top", "bottom", "top"),
            (-0.02, 0.02, -0.02),
            strict=True,
        )
        return [
            ax.text(
                x, y + gap, f"{plain(name, MAX_NAME)}\n{probability:.2f}", ha="center", va=where
            )
            for name, probability, (x, y), where, gap in labels
        ]
