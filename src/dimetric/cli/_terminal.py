"""Print results, notes and progress to the terminal."""

import json
import math
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dimetric._files import own_descriptor
from dimetric._names import printable

if TYPE_CHECKING:
    from dimetric.benchmark._cell import Cell

STANDARD_OUTPUT = 1  # file descriptor


class _State:
    """Whether the command prints only results and errors (``--quiet``)."""

    quiet = False


@contextmanager
def quiet_if(quiet: bool) -> Iterator[None]:
    """Suppress notes, warnings, progress and summaries in a block, if `quiet` is true."""
    before = _State.quiet
    _State.quiet = quiet
    try:
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore")
            yield
    finally:
        _State.quiet = before


def console(**options: Any) -> Any:
    """Return a Rich console for standard output, which prints nothing with ``--quiet``.

    Parameters
    ----------
    options
        Arguments of ``rich.console.Console``.
    """
    from rich.console import Console

    return Console(quiet=_State.quiet, **options)


def wrote(path: Path | None, *details: str) -> str:
    """Return a line that says which file was written, and what it contains.

    Examples
    --------
    >>> wrote(Path("wine.dimetric"), "LDA", counted(13, "feature"), counted(3, "class"))
    'Wrote wine.dimetric (LDA, 13 features, 3 classes)'
    """
    shown = ", ".join(each for each in details if each)
    return f"Wrote {path} ({shown})" if shown else f"Wrote {path}"


def counted(count: int, noun: str) -> str:
    """Return a number and a noun, in the plural if needed.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "class")
    ('1 row', '2,000 classes')
    """
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{count:,} {noun if count == 1 else plural}"


def print_lines(*lines: object, out: Path | Sequence[Path] = ()) -> None:
    """Print a summary of what was done, with control characters escaped, unless quiet.

    Parameters
    ----------
    lines : object
        Each is printed on its own line.
    out : path or sequence of paths, default=()
        The files that a command writes. If one is standard output, the lines go to standard error.
    """
    if _State.quiet:
        return
    files = [out] if isinstance(out, Path) else out
    stream = sys.stderr if any(map(is_standard_output, files)) else sys.stdout
    for each in lines:
        print(printable(each), file=stream)


def print_results(*lines: object) -> None:
    """Print the lines that the user asked for, with control characters escaped."""
    for each in lines:
        print(printable(each))


def is_standard_output(path: Path | None) -> bool:
    """Return whether a path names standard output, or is None.

    Examples
    --------
    >>> is_standard_output(Path("/dev/stdout")), is_standard_output(Path("model.dimetric"))
    (True, False)
    """
    return path is None or own_descriptor(path) == STANDARD_OUTPUT


def print_notes(*notes: str) -> None:
    """Print notes to standard error, because standard output is reserved for results.

    Parameters
    ----------
    notes : str
        Sentences. Each is printed on its own line, with control characters escaped.
    """
    for each in notes if not _State.quiet else ():
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
        self._bar = None
        if not _shows_progress():
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        title_column = TextColumn("{task.description}")
        self._bar = _rich_progress(
            title_column, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        )
        self._task = self._bar.add_task(escape_markup(title), total=None)

    def __enter__(self) -> Any:
        if self._bar is not None:
            self._bar.start()
        return self._update

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _update(
        self, n_done: int, n_total: int | None, cell: "Cell | None" = None, *, title: str = ""
    ) -> None:
        if self._bar is None:
            return
        self._bar.update(self._task, completed=n_done, total=n_total)
        if title:
            self._bar.update(self._task, description=escape_markup(title))
            self._bar.tasks[0].total = n_total  # update ignores None


@contextmanager
def spinner(title: str) -> Iterator[Callable[[str], None] | None]:
    """Show a text and the elapsed time while a block runs, if standard error is a terminal.

    Parameters
    ----------
    title : str
        The first text.

    Yields
    ------
    show : callable or None
        Replaces the text. None if nothing is shown.
    """
    if not _shows_progress():
        yield None
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = _rich_progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    task = shown.add_task(escape_markup(title), total=None)
    with shown:
        yield lambda text: shown.update(task, description=escape_markup(text))


def _shows_progress() -> bool:
    return not _State.quiet and sys.stderr.isatty()


def _rich_progress(*columns: Any) -> Any:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True)


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
