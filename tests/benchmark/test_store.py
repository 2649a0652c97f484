"""Tests of the store: saved cells, claims of several processes, and error messages."""

import math
import os
import sqlite3
import subprocess
import sys
import time
from collections import namedtuple

import pytest

from dimetric.benchmark import Cell, Store
from dimetric.benchmark import _store as store

CELL = Cell("iris", "NCA", 3, 0, 1, 0.9, 0.8, 0.1, math.nan, metadata={"n_iter": 5})


def claim_as(path, owner, until):
    """Claim "fit" as another owner."""
    db = sqlite3.connect(path)
    with db:
        db.execute("INSERT OR REPLACE INTO claims VALUES ('fit', ?, ?)", (owner, until))
    db.close()


def same(a, b):
    return repr(a) == repr(b)  # NaN is not equal to itself


def test_saved_cells_are_read_back(tmp_path):
    first = Store(tmp_path / "cells")
    assert first.get(["a"]) == {}
    first.add(
        "fit", {"a": CELL, "b": CELL._replace(status="failed", message="why", train=math.nan)}
    )
    second = Store(tmp_path / "cells")  # while the first is open
    found = second.get(["a", "b", "c"])
    assert list(found) == ["a", "b"]
    assert same(found["a"], CELL)
    assert found["b"].message == "why"
    assert math.isnan(found["b"].train)
    assert len(second) == 2


def test_only_cells_that_are_not_ok_can_change(tmp_path):
    cells = Store(tmp_path / "cells")
    cells.add("fit", {"a": CELL._replace(status="timeout")})
    cells.add("fit", {"a": CELL})
    assert same(cells.get("a")["a"], CELL)
    cells.add("fit", {"a": CELL._replace(test=0.1)})
    assert same(cells.get("a")["a"], CELL)


def test_claims(tmp_path):
    one, two = Store(tmp_path / "cells"), Store(tmp_path / "cells")
    assert one.claim("fit", ["a"])
    assert one.claim("fit", ["a"])  # the store has this claim already
    assert not two.claim("fit", ["a"])
    one.release()
    assert two.claim("fit", ["a"])
    two.add("fit", {"a": CELL._replace(status="failed")})
    assert not one.claim("fit", ["a"])
    assert one.claim("fit", ["a"], retry=True)
    assert one.claim("fit", ["a", "b"])  # b is not finished


@pytest.mark.slow
def test_claims_of_dead_processes_expire(tmp_path):
    cells = Store(tmp_path / "cells")
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    host, later = cells._owner.split(":")[0], time.time() + 1000
    claim_as(cells.path, f"{host}:{os.getpid()}:0", later)
    assert not cells.claim("fit", ["a"])
    claim_as(cells.path, f"elsewhere:{int(done.stdout)}:0", later)
    assert not cells.claim("fit", ["a"])
    claim_as(cells.path, f"{host}:1:0", later)  # alive, even if it belongs to another user
    assert not cells.claim("fit", ["a"])
    claim_as(cells.path, f"{host}:{int(done.stdout)}:0", later)
    assert cells.claim("fit", ["a"])
    claim_as(cells.path, f"elsewhere:{os.getpid()}:0", time.time() - 1)
    assert cells.claim("fit", ["a"])


def test_renewed_claims_do_not_expire(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "LEASE_SECONDS", 0.0)
    one, two = Store(tmp_path / "cells"), Store(tmp_path / "cells")
    one.claim("fit", ["a"])
    monkeypatch.setattr(store, "LEASE_SECONDS", 1000.0)
    one.renew()
    assert not two.claim("fit", ["a"])


def test_full_disk(tmp_path):
    cells = Store(tmp_path / "cells")
    cells.add("fit", {"a": CELL})
    pages = cells._db.execute("PRAGMA page_count").fetchone()[0]
    cells._db.execute(f"PRAGMA max_page_count = {pages}")
    long = CELL._replace(message="x" * 100_000)
    with pytest.raises(
        OSError, match=r"The disk that contains .*cells is full\. .* start the same run again"
    ):
        cells.add("fit", {"b": CELL, "c": long})
    assert list(cells.get("abc")) == ["a"]  # the failed transaction added nothing
    cells._db.execute("PRAGMA max_page_count = 1000000")
    cells.add("fit", {"b": CELL, "c": long})
    assert list(Store(cells.path).get("abc")) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("free", "sentence"), [(0, "is full. Finished"), (10**9, "cannot be used: dis")]
)
def test_full_disk_for_temporary_files(tmp_path, monkeypatch, free, sentence):
    """SQLite reports a general I/O error, so the free space tells whether the disk is full."""

    def connect(*args, **kwargs):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
        raise error

    monkeypatch.setattr(store.sqlite3, "connect", connect)
    usage = namedtuple("usage", ["free"])
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: usage(free))
    with pytest.raises(OSError, match=sentence):
        Store(tmp_path / "cells")


