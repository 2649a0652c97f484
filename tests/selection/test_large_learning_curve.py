"""Learning curves of data that need not fit into memory."""

import numpy as np
import pytest

from dimetric import LDA
from dimetric.selection import learning_curve

N, D = 3000, 5


def data(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, N)
    return rng.normal(size=(N, D)) + 1.2 * y[:, None] * (np.arange(D) < 2), y


def blocks_of(X, y, rows):
    return lambda: ((X[i : i + rows], y[i : i + rows]) for i in range(0, len(X), rows))


OPTIONS = {"sizes": 3, "max_samples": 400, "random_state": 0}


@pytest.fixture
def expected():
    return learning_curve(LDA(), *data(), **OPTIONS)


def assert_same(curve, expected):
    np.testing.assert_array_equal(curve.sizes, expected.sizes)
    np.testing.assert_allclose(curve.scores, expected.scores, rtol=0, atol=1e-12)
    assert (curve.n_samples, curve.n_available) == (400, N)
    assert curve.statement.endswith("400 of 3,000 rows were used.")


@pytest.mark.parametrize("rows", [7, 1000, N])
def test_blocks_give_the_curve_of_the_array(expected, rows):
    curve = learning_curve(LDA(), blocks_of(*data(), rows), **OPTIONS)
    assert_same(curve, expected)


@pytest.mark.parametrize("chunks", [(500, D), (1234, 2)])
def test_dask_arrays_give_the_curve_of_the_array(expected, chunks):
    da = pytest.importorskip("dask.array")
    X, y = data()
    X, y = da.from_array(X, chunks=chunks), da.from_array(y, chunks=chunks[0])
    assert_same(learning_curve(LDA(), X, y, **OPTIONS), expected)


def test_memory_maps_give_the_curve_of_the_array(tmp_path, expected, monkeypatch):
    X, y = data()
    np.save(tmp_path / "X.npy", X)
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_same(learning_curve(LDA(), X, y, **OPTIONS), expected)
    monkeypatch.setattr("dimetric.selection._drawn_samples.MIN_BYTES_OF_BLOCKS", 0)
    assert_same(learning_curve(LDA(), X, y, **OPTIONS), expected)


def test_parquet_blocks_give_a_curve(tmp_path, expected):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    from dimetric.data import ParquetBlocks

    X, y = data()
    columns = {f"x{j}": X[:, j] for j in range(D)} | {"class": y}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=300)
    blocks = ParquetBlocks(tmp_path / "t.parquet", "class", block_rows=250)
    assert_same(learning_curve(LDA(), blocks, **OPTIONS), expected)


def test_at_most_the_given_number_of_samples_is_kept(monkeypatch):
    X, y = data()
    blocks = blocks_of(X, y, 100)
    learner = LDA()
    curve = learning_curve(
        learner, blocks, sizes=[20, 40, 80], max_samples=100, random_state=0, n_jobs=1
    )
    assert curve.n_samples == 100
    assert curve.sizes.tolist() == [20, 40, 80]
    monkeypatch.setattr("dimetric.selection._drawn_samples.MAX_SAMPLES", 150)
    assert learning_curve(learner, blocks, sizes=3, random_state=0).n_samples == 150


def test_all_samples_of_small_data_are_used():
    X, y = data()
    curve = learning_curve(LDA(), blocks_of(X, y, 500), sizes=3, random_state=0)
    assert (curve.n_samples, curve.n_available) == (N, None)
    assert "rows were used" not in curve.statement


def test_weights_of_blocks_are_used():
    X, y = data()
    weights = (np.arange(N) % 2).astype(float)

    def blocks():
        return ((X[i : i + 600], y[i : i + 600], weights[i : i + 600]) for i in range(0, N, 600))

    found = learning_curve(LDA(), blocks, sizes=3, max_samples=N, random_state=0)
    assert found.n_samples == N // 2  # rows of weight 0 are left out
    with pytest.raises(ValueError, match="All sample weights are 0"):
        learning_curve(LDA(), lambda: iter([(X, y, np.zeros(N))]))


def test_errors_say_what_to_pass():
    X, y = data()
    with pytest.raises(ValueError, match="requires labels"):
        learning_curve(LDA(), lambda: iter([X]))
    with pytest.raises(ValueError, match="groups cannot be used"):
        learning_curve(LDA(), blocks_of(X, y, 500), groups=np.arange(N))
    with pytest.raises(ValueError, match="y is None"):
        learning_curve(LDA(), X)
    with pytest.raises(ValueError, match="max_samples=0 must be at least 1"):
        learning_curve(LDA(), X, y, max_samples=0)
    with pytest.raises(TypeError, match="yields blocks"):
        learning_curve(LDA(), blocks_of(X, y, 500), y)
