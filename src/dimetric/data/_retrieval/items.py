"""Queries or documents: ids, vectors, texts and groups, read from one file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._names import listed_arrays, listed_classes, listed_columns
from dimetric.data._files import TableFile, naming_file_in_errors
from dimetric.data._missing import is_missing_value
from dimetric.data._readers.arrays import read_arrays
from dimetric.data._readers.content import detect_content
from dimetric.data._readers.records import text_of
from dimetric.data._readers.source import input_files
from dimetric.data._retrieval.names import (
    ID_NAMES,
    TEXT_NAMES,
    TITLE_NAME,
    VECTOR_NAMES,
    find_name,
)
from dimetric.data._retrieval.vectors import as_vectors, table_vectors

NPY_MAGIC = b"\x93NUMPY"


@dataclass(frozen=True, eq=False)
class Items:
    """Queries or documents.

    Attributes
    ----------
    ids : tuple of str
        Unique identifiers. Items without ids are numbered "0", "1", ...
    vectors : ndarray of shape (n, d)
        Embeddings, in float32 or float64.
    texts : tuple of str or None
        Texts, if the file has them.
    groups : ndarray of shape (n,) or None
        Group of each item, as a string.
    has_ids : bool
        Whether the file has ids.
    """

    ids: tuple[str, ...]
    vectors: np.ndarray
    texts: tuple[str, ...] | None = None
    groups: np.ndarray | None = None
    has_ids: bool = True

    def take(self, rows: np.ndarray) -> "Items":
        """Return some of the items."""
        return replace(
            self,
            ids=tuple(self.ids[i] for i in rows),
            vectors=self.vectors[rows],
            texts=None if self.texts is None else tuple(self.texts[i] for i in rows),
            groups=None if self.groups is None else self.groups[rows],
        )


def read_items(path: str | Path, *, groups: str | None = None) -> Items:
    """Read queries or documents from a table, or from the arrays of an ``.npz`` file.

    Parameters
    ----------
    path : path
        The file: Parquet, Feather, ``.npz``, JSON lines, CSV or another table.
    groups : str, optional
        Name of the column or array with the group of each item.
    """
    (file,) = input_files(path)
    content = detect_content(file)
    with naming_file_in_errors(file.label):
        if content.kind == "arrays":
            items = _from_arrays(file.path, groups)
        else:
            items = _from_table(TableFile.open(path), groups)
        _check_ids(items.ids)
        _check_finite(items)
    return items


def _from_arrays(path: Path, groups: str | None) -> Items:
    with open(path, "rb") as opened:
        is_npy = opened.read(len(NPY_MAGIC)) == NPY_MAGIC
    if is_npy:
        raise ValueError("it holds one array; save ids and vectors together with numpy.savez")
    arrays = read_arrays(path)
    name = find_name(arrays, VECTOR_NAMES)
    if name is None:
        raise ValueError(f"it has no array 'vectors', but {listed_arrays(arrays)}")
    if groups is not None and groups not in arrays:
        raise ValueError(f"it has no array {groups!r}, but {listed_arrays(arrays)}")
    vectors = as_vectors(arrays[name])
    found = {
        "ids": find_name(arrays, ID_NAMES),
        "texts": find_name(arrays, TEXT_NAMES),
        "groups": groups,
    }
    columns = {kind: None if key is None else arrays[key] for kind, key in found.items()}
    for kind, values in columns.items():
        if values is not None and values.shape != (len(vectors),):
            raise ValueError(
                f"the array {found[kind]!r} has shape {values.shape}, but there are "
                f"{len(vectors)} vectors"
            )
    return _items(vectors, columns["ids"], columns["texts"], None, columns["groups"])


def _from_table(file: TableFile, groups: str | None) -> Items:
    names = file.column_names()
    if groups is not None and groups not in names:
        raise ValueError(f"it has no column {groups!r}, but {listed_columns(names)}")
    id_name, text, title = (
        find_name(names, known) for known in (ID_NAMES, TEXT_NAMES, (TITLE_NAME,))
    )
    used = [each for each in (id_name, text, title, groups) if each is not None]
    table = read_strings(file, used)
    vectors, _ = table_vectors(file, table, used)
    chosen = (None if each is None else table[each] for each in (id_name, text, title, groups))
    return _items(vectors, *chosen)


def read_strings(file: TableFile, string_columns: list[str]) -> Any:
    """Read a table in which some columns stay strings, so that the id "007" is not 7."""
    if file.dialect is None:  # only in a text file, numbers and strings look the same
        return file.read()
    parts = list(file.chunks(string_columns=string_columns))
    names = list(getattr(parts[0], "columns", parts[0]))
    return {each: np.concatenate([np.asarray(part[each]) for part in parts]) for each in names}


def _items(vectors: np.ndarray, ids: Any, texts: Any, titles: Any, groups: Any) -> Items:
    has_ids = ids is not None
    listed = strings_of(ids, "id") if has_ids else [str(i) for i in range(len(vectors))]
    return Items(
        tuple(listed),
        vectors,
        joined_texts(texts, titles),
        None if groups is None else np.array(strings_of(groups, "group"), dtype=object),
        has_ids,
    )


def strings_of(values: Any, kind: str) -> list[str]:
    """Return identifiers as strings. Raise if one is missing."""
    listed = np.asarray(values).tolist()
    missing = [i for i, each in enumerate(listed) if is_missing_value(each)]
    if missing:
        raise ValueError(f"{len(missing)} rows have no {kind}, for example row {missing[0]}")
    return [text_of(each) for each in listed]


def joined_texts(texts: Any, titles: Any) -> tuple[str, ...] | None:
    """Return the texts, each after its title if there is one, or None. Missing texts are empty."""
    columns = [np.asarray(each).tolist() for each in (titles, texts) if each is not None]
    if not columns:
        return None
    rows = zip(*columns, strict=True)
    return tuple(
        ". ".join(str(each) for each in row if not is_missing_value(each) and str(each))
        for row in rows
    )


def _check_ids(ids: tuple[str, ...]) -> None:
    seen: set[str] = set()
    repeated = dict.fromkeys(each for each in ids if each in seen or seen.add(each))  # type: ignore[func-returns-value]
    if repeated:
        n = len(ids) - len(seen)
        raise ValueError(
            f"its ids must be unique, but {n} rows repeat the id of another row, for example "
            f"{listed_classes(repeated)}"
        )


def _check_finite(items: Items) -> None:
    wrong = np.flatnonzero(~np.isfinite(items.vectors).all(axis=1))
    if len(wrong):
        ids = listed_classes(items.ids[i] for i in wrong)
        raise ValueError(f"{len(wrong)} vectors contain NaN or infinity: those of {ids}")
