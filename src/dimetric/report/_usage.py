"""Code and commands in a report that use the fitted model."""

import shlex
from pathlib import Path

from dimetric.report._records import ReportRecord

__all__ = ["usage"]

NEW_TABLE = "new.csv"  # a table to predict, if the table of the comparison is not in a file


def usage(record: ReportRecord) -> list[str]:
    """Return examples of use: Python code, and shell commands if the model was saved.

    The examples apply the model to the table of the comparison, if that is a file.

    Parameters
    ----------
    record : ReportRecord
        The contents of the report.
    """
    if record.model_file is None:
        return [
            f"comparison.learner.predict(new_rows)\ncomparison.save({record.name + '.dimetric'!r})"
        ]
    file, table = record.model_file, record.source if _is_file(record.source) else NEW_TABLE
    python = (
        f"import dimetric\n\nmodel = dimetric.load({file!r})\n"
        f"print(dimetric.predict_table(model, {table!r}))\n"
        "# Complete rows in a data frame: model.predict(frame)"
    )
    results = "predictions" if record.choice.task.is_regression else "classes"
    table = shlex.quote(table)
    arguments_by_verb = {
        "predict": f" {table} --out {results}.csv",
        "transform": f" {table} --out coordinates.csv",
        "info": "",
    }
    shell = (
        f"dimetric {verb} {shlex.quote(file)}{arguments}"
        for verb, arguments in arguments_by_verb.items()
    )
    return [python, "\n".join(shell)]


def _is_file(source: str) -> bool:
    try:
        return Path(source).is_file()
    except (OSError, ValueError):  # not a path
        return False
