"""Read the result of a query: of a SQLite or DuckDB database, or of another table file.

Queries cannot write. SQLite databases are opened read-only, and only SELECT statements are allowed.
DuckDB databases are opened read-only, without access to other files or to the network.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self
from urllib.parse import quote

from dimetric._errors import error_text
from dimetric._names import listed_columns
from dimetric.data._limits import check_n_columns
from dimetric.data._readers.dialect import unique_names
from dimetric.data._readers.reader import Reader
from dimetric.data._readers.records import Columns, columns_from_rows, row_chunks
from dimetric.data._readers.source import InputFile

ROWS_PER_FETCH = 10_000
TABLE_NAME = "data"  # of the table in a file that is not a database
ALLOWED_ACTIONS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
SAFE_CONFIG = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
SELECT_ONLY = "the query must be one SELECT statement, because tables are only read"


@dataclass(frozen=True)
class SqlReader(Reader):
    """Reads the result of a query.

    Attributes
    ----------
    file : InputFile
        The database, or another file with a table.
    sql : str
        The query.
    database : {"sqlite", "duckdb"}
        The program that runs the query.
    table : Reader or None
        The reader of a file that is not a database.
    table_note : str
        A message about the table that is read without a query, or "".
    """

    file: InputFile
    sql: str
    database: str
    table: Reader | None = None
    table_note: str = ""
    kind: ClassVar[str] = "a database"

    @classmethod
    def open(cls, file: InputFile, database: str, sql: str | None) -> Self:
        """Check the query. Without a query, read the only table of the database."""
        if sql is not None:
            return cls(file, sql, database)
        listing = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        if database == "duckdb":
            listing = "SELECT table_name FROM information_schema.tables ORDER BY table_name"
        rows = list(cls(file, listing, database)._rows())
        names = [str(row[0]) for row in rows if not str(row[0]).startswith("sqlite_")]
        if not names:
            raise ValueError("the database has no tables")
        if len(names) > 1:
            raise ValueError(
                f"the database has the tables {listed_columns(names)}; choose rows with a query, "
                f"for example --sql 'SELECT * FROM {_quoted(names[0])}'"
            )
        note = f"Read the table {names[0]!r}."
        return cls(file, f"SELECT * FROM {_quoted(names[0])}", database, table_note=note)

    @classmethod
    def over(cls, table: Reader, sql: str) -> Self:
        """Query the table of another file, which is named ``data`` in the query."""
        return cls(table.file, sql, "duckdb", table)

    def column_names(self) -> list[str]:
        """Return the column names of the result."""
        return list(self._names)

    def read(self, target: str | None = None) -> Columns:
        """Return all columns of the result."""
        return columns_from_rows(self._names, list(self._rows()))

    def chunks(self, string_columns: set[str], cells_per_chunk: int) -> Iterator[Columns]:
        """Yield chunks of rows."""
        return row_chunks(self._names, self._rows(), string_columns, cells_per_chunk)

    def notes(self) -> list[str]:
        """Return messages about the table."""
        notes = [] if self.table is None else self.table.notes()
        return [*notes, self.table_note] if self.table_note else notes

    @cached_property
    def _table_frame(self) -> Any:
        """The table of a file that is not a database, as a data frame that DuckDB can query."""
        assert self.table is not None
        table = self.table.read()
        if not isinstance(table, dict):
            return table
        import pandas

        return pandas.DataFrame(table)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        with closing(self._connection()) as connection, _sql_errors():
            description = connection.execute(self.sql).description
        names = [str(column[0]) for column in description or ()]
        if not names:
            raise ValueError(SELECT_ONLY)
        check_n_columns(len(names))
        return unique_names(names)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        with self._cursor() as cursor:
            while True:
                with _sql_errors():
                    rows = cursor.fetchmany(ROWS_PER_FETCH)
                if not rows:
                    return
                yield from rows

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """Run the query."""
        with closing(self._connection()) as connection, _sql_errors():
            cursor = connection.execute(self.sql)
            if self.database == "duckdb" and any(map(_has_time_zone, cursor.description)):
                cursor = connection.execute(_without_time_zones(self.sql, cursor.description))
            yield cursor

    def _connection(self) -> Any:
        if self.database == "sqlite":
            return _sqlite_connection(self.file)
        duckdb = _duckdb()
        with _sql_errors():
            _check_is_select(duckdb, self.sql)
            if self.table is None:
                connection = duckdb.connect(str(self.file.path), True, SAFE_CONFIG)
            else:
                connection = duckdb.connect(":memory:", config=SAFE_CONFIG)
                connection.register(TABLE_NAME, self._table_frame)
            connection.execute("SET python_enable_replacements = false")
            connection.execute("SET lock_configuration = true")
            return connection


def _sqlite_connection(file: InputFile) -> sqlite3.Connection:
    """Open a database read-only, and allow only statements that read it."""
    uri = f"file:{quote(str(file.path.resolve()))}?mode=ro"
    with _sql_errors():
        connection = sqlite3.connect(uri, uri=True)
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")  # of views in the file
        connection.set_authorizer(
            lambda action, *_: (
                sqlite3.SQLITE_OK if action in ALLOWED_ACTIONS else sqlite3.SQLITE_DENY
            )
        )
    return connection


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ImportError(
            "DuckDB databases and queries of table files require duckdb: pip install "
            "'dimetric[sql]'."
        ) from None
    return duckdb


def _check_is_select(duckdb: Any, sql: str) -> None:
    statements = duckdb.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError(SELECT_ONLY)


def _has_time_zone(column: tuple[Any, ...]) -> bool:
    return "WITH TIME ZONE" in str(column[1]).upper() or "TIMESTAMPTZ" in str(column[1]).upper()


def _without_time_zones(sql: str, description: list[tuple[Any, ...]]) -> str:
    """Return a query for local times, because DuckDB needs another package for time zones."""
    names = [f"c{i}" for i in range(len(description))]
    columns = [
        f"CAST({name} AS TIMESTAMP)" if _has_time_zone(column) else name
        for name, column in zip(names, description, strict=True)
    ]
    query = sql.strip().rstrip(";")
    return f"SELECT {', '.join(columns)} FROM ({query}\n) AS query({', '.join(names)})"


def _quoted(name: str) -> str:
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


@contextmanager
def _sql_errors() -> Iterator[None]:
    """Reraise errors of the database as a ValueError."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = error_text(error)
        if "not authorized" in text or "one statement at a time" in text:
            raise ValueError(SELECT_ONLY) from error
        raise ValueError(f"the query failed: {text}") from error
    except sqlite3.Warning as error:
        raise ValueError(SELECT_ONLY) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb"):
            raise
        text = error_text(error).partition(" LINE ")[0]  # DuckDB quotes the query below
        raise ValueError(f"the query failed: {text}") from error
