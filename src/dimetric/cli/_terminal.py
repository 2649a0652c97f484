"""What the verbs share: progress on the terminal, lists of names."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dimetric.evaluate.store import Cell


def names(text: str) -> list[str] | None:
    """Return names that commas separate, None if there are none.

    Examples
    --------
    >>> names("iris, wine"), names("")
    (['iris', 'wine'], None)
    """
    return [each.strip() for each in text.split(",") if each.strip()] or None


class progress:
    """A bar on the terminal's standard error, and none where that is no terminal.

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

        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeRemainingColumn(), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task(title, total=None)

    def __enter__(self) -> Any:
        self._bar.start()
        return self._watch

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def _watch(self, done: int, total: int, cell: "Cell | None") -> None:
        self._bar.update(self._task, completed=done, total=total)
