"""Helpers of the verbs ``transform`` and ``predict``, which apply a model to a table."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dimetric.cli._options import split_names
from dimetric.cli._terminal import ProgressBar, print_notes

if TYPE_CHECKING:
    from dimetric.advice._apply import BlockResults
    from dimetric.data._features import FeatureReader


def open_reader(
    model: Path, data: Path, keep: str, header: bool | None, out: Path | None, json: bool
) -> "FeatureReader":
    """Open a model and a table. Raise if the options for the output are invalid.

    Parameters
    ----------
    model, data, keep, header, out, json
        The arguments of the verb.
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
    return FeatureReader(
        loaded, TableFile.open(data, header), split_names(keep) or [], option="--keep"
    )


def write(reader: "FeatureReader", results: "BlockResults", out: Path | None, title: str) -> None:
    """Write the results for all rows with a progress bar, then print notes about the table."""
    from dimetric.advice._apply import write_results

    with ProgressBar(title) as update:
        write_results(
            reader, results, out, option="--keep", callback=lambda n_rows: update(n_rows, None)
        )
    print_notes(*reader.notes())
