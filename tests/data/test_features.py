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
