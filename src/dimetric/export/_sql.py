"""Export linear maps as SQL scripts for DuckDB, or PostgreSQL with pgvector."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

import dimetric
from dimetric._arguments import check_types
from dimetric._files import atomic_write
from dimetric.export._map_chain import Linear, map_chain
from dimetric.export._quote import (
    dollar_quote,
    float_literal,
    on_one_line,
    quote_name,
    vector_literal,
)
from dimetric.export._retrieval.search_script import SearchScript
from dimetric.export._retrieval.sides import is_adapter
from dimetric.export._sql_columns import feature_expressions
from dimetric.export._sql_transaction import transaction

__all__ = ["to_sql"]

DIALECTS = {"duckdb": "DuckDB", "postgres": "PostgreSQL with pgvector"}
FORMS = ("auto", "expression", "matrix")
MAX_EXPRESSION_WEIGHTS = 1000  # larger maps are written as a table of weights
VECTOR_COLUMN = "embedding"  # of documents, by default

RESERVED = ("z", "each", "row_id_", "k_")  # names used by the script, forbidden for the id column
MATRIX_COLUMNS = ("coordinate", "weights", "shift")

HEADER_TEMPLATE = """\
-- {name} with {n_features} features and {k} coordinates, for {dialect}.
-- Exported by dimetric {version}.
-- The script runs in one transaction. It only creates {created}{extension}.
-- If one of these names is already used, it fails and changes nothing. To run it again after the
-- samples have changed, first drop what it created. Rows with missing values are skipped.
-- To find the 10 rows nearest to row 17 by learned distance: SELECT * FROM {nearest}(17, 10);
"""

EXTENSION_NOTES = {"duckdb": "", "postgres": ",\n-- and the extension vector if it is missing"}

EXPRESSION_TEMPLATE = """
CREATE TABLE {mapped} AS
SELECT {id}, {vector} AS z
FROM (
  SELECT {id},
{coordinates}
  FROM {table}
) AS each
WHERE z1 IS NOT NULL;
"""

MATRIX_TEMPLATE = """
CREATE TABLE {matrix} AS
SELECT coordinate, weights::{row} AS weights, shift
FROM (VALUES
{rows}
) AS listed (coordinate, weights, shift);

CREATE TABLE {mapped} AS
SELECT {id}, {vector} AS z
FROM (
  SELECT {id}, {values} AS x
  FROM {table}
) AS each CROSS JOIN {matrix}
WHERE {complete}
GROUP BY {id};
"""

NEAREST_TEMPLATES = {
    "duckdb": """
CREATE MACRO {nearest}(row_id_, k_) AS TABLE
SELECT other.{id}, array_distance(other.z, one.z) AS distance
FROM {mapped} AS other, (SELECT z FROM {mapped} WHERE {id} = row_id_) AS one
WHERE other.{id} <> row_id_
ORDER BY distance, other.{id}
LIMIT k_;
""",
    "postgres": """
