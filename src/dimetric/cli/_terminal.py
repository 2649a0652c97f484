"""Print results, notes and progress to the terminal."""

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimetric.benchmark._store import Cell


def print_notes(*notes: str) -> None:
    """Print notes to standard error, because standard output is reserved for results.

    Parameters
    ----------
    notes : str
        Sentences. Each is printed on its own line.
    """
    for each in notes:
        print(each, file=sys.stderr)


def print_json(results: Any) -> None:
    """Print results as one JSON object. NaN and infinity become null.

    Parameters
    ----------
    results : mapping
        The results. Values are strings, numbers, lists, mappings, arrays or paths.

    Examples
    --------
    >>> print_json({"score": math.nan, "names": ("a", "b")})
    {"score": null, "names": ["a", "b"]}
    """
    print(json.dumps(_jsonable(results), ensure_ascii=False))


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _jsonable(each) for name, each in value.items()}
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return _jsonable(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return [_jsonable(each) for each in value] if isinstance(value, Iterable) else str(value)


def escape_markup(value: object) -> str:
    r"""Escape Rich markup in a value, so that the value is printed literally.

    Examples
    --------
    >>> print(escape_markup("[red]"))
    \[red]
    """
    from rich.markup import escape

    return escape(str(value))


class ProgressBar:
    """A context manager that shows a progress bar if standard error is a terminal.

    Parameters
    ----------
    title : str
        Text in front of the bar.
    """

    def __init__(self, title: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Any:
        self._bar.start()
        return self._update

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def _update(self, n_done: int, n_total: int | None, cell: "Cell | None" = None) -> None:
        self._bar.update(self._task, completed=n_done, total=n_total)
