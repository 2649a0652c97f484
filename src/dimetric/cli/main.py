"""The command ``dimetric``. Each verb is a function in the module of the same name.

The modules import large packages inside functions, so that ``--help`` is fast.
"""

import gc
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

from dimetric.cli._interrupts import ending_on_signals, print_interrupt
from dimetric.cli._terminal import escape_warnings_and_tracebacks, one_line

try:
    import typer
except ImportError:  # pragma: no cover - the tests have it
    typer = None  # type: ignore[assignment]

COLLECTION_THRESHOLDS = (10_000, 20, 100)  # of the three generations of objects
VERBS = (
    "inspect",
    "compare",
    "fit",
    "transform",
    "predict",
    "embed",
    "neighbors",
    "info",
    "export",
    "reproduce",
)


def main() -> None:
    """Run the command as a process of its own, which signals end."""
    # The imported packages make many objects that are never garbage. Collect less often than
    # Python does by default, which saves 0.1 seconds.
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    try:
        with ending_on_signals():
            run()
    except KeyboardInterrupt:  # before or after ending_on_signals() handles signals
        sys.exit(print_interrupt())
    finally:
        # At the end, Python searches all objects for garbage, which takes 0.2 seconds. It skips
        # frozen objects.
        gc.freeze()


def run() -> None:
    """Run the command. Errors that a user can fix are printed without a traceback."""
    if typer is None:  # pragma: no cover - the tests have it
        sys.exit("The command requires extra packages: run pip install 'dimetric[cli]'.")
    escape_warnings_and_tracebacks()
    try:
        app()
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"dimetric: {one_line(error)}")


def _printing_interrupts(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the function of a verb, which prints a line and exits if it is interrupted."""

    @wraps(verb)
    def run_verb(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            sys.exit(print_interrupt(interrupt))

    return run_verb


if typer is not None:
    from dimetric.cli._usage_errors import PrintableGroup

    app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, cls=PrintableGroup)

    @app.callback(invoke_without_command=True)
    def about(
        version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    ) -> None:
        """Learn distances from tables, and apply them."""
        if version:
            import dimetric

            print(f"dimetric {dimetric.__version__}")
            raise typer.Exit

    for verb in VERBS:
        function = getattr(import_module(f"dimetric.cli.{verb}"), verb)
        app.command(verb)(_printing_interrupts(function))
