"""Durable store of finished cells that several processes can share."""

import json
import math
import os
import re
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any
from uuid import uuid4

from dimetric._arguments import check_types
from dimetric._errors import error_text
from dimetric._files import is_stream
from dimetric.benchmark._cell import Cell

__all__ = ["Store"]

STORE_VERSION = 1
LEASE_SECONDS = 60.0  # a claim expires if it is not renewed within this time
BUSY_TIMEOUT_SECONDS = 60.0  # longest wait for a write of another process
MAX_LEASE_SECONDS = 3600.0  # a claim cannot be valid for longer, even if clocks differ
MIN_FREE_BYTES = 2**17  # disk space that SQLite needs for its temporary files

TABLES = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, data TEXT, learner TEXT, n_neighbors INTEGER, repeat INTEGER,
    fold INTEGER, train REAL, test REAL, time REAL, memory REAL, status TEXT, message TEXT,
    metadata TEXT
);
CREATE TABLE IF NOT EXISTS claims (fit TEXT PRIMARY KEY, owner TEXT, until REAL);
"""
PROCESS_ID = re.compile(r"[1-9]\d{0,18}")


COLUMNS = {"cells": ("key", *Cell._fields), "claims": ("fit", "owner", "until")}
FIELD_TYPES: dict[str, Any] = {
    **dict.fromkeys(("data", "learner", "status", "message"), str),
    **{"n_neighbors": (int, NoneType), "repeat": int, "fold": int},
    **dict.fromkeys(("train", "test", "time", "memory"), (float, int)),
    "metadata": dict,
}


class Store:
    """SQLite file of finished cells. Each cell is durable as soon as it is added.

    A cell whose status is "ok" never changes. Several processes can share the work, because a
    process claims a fit before it computes it. The claims of a dead process expire.

    Parameters
    ----------
    path : path or None, default=None
        The file. It is created if it does not exist. If None, the cells are kept in memory.

    Examples
    --------
    >>> store = Store()
    >>> store.claim("a fit", ["its cell"])
    True
    >>> store.add("a fit", {"its cell": Cell("iris", "PCA", 3, 0, 0, 0.96, 0.93)})
    >>> store.get(["its cell"])["its cell"].test
    0.93
    >>> store.claim("a fit", ["its cell"])
    False
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        # The owner has a random part, because the system may reuse the id of a dead process.
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"
        if self.path is not None and is_stream(self.path):  # SQLite would leave files next to it
            raise OSError(f"The store {self.path} is not a file. Give the path of a file.")
        with self._readable_errors():
            file = ":memory:" if self.path is None else self.path
            self._db = sqlite3.connect(
                file, BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
            )
            self._check_tables()
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, STORE_VERSION):
                raise ValueError(
                    f"{self.path} has store version {version}, but this version of dimetric reads "
                    f"only version {STORE_VERSION}."
                )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.executescript(
                f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version={STORE_VERSION}; END"
            )

    def _check_tables(self) -> None:
        """Raise unless the database is empty or has the tables of a store, and no triggers.

        A trigger, or a view with the name of a table, could run any query.
        """
        kinds = dict(self._db.execute("SELECT name, type FROM sqlite_master").fetchall())
        for name, columns in COLUMNS.items() if kinds else ():
            found = tuple(row[1] for row in self._db.execute(f"PRAGMA table_info({name})"))
            if kinds.get(name) != "table" or found != columns or "trigger" in kinds.values():
                raise ValueError(f"{self.path} is not a benchmark store. Choose another file.")

    @check_types
    def get(self, keys: Iterable[str]) -> dict[str, Cell]:
        """Return the finished cells among the given keys, by key.

        Parameters
        ----------
        keys : iterable of str
            Keys of the cells.
        """
        cells = {}
        with self._lock, self._readable_errors():
            for key in keys:
                _check_string("keys", key)
                row = self._db.execute("SELECT * FROM cells WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    cells[key] = self._cell(row)
        return cells

    def __len__(self) -> int:
        with self._lock, self._readable_errors():
            return int(self._db.execute("SELECT COUNT(*) FROM cells").fetchone()[0])

    @check_types
    def claim(self, fit: str, keys: Sequence[str], *, retry: bool = False) -> bool:
        """Claim a fit. Return False if it is finished or claimed by another process.

        Parameters
        ----------
        fit : str
            Key of the fit.
        keys : sequence of str
            Keys of the cells of the fit.
        retry : bool, default=False
            Whether to repeat finished cells whose status is not "ok".
        """
        if not self._is_available(fit, keys, retry):  # check first: a read does not block writers
            return False
        with self._transaction() as db:
            if not self._is_available(fit, keys, retry):
                return False
            until = time.time() + LEASE_SECONDS
            db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (fit, self._owner, until))
            return True

    def _is_available(self, fit: str, keys: Sequence[str], retry: bool) -> bool:
        """Return whether a fit is neither finished nor claimed by another process."""
        with self._lock, self._readable_errors():
            done = self.get(keys)
            if len(done) == len(keys) and not (retry and _any_not_ok(done.values())):
                return False
            find = "SELECT owner, until FROM claims WHERE fit = ?"
            row = self._db.execute(find, (fit,)).fetchone()
            return row is None or row[0] == self._owner or not _is_valid_claim(*row)

    def renew(self) -> None:
        """Renew all claims of this store."""
        with self._transaction() as db:
            until = time.time() + LEASE_SECONDS
            db.execute("UPDATE claims SET until = ? WHERE owner = ?", (until, self._owner))

    @check_types
    def add(self, fit: str, cells: dict[str, Cell]) -> None:
        """Add the cells of a fit in one transaction. They are durable when this method returns.

        Parameters
        ----------
        fit : str
            Key of the fit.
        cells : dict of str to Cell
            Cells by key.
        """
        placeholders = ", ".join("?" * (1 + len(Cell._fields)))
        updates = ", ".join(f"{name} = excluded.{name}" for name in Cell._fields)
        with self._transaction(durable=True) as db:
            for key, cell in cells.items():
                _check_string("cells", key)
                _check_string("data", cell.data)
                _check_string("learner", cell.learner)
                db.execute(
                    f"INSERT INTO cells VALUES ({placeholders}) ON CONFLICT (key) DO UPDATE "
                    f"SET {updates} WHERE cells.status != 'ok'",
                    (key, *cell[:-1], json.dumps(cell.metadata)),
                )
            db.execute("DELETE FROM claims WHERE fit = ?", (fit,))

    def release(self) -> None:
        """Release all claims of this store."""
        with self._transaction() as db:
            db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __del__(self) -> None:
        if hasattr(self, "_db"):
            self._db.close()

    def _cell(self, row: Sequence[Any]) -> Cell:
        """Return the cell of a row. Raise if the row is damaged."""
        fields = dict(zip(Cell._fields, row[1:], strict=True))
        for name in ("train", "test", "time", "memory"):
            if fields[name] is None:  # SQLite stores NaN as NULL
                fields[name] = math.nan
        try:
            fields["metadata"] = json.loads(fields["metadata"])
        except (TypeError, ValueError, RecursionError):
            fields["metadata"] = None
        if any(not isinstance(fields[name], types) for name, types in FIELD_TYPES.items()):
            raise ValueError(
                f"The store {self.path} is damaged: the cell {row[0]!r} is not valid. Delete the "
                "file and run the benchmark again."
            )
        return Cell(**fields)

    @contextmanager
    def _transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the database within a transaction.

        A durable transaction survives a power failure. Other transactions survive only a crash of
        the process.
        """
        with self._lock, self._readable_errors():
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        """Convert SQLite errors to readable error messages."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            full = code is not None and code & 0xFF == sqlite3.SQLITE_FULL
            if code is not None and code & 0xFF == sqlite3.SQLITE_IOERR and self.path is not None:
                # SQLite may have failed to write its temporary files because the disk is full.
                full = shutil.disk_usage(self.path.resolve().parent).free < MIN_FREE_BYTES
            if full:
                raise OSError(
                    f"The disk that contains {self.path} is full. Finished cells are saved. Free "
                    "some space and start the same run again to resume it."
                ) from error
            if code is not None and code & 0xFF == sqlite3.SQLITE_NOTADB:
                raise ValueError(
                    f"{self.path} is not a benchmark store. Choose another file."
                ) from error
            raise OSError(f"The store {self.path} cannot be used: {error_text(error)}.") from error
        except UnicodeDecodeError as error:  # in the message of an error of SQLite
            raise OSError(f"The store {self.path} is damaged.") from error


def _check_string(name: str, value: Any) -> None:
    """Raise unless a key or a name is a string, because SQLite stores other types, too."""
    if not isinstance(value, str):
        raise TypeError(f"{name} contains {value!r:.100}, which is not a string.")


def _any_not_ok(cells: Iterable[Cell]) -> bool:
    return any(cell.status != "ok" for cell in cells)


def _is_valid_claim(owner: Any, until: Any) -> bool:
    """Return whether a claim is well-formed, has not expired, and its process is alive."""
    if not isinstance(until, float) or not 0 <= until - time.time() <= MAX_LEASE_SECONDS:
        return False
    host, _, process_id = str(owner).rpartition(":")[0].rpartition(":")
    if not PROCESS_ID.fullmatch(process_id):
        return False
    if host != socket.gethostname() or os.name != "posix":
        return True
    try:
        os.kill(int(process_id), 0)
        return True
    except PermissionError:  # the process is alive and belongs to another user
        return True
    except (ProcessLookupError, OverflowError):
        return False
