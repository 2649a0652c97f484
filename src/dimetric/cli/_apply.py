"""What the verbs that apply a model to a table share."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dimetric.cli._options import names
from dimetric.cli._terminal import progress, say

if TYPE_CHECKING:
    from dimetric.advice._apply import BlockResults
    from dimetric.data._features import FeatureReader


def open_reader(
    model: Path, data: Path, keep: str, header: bool | None, out: Path | None, json: bool
) -> "FeatureReader":
    """Return a model and a table to apply it to; raise if the results cannot be written.

    Parameters
    ----------
    model, data, keep, header, out, json
        As the user gave them.
    """
    from dimetric.data._writers import check_extension

    check_extension(out)
    if json and out is None:
        raise typer.BadParameter(
            "--json requires --out, because both would write to standard output."
        )
    import dimetric
    from dimetric.data._features import FeatureReader
    from dimetric.data._files import TableFile

    loaded = dimetric.load(model)
    return FeatureReader(loaded, TableFile.open(data, header), names(keep) or [], option="--keep")


def write(reader: "FeatureReader", results: "BlockResults", out: Path | None, title: str) -> None:
    """Write the results for all rows with a progress bar, then print what was odd."""
    from dimetric.advice._apply import write_results

    with progress(title) as watch:
        write_results(
            reader, results, out, option="--keep", callback=lambda n_rows: watch(n_rows, None)
        )
    say(*reader.notes())
