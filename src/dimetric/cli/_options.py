"""Options that several verbs share, and how their values are parsed."""

import ast
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[Path, typer.Argument(help="Table: CSV (perhaps .gz), Parquet or NPZ (X, y).")]
Target = Annotated[
    str | None,
    typer.Option(help="Column of the classes: its name, or its number from 0 on (-1: the last)."),
]
Drop = Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")]
Missing = Annotated[
    str, typer.Option(help="Rows with missing values: 'drop' them, or 'impute' the values.")
]
ModelFile = Annotated[Path, typer.Argument(help="File of a model, from 'dimetric fit'.")]
NewData = Annotated[Path, typer.Argument(help="Table: CSV (perhaps .gz), Parquet or NPZ (X).")]
Results = Annotated[
    Path | None,
    typer.Option(help="CSV, Parquet or NPZ file, by its ending. (Default: CSV on stdout.)"),
]
Keep = Annotated[str, typer.Option(help="Columns to pass through, as ids, separated by commas.")]
Header = Annotated[
    bool | None,
    typer.Option(help="Whether the first line holds names. (Default: detected.)"),
]
Learners = Annotated[
    str, typer.Option(help="Learners, separated by commas. (Default: those that suit the table.)")
]
LearnerOptions = Annotated[
    list[str] | None,
    typer.Option(help="Option of the learner, as n_components=2; may be given several times."),
]
Voters = Annotated[int, typer.Option(min=1, help="Neighbours that vote.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 for all processors.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of random draws.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]


def names(text: str) -> list[str] | None:
    """Return names that are separated by commas; None if there are none.

    Examples
    --------
    >>> names("iris, wine"), names("")
    (['iris', 'wine'], None)
    """
    return [each.strip() for each in text.split(",") if each.strip()] or None


def parsed_options(options: Iterable[str] | None) -> dict[str, Any]:
    """Return the names and values that options of the form name=value stand for.

    Examples
    --------
    >>> parsed_options(["n_neighbors = 8", "solver=sgd"])
    {'n_neighbors': 8, 'solver': 'sgd'}
    """
    return dict(_parsed_option(each) for each in options or [])


def _parsed_option(text: str) -> tuple[str, Any]:
    name, equals, value = (each.strip() for each in text.partition("="))
    if not equals or not name:
        raise ValueError(f"--option {text} must be name=value, as n_components=2.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a text


def check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise if an option has a value that it cannot have.

    Examples
    --------
    >>> check_choice("--scale", "big", ["minmax", "standard", "none"])
    Traceback (most recent call last):
    ...
    ValueError: --scale big must be 'minmax', 'standard' or 'none'.
    """
    *first, last = map(repr, choices)
    if repr(value) not in (*first, last):
        raise ValueError(f"{option} {value} must be {', '.join(first)} or {last}.")
