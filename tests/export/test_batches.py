"""batch_transform against transform, alone and inside batch engines."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import LDA, NCA, PCA, KNNClassifier
from dimetric.classify import MultiMetricKNNClassifier
from dimetric.data import TableEncoder
from dimetric.export import batch_transform

X, y = load_iris(return_X_y=True)
NAMES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture
def frame():
    return pd.DataFrame(X, columns=NAMES).assign(id=np.arange(len(X)))


@pytest.fixture
def model(frame):
    return make_pipeline(StandardScaler(), LDA()).fit(frame[NAMES], y)


def batches_of(frame, rows=32):
    """Split a frame into batches. An empty frame becomes one empty batch."""
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    return [batch.slice(start, rows) for start in range(0, max(1, len(frame)), rows)]


def joined(batches):
    return pa.Table.from_batches(list(batches)).to_pandas()


def test_equals_transform_for_any_batches_and_order_of_columns(frame, model):
    shuffled = frame[["petal_width", "id", "sepal_length", "petal_length", "sepal_width"]]
    mapped = joined(batch_transform(model, keep=["id"])(batches_of(shuffled, 7)))
    assert list(mapped) == ["id", "lda0", "lda1"]
    np.testing.assert_array_equal(mapped["id"], frame["id"])
    np.testing.assert_allclose(mapped[["lda0", "lda1"]], model.transform(frame[NAMES]), atol=1e-12)


@pytest.mark.parametrize("learner", [None, NCA(2, max_iter=3)])
def test_classifiers_map_with_their_learner(frame, learner):
    model = KNNClassifier(learner=learner).fit(frame[NAMES], y)
    mapped = joined(batch_transform(model)(batches_of(frame)))
    expected = X if learner is None else model.learner_.transform(X)
    np.testing.assert_allclose(mapped, expected, atol=1e-12)


def test_a_table_encoder_reads_the_original_columns():
    table = pd.DataFrame({"colour": ["red", "blue", "red", "green"], "size": [1.0, 2.0, 4.0, 8.0]})
    model = make_pipeline(TableEncoder(), PCA(2)).fit(table)
    mapped = joined(batch_transform(model)(batches_of(table, 3)))
    np.testing.assert_allclose(mapped, model.transform(table), atol=1e-12)


def test_rows_with_missing_values_are_null_and_others_are_unchanged(frame, model):
    expected = model.transform(frame[NAMES])
    frame.loc[[0, 40], "petal_width"] = np.nan
    mapped = joined(batch_transform(model)(batches_of(frame)))
    assert np.flatnonzero(mapped["lda0"].isna()).tolist() == [0, 40]
    complete = mapped["lda0"].notna().to_numpy()
    np.testing.assert_allclose(mapped[complete], expected[complete], atol=1e-12)


def test_an_empty_batch_shows_the_schema(frame, model):
    function = batch_transform(model, keep=["id"])
    full, empty = (next(function(batches_of(part))) for part in (frame, frame[:1]))
    none = next(function([batches_of(frame)[0].slice(0, 0)]))
    assert none.num_rows == 0
    assert full.schema.equals(none.schema)
    assert full.schema.equals(empty.schema)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fixed", [True, False])
def test_a_column_of_vectors_becomes_a_column_of_vectors(dtype, fixed):
    V = X.astype(dtype)
    pca = PCA(2).fit(V)
    values = [None if i == 3 else row for i, row in enumerate(V)]
    kind = pa.list_(pa.from_numpy_dtype(dtype), 4 if fixed else -1)
    batch = pa.RecordBatch.from_arrays(
        [pa.array(range(len(V))), pa.array(values, type=kind)], ["id", "vector"]
    )
    # A slice has an offset into the values of the whole batch.
    mapped = joined(batch_transform(pca, keep=["id"])([batch.slice(0, 50), batch.slice(50)]))
    assert mapped["vector"][3] is None
    rest = np.delete(np.arange(len(V)), 3)
    got = np.stack(mapped["vector"][rest])
    assert got.dtype == dtype
    np.testing.assert_allclose(got, pca.transform(V)[rest], rtol=1e-5, atol=1e-5)


def test_vectors_of_another_length_name_the_column():
    pca = PCA(2).fit(X)
    batch = pa.RecordBatch.from_pydict({"vector": [[1.0, 2.0]]})
    with pytest.raises(ValueError, match=r"'vector' holds a list of 2 numbers.* 4 features"):
        list(batch_transform(pca)([batch]))


def test_errors_name_the_column(frame, model):
    with pytest.raises(ValueError, match="no column 'ids'"):
        list(batch_transform(model, keep=["ids"])(batches_of(frame)))
    with pytest.raises(ValueError, match="no column 'petal_width'"):
        list(batch_transform(model)(batches_of(frame.drop(columns="petal_width"))))
    with pytest.raises(ValueError, match="'lda0' has the same name"):
        batch_transform(model, keep=["lda0"])
    with pytest.raises(TypeError, match="must be an estimator, not ndarray"):
        batch_transform(X)
    with pytest.raises(ValueError, match="metric for each class"):
        batch_transform(MultiMetricKNNClassifier(3, max_iter=1, tol=1).fit(X, y))


def test_the_function_survives_pickling(frame, model):
    function = batch_transform(model)
    again = pickle.loads(pickle.dumps(function))
    assert joined(again(batches_of(frame))).equals(joined(function(batches_of(frame))))


def test_in_duckdb(frame, model):
    duckdb = pytest.importorskip("duckdb")
    reader = duckdb.sql("SELECT * FROM frame ORDER BY id").to_arrow_reader(40)
    mapped = joined(batch_transform(model, keep=["id"])(reader))
    np.testing.assert_allclose(mapped[["lda0", "lda1"]], model.transform(frame[NAMES]), atol=1e-12)
    # DuckDB reads the mapped batches in turn, without keeping them.
    lazy = pa.RecordBatchReader.from_batches(
        next(batch_transform(model, keep=["id"])(batches_of(frame[:1]))).schema,
        batch_transform(model, keep=["id"])(iter(batches_of(frame))),
    )
    (total,) = duckdb.from_arrow(lazy).sum("lda0").fetchall()[0]
    assert total == pytest.approx(mapped["lda0"].sum(), abs=1e-9)


def test_in_polars(frame, model):
    pl = pytest.importorskip("polars")
    function = batch_transform(model, keep=["id"])

    def mapped_part(part):
        return pl.from_arrow(pa.Table.from_batches(function(part.to_arrow().to_batches())))

    schema = mapped_part(pl.from_pandas(frame[:1])).schema
    mapped = pl.from_pandas(frame).lazy().map_batches(mapped_part, schema=schema).collect()
    np.testing.assert_allclose(
        mapped[["lda0", "lda1"]].to_numpy(), model.transform(frame[NAMES]), atol=1e-12
    )


def test_in_dask(frame, model):
    dataframe = pytest.importorskip("dask.dataframe")
    function = batch_transform(model, keep=["id"])

    def mapped_part(part):
        return joined(function(batches_of(part)))

    lazy = dataframe.from_pandas(frame, npartitions=4)
    mapped = lazy.map_partitions(mapped_part, meta=mapped_part(frame[:0])).compute()
    np.testing.assert_allclose(mapped[["lda0", "lda1"]], model.transform(frame[NAMES]), atol=1e-12)
