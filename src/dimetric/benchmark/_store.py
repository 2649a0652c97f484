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
LEASE = 60.0  # seconds after which a claim that nobody renews is free
BUSY = 60.0  # seconds to wait for another process that writes
ROOM = 2**17  # bytes that SQLite needs beside a store

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
        Neighbours that voted; None for a classifier of another kind.
    repeat, fold : int
        Which split of the samples, from 0 on.
    train, test : float
        Scores: on the training samples (of nearest neighbours, leaving each out in turn) and on
        the test samples; NaN unless the status is "ok".
    time : float
        Seconds of the fit, tuning included.
    memory : float
        Megabytes that the process of the fit had at most beyond what it had before, by whole
        pages: small fits may need none. NaN where the system does not tell.
    status : {"ok", "failed", "timeout", "crashed"}
        How it ended.
    message : str
        What went wrong; of "ok", the warnings.
    metadata : dict
        What the learner says about the fit, and ``best_params`` if it was tuned.
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
    """Finished cells in a file of SQLite, each durable from the moment it is added.

    A cell that is "ok" is never changed. Who wants to compute one claims it first, so that several
    processes share the work; the claims of a process that died are free again.

    Parameters
    ----------
    path : path or None, default=None
        The file, made if it is not there; None keeps cells in memory.

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
        # A name that the process of a dead owner, whose number was given anew, does not have.
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex}"
        with self._explained():
            self._db = sqlite3.connect(
                ":memory:" if self.path is None else self.path,
                timeout=BUSY, isolation_level=None, check_same_thread=False,
            )  # fmt: skip
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
        """Return those of the cells that are finished.

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
            return self._db.execute("SELECT COUNT(*) FROM cells").fetchone()[0]

    def claim(self, fit: str, keys: Sequence[str], *, retry: bool = False) -> bool:
        """Tell whether a fit is ours to do: not finished, nor claimed by another.

        Parameters
        ----------
        fit : str
            Key of the fit.
        keys : sequence of str
            Keys of the cells it gives.
        retry : bool, default=False
            Whether cells that are finished, but not "ok", are to be done again.
        """
        if not self._free(fit, keys, retry):  # who only looks keeps no other from writing
            return False
        with self._writing() as db:
            if not self._free(fit, keys, retry):
                return False
            until = time.time() + LEASE
            db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (fit, self._owner, until))
            return True

    def _free(self, fit: str, keys: Sequence[str], retry: bool) -> bool:
        """Tell whether a fit is to be done, and nobody else does it."""
        with self._lock, self._explained():
            done = self.get(keys)
            if len(done) == len(keys) and not (retry and _any_bad(done.values())):
                return False
            find = "SELECT owner, until FROM claims WHERE fit = ?"
            row = self._db.execute(find, (fit,)).fetchone()
            return row is None or row[0] == self._owner or not _holds(*row)

    def renew(self) -> None:
        """Hold on to all that this store has claimed."""
        with self._writing() as db:
            until = time.time() + LEASE
            db.execute("UPDATE claims SET until = ? WHERE owner = ?", (until, self._owner))

    def add(self, fit: str, cells: dict[str, Cell]) -> None:
        """Add the cells of a fit, all or none; they are durable when this returns.

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
        """Give the data base for a change that happens as a whole or not at all.

        A change that is durable outlives a power failure; any other outlives the process.
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
        """Say in a sentence what SQLite complains of."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            full = code is not None and code & 0xFF == sqlite3.SQLITE_FULL
            if code is not None and code & 0xFF == sqlite3.SQLITE_IOERR and self.path is not None:
                # Files beside the store cannot be made.
                full = shutil.disk_usage(self.path.resolve().parent).free < ROOM
            if full:
                raise OSError(
                    f"The disk with {self.path} is full. All cells that were finished are kept: "
                    "make room and run the same again, it goes on from there."
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
    """Tell whether a claim still counts: it was renewed of late, by a process that lives."""
    if time.time() > until:
        return False
    host, number, _ = owner.rsplit(":", 2)
    if host != socket.gethostname() or os.name != "posix":
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's, alive
        return True
    return True
