"""SQL scripts that search documents with the vector of a query."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import dimetric
from dimetric.export._quote import dollar_quote, on_one_line, quote_name, vector_literal
from dimetric.export._retrieval.sides import maps_documents, side_matrix
from dimetric.export._sql_transaction import transaction

OVERSAMPLING = 4  # rows that a search in half precision finds for each row that it returns
RESERVED = ("z", "score", "weights", "coordinate", "query_", "k_")

HEADER_TEMPLATE = """\
-- RetrievalAdapter with {d} features and {k} components, for {dialect}.
-- Exported by dimetric {version}.
-- The script runs in one transaction. It only creates {created}{extension}.
-- If one of these names is already used, it fails and changes nothing.{documents}
-- To find the 10 best documents of a query vector: SELECT * FROM {search}({example}, 10);
"""
DOCUMENTS_NOTE = """
-- The documents are mapped once. To run the script again after they have changed, first drop what
-- it created."""

MATRIX_TEMPLATE = """
CREATE TABLE {name} AS
SELECT coordinate, weights::{row} AS weights
FROM (VALUES
{rows}
) AS listed (coordinate, weights);
"""

MAPPED_TEMPLATE = """
CREATE TABLE {mapped} AS
SELECT {id}, {product} AS z
FROM {table} CROSS JOIN {document_matrix}
WHERE {vectors} IS NOT NULL
GROUP BY {id};
"""

SEARCH_TEMPLATES = {
    "duckdb": """
CREATE MACRO {search}(query_, k_) AS TABLE
SELECT other.{id}, array_cosine_similarity({z}::float8[{k}], one.z) AS score
FROM {documents} AS other, (
  SELECT {query} AS z FROM {query_matrix}
) AS one
WHERE {z} IS NOT NULL
ORDER BY score DESC, other.{id}
LIMIT k_;
""",
    "postgres": """
-- For large tables, an index makes the search faster but approximate:
-- CREATE INDEX ON {documents_in_comment} USING hnsw ({z_in_comment} vector_cosine_ops);
CREATE FUNCTION {search}(vector, integer)
RETURNS TABLE ({id} {table}.{id}%TYPE, score float8)
LANGUAGE sql STABLE AS {quote}
SELECT other.{id}, 1 - ({z} <=> (SELECT {query} FROM {query_matrix}))
FROM {documents} AS other
WHERE {z} IS NOT NULL
ORDER BY {z} <=> (SELECT {query} FROM {query_matrix})
LIMIT $2
{quote};
""",
    "postgres half": """
-- For large tables, an index in half precision makes the search faster but approximate:
-- CREATE INDEX ON {documents_in_comment} USING hnsw ({half_in_comment} halfvec_cosine_ops);
-- The best rows by half precision are ranked again by full precision.
CREATE FUNCTION {search}(vector, integer)
RETURNS TABLE ({id} {table}.{id}%TYPE, score float8)
LANGUAGE sql STABLE AS {quote}
SELECT near.{id}, 1 - (near.z <=> (SELECT {query} FROM {query_matrix}))
FROM (
  SELECT other.{id}, {z} AS z
  FROM {documents} AS other
  WHERE {z} IS NOT NULL
  ORDER BY {z}::halfvec({k}) <=> (SELECT {query}::halfvec({k}) FROM {query_matrix})
  LIMIT {oversampling} * $2
) AS near
ORDER BY near.z <=> (SELECT {query} FROM {query_matrix})
LIMIT $2
{quote};
""",
}


@dataclass(frozen=True)
class SearchScript:
    """The parts of a script. `dialect`, `table`, `id` and `vectors` are as in ``to_sql``."""

    adapter: Any
    dialect: str
    table: str
    id: str
    vectors: str
    half: bool

    def text(self, dialect_name: str, extension: str) -> str:
        """Return the script.

        Parameters
        ----------
        dialect_name, extension : str
            Name of the database, and the note on its extension.
        """
        self._check_id()
        W, V = (side_matrix(self.adapter, side) for side in ("query", "document"))
        maps = maps_documents(self.adapter)
        created = ["query_matrix", "document_matrix", "mapped", "search"]
        created = created if maps else ["query_matrix", "search"]
        names = {each: f"{self.table}_{each}" for each in created}
        names |= {"id": self.id, "table": self.table, "vectors": self.vectors}
        quoted = {key: quote_name(each, self.dialect) for key, each in names.items()}
        head = HEADER_TEMPLATE.format(
            k=len(W),
            d=W.shape[1],
            dialect=dialect_name,
            version=dimetric.__version__,
            created=on_one_line(" and ".join(quoted[each] for each in created)),
            extension=extension,
            documents=DOCUMENTS_NOTE if maps else "",
            search=on_one_line(quoted["search"]),
            example="'[...]'" if self.dialect == "postgres" else "[...]",
        )
        body = self._matrix(quoted["query_matrix"], W)
        if maps:
            body += self._matrix(quoted["document_matrix"], V)
            product = self._product(quoted["vectors"], *V.shape)
            body += MAPPED_TEMPLATE.format(**quoted, product=product)
        start, end = transaction(self.dialect, [names[each] for each in created])
        return head + start + body + self._search(quoted, *W.shape, maps=maps) + end

    def _search(self, quoted: dict[str, str], k: int, d: int, *, maps: bool) -> str:
        column = "z" if maps else quoted["vectors"]
        documents = quoted["mapped"] if maps else quoted["table"]
        query = self._product("query_" if self.dialect == "duckdb" else "$1", k, d)
        template = SEARCH_TEMPLATES[f"{self.dialect}{' half' * self.half}"]
        return template.format(
            **{name: quoted[name] for name in ("id", "table", "search", "query_matrix")},
            documents=documents,
            documents_in_comment=on_one_line(documents),
            z=f"other.{column}",
            z_in_comment=on_one_line(column),
            half_in_comment=f"({on_one_line(column)}::halfvec({k}))",
            k=k,
            query=query,
            oversampling=OVERSAMPLING,
            quote=dollar_quote("".join(quoted.values())),
        )

    def _matrix(self, name: str, W: np.ndarray) -> str:
        rows = [f"({j + 1}, '{vector_literal(weights)}')" for j, weights in enumerate(W)]
        row = self._type(W.shape[1])
        return MATRIX_TEMPLATE.format(name=name, row=row, rows=",\n".join(rows))

    def _product(self, vector: str, k: int, d: int) -> str:
        """Return the expression that maps a vector with the rows of a matrix."""
        if self.dialect == "duckdb":
            each = f"array_inner_product({vector}::{self._type(d)}, weights)"
        else:
            each = f"-({vector}::{self._type(d)} <#> weights)"
        return f"array_agg({each} ORDER BY coordinate)::{self._type(k)}"

    def _type(self, length: int) -> str:
        return f"float8[{length}]" if self.dialect == "duckdb" else f"vector({length})"

    def _check_id(self) -> None:
        """Raise if the script uses the name of the id column for something else."""
        if self.id.lower() in (*RESERVED, self.vectors.lower()):
            raise ValueError(
                f"The id column cannot be named {self.id!r}, because the script uses this name. "
                "Rename the column."
            )
