"""The verb ``inspect``: print what would be done with each column of a table."""

import shlex
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from dimetric._names import joined_names
from dimetric.cli._options import (
    Data,
    Drop,
    Groups,
    Header,
    Json,
    Missing,
    Sheet,
    Sql,
    Target,
    TargetKind,
    check_choice,
    split_names,
)
from dimetric.cli._terminal import print_json, print_lines

if TYPE_CHECKING:
    from dimetric.advice._inspect import Inspection
    from dimetric.data._records import ColumnRecord

MAX_WIDTHS = {"column": 24, "kind": 18}
MIN_WIDTH = 60
MAX_SINGLE = 30  # columns above which alike columns share a line
MIN_ALIKE = 4  # columns that share a line


def inspect(
    data: Data,
    target: Target = None,
    target_kind: TargetKind = None,
    drop: Drop = "",
    groups: Groups = None,
    missing: Missing = "auto",
    header: Header = None,
    sheet: Sheet = None,
    sql: Sql = None,
    json: Json = False,
) -> None:
    """Print what would be done with each column of a table, before anything is learned.

    Shows the kind, missing values, range and treatment of each column, how the
    target would be read, and how many rows would be used. Lists all problems, and
    a command that solves them.
    """
    from dimetric.advice._inspect import inspect_table
    from dimetric.data._files import TableFile

    check_choice("--missing", missing, ["auto", "drop", "impute"])
    found = inspect_table(
        TableFile.open(data, header, sheet=sheet, sql=sql),
        target,
        drop=split_names(drop) or [],
        missing=missing,
        groups=groups,
        target_kind=target_kind,
        option_names={"target": "--target", "drop": "--drop", "extra": "--groups"},
    )
    given = {"--target-kind": target_kind, "--groups": groups, "--sheet": sheet, "--sql": sql}
    options = [word for name, value in given.items() if value for word in (name, value)]
    if header is not None:
        options.append("--header" if header else "--no-header")
    command = _command(data, found, drop, missing, options)
    if json:
        print_json(_results(found, command))
    else:
        width = max(MIN_WIDTH, get_terminal_size((80, 24)).columns)
        print_lines(*_lines(found, command, width))


def _command(
    data: list[Path], found: "Inspection", drop: str, missing: str, options: list[str]
) -> str:
    """Return the command that compares distances on the table, or "" if it would fail."""
    lacks_rows = not found.n_kept and missing == "drop"
    if len(found.problems) > len(found.unusable) + lacks_rows:
        return ""
    words = ["dimetric", "compare", *map(str, data)]
    if found.target is not None:
        words += ["--target", found.target]
    dropped = [*(split_names(drop) or []), *found.unusable]
    if dropped:
        words += ["--drop", joined_names(dropped)]
    if missing != "auto":
        words += ["--missing", "impute" if lacks_rows else missing]
    return shlex.join([*words, *options])


def _results(found: "Inspection", command: str) -> dict[str, Any]:
    """Return the results as a dictionary, for JSON."""
    fields = (
        "name",
        "kind",
        "n_missing",
        "range",
        "example",
        "n_features",
        "treatment",
        "note",
        "problem",
    )
    return {
        "data": found.name,
        "rows": found.n_rows,
        "is_sample": found.is_sample,
        "columns": [{name: getattr(each, name) for name in fields} for each in found.records],
        "target": found.target,
        "target_reading": found.reading,
        "rows_kept": found.n_kept,
        "rows_dropped": found.n_rows - found.n_kept,
        "features": sum(each.n_features for each in found.records),
        "notes": found.notes,
        "problems": found.problems,
        "command": command,
    }


