"""The command ``dimetric`` and its verbs.

Nothing heavy is imported before a verb needs it: help is there at once.
"""

import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
except ImportError:  # pragma: no cover - the tests have it
    typer = None  # type: ignore[assignment]


def main() -> None:
    """Run the command; what a user can mend is told in a sentence, without a traceback."""
    if typer is None:  # pragma: no cover - the tests have it
        sys.exit("The command line needs its extra: pip install 'dimetric[cli]'.")
    try:
        app()
    except (ValueError, OSError, ImportError) as error:
        sys.exit(f"dimetric: {error}")


if typer is not None:
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    @app.callback(invoke_without_command=True)
    def about(
        version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    ) -> None:
        """Learn a distance, and see your data under it."""
        if version:
            import dimetric

            print(f"dimetric {dimetric.__version__}")
            raise typer.Exit

    @app.command()
    def reproduce(
        experiment: Annotated[
            int,
            typer.Option(
                min=1,
                max=4,
                help="1: learners, 2: nearest centroids, 3: kernels, 4: dimensions.",
            ),
        ] = 1,
        k: Annotated[
            list[int] | None,
            typer.Option(help="Neighbours that vote; may be given several times. [default: 3]"),
        ] = None,
        data: Annotated[
            Path | None,
            typer.Option(help="Folder of data sets, and of the published paper_tables."),
        ] = None,
        only: Annotated[str, typer.Option(help="Data sets, with commas between them.")] = "",
        learners: Annotated[str, typer.Option(help="Learners, with commas between them.")] = "",
        jobs: Annotated[int, typer.Option(help="Processes; -1 for all processors.")] = 1,
        budget: Annotated[
            float | None, typer.Option(help="Seconds after which a fit is stopped.")
        ] = None,
        retry: Annotated[bool, typer.Option("--retry", help="Repeat fits that failed.")] = False,
        out: Annotated[
            Path, typer.Option(help="Folder for the results, and for going on after a stop.")
        ] = Path("results"),
    ) -> None:
        """Run a published experiment, and show our scores beside the published ones.

        A run that was stopped goes on where it was when the same command is given again.
        """  # fmt: skip
        from dimetric.cli.reproduce import run

        run(
            experiment, ks=k or [3], folder=data, only=_names(only), learners=_names(learners),
            n_jobs=jobs, time_budget=budget, retry=retry, out=out,
        )  # fmt: skip


def _names(text: str) -> list[str] | None:
    return [each.strip() for each in text.split(",") if each.strip()] or None
