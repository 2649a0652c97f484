"""Export linear maps as SQL scripts for DuckDB, or PostgreSQL with pgvector."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import dimetric
from dimetric._arguments import check_types
from dimetric._files import atomic_write
from dimetric.data._encoder import TableEncoder
from dimetric.export._map_chain import Linear, map_chain
from dimetric.export._quote import (
    dollar_quote,
    float_literal,
    on_one_line,
    quote_name,
    quote_string,
    vector_literal,
)

__all__ = ["to_sql"]

DIALECTS = {"duckdb": "DuckDB", "postgres": "PostgreSQL with pgvector"}
FORMS = ("auto", "expression", "matrix")
MAX_EXPRESSION_WEIGHTS = 1000  # larger maps are written as a table of weights

RESERVED = ("z", "each", "row_id_", "k_")  # names used by the script, forbidden for the id column
MATRIX_COLUMNS = ("coordinate", "weights", "shift")
# Strings that DuckDB reads as booleans, and the strings to which it converts the booleans.
BOOLEAN_STRINGS = dict.fromkeys(("true", "t", "yes", "y", "1"), "true")
BOOLEAN_STRINGS |= dict.fromkeys(("false", "f", "no", "n", "0"), "false")

HEADER_TEMPLATE = """\
-- {name} with {n_features} features and {k} coordinates, for {dialect}.
-- Exported by dimetric {version}.
-- Run this script again after the samples have changed. Rows with missing values are skipped.
-- To find the 10 rows nearest to row 17 by learned distance: SELECT * FROM {nearest}(17, 10);
"""

EXPRESSION_TEMPLATE = """
DROP TABLE IF EXISTS {mapped};
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
DROP TABLE IF EXISTS {matrix};
CREATE TABLE {matrix} (coordinate integer, weights {row}, shift float8);
INSERT INTO {matrix} VALUES
{rows};

DROP TABLE IF EXISTS {mapped};
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
CREATE OR REPLACE MACRO {nearest}(row_id_, k_) AS TABLE
SELECT other.{id}, array_distance(other.z, one.z) AS distance
FROM {mapped} AS other, (SELECT z FROM {mapped} WHERE {id} = row_id_) AS one
WHERE other.{id} <> row_id_
ORDER BY distance, other.{id}
LIMIT k_;
""",
    "postgres": """
