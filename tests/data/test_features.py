"""Reading a file in chunks, as the features that a fitted model expects."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler

from dimetric import PCA, KNNClassifier
from dimetric.advice._model import table_pipeline
from dimetric.data._features import FeatureReader, model_parts
from dimetric.data._files import TableFile


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((30, 2)), columns=["a", "b"])
    table["colour"] = np.array(["red", "green", "blue"])[np.arange(30) % 3]
    table.loc[[4, 20], "b"] = np.nan
    return table.assign(id=np.arange(30) + 100)


@pytest.fixture
def file(frame, tmp_path, monkeypatch):
    monkeypatch.setattr("dimetric.data._files.CELLS_PER_CHUNK", 40)  # ten rows at a time
    frame.to_csv(tmp_path / "table.csv", index=False)
    return TableFile.open(tmp_path / "table.csv")


@pytest.fixture
def model(frame):
    complete = frame.dropna()
    return table_pipeline(PCA(2), n_neighbors=None).fit(complete[["a", "b", "colour"]])


def test_blocks(model, file, frame):
    reader = FeatureReader(model, file, ["id"])
    blocks = list(reader)
    assert len(blocks) == 3
    assert np.concatenate([block.rows for block in blocks]).tolist() == list(range(30))
    complete = np.concatenate([block.complete for block in blocks])
    np.testing.assert_array_equal(complete, frame["b"].notna())
    kept = np.concatenate([block.kept["id"] for block in blocks])
    assert kept.astype(int).tolist() == frame["id"].tolist()
    expected = model[:-1].transform(frame.dropna())
    np.testing.assert_allclose(np.concatenate([block.features for block in blocks]), expected)
    assert (reader.n_rows, reader.n_incomplete) == (30, 2)
    assert reader.notes() == ["Results are empty for 2 of 30 rows because of missing values."]


def test_complete_rows(model, file, frame):
    found = FeatureReader(model, file, ["id"]).complete_rows()
    np.testing.assert_allclose(found.features, model[:-1].transform(frame.dropna()))
    assert found.rows.tolist() == frame.dropna().index.tolist()
    assert found.kept["id"].astype(int).tolist() == frame.dropna()["id"].tolist()
    assert found.notes == ["Dropped 2 of 30 rows because of missing values."]
    halved = FeatureReader(model, file).complete_rows(lambda X: X / 2)
    np.testing.assert_allclose(2 * halved.features, found.features)


def test_errors(model, file):
    with pytest.raises(ValueError, match=r"keep: there is no column 'idd'. Did you mean id"):
        list(FeatureReader(model, file, ["idd"]))
    with pytest.raises(ValueError, match="--id: there is no column 'idd'"):
        list(FeatureReader(model, file, ["idd"], option="--id"))
    with pytest.raises(ValueError, match="KNNClassifier has no n_features_in_"):
        model_parts(KNNClassifier())


def test_model_parts(model):
    parts = model_parts(model)
    assert parts.encoder is model[0]
    assert isinstance(parts.scalers[0], MinMaxScaler)
    assert isinstance(parts.last, PCA)
    X = np.arange(12.0).reshape(6, 2)
    alone = model_parts(PCA(1).fit(pd.DataFrame(X, columns=["u", "v"])))
    assert alone.scalers == []
    assert alone.encoder.column_names() == ["u", "v"]


@pytest.mark.parametrize("rows_per_chunk", [4, 30])
@pytest.mark.parametrize("decimal", [".", ","])
def test_values_that_are_not_numbers_become_missing(
    rows_per_chunk, decimal, frame, tmp_path, monkeypatch
):
    table = frame.fillna(0.5)
    model = table_pipeline(PCA(2), n_neighbors=None).fit(table[["a", "b", "colour"]])
    separator = ";" if decimal == "," else ","
    text = table.to_csv(index=False, sep=separator, decimal=decimal).splitlines()
    for row, value in {3: "old", 17: "25%", 18: "5 kg"}.items():
        text[row + 1] = separator.join([value, *text[row + 1].split(separator)[1:]])
    (tmp_path / "new.csv").write_text("\n".join(text) + "\n")
    monkeypatch.setattr("dimetric.data._files.CELLS_PER_CHUNK", 4 * rows_per_chunk)
    reader = FeatureReader(model, TableFile.open(tmp_path / "new.csv"))
    found = reader.complete_rows()
    assert sorted(set(range(30)) - set(found.rows)) == [3, 17, 18]
    np.testing.assert_allclose(found.features, model[:-1].transform(table.drop([3, 17, 18])))
    assert (
        "Values in column 'a' that cannot be read as numbers were treated as missing (number of "
        "values: 3)."
    ) in reader.notes()


@pytest.mark.parametrize("rows_per_chunk", [4, 30])
def test_a_numeric_column_of_texts_raises(rows_per_chunk, model, frame, tmp_path, monkeypatch):
    table = frame.astype({"a": object}).assign(b=1.0)
    table.loc[14:, "a"] = "old"
    table.to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr("dimetric.data._files.CELLS_PER_CHUNK", 4 * rows_per_chunk)
    reader = FeatureReader(model, TableFile.open(tmp_path / "new.csv"))
    expected = "16 of 30 values cannot be read as numbers, such as 'old' in data row 15"
    with pytest.raises(ValueError, match=expected):
        list(reader)


@pytest.mark.filterwarnings("error")
def test_chunks_with_texts_among_numbers_do_not_warn(tmp_path):
    rows = [f"{i},{'x' if i % 9000 == 8999 else i}" for i in range(300_000)]
    (tmp_path / "long.csv").write_text("a,flag\n" + "\n".join(rows) + "\n")
    chunks = list(TableFile.open(tmp_path / "long.csv").chunks())
    assert sum(map(len, chunks)) == 300_000
    assert sum((chunk["flag"].astype(str) == "x").sum() for chunk in chunks) == 33
