"""Queries of SQLite and DuckDB databases and of other files. They cannot write."""

import sqlite3
import sys

import duckdb
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dimetric.data import read_table
from dimetric.data._files import TableFile

FRAME = pd.DataFrame({"size": [1.5, 2.5, 3.5, None], "count": [1, 2, 3, 4], "class": list("abab")})


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    """A database with the table "my sales"."""
    path = tmp_path / f"a.{request.param}"
    if request.param == "sqlite":
        connection = sqlite3.connect(path)
        FRAME.to_sql("my sales", connection, index=False)
    else:
        connection = duckdb.connect(str(path))
        connection.register("frame", FRAME)
        connection.execute('CREATE TABLE "my sales" AS SELECT * FROM frame')
    connection.close()
    return path


def add_table(path):
    is_sqlite = path.suffix == ".sqlite"
    connection = sqlite3.connect(path) if is_sqlite else duckdb.connect(str(path))
    connection.execute("CREATE TABLE other (a INTEGER)")
    connection.commit()
    connection.close()


def test_queries(database):
    sql = 'SELECT count * 2 AS twice, "class" FROM "my sales" WHERE count > 1 ORDER BY count'
    data = read_table(database, sql=sql)
    assert_array_equal(data.X, [[4], [6], [8]])
    assert_array_equal(data.y, ["b", "a", "b"])
    parts = list(
        TableFile.open(database, sql=sql).chunks(string_columns=["twice"], cells_per_chunk=4)
    )
    assert [list(each["twice"]) for each in parts] == [["4", "6"], ["8"]]


def test_the_only_table_is_read_without_a_query(database):
    table = TableFile.open(database)
    assert table.notes() == ["Read the table 'my sales'."]
    columns = table.read()
    assert_array_equal(columns["size"], FRAME["size"])
    assert columns["count"].dtype == np.int64
    add_table(database)
    sentence = r"the tables 'my sales' and 'other'; choose .* --sql 'SELECT \* FROM \"my sales\"'"
    with pytest.raises(ValueError, match=sentence):
        TableFile.open(database)


@pytest.mark.parametrize(
    "sql",
    [
        'DELETE FROM "my sales"',
        "CREATE TABLE b (a INTEGER)",
        "DROP TABLE IF EXISTS b",
        'SELECT 1; DELETE FROM "my sales"',
        "ATTACH 'OTHER' AS other",
        "PRAGMA user_version = 3",
        "VACUUM INTO 'OTHER'",
        "COPY (SELECT 1) TO 'OTHER'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "EXPORT DATABASE 'OTHER'",
        "",
    ],
)
def test_queries_cannot_write(database, tmp_path, sql):
    before, other = database.read_bytes(), tmp_path / "other"
    with pytest.raises(ValueError, match=r"must be one SELECT|the query failed"):
        TableFile.open(database, sql=sql.replace("OTHER", str(other))).read()
    assert database.read_bytes() == before
    assert not other.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == [database.name]


def test_queries_cannot_read_other_files(tmp_path, database):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for sql in (
        f"SELECT * FROM '{tmp_path}/secret.csv'",
        f"SELECT * FROM read_csv('{tmp_path}/*.csv')",
        f"SELECT readfile('{tmp_path}/secret.csv')",
        "SELECT * FROM FRAME",
        "SELECT load_extension('x')",
    ):
        with pytest.raises(ValueError, match=r"the query failed|must be one SELECT"):
            TableFile.open(database, sql=sql).read()


def test_errors_name_the_file_and_the_reason(database):
    with pytest.raises(ValueError, match=rf"{database.name} .*the query failed: .*nothing"):
        TableFile.open(database, sql="SELECT * FROM nothing").read()
    with pytest.raises(ValueError, match="the query failed"):
        TableFile.open(database, sql="SELEKT 1").read()
    damaged = database.read_bytes()
    database.write_bytes(damaged[:100] + b"\xff" * (len(damaged) - 100))
    with pytest.raises(ValueError, match=f"{database.name} cannot be read as a table"):
        TableFile.open(database).read()


def test_names_of_columns_are_unique(database):
    sql = 'SELECT count, count, size FROM "my sales"'
    assert TableFile.open(database, sql=sql).column_names() == ["count", "count.1", "size"]


def test_blobs_are_refused_by_name(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE t (a REAL, photo BLOB, class TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, b"\x01", "u"), (2, b"\x02", "v")])
    connection.commit()
    connection.close()
    with pytest.raises(ValueError, match="Column 'photo' holds bytes, which cannot be features"):
        read_table(tmp_path / "a.db")
    assert read_table(tmp_path / "a.db", drop=["photo"]).feature_names == ("a",)


def test_types_of_duckdb(tmp_path):
    connection = duckdb.connect(str(tmp_path / "a.duckdb"))
    connection.execute(
        "CREATE TABLE t AS SELECT 1.25::DECIMAL(5, 2) AS d, DATE '2024-05-01' AS day, "
        "TIMESTAMPTZ '2024-05-01 12:00:00+00' AS moment, INTERVAL 3 DAY AS duration, "
        "true AS flag, [1, 2] AS list, {'a': 1} AS struct, 5::HUGEINT AS huge, 'x' AS text"
    )
    connection.close()
    columns = TableFile.open(tmp_path / "a.duckdb").read()
    kinds = {name: values.dtype.kind for name, values in columns.items()}
    assert kinds == {"d": "f", "day": "M", "moment": "M", "duration": "m", "flag": "b",
                     "list": "O", "struct": "O", "huge": "i", "text": "O"}  # fmt: skip
    with pytest.raises(ValueError, match=r"'list'.* 'struct' .*cannot be features"):
        read_table(tmp_path / "a.duckdb")


def test_queries_of_other_files(tmp_path):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.to_excel(tmp_path / "a.xlsx", index=False)
    sql = 'SELECT "class", avg(count) AS mean FROM data GROUP BY "class" ORDER BY "class"'
    for name in ("a.csv", "a.parquet", "a.xlsx"):
        columns = TableFile.open(tmp_path / name, sql=sql).read()
        assert list(columns["class"]) == ["a", "b"]
        assert_array_equal(columns["mean"], [2, 3])
    with pytest.raises(ValueError, match="the query failed"):
        TableFile.open(tmp_path / "a.csv", sql=f"SELECT * FROM '{tmp_path}/a.csv'").read()


def test_without_duckdb(tmp_path, monkeypatch):
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r"require duckdb: pip install 'dimetric\[sql\]'"):
        TableFile.open(tmp_path / "a.csv", sql="SELECT * FROM data").read()
