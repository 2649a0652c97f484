"""What the verbs print: results, notes, progress."""

import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimetric.benchmark._store import Cell


def say(*sentences: str) -> None:
    """Print sentences to standard error: standard output is for results.

    Parameters
    ----------
    sentences : str
        A line each.
    """
    for each in sentences:
        print(each, file=sys.stderr)


def as_json(found: Any) -> None:
    """Print results as one JSON object; NaN and infinite numbers become null.

    Parameters
    ----------
    found : mapping
        Of texts, numbers, lists, mappings; arrays, paths.

    Examples
    --------
    >>> as_json({"score": math.nan, "names": ("a", "b")})
    {"score": null, "names": ["a", "b"]}
    """
    print(json.dumps(_as_data(found), ensure_ascii=False))


def _as_data(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _as_data(each) for name, each in value.items()}
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return _as_data(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return [_as_data(each) for each in value] if isinstance(value, Iterable) else str(value)


def plain(value: object) -> str:
    r"""Return a text in which nothing is markup for the terminal.

    Examples
    --------
    >>> print(plain("[red]"))
    \[red]
    """
    from rich.markup import escape

    return escape(str(value))


class progress:
    """A progress bar on standard error, if that is a terminal.

    Parameters
    ----------
    title : str
        What is going on.
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
        return self._watch

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def _watch(self, done: int, total: int | None, cell: "Cell | None" = None) -> None:
        self._bar.update(self._task, completed=done, total=total)
