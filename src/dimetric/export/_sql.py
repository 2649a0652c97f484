"""Write linear maps as SQL, for samples in a database: DuckDB, or PostgreSQL with pgvector."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import dimetric
from dimetric._files import atomic_write
from dimetric.data._encoder import TableEncoder
from dimetric.export._plan import Linear, plan_of
from dimetric.export._quote import dollar_quote, in_line, listed, number, quoted, quoted_text

__all__ = ["to_sql"]

DIALECTS = {"duckdb": "DuckDB", "postgres": "PostgreSQL with pgvector"}
FORMS = ("auto", "expression", "matrix")
MAX_EXPRESSION_WEIGHTS = 1000  # with more, a table of weights is shorter

RESERVED = ("z", "each", "row_id_", "k_")  # names of the script: no column of ids may have them
MATRIX_COLUMNS = ("coordinate", "weights", "shift")
# Texts that DuckDB reads as truth values, and their names in the table.
TRUTHS = dict.fromkeys(("true", "t", "yes", "y", "1"), "true")
TRUTHS |= dict.fromkeys(("false", "f", "no", "n", "0"), "false")

HEAD = """\
-- {name} of {n_features} features and {k} coordinates, written by dimetric {version} for {dialect}.
-- Run it after the samples have changed. Rows with missing values are left out.
-- The rows nearest to row 17 under the learned distance: SELECT * FROM {nearest}(17, 10);
"""

EXPRESSION = """
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

MATRIX = """
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

NEAREST = {
    "duckdb": """
CREATE OR REPLACE MACRO {nearest}(row_id_, k_) AS TABLE
SELECT other.{id}, array_distance(other.z, one.z) AS distance
FROM {mapped} AS other, (SELECT z FROM {mapped} WHERE {id} = row_id_) AS one
WHERE other.{id} <> row_id_
ORDER BY distance, other.{id}
LIMIT k_;
""",
    "postgres": """
