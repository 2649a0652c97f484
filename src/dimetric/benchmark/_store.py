"""A durable store of finished cells, which several processes may share."""

import json
import math
import os
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

__all__ = ["Cell", "Store"]

VERSION = 1
LEASE_SECONDS = 60.0  # a claim that is not renewed for so long is free
BUSY_SECONDS = 60.0  # how long to wait for another process that writes
SPARE_BYTES = 2**17  # disk space that SQLite needs beside a store

TABLES = """
CREATE TABLE IF NOT EXISTS cells (
    key TEXT PRIMARY KEY, data TEXT, learner TEXT, n_neighbors INTEGER, repeat INTEGER,
    fold INTEGER, train REAL, test REAL, time REAL, memory REAL, status TEXT, message TEXT,
    metadata TEXT
);
CREATE TABLE IF NOT EXISTS claims (fit TEXT PRIMARY KEY, owner TEXT, until REAL);
"""


class Cell(NamedTuple):
    """One learner on one fold of one data set.

    Attributes
    ----------
    data, learner : str
        Names.
    n_neighbors : int or None
        Number of neighbours that voted; None for a classifier of another kind.
    repeat, fold : int
        The split of the samples; both count from 0.
    train, test : float
        Scores on the training samples (for nearest neighbours, leave-one-out) and on the test
        samples; NaN unless the status is "ok".
    time : float
        Seconds of the fit, including the tuning.
    memory : float
        Peak memory of the process during the fit beyond that before it, in megabytes. It counts
        whole pages: small fits may need none. NaN if the system does not report it.
    status : {"ok", "failed", "timeout", "crashed"}
        How the fit ended.
    message : str
        What went wrong; if the status is "ok", the warnings.
    metadata : dict
        What the learner reports about the fit, and ``best_params`` if it was tuned.
    """

    data: str
    learner: str
    n_neighbors: int | None
    repeat: int
    fold: int
    train: float = math.nan
    test: float = math.nan
    time: float = math.nan
    memory: float = math.nan
    status: str = "ok"
    message: str = ""
    metadata: dict[str, Any] = {}  # noqa: RUF012 - nobody changes it