-- For large tables, an index makes the search faster but approximate:
-- CREATE INDEX ON {mapped_in_comment} USING hnsw (z vector_l2_ops);
DROP FUNCTION IF EXISTS {nearest};
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
) -> str:
    """Export a model as a SQL script that maps the rows of a table and finds nearest rows.

    The script creates the table ``<table>_mapped`` of mapped samples, and the function
    ``<table>_nearest(row, k)``, which returns the k rows nearest to a row, nearest first.

    Parameters
    ----------
    model : estimator
        A fitted linear learner, a classifier that uses one, or a Pipeline of scalers and one of
        these.
    path : path, optional
        Path of the file to write.
    dialect : {"duckdb", "postgres"}, default="duckdb"
        The database. "postgres" requires the extension pgvector, which computes in float32.
    table, id : str
        Name of the table, and name of the column that identifies its rows.
    columns : list of str, or str, optional
        Columns of the features, in the same order as during fit, or the name of one column that
        holds vectors. By default, the columns seen during fit are used, including categorical
        columns. If the model was fitted without column names, they are x0, x1, ...
    form : {"auto", "expression", "matrix"}, default="auto"
        How to write the map: as an expression for each coordinate, or as a join with a table of
        weights. "auto" chooses expressions if the map has at most 1000 weights and no column holds
        vectors.

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
    chain = map_chain(model)
    features = _feature_expressions(model, chain.features, columns, dialect)
    linear = chain.linear("SQL")
    vectors = columns if isinstance(columns, str) else None
    script = Script(linear, dialect, table, id, features, vectors)
    if form == "auto":
        is_small = linear.matrix().size <= MAX_EXPRESSION_WEIGHTS and vectors is None
        form = "expression" if is_small else "matrix"
    text = script.text(type(model).__name__, form)
    if path is not None:
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return text


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
        W = self.linear.matrix()
        k, d = W.shape
        is_expression = form == "expression"
        used = {f"z{j + 1}" for j in range(k)} if is_expression else {"x", *MATRIX_COLUMNS}
        if self.id.lower() in {*RESERVED, *used}:
            raise ValueError(
                f"The id column cannot be named {self.id!r}, because the script uses this name. "
                "Rename the column."
            )
        quoted = {"id": quote_name(self.id), "table": quote_name(self.table)}
        for each in ("mapped", "matrix", "nearest"):
            quoted[each] = quote_name(f"{self.table}_{each}")
        head = HEADER_TEMPLATE.format(
            name=name,
            n_features=d,
            k=k,
            version=dimetric.__version__,
            dialect=DIALECTS[self.dialect],
            nearest=on_one_line(quoted["nearest"]),
        )
        extension = (
            "\nCREATE EXTENSION IF NOT EXISTS vector;\n" if self.dialect == "postgres" else ""
        )
        body = self._expression(quoted) if is_expression else self._matrix(quoted)
        nearest = NEAREST_TEMPLATES[self.dialect].format(
            **quoted,
            mapped_in_comment=on_one_line(quoted["mapped"]),
            quote=dollar_quote("".join(quoted.values())),
        )
        return head + extension + body + nearest

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
            values, complete = quote_name(self.vectors), "x IS NOT NULL"
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


def _feature_expressions(
    model: Any, features: Sequence[str], columns: str | Sequence[str] | None, dialect: str
) -> list[str]:
    """Return a SQL expression for each feature: a column, a vector entry or a category."""
    if isinstance(columns, str):
        vector = quote_name(columns) if dialect == "duckdb" else f"({quote_name(columns)}::real[])"
        return [f"{vector}[{i + 1}]" for i in range(len(features))]
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if columns is None and isinstance(first, TableEncoder):
        return _encoder_expressions(first)
    columns = features if columns is None else columns
    if len(set(columns)) != len(features) or len(columns) != len(features):
        repeated = len(columns) - len(set(columns))
        raise ValueError(
            f"The model has {len(features)} features, but columns has {len(columns)} names"
            f"{f' ({repeated} repeated)' if repeated else ''}. Pass a different name for each "
            "feature, or the name of one column that holds vectors."
        )
    return [quote_name(each) for each in columns]


def _encoder_expressions(encoder: TableEncoder) -> list[str]:
    """Return a SQL expression for each feature of an encoder."""
    expressions = []
    columns = zip(encoder.column_names(), encoder.categories_, encoder.fills_, strict=True)
    for name, categories, fill in columns:
        column, impute = quote_name(name), encoder.missing == "impute"
        if categories is None:
            value = f"coalesce({column}, {float_literal(float(fill))})" if impute else column
            expressions.append(value)
            continue
        column = f"{column}::text"
        # Reading a file strips leading spaces from the categories, but the database may keep them.
        if all(each == each.lstrip() for each in categories):
            column = f"ltrim({column})"
        column = f"coalesce({column}, {quote_string(str(fill))})" if impute else column
        is_binary = len(categories) <= 2  # one feature, which is 1/2 for an unknown category
        for category in categories[-1:] if is_binary else categories:
            whens = _when_clauses(category, categories, 1)
            others = categories[:-1] if is_binary else []
            whens += "".join(_when_clauses(each, categories, 0) for each in others)
            otherwise = f"CASE WHEN {column} IS NULL THEN NULL ELSE {0.5 if is_binary else 0} END"
            expressions.append(f"(CASE {column}{whens} ELSE {otherwise} END)")
    return expressions


def _when_clauses(category: str, categories: Sequence[str], value: int) -> str:
    """Return the WHEN clauses of a category, which may be a boolean in the database."""
    texts = [category]
    booleans = {BOOLEAN_STRINGS.get(each.lower()) for each in categories}
    if len(categories) == 2 and booleans == {"true", "false"}:
        texts = list(dict.fromkeys([category, BOOLEAN_STRINGS[category.lower()]]))
    return "".join(f" WHEN {quote_string(each)} THEN {value}" for each in texts)
