"""Plot the gains of all maps with their intervals."""

from collections.abc import Sequence
from typing import Any

from dimetric.plot._matplotlib import plain_text
from dimetric.plot._palette import theme_of
from dimetric.report._picture import Picture, draw_picture
from dimetric.report._retrieval.record import CandidateRow, RetrievalRecord

MAX_NAME_LENGTH = 24  # characters
MAX_TICKS = 5  # on the horizontal axis


def draw_gains(record: RetrievalRecord) -> Picture:
    """Plot the gain of each map over the unchanged vectors, with its 95 % interval."""
    height = 1.1 + 0.36 * len(record.candidates)
    display = _Gains(record.candidates, record.baseline, record.tested, record.measure)
    return draw_picture(height, display, n_ticks=MAX_TICKS)


class _Gains:
    """A row for each map, with its gain and interval."""

    def __init__(
        self, rows: Sequence[CandidateRow], baseline: str, tested: str, measure: str
    ) -> None:
        self.rows, self.baseline, self.tested, self.measure = rows, baseline, tested, measure

    def plot(self, ax: Any) -> None:
        """Draw into the axes."""
        theme = theme_of(ax)
        ax.axvline(0, color=theme.colors[1], linestyle="--", linewidth=1, zorder=1)
        for place, row in enumerate(self.rows):
            if row.name == self.baseline:
                ax.plot(0, place, "D", color=theme.colors[1], markersize=6, zorder=3)
                continue
            color = theme.colors[0] if row.name == self.tested else theme.muted
            ax.plot([row.low, row.high], [place, place], color=theme.ink, linewidth=1.4, zorder=2)
            ax.plot(row.gain, place, "D", color=color, markeredgecolor=theme.ink, zorder=3)
        names = [plain_text(row.name, MAX_NAME_LENGTH) for row in self.rows]
        ax.set_yticks(range(len(self.rows)), names)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(self.rows) - 0.4, -0.6)
        ax.set_xlabel(f"gain in {plain_text(self.measure)} over {plain_text(self.baseline)}")
        ax.spines[["top", "right", "left"]].set_visible(False)
