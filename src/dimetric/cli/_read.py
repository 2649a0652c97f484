"""Read the table and create the learner given on the command line."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimetric.cli._options import check_choice, parsed_options, split_names

if TYPE_CHECKING:
    from dimetric.advice._table import TableSamples
    from dimetric.data._files import TableFile
    from dimetric.data._parquet.limit import SampleOptions

OPTION_NAMES = {"drop": "--drop", "extra": "--groups", "max_memory": "--max-memory"}


def open_file(
    data: list[Path],
    target: str | None,
    drop: str,
    header: bool | None,
    *,
    needs_target: bool,
    sheet: str | None = None,
    sql: str | None = None,
    sample: "SampleOptions",
) -> "TableFile":
    """Open a table, or draw a sample of its rows if it is a large Parquet table.

    Parameters
    ----------
    data, target, drop, header, sheet, sql
        The arguments of the verb.
    needs_target : bool
        Whether to guess the target column if `target` is None.
    sample : SampleOptions
        The size from which a Parquet table is sampled, and the size of the sample.
    """
    from dimetric.data._files import TableFile
    from dimetric.data._parquet.limit import sample_if_large

    return sample_if_large(
        TableFile.open(data, header, sheet=sheet, sql=sql),
        target,
        sample,
        drop=split_names(drop) or [],
        extra=[],
        needs_target=needs_target,
        option_names={**OPTION_NAMES, "target": "--target"},
    )


def read(
    data: "list[Path] | TableFile",
    target: str | None,
    drop: str,
    missing: str,
    header: bool | None,
    *,
    needs_target: bool,
    option: str = "--target",
    groups: str | None = None,
    sheet: str | None = None,
    sql: str | None = None,
    auto: bool = False,
    keeps_missing_target: bool = False,
    sample: "SampleOptions | None" = None,
) -> "TableSamples":
    """Read the rows of a table that a model is fitted to.

    Parameters
    ----------
    data, target, drop, missing, header, sheet, sql
        The arguments of the verb.
    needs_target : bool
        Whether to guess the target column if `target` is None.
    option : str, default="--target"
        Name of the option that sets the target column, used in messages.
    groups : str, optional
        Name of the column that contains the group of each row.
    auto : bool, default=False
        Whether to drop columns that cannot be used.
    keeps_missing_target : bool, default=False
        Whether to keep rows without a target.
    sample : SampleOptions, optional
        The size from which a Parquet table is sampled, and the size of the sample.
    """
    from dimetric.advice._table import read_samples
    from dimetric.data._files import TableFile
    from dimetric.data._parquet.limit import DEFAULT_SAMPLE

    check_choice("--missing", missing, ["auto", "drop", "impute"])
    file = data
    if not isinstance(data, TableFile):
        file = TableFile.open(data, header, sheet=sheet, sql=sql)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # table.notes repeats the warnings
        table = read_samples(
            file,
            target,
            drop=split_names(drop) or [],
            missing=missing,
            groups=groups,
            needs_target=needs_target,
            option_names={**OPTION_NAMES, "target": option},
            auto=auto,
            keeps_missing_target=keeps_missing_target,
            sample=sample or DEFAULT_SAMPLE,
        )
    if target is not None or table.target is None:
        return table
    note = f"No {option} was given, so column {table.target!r} is used."
    return table._replace(notes=[note, *table.notes])


def sample_options(
    max_memory: float | None, seed: int, sample_rows: int | None = None
) -> "SampleOptions":
    """Return from which size a Parquet table is sampled, and the size of the sample."""
    from dimetric.data._parquet.limit import SAMPLE_ROWS, SampleOptions, checked_max_memory

    limit = checked_max_memory(max_memory, OPTION_NAMES["max_memory"])
    return SampleOptions(limit, SAMPLE_ROWS if sample_rows is None else sample_rows, seed)


def learner_from(name: str, options: list[str] | None, seed: int) -> Any:
    """Return a learner with parameters of the form name=value, or None for "Euclidean"."""
    from dimetric.advice._by_name import learner_by_name

    params = parsed_options(options)
    if params and name.lower() == "euclidean":
        raise ValueError("--option cannot be used with Euclidean, which has no parameters.")
    return learner_by_name(name, params, random_state=seed)
