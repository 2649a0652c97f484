"""The roles of the columns of a table: target, dropped and extra columns."""

import re
from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from dimetric._names import suggest
from dimetric.data._target_values import may_be_target

COLUMN_NUMBER = re.compile(r"-?\d{1,9}")
TARGET_NAMES = ("class", "target", "label", "y")  # names of a likely target column


class Roles(NamedTuple):
    """The names of the columns that are not features."""

    target: str | None
    drop: list[str]
    extra: list[str]


def roles_of(
    names: list[str],
    target: str | int | None,
    drop: Iterable[str],
    extra: Iterable[str],
    name: str | None,
    needs_target: bool,
    option_names: Mapping[str, str],
    nested: Container[str] = (),
) -> Roles:
    """Check the names of the dropped and extra columns, and choose the target.

    Parameters
    ----------
    names : list of str
        Names of all columns.
    target, drop, extra, name, needs_target, option_names
        As in :func:`~dimetric.data._tables.open_table`.
    nested : container of str
        Columns of lists or structs, which are not guessed as target.
    """
    drop = _existing_names(drop, names, option_names["drop"])
    extra = _existing_names(extra, names, option_names["extra"])
    others = {*extra, *drop}
    candidates = [each for each in names if each not in others]
    if not candidates:
        raise ValueError(f"{name or 'The table'} has no feature columns.")
    if target is None and not needs_target:
        return Roles(None, drop, extra)
    if target is None:
        candidates = [each for each in candidates if each not in nested] or candidates
    chosen = _choose_target(target, candidates, names, option_names["target"])
    return Roles(chosen, drop, extra)


def better_target(roles: Roles, columns: Mapping[str, np.ndarray]) -> str:
    """Return the target, or another column if it was guessed and cannot be predicted.

    The other column is the last one that is not nested, almost empty, constant, or an identifier.
    """
    guess = str(roles.target)
    if guess.lower() in TARGET_NAMES:
        return guess
    others = [each for each in columns if each != guess and each not in roles.extra]
    candidates = [*([guess] if guess in columns else []), *reversed(others)]
    return next((each for each in candidates if may_be_target(each, columns[each])), guess)


def _choose_target(
    target: str | int | None, names: list[str], all_names: list[str], option: str
) -> str:
    if isinstance(target, str) and target not in all_names and COLUMN_NUMBER.fullmatch(target):
        target = int(target)  # the command line passes column numbers as strings
    if target is None:
        return _likely_target(names)
    if isinstance(target, str):
        chosen = target
    elif -len(all_names) <= target < len(all_names):
        chosen = all_names[target]
    else:
        raise ValueError(
            f"{option}: column number {target} is out of range. There are {len(all_names)} "
            "columns, numbered from 0, or from -1 backwards."
        )
    return _existing_names([chosen], names, option)[0]


def _likely_target(names: list[str]) -> str:
    """Return the most likely target: the first match of TARGET_NAMES, else the last column."""
    # An exact match has priority, then the last column that matches when case is ignored.
    by_name = {each.lower(): each for each in names} | {each: each for each in names}
    named = [each for each in names if not each.startswith("Unnamed: ")] or names
    return next((by_name[each] for each in TARGET_NAMES if each in by_name), named[-1])


def _existing_names(wanted: Iterable[str], names: Iterable[str], option: str) -> list[str]:
    """Return column names as a list. Raise if a name does not exist."""
    wanted, names = ([wanted] if isinstance(wanted, str) else list(wanted)), list(names)
    known = set(names)
    for each in wanted:
        if each not in known:
            raise ValueError(f"{option}: there is no column {each!r}. {suggest(each, names)}")
    return wanted