class Store:
    """Finished cells in an SQLite file, each durable from the moment it is added.

    A cell that is "ok" is never changed. A process claims a fit before it computes it, so that
    several processes share the work; the claims of a process that died are free again.

    Parameters
    ----------
    path : path or None, default=None
        The file, made if it does not exist; None keeps cells in memory.

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
        # A random part, because the system may give the number of a dead process to a new one.
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"
        with self._explained():
            self._db = sqlite3.connect(
                ":memory:" if self.path is None else self.path,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            names = {row[0] for row in self._db.execute("SELECT name FROM sqlite_master")}
            if names and not {"cells", "claims"} <= names:
                raise ValueError(f"{self.path} is no store of cells: name another file.")
            found = self._db.execute("PRAGMA user_version").fetchone()[0]
            if found not in (0, VERSION):
                raise ValueError(
                    f"{self.path} is a store of version {found}; this dimetric reads {VERSION}."
                )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version={VERSION}; END")

    def get(self, keys: Iterable[str]) -> dict[str, Cell]:
        """Return the cells that are finished, by their keys.

        Parameters
        ----------
        keys : iterable of str
            Their keys.
        """
        found = {}
        with self._lock, self._explained():
            for key in keys:
                row = self._db.execute("SELECT * FROM cells WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[key] = _cell(row[1:])
        return found

    def __len__(self) -> int:
        with self._lock, self._explained():
            return int(self._db.execute("SELECT COUNT(*) FROM cells").fetchone()[0])

    def claim(self, fit: str, keys: Sequence[str], *, retry: bool = False) -> bool:
        """Claim a fit; return False if it is finished, or claimed by another store.

        Parameters
        ----------
        fit : str
            Key of the fit.
        keys : sequence of str
            Keys of the cells it gives.
        retry : bool, default=False
            Whether to repeat cells that are finished, but not "ok".
        """
        if not self._free(fit, keys, retry):  # reading does not keep others from writing
            return False
        with self._writing() as db:
            if not self._free(fit, keys, retry):
                return False
            until = time.time() + LEASE_SECONDS
            db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (fit, self._owner, until))
            return True

    def _free(self, fit: str, keys: Sequence[str], retry: bool) -> bool:
        """Tell whether a fit is not finished, and no other store has claimed it."""
        with self._lock, self._explained():
            done = self.get(keys)
            if len(done) == len(keys) and not (retry and _any_bad(done.values())):
                return False
            find = "SELECT owner, until FROM claims WHERE fit = ?"
            row = self._db.execute(find, (fit,)).fetchone()
            return row is None or row[0] == self._owner or not _holds(*row)

    def renew(self) -> None:
        """Renew all claims of this store."""
        with self._writing() as db:
            until = time.time() + LEASE_SECONDS
            db.execute("UPDATE claims SET until = ? WHERE owner = ?", (until, self._owner))

    def add(self, fit: str, cells: dict[str, Cell]) -> None:
        """Add the cells of a fit, all or none. They are durable when this method returns.

        Parameters
        ----------
        fit : str
            Key of the fit.
        cells : dict of str to Cell
            By their keys.
        """
        places = ", ".join("?" * (1 + len(Cell._fields)))
        updates = ", ".join(f"{name} = excluded.{name}" for name in Cell._fields)
        with self._writing(durable=True) as db:
            for key, cell in cells.items():
                db.execute(
                    f"INSERT INTO cells VALUES ({places}) ON CONFLICT (key) DO UPDATE "
                    f"SET {updates} WHERE cells.status != 'ok'",
                    (key, *cell[:-1], json.dumps(cell.metadata)),
                )
            db.execute("DELETE FROM claims WHERE fit = ?", (fit,))

    def release(self) -> None:
        """Give up all claims of this store."""
        with self._writing() as db:
            db.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def __del__(self) -> None:
        if hasattr(self, "_db"):
            self._db.close()

    @contextmanager
    def _writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Yield the data base for a transaction.

        A durable change survives a power failure; any other survives the end of the process.
        """
        with self._lock, self._explained():
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
    def _explained(self) -> Iterator[None]:
        """Turn errors of SQLite into sentences."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            full = code is not None and code & 0xFF == sqlite3.SQLITE_FULL
            if code is not None and code & 0xFF == sqlite3.SQLITE_IOERR and self.path is not None:
                # SQLite could not write its files beside the store.
                full = shutil.disk_usage(self.path.resolve().parent).free < SPARE_BYTES
            if full:
                raise OSError(
                    f"The disk with {self.path} is full. All cells that were finished are kept: "
                    "free some space and start the same run again, it continues from there."
                ) from error
            if code is not None and code & 0xFF == sqlite3.SQLITE_NOTADB:
                raise ValueError(f"{self.path} is no store of cells: name another file.") from error
            raise OSError(f"The store {self.path} cannot be used: {error}.") from error


def _cell(row: Sequence[Any]) -> Cell:
    fields = dict(zip(Cell._fields, row, strict=True))
    for name in ("train", "test", "time", "memory"):
        if fields[name] is None:  # SQLite has no NaN
            fields[name] = math.nan
    return Cell(**fields | {"metadata": json.loads(fields["metadata"])})


def _any_bad(cells: Iterable[Cell]) -> bool:
    return any(cell.status != "ok" for cell in cells)


def _holds(owner: str, until: float) -> bool:
    """Tell whether a claim is still valid: renewed in time, by a process that is alive."""
    if time.time() > until:
        return False
    host, number, _ = owner.rsplit(":", 2)
    if host != socket.gethostname() or os.name != "posix":
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # alive, but of another user
        return True
    return True
