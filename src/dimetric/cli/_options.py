"""Options that several verbs share, and functions that parse option values."""

import ast
import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

# The error of wrong usage, with exit code 2. Typer exports only this subclass of it, whose messages
# start with "Invalid value".
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

TABLE_HELP = (
    "Table: CSV or JSON lines (optionally .gz), Excel, Parquet, Feather, NPZ with X and y, a "
    "SQLite or DuckDB database, or - for standard input. Several files must have the same columns."
)
Data = Annotated[list[Path], typer.Argument(metavar="DATA", help=TABLE_HELP)]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Target column with the classes or numbers to predict: its name, or its number "
        "(0: first, -1: last). (Default: the column 'class', 'target', 'label' or 'y', or else "
        "the last column.)",
    ),
]
TargetKind = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="How to read the target: as 'classes', 'ordinal' numbers or 'continuous' numbers. "
        "(Default: 'classes' for strings and for few distinct integers, 'continuous' for other "
        "numbers.)",
    ),
]
Drop = Annotated[
    str,
    typer.Option(
        metavar="COLUMNS",
        help="Columns to ignore, separated by commas. A name that contains a comma is quoted: "
        "'\"a, b\",c'.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with the group of each row, such as a patient. It is not a feature. "
        "Rows of one group are never in both the training and the test part of a fold.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="'drop' rows with missing values, 'impute' the values, or 'auto': drop the rows if "
        "they are at most 10 % of all rows, and impute otherwise.",
    ),
]
Auto = Annotated[
    bool,
    typer.Option(
        "--auto",
        help="Drop columns that cannot be used, such as amounts in several currencies. "
        "(Default: list these columns and stop.)",
    ),
]
MaxMemory = Annotated[
    float | None,
    typer.Option(
        metavar="GB",
        help="Memory that a Parquet table may take. A larger table is sampled by row groups, or "
        "read in blocks. (Default: an eighth of the memory of the machine.)",
    ),
]
ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="Model file written by `dimetric fit` or `dimetric compare`."
    ),
]
NewData = Annotated[list[Path], typer.Argument(metavar="DATA", help=TABLE_HELP)]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="SHEET",
        help="Sheet of an Excel file: its name, or its number from 1. (Default: 1.)",
    ),
]
Sql = Annotated[
    str | None,
    typer.Option(
        metavar="QUERY",
        help="Query that selects the rows of a SQLite or DuckDB database, for example "
        "'SELECT * FROM sales'. In a query of any other file, the table is named data.",
    ),
]
Results = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File to write. The extension selects CSV, Parquet or NPZ. "
        "(Default: CSV to standard output.)",
    ),
]
Keep = Annotated[
    str,
    typer.Option(
        metavar="COLUMNS",
        help="Columns to copy to the output, such as an id, separated by commas.",
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(help="Whether the first line contains column names. (Default: detected.)"),
]
Learners = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Learners to compare, separated by commas. "
        "(Default: all that are fast enough for the size of the table.)",
    ),
]
LearnerOptions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="Parameter of the learner, such as n_components=2. Repeatable."
    ),
]
NeighborCount = Annotated[
    int, typer.Option(metavar="N", min=1, help="Number of nearest neighbours used for predictions.")
]
Jobs = Annotated[
    int, typer.Option(metavar="N", help="Number of processes. -1 uses all processors.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Random seed.")]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print only results and errors: no notes, progress or summary."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the results as one JSON object.")]


def split_names(text: str) -> list[str] | None:
    """Split comma-separated names. Return None if there are none.

    A name that contains a comma is written in quotation marks, as in a CSV file.

    Examples
    --------
    >>> split_names('"size, cm", price')
    ['size, cm', 'price']
    >>> split_names("iris, wine"), split_names("")
    (['iris', 'wine'], None)
    """
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:  # a line break, or a very long text
        parts = text.split(",")
    return [each.strip() for each in parts if each.strip()] or None


def parsed_options(options: Iterable[str] | None) -> dict[str, Any]:
    """Parse options of the form name=value. Values are Python literals or plain strings.

    Examples
    --------
    >>> parsed_options(["n_neighbors = 8", "solver=sgd"])
    {'n_neighbors': 8, 'solver': 'sgd'}
    """
    return dict(_parsed_option(each) for each in options or [])


def _parsed_option(text: str) -> tuple[str, Any]:
    name, equals, value = (each.strip() for each in text.partition("="))
    if not equals or not name:
        raise ValueError(
            f"--option {text} must have the form name=value, for example n_components=2."
        )
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise if the value of an option is not one of its choices.

    Examples
    --------
    >>> check_choice("--scale", "big", ["minmax", "standard", "none"])
    Traceback (most recent call last):
    ...
    ValueError: --scale must be 'minmax', 'standard' or 'none', not 'big'.
    """
    *first, last = map(repr, choices)
    if repr(value) not in (*first, last):
        raise ValueError(f"{option} must be {', '.join(first)} or {last}, not {value!r}.")
