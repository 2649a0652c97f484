"""DuckDB and PostgreSQL find the same neighbours as dimetric."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from estimators import fit, samples
from postgres import in_postgres, needs_postgres
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dimetric import KPCA, LDA, LMNN, NCA, PCA, KNNClassifier
from dimetric.data._encoder import TableEncoder
from dimetric.data._files import TableFile
from dimetric.export import to_sql
from dimetric.export._index import map_samples
from dimetric.export._quote import quote_name

MODELS = [
    PCA(2),
    NCA(),
    make_pipeline(StandardScaler(), LMNN(2)),
    make_pipeline(MinMaxScaler(), KNNClassifier(learner=LDA())),
    KNNClassifier(),
]
NAMES = ["länge", 'a "quoted" one', "x; DROP TABLE samples; --", "select"]
QUERIES = (3, 77, 150)


def top10(model, X, queries=QUERIES):
    """Return the 10 rows nearest to each query row, without this row, found by KNNClassifier."""
    Z = map_samples(model, X)
    return KNNClassifier(10).fit(Z, np.arange(len(Z)) % 2).kneighbors()[1][list(queries)]


def data(n=300):
    X, y = samples(n)
    return pd.DataFrame(X, columns=NAMES).assign(id=100 + np.arange(n)), X, y


@pytest.mark.parametrize("form", ["expression", "matrix"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_duckdb(model, form):
    frame, _, y = data()
    model = fit(model, frame[NAMES], y)
    with duckdb.connect() as base:
        base.sql("CREATE TABLE samples AS SELECT * FROM frame")
        base.execute(to_sql(model, form=form))
        found = [
            base.execute("SELECT * FROM samples_nearest(?, 10)", [100 + row]).fetchnumpy()
            for row in QUERIES
        ]
        z = np.array(base.sql("SELECT z FROM samples_mapped ORDER BY id").fetchall())[:, 0]
    Z = map_samples(model, frame[NAMES])
    np.testing.assert_allclose(z, Z, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal([each["id"] - 100 for each in found], top10(model, frame[NAMES]))
    for row, each in zip(QUERIES, found, strict=True):
        wanted = np.linalg.norm(Z[each["id"] - 100] - Z[row], axis=1)
        np.testing.assert_allclose(each["distance"], wanted, rtol=1e-9)


@pytest.mark.parametrize("form", ["expression", "matrix"])
def test_duckdb_column_of_vectors(form):
    _, X, y = data()
    model = LDA().fit(X, y)
    frame = pd.DataFrame({"key": np.arange(len(X)), "embedding": X.tolist()})
    with duckdb.connect() as base:
        base.register("frame", frame)
        base.sql('CREATE TABLE "my texts" AS SELECT * FROM frame')
        base.execute(to_sql(model, table="my texts", id="key", columns="embedding", form=form))
        found = [
            base.execute('SELECT key FROM "my texts_nearest"(?, 10)', [row]).fetchnumpy()["key"]
            for row in QUERIES
        ]
    np.testing.assert_array_equal(found, top10(model, X))


@pytest.mark.parametrize("form", ["expression", "matrix"])
def test_rows_with_missing_values_are_skipped(form):
    frame, _, y = data(50)
    model = LDA().fit(frame[NAMES], y)
    frame.loc[7, NAMES[2]] = None
    with duckdb.connect() as base:
        base.sql("CREATE TABLE samples AS SELECT * FROM frame")
        base.execute(
            "UPDATE samples SET " + quote_name(NAMES[2]) + " = NULL WHERE id = 107"
        )  # DuckDB does not treat NaN as missing
        base.execute(to_sql(model, form=form))
        ids = base.sql("SELECT id FROM samples_mapped ORDER BY id").fetchnumpy()["id"]
    np.testing.assert_array_equal(ids, frame["id"].drop(7))


@pytest.mark.parametrize("missing", ["raise", "impute"])
def test_categorical_columns(missing):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=60),
            "colour": rng.choice(["red", "it's green", "blue"], 60),
            'b"ig': rng.choice(["yes", "no"], 60),
        }
    )
    model = make_pipeline(TableEncoder(missing=missing), StandardScaler(), PCA()).fit(table)
    new = table.assign(colour=["pink", *table["colour"][1:]])
    new.loc[1, 'b"ig'] = "perhaps"
    if missing == "impute":
        new.loc[2, "colour"] = new.loc[3, 'b"ig'] = new.loc[4, "size"] = None
    with pytest.warns(UserWarning, match="Found unknown categories"):
        wanted = model.transform(new)
    new = new.assign(id=range(60))
    with duckdb.connect() as base:
        base.register("new", new)
        base.sql("CREATE TABLE samples AS SELECT * FROM new")
        base.sql("UPDATE samples SET size = NULL WHERE isnan(size)")
        for form in ("expression", "matrix"):
            base.execute(to_sql(model, form=form))
            base.execute("DROP MACRO TABLE samples_nearest")
            z = np.array(base.sql("SELECT z FROM samples_mapped ORDER BY id").fetchall())[:, 0]
            np.testing.assert_allclose(z, wanted, atol=1e-9)
            base.execute("DROP TABLE samples_mapped")


@pytest.mark.parametrize("words", [("no", "yes"), ("N", "Y"), ("False", "true"), ("f", "t")])
def test_categories_stored_as_booleans(words):
    """DuckDB reads a CSV column of yes and no as booleans."""
    X, y = samples(60)
    frame = pd.DataFrame({"a": X[:, 0], "said": np.array(words)[(X[:, 1] > 0).astype(int)]})
    model = make_pipeline(TableEncoder(), PCA(2)).fit(frame, y)
    stored = frame.assign(id=np.arange(60), said=frame["said"] == words[1])
    with duckdb.connect() as base:
        base.register("stored", stored)
        base.sql("CREATE TABLE samples AS SELECT * FROM stored")
        assert "BOOLEAN" in str(base.sql("DESCRIBE samples"))
        base.execute(to_sql(model))
        z = np.array(base.sql("SELECT z FROM samples_mapped ORDER BY id").fetchall())[:, 0]
    np.testing.assert_allclose(z, model.transform(frame), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["expression", "matrix"])
@pytest.mark.parametrize("id", ["z1", "Z", "row_id_", "k_", "x", "Shift", "weights", "distance"])
def test_names_of_the_id_column(id, form):
    """Names that the script uses raise an error. Other names work."""
    X, y = samples(60)
    model = LDA().fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(**{id: np.arange(60)})
    inner = {"expression": {"z1"}, "matrix": {"x", "Shift", "weights"}}[form]
    if id in inner | {"Z", "row_id_", "k_"}:
        with pytest.raises(
            ValueError, match=f"cannot be named '{id}', because the script uses this name"
        ):
            to_sql(model, id=id, columns=list("abcd"), form=form)
        return
    script = to_sql(model, id=id, columns=list("abcd"), form=form)
    with duckdb.connect() as base:
        base.register("frame", frame)
        base.sql("CREATE TABLE samples AS SELECT * FROM frame")
        base.execute(script)
        found = base.sql("SELECT * FROM samples_nearest(3, 10)").fetchall()
    assert [each[0] for each in found] == top10(model, X[:60], (3,))[0].tolist()


def test_leading_spaces_of_categories(tmp_path):
    """dimetric strips leading spaces when it reads a file, but the database keeps them."""
    file = tmp_path / "table.csv"
    file.write_text("id,a,colour\n" + "".join(
        f"{i},{i * i % 7}, {['red', 'green', 'blue'][i % 3]} \n" for i in range(30)
    ))  # fmt: skip
    frame = TableFile.open(file).read()[["a", "colour"]]
    model = make_pipeline(TableEncoder(), PCA(2)).fit(frame)
    with duckdb.connect() as base:
        base.execute(f"CREATE TABLE samples AS SELECT * FROM read_csv('{file}')")
        base.execute(to_sql(model))
        z = np.array(base.sql("SELECT z FROM samples_mapped ORDER BY id").fetchall())[:, 0]
    np.testing.assert_allclose(z, model.transform(frame), atol=1e-9)


def test_form_by_size():
    X, y = samples(100, d=40)
    assert "samples_matrix" not in to_sql(LDA().fit(X, y))
    assert "samples_matrix" in to_sql(PCA().fit(X))
    assert '"x0"' in to_sql(LDA().fit(X, y))


def test_hostile_names():
    frame, X, y = data(50)
    table, key = 'evil"; DROP TABLE other; --\nSELECT', "$nearest$; DROP TABLE other"
    frame = frame.rename(columns={"id": key})
    model = LDA().fit(X, y)
    with duckdb.connect() as base:
        base.sql("CREATE TABLE other (a integer)")
        base.sql(f"CREATE TABLE {quote_name(table)} AS SELECT * FROM frame")
        base.execute(to_sql(model, table=table, id=key, columns=NAMES))
        rows = base.sql(f"SELECT * FROM {quote_name(table + '_nearest')}(103, 5)").fetchall()
        assert len(rows) == 5
        assert base.sql("SELECT * FROM other").fetchall() == []
    text = to_sql(model, dialect="postgres", table=table, id=key, columns=NAMES)
    assert "$nearest_$" in text
    assert all(line.startswith("--") for line in text.splitlines()[:3])


@pytest.mark.parametrize("table", ["ΟΔΟΣ", "İstanbul"])
def test_names_whose_lower_case_python_and_duckdb_spell_differently(table):
    X = np.random.default_rng(0).normal(size=(5, 2))
    script = to_sql(PCA(1).fit(X), table=table)
    frame = pd.DataFrame(X, columns=["x0", "x1"]).assign(id=range(5))  # noqa: F841 - DuckDB reads it
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE {quote_name(table)} AS SELECT * FROM frame")
        db.execute(script)
        with pytest.raises(duckdb.Error, match="names are already in use"):
            db.execute(script)


def test_file_and_errors(tmp_path):
    frame, X, y = data(50)
    model = LDA().fit(frame[NAMES], y)
    text = to_sql(model, tmp_path / "map.sql")
    assert (tmp_path / "map.sql").read_text(encoding="utf-8") == text
    with pytest.raises(ValueError, match="SQL requires a linear map"):
        to_sql(KPCA(2).fit(X))
    with pytest.raises(ValueError, match="dialect must be one of duckdb, postgres, not 'oracle'"):
        to_sql(model, dialect="oracle")
    with pytest.raises(ValueError, match="form must be one of auto, expression, matrix, not"):
        to_sql(model, form="join")
    for columns, names in ((["a"], "1 names"), (["a", "b", "c", "c"], r"4 names \(1 repeated\)")):
        with pytest.raises(ValueError, match=f"The model has 4 features, but columns has {names}"):
            to_sql(model, columns=columns)
    with pytest.raises(ValueError, match="'' cannot be the name"):
        to_sql(model, table="x", id="")
    with pytest.raises(ValueError, match=r"'a\\x00' cannot be the name"):
        to_sql(model, table="a\0")
    with pytest.raises(ValueError, match="cannot be named 'z', because"):
        to_sql(model, id="z")


@needs_postgres
@pytest.mark.parametrize("form", ["expression", "matrix"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_postgres(model, form):
    frame, X, y = data()
    model = fit(model, frame[NAMES], y)
    columns = ", ".join(f"{quote_name(name)} float8" for name in NAMES)
    rows = ", ".join(
        f"({', '.join(map(repr, row))}, {100 + i})" for i, row in enumerate(X.tolist())
    )
    script = (
        f"CREATE TABLE samples ({columns}, id bigint); INSERT INTO samples VALUES {rows};\n"
        "INSERT INTO samples VALUES (1, NULL, 1, 1, 99);\n"
        + to_sql(model, dialect="postgres", form=form)
        + "".join(f"SELECT id - 100 FROM samples_nearest({100 + row}, 10);\n" for row in QUERIES)
    )
    found = np.array(in_postgres(script), dtype=int).reshape(len(QUERIES), 10)
    np.testing.assert_array_equal(found, top10(model, frame[NAMES]))


@needs_postgres
@pytest.mark.parametrize("form", ["expression", "matrix"])
def test_postgres_vectors_under_hostile_names(form):
    _, X, y = data(50)
    model = LDA().fit(X, y)
    table, key, column = 'a"; DROP TABLE b;--\nc', "$nearest$; DROP TABLE b", "e'm"
    rows = ", ".join(f"('row {i}', '{row}')" for i, row in enumerate(X.tolist()))
    quoted = [quote_name(each) for each in (table, key, column, f"{table}_nearest")]
    script = (
        f"CREATE TABLE {quoted[0]} ({quoted[1]} text, {quoted[2]} vector(4));\n"
        f"CREATE TABLE b (i integer); INSERT INTO {quoted[0]} VALUES {rows};\n"
        + to_sql(model, dialect="postgres", table=table, id=key, columns=column, form=form)
        + f"SELECT substr({quoted[1]}, 5) FROM {quoted[3]}('row 3', 10);\n"
        "SELECT count(*) FROM b"
    )
    found = np.array(in_postgres(script), dtype=int)
    Z = map_samples(model, X)
    wanted = np.argsort(np.linalg.norm(Z - Z[3], axis=1))[1:11]
    np.testing.assert_array_equal(found, [*wanted, 0])


def test_columns_that_sql_cannot_read_are_named():
    frame = pd.DataFrame({"x": np.arange(9.0), "when": [f"2021-03-{i + 1:02}" for i in range(9)]})
    model = make_pipeline(TableEncoder(), StandardScaler(), PCA(2)).fit(frame)
    with pytest.raises(ValueError, match=r"features of the columns 'when' \(dates\)"):
        to_sql(model)
