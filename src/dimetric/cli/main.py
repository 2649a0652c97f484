"""The command ``dimetric``. Each verb is a function in the module of the same name.

The modules import large packages inside functions, so that ``--help`` is fast.
"""

import gc
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

from dimetric.cli._interrupts import ending_on_signals, print_interrupt
from dimetric.cli._terminal import escape_warnings_and_tracebacks, one_line, quiet_if

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
    "adapt",
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
        # frozen objects. DuckDB reports its own objects as leaked if they are skipped.
        if "duckdb" not in sys.modules:
            gc.freeze()


def run() -> None:
    """Run the command. Errors that a user can fix are printed without a traceback."""
    if typer is None:  # pragma: no cover - the tests have it
        sys.exit("The command requires extra packages: run pip install 'dimetric[cli]'.")
    escape_warnings_and_tracebacks()
    try:
        app(prog_name="dimetric")
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"dimetric: {one_line(_message(error))}")


def _message(error: Exception) -> object:
    """Return the message of an error. The system's errors have a number in front of theirs."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        return f"{error.filename}: {error.strerror}."
    return error


def _verb_function(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the function of a verb with the option ``--quiet``.

    If it is interrupted, it prints a line and exits.
    """

    @wraps(verb)
    def run_verb(*args: Any, quiet: bool = False, **kwargs: Any) -> None:
        try:
            with quiet_if(quiet):
                verb(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            sys.exit(print_interrupt(interrupt))

    # Typer reads the options of a function from its signature.
    options = signature(verb).parameters.values()
    option = Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=Quiet)
    run_verb.__signature__ = Signature([*options, option])  # type: ignore[attr-defined]
    run_verb.__annotations__ = {**verb.__annotations__, "quiet": Quiet}
    return run_verb


if typer is not None:
    from dimetric.cli._help import OVERVIEW, SUMMARIES, help_epilog
    from dimetric.cli._options import Quiet
    from dimetric.cli._usage_errors import PrintableGroup

    # The plain help has more room for text than the tables of Rich, and starts faster.
    app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None, cls=PrintableGroup)

    @app.callback(invoke_without_command=True)
    def about(
        context: typer.Context,
        version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    ) -> None:
        """Learn from a table which rows are similar, and use this to predict and to search.

        To start, run `dimetric compare TABLE --target COLUMN`.
        """
        if version:
            import dimetric

            print(f"dimetric {dimetric.__version__}")
            raise typer.Exit
        if context.invoked_subcommand is None:
            print(OVERVIEW, end="")

    for verb in VERBS:
        function = getattr(import_module(f"dimetric.cli.{verb}"), verb)
        register = app.command(verb, short_help=SUMMARIES.get(verb), epilog=help_epilog(verb))
        register(_verb_function(function))
