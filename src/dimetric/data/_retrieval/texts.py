"""Add texts and groups from one file to the vectors of another."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from dimetric._names import listed_classes
from dimetric.data._files import TableFile, naming_file_in_errors
from dimetric.data._retrieval.items import Items, joined_texts, read_strings, strings_of
from dimetric.data._retrieval.names import ID_NAMES, TEXT_NAMES, TITLE_NAME, find_name


def with_texts(items: Items, lines: Path, vectors: Path, groups: str | None) -> Items:
    """Return items with the texts and groups of another file, found by id or by position.

    Parameters
    ----------
    items : Items
        The items.
    lines : path
        File with ids and texts.
    vectors : path
        File of the items, for messages.
    groups : str or None
        Column of `lines` with groups.
    """
    file = TableFile.open(lines)
    with naming_file_in_errors(lines):
        names = file.column_names()
        id_name = find_name(names, ID_NAMES)
        text, title = find_name(names, TEXT_NAMES), find_name(names, (TITLE_NAME,))
        if id_name is None:
            raise ValueError("its lines have no '_id'")
        table = read_strings(file, [each for each in (id_name, text, title) if each is not None])
        ids = strings_of(table[id_name], "_id")
        columns = (None if each is None else table[each] for each in (text, title))
        texts = joined_texts(*columns) or ("",) * len(ids)
        known = None if groups is None else strings_of(table[groups], "group")
    if not items.has_ids:
        if len(items.ids) != len(ids):
            raise ValueError(
                f"{vectors} has {len(items.ids)} vectors without ids, but {lines} has {len(ids)} "
                "lines. Add an array 'ids'."
            )
        items = replace(items, ids=tuple(ids), has_ids=True)
    positions = {each: i for i, each in enumerate(ids)}
    lacking = [each for each in items.ids if each not in positions]
    if lacking:
        raise ValueError(
            f"{len(lacking)} ids of {vectors} are not in {lines}: {listed_classes(lacking)}."
        )
    order = [positions[each] for each in items.ids]
    found = items.groups if known is None else np.array([known[i] for i in order], dtype=object)
    return replace(items, texts=tuple(texts[i] for i in order), groups=found)
