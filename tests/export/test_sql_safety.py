"""SQL scripts only create objects, run completely or not at all, and reject long names."""

import re

import duckdb
import numpy as np
import pandas as pd
import pytest
from estimators import samples
from postgres import in_postgres, needs_postgres
from sklearn.pipeline import make_pipeline

from dimetric import PCA
from dimetric.data import TableEncoder
from dimetric.export import to_sql
from dimetric.export._quote import quote_name

FORMS = ("expression", "matrix")
X, _ = samples(20)
MODEL = PCA(2).fit(X[:, :2])
# Objects of a user whose names the script would use.
COLLISIONS = [
    "CREATE TABLE samples_mapped (keep integer)",
    "CREATE TABLE SAMPLES_Mapped (keep integer)",
    "CREATE VIEW samples_mapped AS SELECT 1 AS keep",
    "CREATE TEMP TABLE samples_mapped (keep integer)",
    "CREATE MACRO samples_nearest(row_id_, k_) AS TABLE SELECT 1 AS keep",
    "CREATE MACRO samples_nearest(a) AS a + 1",
]


def table_of_samples(base):
    base.execute("CREATE TABLE samples (id integer, x0 float8, x1 float8)")
    base.executemany(
        "INSERT INTO samples VALUES (?, ?, ?)", [[i, *row] for i, row in enumerate(X[:, :2])]
    )


def objects(base):
    """Return all tables, views and functions of a database, with their definitions."""
    kinds = {
        "tables": "table_name, sql",
        "views": "view_name, sql",
        "functions": "function_name, macro_definition",
    }
    return [
        base.execute(
            f"SELECT database_name, schema_name, {columns} FROM duckdb_{kind}() "
            "WHERE NOT internal ORDER BY ALL"
        ).fetchall()
        for kind, columns in kinds.items()
    ]


def run_without_stopping(base, script):
    """Run each statement, whether or not one fails, as the DuckDB command does."""
    errors = []
    for statement in base.extract_statements(script):
        try:
            base.execute(statement)
        except duckdb.Error as error:
            errors.append(str(error))
    return errors


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_scripts_only_create(dialect, form):
    script = to_sql(MODEL, dialect=dialect, form=form)
    code = "\n".join(line for line in script.splitlines() if not line.startswith("--"))
    forbidden = r"\b(DROP|REPLACE|TRUNCATE|DELETE|UPDATE|ALTER|INSERT|CASCADE)\b"
    assert not re.search(forbidden, code, re.IGNORECASE)
    assert ("CREATE EXTENSION" in code) == ("the extension vector" in script)
    statements = code.split()
    assert statements[:2] == ["BEGIN", "TRANSACTION;"]
    assert statements[-1] == "COMMIT;"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("collision", [*COLLISIONS, "CREATE TABLE samples_matrix (keep integer)"])
def test_objects_of_the_user_stay(collision, form):
    with duckdb.connect() as base:
        table_of_samples(base)
        base.execute(collision)
        before = objects(base)
        errors = run_without_stopping(base, to_sql(MODEL, form=form))
        if "matrix" in collision and form == "expression":
            assert not errors
            return
        taken = re.search(r"samples_\w+", collision, re.IGNORECASE)[0]
        assert f"These names are already in use: {taken}. Nothing" in errors[0]
        assert objects(base) == before


@pytest.mark.parametrize("form", FORMS)
def test_a_second_run_fails_without_loss(form):
    with duckdb.connect() as base:
        table_of_samples(base)
        base.execute(to_sql(MODEL, form=form))
        before = objects(base), base.sql("SELECT * FROM samples_mapped ORDER BY id").fetchall()
        error = run_without_stopping(base, to_sql(MODEL))[0]
        assert "in use: samples_mapped, samples_nearest. Nothing was changed. Remove" in error
        after = objects(base), base.sql("SELECT * FROM samples_mapped ORDER BY id").fetchall()
        assert after == before


