"""Tables that say which documents are relevant to a query: judgements, pairs and clicks."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dimetric._names import listed_columns
from dimetric.data._columns import parse_numbers
from dimetric.data._files import TableFile, naming_file_in_errors
from dimetric.data._retrieval.items import read_strings, strings_of
from dimetric.data._retrieval.names import (
    CLICK_NAMES,
    DOCUMENT_NAMES,
    GRADE_NAMES,
    QUERY_NAMES,
    find_name,
)

N_ID_COLUMNS = 2
UNNAMED = ("x0", "x1", "x2")  # columns of a file without a header


class Judgements(NamedTuple):
    """The rows of a relevance table.

    Attributes
    ----------
    query_ids, document_ids : list of str
        Identifiers.
    grades : ndarray of shape (m,)
        Grade of each row. 0 means that the document is not relevant.
    """

    query_ids: list[str]
    document_ids: list[str]
    grades: np.ndarray

    def rows(self) -> list[tuple[str, str, float]]:
        """Return a list of query, document and grade."""
        return list(zip(self.query_ids, self.document_ids, self.grades.tolist(), strict=True))


def read_judgements(path: str | Path | Iterable[Path]) -> Judgements:
    """Read a table of pairs, judgements or clicks.

    The columns are found by their names. A grade counts as it is. A number of clicks, or whether a
    document was clicked, becomes the grade 1 or 0. Without such a column, all grades are 1.

    Parameters
    ----------
    path : path or iterable of paths
        The files.
    """
    file = TableFile.open(path)
    with naming_file_in_errors(file.label):
        query, document, grade, is_clicks = _columns(file.column_names())
        table = read_strings(file, [query, document])
        query_ids = strings_of(table[query], "query")
        document_ids = strings_of(table[document], "document")
        if not query_ids:
            raise ValueError("it has no rows")
        grades = np.ones(len(query_ids))
        if grade is not None:
            grades = _grades(table[grade], grade)
            grades = (grades > 0).astype(np.float64) if is_clicks else grades
    return Judgements(query_ids, document_ids, grades)


def _columns(names: list[str]) -> tuple[str, str, str | None, bool]:
    """Return the columns of queries, documents and grades, and whether the latter are clicks."""
    query, document = find_name(names, QUERY_NAMES), find_name(names, DOCUMENT_NAMES)
    if query is not None and document is not None:
        grade = find_name(names, GRADE_NAMES)
        clicks = find_name(names, CLICK_NAMES)
        return query, document, grade if grade is not None else clicks, grade is None
    if tuple(names) == UNNAMED[: len(names)] and len(names) >= N_ID_COLUMNS:
        return UNNAMED[0], UNNAMED[1], UNNAMED[2] if len(names) > N_ID_COLUMNS else None, False
    raise ValueError(
        f"its columns are {listed_columns(names)}; name the columns of ids 'query_id' and "
        "'document_id', and a column of grades 'score', or of clicks 'clicks'"
    )


def _grades(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    numbers: Any = array if array.dtype.kind in "iufb" else parse_numbers(array)
    if numbers is None:
        raise ValueError(f"column {name!r} must contain numbers")
    grades = np.asarray(numbers, dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(grades))
    if len(wrong):
        raise ValueError(
            f"column {name!r} has no finite number in {len(wrong)} rows, for example row {wrong[0]}"
        )
    return np.maximum(grades, 0.0)  # some judges mark spam by negative grades