def test_files_that_are_not_stores(tmp_path):
    (tmp_path / "text").write_text("not a database, but longer than the header of one" * 40)
    with pytest.raises(ValueError, match=r"text is not a benchmark store\. Choose another file"):
        Store(tmp_path / "text")
    with pytest.raises(OSError, match="cannot be used: unable to open"):
        Store(tmp_path / "nowhere" / "cells")
    db = sqlite3.connect(tmp_path / "newer")
    db.execute("PRAGMA user_version = 9")
    db.close()
    db = sqlite3.connect(tmp_path / "others")
    db.execute("CREATE TABLE people (name TEXT)")
    db.close()
    before = (tmp_path / "others").read_bytes()
    with pytest.raises(ValueError, match=r"others is not a benchmark store\. Choose another file"):
        Store(tmp_path / "others")
    assert (tmp_path / "others").read_bytes() == before
    with pytest.raises(
        ValueError,
        match="newer has store version 9, but this version of dimetric reads only version 1",
    ):
        Store(tmp_path / "newer")


@pytest.mark.parametrize(
    ("owner", "until"),
    [
        ("somewhere", 1e300),
        (f"{{host}}:{10**30}:x", None),
        (f"{{host}}:{2**62}:x", None),
        ("{host}:-1:x", None),
        ("{host}:0:x", None),
        ("{host}:one:x", None),
        ("{host}:{process}:x", "later"),
        ("{host}:{process}:x", math.inf),
        ("{host}:{process}:x", b"\xff"),
        (b"\xff\xfe", None),
        (7, None),
        ("::", None),
    ],
)
def test_damaged_claims_are_not_valid(tmp_path, owner, until):
    cells = Store(tmp_path / "cells")
    if isinstance(owner, str):
        owner = owner.format(host=store.socket.gethostname(), process=os.getpid())
    claim_as(tmp_path / "cells", owner, time.time() + 30 if until is None else until)
    assert cells.claim("fit", ["a"])


@pytest.mark.parametrize(
    "change",
    [
        "metadata = '{'",
        "metadata = NULL",
        "metadata = '[]'",
        pytest.param(f"metadata = '{'[' * 100_000}'", id="deep metadata"),
        "train = 'much'",
        "fold = 'first'",
        "learner = NULL",
        "status = x'ff'",
    ],
)
def test_damaged_cells_raise(tmp_path, change):
    cells = Store(tmp_path / "cells")
    cells.add("fit", {"a": CELL})
    db = sqlite3.connect(tmp_path / "cells")
    with db:
        db.execute(f"UPDATE cells SET {change}")
    db.close()
    with pytest.raises(
        ValueError, match=r"The store .*cells is damaged: the cell 'a' is not valid"
    ):
        cells.get(["a"])


@pytest.mark.parametrize(
    "script",
    [
        "CREATE VIEW cells AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i FROM n; CREATE TABLE claims (fit, owner, until);",
        "CREATE TABLE cells (key); CREATE TABLE claims (fit, owner, until);",
        store.TABLES + "CREATE TRIGGER t AFTER DELETE ON claims BEGIN DELETE FROM cells; END;",
    ],
)
def test_other_databases_are_not_stores(tmp_path, script):
    db = sqlite3.connect(tmp_path / "cells")
    db.executescript(script)
    db.close()
    with pytest.raises(ValueError, match="cells is not a benchmark store"):
        Store(tmp_path / "cells")


def test_own_views_and_indexes_of_the_user_are_allowed(tmp_path):
    Store(tmp_path / "cells").add("fit", {"a": CELL})
    db = sqlite3.connect(tmp_path / "cells")
    db.executescript(
        "CREATE VIEW best AS SELECT max(test) FROM cells; CREATE INDEX i ON cells (data)"
    )
    db.close()
    assert len(Store(tmp_path / "cells")) == 1


def test_store_must_be_a_file(tmp_path):
    """SQLite would leave a journal next to a device or a pipe, or wait for the pipe."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to(os.devnull)
    for name in ("pipe", "null"):
        with pytest.raises(OSError, match=f"{name} is not a file. Give the path of a file"):
            Store(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["null", "pipe"]
