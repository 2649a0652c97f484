"""Messages about wrong usage: control characters are escaped, and similar names suggested."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from dimetric._names import suggest
from dimetric.cli._checks import MODEL_EXTENSION, is_table
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

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb. If there is none of this name, suggest what to type."""
        name = args[0]
        if name in self.commands or name.startswith("-"):
            return super().resolve_command(ctx, args)
        return ctx.fail(_suggestion(args, list(self.commands)))


def _suggestion(args: list[str], verbs: list[str]) -> str:
    """Return a sentence about an unknown verb.

    Examples
    --------
    >>> _suggestion(["wine.csv"], ["compare", "info"])
    "'wine.csv' is a file, not a command. Run `dimetric compare wine.csv`."
    >>> _suggestion(["comapre", "wine.csv"], ["compare", "info"])
    "There is no command 'comapre'. Did you mean compare?"
    """
    path = Path(args[0])
    is_model = path.suffix.lower() == MODEL_EXTENSION
    if is_model or is_table(path) or path.is_file():
        verb = "info" if is_model else "compare"
        words = " ".join([verb, *args])
        return f"{args[0]!r} is a file, not a command. Run `dimetric {words}`."
    return f"There is no command {args[0]!r}. {suggest(args[0], verbs)}"


@contextmanager
def _printable_messages() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        _improve_message(error)
        raise


def _improve_message(error: Any) -> None:
    """Escape control characters in an error about the usage, and suggest similar options."""
    if getattr(error, "possibilities", None):  # an unknown option
        hint = suggest(error.option_name, error.possibilities)
        error.message = f"There is no option {error.option_name}. {hint}"
        error.possibilities = None  # these would be printed in parentheses
    if hasattr(error, "format_message"):
        # Some versions of Typer check values with pydantic, which adds these words.
        error.message = one_line(error.message).replace("Value error, ", "")
