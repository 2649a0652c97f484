"""Print results, notes and progress to the terminal."""

import json
import math
import re
import sys
import traceback
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dimetric._files import own_descriptor
from dimetric._names import printable

if TYPE_CHECKING:
    from dimetric.benchmark._cell import Cell

STANDARD_OUTPUT = 1  # file descriptor


def print_lines(*lines: object, out: Path | Sequence[Path] = ()) -> None:
    """Print lines, with control characters escaped.

    Parameters
    ----------
    lines : object
        Each is printed on its own line.
    out : path or sequence of paths, default=()
        The files that a command writes. If one is standard output, the lines go to standard error.
    """
    files = [out] if isinstance(out, Path) else out
    stream = sys.stderr if any(map(is_standard_output, files)) else sys.stdout
    for each in lines:
        print(printable(each), file=stream)


def is_standard_output(path: Path | None) -> bool:
    """Return whether a path names standard output, or is None.

    Examples
    --------
    >>> is_standard_output(Path("/dev/stdout")), is_standard_output(Path("model.dimetric"))
    (True, False)
    """
    return path is None or own_descriptor(path) == STANDARD_OUTPUT


def check_json_output(json: bool, out: Path | None) -> None:
    """Raise if both JSON and a file would be written to standard output."""
    if json and is_standard_output(out):
        import typer

        raise typer.BadParameter(
            "--json requires --out FILE, because the JSON object and the results would both go to "
            "standard output."
        )


def print_notes(*notes: str) -> None:
    """Print notes to standard error, because standard output is reserved for results.

    Parameters
    ----------
    notes : str
        Sentences. Each is printed on its own line, with control characters escaped.
    """
    for each in notes:
        print(one_line(each), file=sys.stderr)


def one_line(message: object) -> str:
    r"""Return a message as one line, with control characters escaped.

    Examples
    --------
    >>> print(one_line("Input X contains NaN.\nUse --missing \x1b[0m."))
    Input X contains NaN. Use --missing \x1b[0m.
    """
    return printable(re.sub(r"[ \t]*[\r\n]\s*", " ", str(message).strip()))


def print_json(results: Any) -> None:
    r"""Print results as one JSON object. NaN and infinity become null.

    Parameters
    ----------
    results : mapping
        The results. Values are strings, numbers, lists, mappings, arrays or paths.

    Examples
    --------
    >>> print_json({"score": math.nan, "names": ("a", "\u202e")})
    {"score": null, "names": ["a", "\u202e"]}
    """
    text = json.dumps(_jsonable(results), ensure_ascii=False)
    # JSON escapes only the control characters of ASCII.
    print("".join(each if printable(each) == each else json.dumps(each)[1:-1] for each in text))


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
    r"""Escape Rich markup and control characters in a value, so that it is printed literally.

    Examples
    --------
    >>> print(escape_markup("[red]"))
    \[red]
    """
    from rich.markup import escape

    return escape(printable(value))


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
        self._task = self._bar.add_task(escape_markup(title), total=None)

    def __enter__(self) -> Any:
        self._bar.start()
        return self._update

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def _update(
        self, n_done: int, n_total: int | None, cell: "Cell | None" = None, *, title: str = ""
    ) -> None:
        self._bar.update(self._task, completed=n_done, total=n_total)
        if title:
            self._bar.update(self._task, description=escape_markup(title))
            self._bar.tasks[0].total = n_total  # update ignores None


def escape_warnings_and_tracebacks() -> None:
    """Let Python escape control characters in the warnings and tracebacks that it prints."""
    warnings.formatwarning = _format_warning
    sys.excepthook = _print_traceback


def _format_warning(message: Warning | str, *location: Any, **more: Any) -> str:
    """Return a warning without its location, because the user of the command wrote no code."""
    return f"Warning: {one_line(message)}\n"


def _print_traceback(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    lines = "".join(traceback.format_exception(kind, error, trace)).splitlines()
    print(*map(printable, lines), sep="\n", file=sys.stderr)
