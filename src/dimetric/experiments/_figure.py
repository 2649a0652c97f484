"""The figure of a reproduced experiment."""

from pathlib import Path

from dimetric._files import atomic_write
from dimetric.experiments._paper import Reproduction

__all__ = ["write_figure"]

MAX_COLUMNS = 5
PANEL_INCHES = (3.2, 3.1)  # width and height
DOTS_PER_INCH = 100


def write_figure(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Save a figure with one triangle for each learner: its comparison with the baseline.

    Parameters
    ----------
    reproduction : Reproduction
        The experiment.
    folder : path
        Folder of the file.

    Returns
    -------
    list of Path
        The file. Empty if the experiment has no posteriors.
    """
    posteriors = reproduction.posteriors()
    if not posteriors:
        return []
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from dimetric.plot import SimplexDisplay

    n_columns = min(MAX_COLUMNS, len(posteriors))
    n_rows = -(-len(posteriors) // n_columns)
    width, height = PANEL_INCHES
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax, (pair, posterior) in zip(axes, posteriors.items(), strict=False):
        SimplexDisplay(posterior, names=pair).plot(ax=ax)
    for ax in axes[len(posteriors) :]:
        ax.set_axis_off()
    file = folder / f"{reproduction.name}-simplex.png"
    with atomic_write(file) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)
    return [file]