def _lines(found: "Inspection", command: str, width: int) -> list[str]:
    """Return the lines to print."""
    n_columns = len(found.records) + (found.target is not None)
    rows = f"{'first ' * found.is_sample}{found.n_rows:,} row{'s' * (found.n_rows != 1)}"
    lines = [f"{found.name}: {rows}, {n_columns} column{'s' * (n_columns != 1)}", ""]
    if found.is_sample:
        lines.insert(1, "The file is large, so later rows were not read.")
    lines += _table(found.records, width)
    lines.append("")
    if found.target is not None:
        reading = f": {found.reading}" if found.reading else ""
        lines.append(f"Target {found.target}{reading}")
    n_features = sum(each.n_features for each in found.records)
    lines.append(f"Rows used: {found.n_kept:,} of {found.n_rows:,}. Features: {n_features}.")
    shown = {each.note for each in found.records if each.note}
    about_rows = [each for each in found.notes if _is_about_rows(each, shown)]
    for text in about_rows:
        lines += wrap(text, width, subsequent_indent="  ")
    if found.problems:
        lines += ["", "Problems:"]
        for text in found.problems:
            lines += wrap(text, width, initial_indent="- ", subsequent_indent="  ")
    if command:
        lines += ["This command deals with them:" if found.problems else "Next:", f"  {command}"]
    return lines


def _is_about_rows(note: str, shown: set[str]) -> bool:
    """Return whether a note says something that the table of columns does not."""
    is_about_column = note.startswith("Dropped column") or note.endswith("so it is dropped.")
    return not is_about_column and note not in shown


def _table(records: "tuple[ColumnRecord, ...]", width: int) -> list[str]:
    """Return one line for each column, and a second one if its treatment needs more words."""
    groups = _groups(records)
    names = [_group_name(each) for each in groups]
    first = _width([*names, "column"], MAX_WIDTHS["column"])
    second = _width([*(each[0].kind for each in groups), "kind"], MAX_WIDTHS["kind"])
    header = f"{'column':{first}} {'kind':{second}} missing features  range"
    lines = [header]
    for name, group in zip(names, groups, strict=True):
        record = group[0]
        n_features = str(sum(each.n_features for each in group) or "-")
        start = f"{_cut(name, first):{first}} {_cut(record.kind, second):{second}} "
        start += f"{record.n_missing:7} {n_features:>8}  "
        space = width - len(start)
        example = f"e.g. {record.example}" if record.example else ""
        values = ", ".join(filter(None, [record.range, example]))
        if len(group) > 1 or len(values) > space:
            values = "" if len(group) > 1 else record.range or example
        lines.append((start + _cut(values, space)).rstrip())
        note = record.note.removeprefix(f"Column {record.name!r}: ")
        about = [_details(record), note, record.problem and "cannot be used (see below)"]
        for text in filter(None, about):
            lines += wrap(text, width, initial_indent="    ", subsequent_indent="    ")
    return lines


def _details(record: "ColumnRecord") -> str:
    """Return the part of a treatment that the number of features does not say."""
    if record.is_left_out:
        return record.treatment
    return record.treatment.partition(": ")[2]


def _groups(records: "tuple[ColumnRecord, ...]") -> "list[list[ColumnRecord]]":
    """Return neighbouring columns that are alike together, if there are many columns."""
    groups: list[list[ColumnRecord]] = []
    for record in records:
        key = (record.kind, record.n_missing, record.treatment, record.note, record.problem)
        last = groups[-1][0] if groups else None
        if last is not None and len(records) > MAX_SINGLE and not record.note:
            same = (last.kind, last.n_missing, last.treatment, last.note, last.problem)
            if same == key:
                groups[-1].append(record)
                continue
        groups.append([record])
    return [part for group in groups for part in _divided(group)]


def _divided(group: "list[ColumnRecord]") -> "list[list[ColumnRecord]]":
    return [group] if len(group) >= MIN_ALIKE else [[each] for each in group]


def _group_name(group: "list[ColumnRecord]") -> str:
    if len(group) == 1:
        return group[0].name
    return f"{group[0].name} ... {group[-1].name} ({len(group)})"


def _width(texts: list[str], limit: int) -> int:
    return min(limit, max(map(len, texts)))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(1, width - 3)]}..."