-- Of many rows most of the nearest are found faster by an index:
-- CREATE INDEX ON {remarked} USING hnsw (z vector_l2_ops);
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
    """Return a SQL script that maps the samples of a table and can find the nearest ones.

    It makes a table ``<table>_mapped`` of the mapped samples, and a function
    ``<table>_nearest(row, k)`` that returns the k rows nearest to a row, nearest first.

    Parameters
    ----------
    model : estimator
        A fitted linear learner, a classifier over one, or a Pipeline of scalers and one of these.
    path : path, optional
        File to write.
    dialect : {"duckdb", "postgres"}, default="duckdb"
        "postgres" needs the extension pgvector, whose vectors are in float32.
    table, id : str
        Name of the table, and of the column that identifies its rows.
    columns : list of str, or str, optional
        Columns of the features in the order of the fit; or the one column that holds vectors. By
        default the columns that the model was fitted to, with categories, or x0, x1, ... if they
        had no names.
    form : {"auto", "expression", "matrix"}, default="auto"
        Write the map as an expression for each coordinate, or as a table of weights that is
        joined. "auto" writes expressions if there are at most 1000 weights and no column holds
        vectors.

    Returns
    -------
    script : str

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
    plan = plan_of(model)
    features = _sources(model, plan.features, columns, dialect)
    linear = plan.linear("SQL")
    vectors = columns if isinstance(columns, str) else None
    script = Script(linear, dialect, table, id, features, vectors)
    small = linear.matrix().size <= MAX_EXPRESSION_WEIGHTS and vectors is None
    small = small if form == "auto" else form == "expression"
    text = script.whole(type(model).__name__, small)
    if path is not None:
        with atomic_write(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return text


def _check_choices(dialect: str, form: str) -> None:
    if dialect not in DIALECTS or form not in FORMS:
        raise ValueError(
            f"dialect must be one of {', '.join(DIALECTS)} and form one of {', '.join(FORMS)}; "
            f"they are {dialect!r} and {form!r}."
        )


@dataclass(frozen=True)
class Script:
    """The parts of a script, as in :func:`to_sql`."""

    linear: Linear
    dialect: str
    table: str
    id: str
    features: list[str]  # an expression for each
    vectors: str | None  # the column that holds them all

    def whole(self, name: str, small: bool) -> str:
        """Return the script."""
        W = self.linear.matrix()
        k, d = W.shape
        inner = {f"z{j + 1}" for j in range(k)} if small else {"x", *MATRIX_COLUMNS}
        if self.id.lower() in {*RESERVED, *inner}:
            raise ValueError(f"The column of ids cannot be called {self.id!r} here: rename it.")
        named = {
            "id": quoted(self.id),
            "table": quoted(self.table),
            **{each: quoted(f"{self.table}_{each}") for each in ("mapped", "matrix", "nearest")},
        }
        head = HEAD.format(
            name=name,
            n_features=d,
            k=k,
            version=dimetric.__version__,
            dialect=DIALECTS[self.dialect],
            nearest=in_line(named["nearest"]),
        )
        first = "\nCREATE EXTENSION IF NOT EXISTS vector;\n" if self.dialect == "postgres" else ""
        body = self._expression(named) if small else self._matrix(named)
        remarked = in_line(named["mapped"])
        nearest = NEAREST[self.dialect].format(
            **named, remarked=remarked, quote=dollar_quote("".join(named.values()))
        )
        return head + first + body + nearest

    def _expression(self, named: dict[str, str]) -> str:
        W, o, b = self.linear.matrix(), self.linear.o, self.linear.b
        coordinates = []
        for j, weights in enumerate(W):
            terms = [
                f"({x}::float8 - {number(origin)}) * {number(weight)}"
                for x, weight, origin in zip(self.features, weights, o, strict=True)
                if weight != 0 or j == 0  # the first is NULL if any value is missing
            ]
            terms += [number(b[j])] if b[j] != 0 else []
            coordinates.append("    " + "\n    + ".join(terms) + f" AS z{j + 1}")
        names = ", ".join(f"z{j + 1}" for j in range(len(W)))
        vector = f"[{names}]" if self.dialect == "duckdb" else f"ARRAY[{names}]"
        return EXPRESSION.format(
            **named, vector=self._as_vector(vector), coordinates=",\n".join(coordinates)
        )

    def _matrix(self, named: dict[str, str]) -> str:
        W, o, b = self.linear.matrix(), self.linear.o, self.linear.b
        d, columns = W.shape[1], ", ".join(f"{x}::float8" for x in self.features)
        if self.dialect == "duckdb":
            row, values, complete = f"float8[{d}]", f"[{columns}]", f"list_count(x) = {d}"
            product = f"array_inner_product(x::{row}, weights)"
            b = b - W @ o
        else:  # float32 vectors are more precise near the origin
            row, values = f"vector({d})", f"ARRAY[{columns}]"
            complete = "array_position(x, NULL) IS NULL"
            product = f"-((x::{row} - '{listed(o)}'::{row}) <#> weights)"
        if self.vectors is not None:
            values, complete = quoted(self.vectors), "x IS NOT NULL"
        rows = [
            f"({j + 1}, '{listed(weights)}', {number(shift)})"
            for j, (weights, shift) in enumerate(zip(W, b, strict=True))
        ]
        vector = self._as_vector(f"array_agg({product} + shift ORDER BY coordinate)")
        return MATRIX.format(
            **named,
            row=row,
            rows=",\n".join(rows),
            vector=vector,
            values=values,
            complete=complete,
        )

    def _as_vector(self, values: str) -> str:
        k = self.linear.b.shape[0]
        return f"{values}::float8[{k}]" if self.dialect == "duckdb" else f"{values}::vector({k})"


def _sources(
    model: Any, features: Sequence[str], columns: str | Sequence[str] | None, dialect: str
) -> list[str]:
    """Return an expression for each feature: a column, an entry of a vector, a category."""
    if isinstance(columns, str):
        vector = quoted(columns) if dialect == "duckdb" else f"({quoted(columns)}::real[])"
        return [f"{vector}[{i + 1}]" for i in range(len(features))]
    first = model.steps[0][1] if isinstance(model, Pipeline) else model
    if columns is None and isinstance(first, TableEncoder):
        return _encoded(first)
    columns = features if columns is None else columns
    if len(set(columns)) != len(features) or len(columns) != len(features):
        raise ValueError(
            f"The model has {len(features)} features: name as many columns, all different, or the "
            f"one that holds vectors; these are {len(columns)}."
        )
    return [quoted(each) for each in columns]


def _encoded(encoder: TableEncoder) -> list[str]:
    """Return an expression for each feature that an encoder makes of columns."""
    found = []
    columns = zip(encoder.column_names(), encoder.categories_, encoder.fills_, strict=True)
    for name, own, fill in columns:
        column, impute = quoted(name), encoder.missing == "impute"
        if own is None:
            found.append(f"coalesce({column}, {number(float(fill))})" if impute else column)
            continue
        column = f"{column}::text"
        if all(each == each.lstrip() for each in own):  # as files are read
            column = f"ltrim({column})"
        column = f"coalesce({column}, {quoted_text(str(fill))})" if impute else column
        few = len(own) <= 2  # then there is one feature; it is 1/2 for an unknown category
        for category in own[-1:] if few else own:
            whens = _whens(category, own, 1)
            whens += "".join(_whens(each, own, 0) for each in own[:-1] if few)
            rest = f"CASE WHEN {column} IS NULL THEN NULL ELSE {0.5 if few else 0} END"
            found.append(f"(CASE {column}{whens} ELSE {rest} END)")
    return found


def _whens(category: str, own: Sequence[str], value: int) -> str:
    """Return the cases of a category, which may be a truth value in the database."""
    texts = [category]
    if len(own) == 2 and {TRUTHS.get(each.lower()) for each in own} == {"true", "false"}:
        texts = list(dict.fromkeys([category, TRUTHS[category.lower()]]))
    return "".join(f" WHEN {quoted_text(each)} THEN {value}" for each in texts)
