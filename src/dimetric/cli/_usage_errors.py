"""Messages about wrong usage, with control characters escaped."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from dimetric.cli._terminal import one_line


class PrintableGroup(TyperGroup):
    """The verbs of the command. Arguments with control characters are printed escaped."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the arguments in front of the verb."""
        with _printable_messages():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of the verb, and run it."""
        with _printable_messages():
            return super().invoke(ctx)


@contextmanager
def _printable_messages() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):  # an error about the usage
            error.message = one_line(error.message)  # type: ignore[attr-defined]
        raise