-- For large tables, an index makes the search faster but approximate:
-- CREATE INDEX ON {mapped_in_comment} USING hnsw (z vector_l2_ops);
CREATE FUNCTION {nearest}({table}.{id}%TYPE, integer)
RETURNS TABLE ({id} {table}.{id}%TYPE, distance float8)
LANGUAGE sql STABLE AS {quote}
SELECT other.{id}, other.z <-> (SELECT one.z FROM {mapped} AS one WHERE one.{id} = $1)
FROM {mapped} AS other
WHERE other.{id} <> $1
ORDER BY other.z <-> (SELECT one.z FROM {mapped} AS one WHERE one.{id} = $1)
LIMIT $2
{quote};
""",
}


@check_types
def to_sql(
    model: BaseEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    dialect: str = "duckdb",
    table: str = "samples",
    id: str = "id",
    columns: str | Sequence[str] | None = None,
    form: str = "auto",
    half: bool = False,
) -> str:
    """Export a model as a SQL script that maps the rows of a table and finds nearest rows.

    The script creates the table ``<table>_mapped`` of mapped samples, and the function
    ``<table>_nearest(row, k)``, which returns the k rows nearest to a row, nearest first. A large
    map also needs the table ``<table>_matrix``. The script runs in one transaction and drops or
    replaces nothing. If one of these names is already used, it fails and changes nothing. In
    PostgreSQL, it also creates the extension ``vector`` if it is missing.

    The script of a :class:`~dimetric.learners.RetrievalAdapter` creates the function
    ``<table>_search(vector, k)``, which maps the vector of a query and returns the k documents with
    the largest cosine. It maps the documents into ``<table>_mapped`` only if the adapter does.

    Parameters
    ----------
    model : estimator
        A fitted linear learner, a classifier that uses one, or a Pipeline of scalers and one of
        these. Or a fitted RetrievalAdapter.
    path : path, optional
        Path of the file to write.
    dialect : {"duckdb", "postgres"}, default="duckdb"
        The database. "postgres" requires the extension pgvector, which computes in float32.
    table, id : str
        Name of the table, and name of the column that identifies its rows.
    columns : list of str, or str, optional
        Columns of the features, in the same order as during fit, or the name of one column that
        holds vectors. By default, the columns seen during fit are used, including categorical
        columns. If the model was fitted without column names, they are x0, x1, ... The vectors of
        documents are in one column, by default ``embedding``.
    form : {"auto", "expression", "matrix"}, default="auto"
        How to write the map: as an expression for each coordinate, or as a join with a table of
        weights. "auto" chooses expressions if the map has at most 1000 weights and no column holds
        vectors.
    half : bool, default=False
        Whether the search of an adapter in PostgreSQL ranks documents in half precision first, and
        the best of them again in full precision. Then an index needs half the memory.

    Returns
    -------
    script : str
        The SQL script.

    Examples
    --------
    >>> import numpy as np
    >>> from dimetric import PCA
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> script = to_sql(PCA(1).fit(X), columns=["a", "b"])
    >>> [line for line in script.splitlines() if '"a"' in line]
    ['    ("a"::float8 - 2.0e0::float8) * 0.47918...e0::float8']
    """
    _check_choices(dialect, form)
    if is_adapter(model):
        _check_adapter_options(dialect, columns, form, half)
        script = SearchScript(model, dialect, table, id, str(columns or VECTOR_COLUMN), half)
        text = script.text(DIALECTS[dialect], EXTENSION_NOTES[dialect])
    elif half:
        raise ValueError(f"half=True requires a RetrievalAdapter, not {type(model).__name__}.")
    else:
        text = _map_script(model, dialect, table, id, columns, form)
    if path is not None:
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return text


def _map_script(
    model: BaseEstimator,
    dialect: str,
    table: str,
    id: str,
    columns: str | Sequence[str] | None,
    form: str,
) -> str:
    """Return the script of a linear map."""
    chain = map_chain(model)
    features = feature_expressions(model, chain.features, columns, dialect)
    linear = chain.linear("SQL")
    vectors = columns if isinstance(columns, str) else None
    script = Script(linear, dialect, table, id, features, vectors)
    if form == "auto":
        is_small = linear.matrix().size <= MAX_EXPRESSION_WEIGHTS and vectors is None
        form = "expression" if is_small else "matrix"
    return script.text(type(model).__name__, form)


def _check_adapter_options(dialect: str, columns: Any, form: str, half: bool) -> None:
    if columns is not None and not isinstance(columns, str):
        raise ValueError(
            "columns must be the name of one column that holds the vectors of the documents."
        )
    if form == "expression":
        raise ValueError("form='expression' cannot write a RetrievalAdapter. Use 'auto'.")
    if half and dialect != "postgres":
        raise ValueError(f"half=True requires dialect='postgres', not {dialect!r}.")


def _check_choices(dialect: str, form: str) -> None:
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, not {dialect!r}.")
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, not {form!r}.")


@dataclass(frozen=True)
class Script:
    """The parts of a SQL script. `dialect`, `table` and `id` are as in :func:`to_sql`."""

    linear: Linear
    dialect: str
    table: str
    id: str
    features: list[str]  # a SQL expression for each feature
    vectors: str | None  # the column that holds all features as a vector

    def text(self, name: str, form: str) -> str:
        """Return the script of a model with this name, in the form "expression" or "matrix"."""
        k, d = self.linear.matrix().shape
        is_expression = form == "expression"
        self._check_id({f"z{j + 1}" for j in range(k)} if is_expression else {"x", *MATRIX_COLUMNS})
        created = ["mapped", "nearest"] if is_expression else ["matrix", "mapped", "nearest"]
        names = {"id": self.id, "table": self.table}
        names |= {each: f"{self.table}_{each}" for each in created}
        quoted = {key: quote_name(each, self.dialect) for key, each in names.items()}
        head = HEADER_TEMPLATE.format(
            name=name,
            n_features=d,
            k=k,
            version=dimetric.__version__,
            dialect=DIALECTS[self.dialect],
            created=on_one_line(" and ".join(quoted[each] for each in created)),
            extension=EXTENSION_NOTES[self.dialect],
            nearest=on_one_line(quoted["nearest"]),
        )
        body = self._expression(quoted) if is_expression else self._matrix(quoted)
        nearest = NEAREST_TEMPLATES[self.dialect].format(
            **quoted,
            mapped_in_comment=on_one_line(quoted["mapped"]),
            quote=dollar_quote("".join(quoted.values())),
        )
        start, end = transaction(self.dialect, [names[each] for each in created])
        return head + start + body + nearest + end

    def _check_id(self, used: set[str]) -> None:
        """Raise if the script uses the name of the id column for something else."""
        used = {*used, *RESERVED}
        # Quoted names in DuckDB ignore case, and PostgreSQL also returns a column of distances.
        used |= {"distance"} if self.dialect == "postgres" else set()
        if self.id.lower() in used:
            raise ValueError(
                f"The id column cannot be named {self.id!r}, because the script uses this name. "
                "Rename the column."
            )

    def _expression(self, quoted: dict[str, str]) -> str:
        W, o, b = self.linear.matrix(), self.linear.o, self.linear.b
        coordinates = []
        for j, weights in enumerate(W):
            terms = [
                f"({x}::float8 - {float_literal(origin)}) * {float_literal(weight)}"
                for x, weight, origin in zip(self.features, weights, o, strict=True)
                if weight != 0 or j == 0  # z1 has all terms, so it is NULL if any value is missing
            ]
            terms += [float_literal(b[j])] if b[j] != 0 else []
            coordinates.append("    " + "\n    + ".join(terms) + f" AS z{j + 1}")
        names = ", ".join(f"z{j + 1}" for j in range(len(W)))
        vector = f"[{names}]" if self.dialect == "duckdb" else f"ARRAY[{names}]"
        return EXPRESSION_TEMPLATE.format(
            **quoted, vector=self._as_vector(vector), coordinates=",\n".join(coordinates)
        )

    def _matrix(self, quoted: dict[str, str]) -> str:
        W, o, b = self.linear.matrix(), self.linear.o, self.linear.b
        d, columns = W.shape[1], ", ".join(f"{x}::float8" for x in self.features)
        if self.dialect == "duckdb":
            row, values, complete = f"float8[{d}]", f"[{columns}]", f"list_count(x) = {d}"
            product = f"array_inner_product(x::{row}, weights)"
            b = b - W @ o
        else:  # centre the values, because float32 vectors are most precise near the origin
            row, values = f"vector({d})", f"ARRAY[{columns}]"
            complete = "array_position(x, NULL) IS NULL"
            product = f"-((x::{row} - '{vector_literal(o)}'::{row}) <#> weights)"
        if self.vectors is not None:
            values, complete = quote_name(self.vectors, self.dialect), "x IS NOT NULL"
        rows = [
            f"({j + 1}, '{vector_literal(weights)}', {float_literal(shift)})"
            for j, (weights, shift) in enumerate(zip(W, b, strict=True))
        ]
        vector = self._as_vector(f"array_agg({product} + shift ORDER BY coordinate)")
        return MATRIX_TEMPLATE.format(
            **quoted,
            row=row,
            rows=",\n".join(rows),
            vector=vector,
            values=values,
            complete=complete,
        )

    def _as_vector(self, values: str) -> str:
        k = self.linear.b.shape[0]
        return f"{values}::float8[{k}]" if self.dialect == "duckdb" else f"{values}::vector({k})"