@pytest.mark.parametrize("form", FORMS)
def test_a_script_that_fails_creates_nothing(form):
    """A column is missing, which is an error that does not abort a transaction of DuckDB 1."""
    with duckdb.connect() as base:
        base.execute("CREATE TABLE samples (id integer, x0 float8)")
        before = objects(base)
        assert "x1" in run_without_stopping(base, to_sql(MODEL, form=form))[0]
        assert objects(base) == before


@pytest.mark.parametrize("form", FORMS)
def test_same_names_in_another_schema(form):
    with duckdb.connect() as base:
        base.execute("CREATE TABLE samples_mapped (keep integer); CREATE SCHEMA own; USE own")
        table_of_samples(base)
        base.execute(to_sql(MODEL, form=form))
        assert len(base.sql("SELECT * FROM samples_nearest(3, 5)").fetchall()) == 5
        assert base.sql("DESCRIBE memory.main.samples_mapped").fetchall()[0][0] == "keep"


def test_features_named_like_coordinates():
    """DuckDB can refer to the alias z1 of an earlier column, but the column z1 is meant."""
    names = ["z2", "z1"]
    frame = pd.DataFrame(X[:, :2], columns=names).assign(id=range(20))
    model = PCA(2).fit(frame[names])
    with duckdb.connect() as base:
        base.register("frame", frame)
        base.execute("CREATE TABLE samples AS SELECT * FROM frame")
        base.execute(to_sql(model))
        z = np.array(base.sql("SELECT z FROM samples_mapped ORDER BY id").fetchall())[:, 0]
    np.testing.assert_allclose(z, model.transform(frame[names]), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "name", "size"),
    [
        ({"table": "t" * 63}, "t" * 63 + "_mapped", 70),
        ({"table": "t" * 56}, "t" * 56 + "_nearest", 64),
        ({"table": "t" * 54 + "ä"}, "t" * 54 + "ä_nearest", 64),
        ({"id": "i" * 64}, "i" * 64, 64),
        ({"columns": ["c" * 63 + "1", "c" * 63 + "2"]}, "c" * 63 + "1", 64),
        ({"columns": "€" * 22}, "€" * 22, 66),
    ],
)
def test_names_too_long_for_postgres(options, name, size):
    message = f"The name '{name}' has {size} bytes in UTF-8, more than the limit of 63 bytes"
    with pytest.raises(ValueError, match=message):
        to_sql(MODEL, dialect="postgres", **options)
    assert to_sql(MODEL, dialect="duckdb", **options)


def test_encoded_columns_too_long_for_postgres():
    model = make_pipeline(TableEncoder(), PCA(1)).fit(pd.DataFrame({"c" * 64: X[:, 0], "d": 1.0}))
    with pytest.raises(ValueError, match="has 64 bytes in UTF-8"):
        to_sql(model, dialect="postgres")


def test_names_that_fit_postgres():
    assert "t" * 55 + "_nearest" in to_sql(MODEL, dialect="postgres", table="t" * 55)


@pytest.mark.parametrize("options", [{"table": "\udc80"}, {"id": "\udc80"}, {"columns": "\udc80"}])
def test_names_that_are_not_text(options):
    with pytest.raises(ValueError, match=r"'\\udc80' cannot be written as UTF-8"):
        to_sql(MODEL, **options)


def test_the_id_column_of_postgres_is_not_named_like_the_distance():
    with pytest.raises(ValueError, match="cannot be named 'distance'"):
        to_sql(MODEL, dialect="postgres", id="distance")


def categorical_model():
    colours = ["red", "green", "\\'; CREATE TABLE hacked (i integer); --"]
    frame = pd.DataFrame({"a": X[:18, 0], "colour": colours * 6})
    return frame, make_pipeline(TableEncoder(), PCA(2)).fit(frame)


