"""Parquet files in blocks of encoded rows, compared with the same table in memory."""

import numpy as np
import pandas as pd
import pytest

from dimetric.data import ParquetBlocks, read_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def table(n=500, seed=0):
    """Return a frame of numbers, categories, dates, booleans and classes."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 50, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "flag": rng.integers(0, 2, n).astype(bool),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "price": [f"{each:.2f} EUR" for each in rng.uniform(1, 9, n)],
            "class": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def write(path, frame, rows=60):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=rows)
    return path


def joined(blocks):
    parts = list(blocks())
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


@pytest.mark.parametrize("block_rows", [None, 1, 37])
def test_blocks_equal_the_table_in_memory(tmp_path, block_rows):
    frame = table()
    blocks = ParquetBlocks(write(tmp_path / "t.parquet", frame), "class", block_rows=block_rows)
    whole = read_table(frame, "class")
    X, y = joined(blocks)
    np.testing.assert_allclose(X, whole.X, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(y, whole.y)
    assert blocks.feature_names == whole.feature_names
    assert blocks.n_rows == 500
    assert blocks.n_dropped == 0
    if block_rows is not None:
        assert max(len(X) for X, _ in blocks()) == block_rows


@pytest.mark.parametrize("missing", ["drop", "impute", "auto"])
def test_missing_values_are_treated_as_in_memory(tmp_path, missing):
    frame = table()
    rng = np.random.default_rng(1)
    for name in ("size", "count", "colour", "flag", "day", "class"):
        share = 0.002 if missing == "auto" else 0.05
        frame[name] = frame[name].astype(object).where(rng.uniform(size=len(frame)) > share, None)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(arrow, tmp_path / "t.parquet", row_group_size=70)
    with pytest.warns(UserWarning, match="Dropped"):
        whole = read_table(
            tmp_path / "t.parquet", "class", missing="drop" if missing == "auto" else missing
        )
    blocks = ParquetBlocks(tmp_path / "t.parquet", "class", missing=missing, block_rows=90)
    X, y = joined(blocks)
    np.testing.assert_allclose(X, whole.X, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(y, whole.y)
    assert blocks.n_dropped == 500 - len(whole.X) > 0
    with pytest.raises(ValueError, match="missing='drop'"):
        list(ParquetBlocks(tmp_path / "t.parquet", "class", missing="raise")())


def test_integers_with_missing_classes_stay_integers_in_every_block(tmp_path):
    frame = pd.DataFrame({"x": np.arange(6.0), "class": pd.array([1, None, 2, 1, 2, 2], "Int32")})
    blocks = ParquetBlocks(write(tmp_path / "t.parquet", frame, 2), "class", block_rows=2)
    found = [y.dtype for _, y in blocks()]
    assert found == [np.dtype(np.int32)] * 3
    np.testing.assert_array_equal(joined(blocks)[1], [1, 2, 1, 2, 2])


def test_categories_outside_the_sample_have_features_in_every_block(tmp_path, monkeypatch):
    monkeypatch.setattr("dimetric.data._parquet.blocks.LEARNING_ROWS", 10)
    frame = pd.DataFrame({"kind": ["x", "y"] * 500 + ["rare"], "class": [0, 1] * 500 + [1]})
    blocks = ParquetBlocks(write(tmp_path / "t.parquet", frame, 50), "class")
    assert blocks.feature_names == ("kind=rare", "kind=x", "kind=y")
    assert joined(blocks)[0].sum(axis=0).tolist() == [1, 500, 500]


def test_a_column_of_too_many_categories_keeps_those_of_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("dimetric.data._parquet.blocks.LEARNING_ROWS", 40)
    kinds = ["x", "y", "z"] * 300 + [f"k{i}" for i in range(80)]
    frame = pd.DataFrame({"kind": kinds, "size": np.arange(980.0) % 7, "class": [0, 1] * 490})
    blocks = ParquetBlocks(write(tmp_path / "t.parquet", frame, 50), "class")
    assert any("more than 50 categories" in each for each in blocks.notes)
    X = joined(blocks)[0]
    assert X.shape[0] == 980
    assert np.all(X[:900, :-1].sum(axis=1) == 1)


def test_a_folder_and_a_list_of_files_are_one_table(tmp_path):
    frame = table()
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "_SUCCESS").write_text("")
    files = [write(folder / f"part-{i}.parquet", frame[i::2], 50) for i in range(2)]
    whole = read_table(pd.concat([frame[0::2], frame[1::2]]), "class")
    for source in (folder, files):
        blocks = ParquetBlocks(source, "class")
        assert blocks.n_rows == 500
        np.testing.assert_allclose(joined(blocks)[0], whole.X, rtol=0, atol=1e-12)
    np.testing.assert_allclose(read_table(folder, "class").X, whole.X, rtol=0, atol=1e-12)


def test_blocks_have_no_target_by_default(tmp_path):
    frame = table()[["size", "count", "colour"]]
    blocks = ParquetBlocks(write(tmp_path / "t.parquet", frame))
    X = np.concatenate(list(blocks()))
    whole = read_table(frame.assign(y=np.arange(500) % 2), "y")
    np.testing.assert_array_equal(X, whole.X)
    assert blocks.target_name is None
    assert "target" not in repr(blocks)
    assert X.shape == (500, 5)


def test_a_sample_has_the_encoded_rows_of_the_file(tmp_path):
    blocks = ParquetBlocks(write(tmp_path / "t.parquet", table()), "class")
    X, y = joined(blocks)
    whole = {(*row, label) for row, label in zip(X.tolist(), y.tolist(), strict=True)}
    data = blocks.sample(100)
    assert {(*row, label) for row, label in zip(data.X.tolist(), data.y, strict=True)} <= whole
    assert 95 <= len(data.X) <= 115
    assert data.notes == (f"{len(data.X)} of 500 rows, sampled from 9 of 9 row groups.",)
    np.testing.assert_array_equal(data.X, blocks.sample(100).X)
    assert not np.array_equal(data.X, blocks.sample(100, random_state=1).X)


def wrong_files(folder):
    """Yield what is wrong, the arguments, and a part of the message."""
    frame = table(20)
    good = write(folder / "good.parquet", frame)
    yield good, {"target": "clas"}, "target: there is no column 'clas'. Did you mean class"
    yield good, {"drop": ["x"]}, "drop: there is no column 'x'"
    yield good, {"missing": "keep"}, "missing='keep' must be"
    yield good, {"block_rows": 0}, "block_rows=0 must be at least 1"
    yield good, {"target": "price"}, "numbers with a unit"
    empty = write(folder / "empty.parquet", frame[:0])
    yield empty, {}, "empty.parquet has no rows"
    csv = folder / "a.csv"
    frame.to_csv(csv, index=False)
    yield csv, {}, "a.csv is a text file, but only Parquet files"
    other = write(folder / "other.parquet", frame.astype({"count": str}))
    message = r"Column 'count' has the type (large_)?string in .*other.parquet, but int64 in"
    yield [good, other], {}, message
    fewer = write(folder / "fewer.parquet", frame.drop(columns="size"))
    yield [good, fewer], {}, "fewer.parquet lacks the column 'size' of"
    nested = write(folder / "nested.parquet", frame.assign(tags=[[1, 2]] * 20))
    yield nested, {}, "Column 'tags' holds lists, which cannot be features"
    (folder / "text.parquet").write_bytes(b"PAR1 is not enough PAR1")
    yield folder / "text.parquet", {}, "not a valid Parquet file"


def test_errors_say_what_to_change(tmp_path):
    for source, arguments, message in wrong_files(tmp_path):
        with pytest.raises(ValueError, match=message):
            ParquetBlocks(source, **arguments)


def test_texts_in_a_target_of_numbers_raise(tmp_path, monkeypatch):
    monkeypatch.setattr("dimetric.data._parquet.blocks.LEARNING_ROWS", 20)
    texts = [str(i / 8) for i in range(3000)]
    texts[1234] = "many"
    frame = pd.DataFrame({"x": np.arange(3000.0) % 17, "y": texts})
    blocks = ParquetBlocks(write(tmp_path / "t.parquet", frame, 100), "y")
    with pytest.raises(ValueError, match="holds texts that are not numbers"):
        list(blocks())