def test_backslashes_in_categories():
    frame, model = categorical_model()
    with duckdb.connect() as base:
        base.register("frame", frame.assign(id=range(18)))
        base.execute("CREATE TABLE samples AS SELECT * FROM frame")
        base.execute(to_sql(model))
        z = np.array(base.sql("SELECT z FROM samples_mapped ORDER BY id").fetchall())[:, 0]
    np.testing.assert_allclose(z, model.transform(frame), atol=1e-12)


POSTGRES_SAMPLES = "CREATE TABLE samples (id integer, x0 float8, x1 float8);\n" + "".join(
    f"INSERT INTO samples VALUES ({i}, {a!r}, {b!r});\n"
    for i, (a, b) in enumerate(X[:, :2].tolist())
)
POSTGRES_OBJECTS = """
SELECT relkind, relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
UNION ALL SELECT 'f', oid::regprocedure::text FROM pg_proc
WHERE pronamespace = current_schema()::regnamespace ORDER BY 2;
"""


@needs_postgres
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "collision",
    [
        "CREATE TABLE samples_mapped (keep integer)",
        "CREATE VIEW samples_mapped AS SELECT 1 AS keep",
        "CREATE INDEX samples_mapped ON samples (x0)",
        "CREATE FUNCTION samples_nearest(integer, int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION samples_nearest(text) RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE samples DROP COLUMN x1",
    ],
)
def test_postgres_changes_nothing_after_an_error(collision, form):
    wanted = in_postgres(POSTGRES_SAMPLES + collision, after=POSTGRES_OBJECTS)
    script = POSTGRES_SAMPLES + collision + ";\n" + to_sql(MODEL, dialect="postgres", form=form)
    for repeats in (1, 2):
        found = in_postgres(script * repeats, stop=False, after=POSTGRES_OBJECTS)
        assert "ERROR:" in found
        if taken := re.search(r"samples_\w+", collision):
            assert f"names are already in use: {taken[0]}. Nothing" in " ".join(found)
        assert found[-len(wanted) :] == wanted


@needs_postgres
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_postgres_temporary_tables_stay(form):
    script = (
        POSTGRES_SAMPLES + "CREATE TEMP TABLE samples_matrix (a integer, b vector(2), c float8);\n"
        "CREATE TEMP TABLE samples_mapped (keep integer);\n"
        + to_sql(MODEL, dialect="postgres", form=form)
        + "SELECT count(*) FROM pg_temp.samples_matrix; SELECT count(*) FROM samples_mapped;"
    )
    found = in_postgres(script, stop=False, after=POSTGRES_OBJECTS)
    assert found[:2] == ["0", "0"]
    assert found[-1:] == ["r|samples"]


@needs_postgres
@pytest.mark.slow
def test_postgres_backslashes_in_categories():
    frame, model = categorical_model()
    rows = "".join(
        f"INSERT INTO samples VALUES ({i}, {a!r}, $x${colour}$x$);\n"
        for i, (a, colour) in enumerate(frame.to_numpy().tolist())
    )
    script = (
        "SET standard_conforming_strings = off; SET backslash_quote = on;\n"
        "CREATE TABLE samples (id integer, a float8, colour text);\n" + rows
    )
    found = in_postgres(
        script + to_sql(model, dialect="postgres") + "SELECT z FROM samples_mapped ORDER BY id;",
        after=POSTGRES_OBJECTS,
    )
    z = np.array([[float(each) for each in text.strip("[]").split(",")] for text in found[:18]])
    np.testing.assert_allclose(z, model.transform(frame), atol=1e-5)
    assert not any("hacked" in each for each in found)


@needs_postgres
@pytest.mark.slow
def test_postgres_longest_names():
    table = "t" * 55
    script = POSTGRES_SAMPLES.replace("samples", quote_name(table)) + to_sql(
        MODEL, dialect="postgres", table=table, form="matrix"
    )
    found = in_postgres(
        script + f"SELECT count(*) FROM {table}_nearest(3, 7);", after=POSTGRES_OBJECTS
    )
    assert found[0] == "7"
    assert f"r|{table}_mapped" in found
