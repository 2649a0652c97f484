"""Loading a model file takes at most about ten times its size in memory, whatever it declares."""

import json
import struct
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from estimators import samples
from model_files import header_and_tensors, rewrite
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from dimetric import LDA, NCMC, PCA, KNNClassifier, load, save
from dimetric.export._container import METADATA_KEY

N = 40_000  # bytes of a value that is added to a model file, approximately
FREE_BYTES = 50_000_000


def strings(n_short, length):
    values = ["a" * length] + [""] * n_short
    return {"$array": values, "text": True, "shape": [n_short + 1]}


STATES = {
    "a long string among short ones": {"x_": strings(N // 6, N // 2)},
    "many arrays of strings": {f"x{i}_": strings(900, 900) for i in range(N // 1000)},
    "lists": {"x_": [[]] * (N // 3)},
    "objects": {"x_": [{}] * (N // 3)},
    "objects with a key": {"x_": [{"a": 0}] * (N // 8)},
    "tuples": {"x_": [{"$tuple": []}] * (N // 14)},
    "numbers": {"x_": [0.5] * (N // 4)},
    "keys": {f"x{i}_": 0 for i in range(N // 12)},
    "wide characters": {"x_": "a" * N + "\U0001f600"},
    "structured dtype": {"x_": {"$dtype": "i4," * (N // 3) + "i4"}},
    "structured scalar": {"x_": {"$scalar": 1, "dtype": "i4," * (N // 3) + "i4"}},
    "long integer": {"x_": 10**4000},
    "sparse": {"x_": {"$sparse": [[0], [0], [0, 1]], "shape": [10**12, 10**12]}},
    "empty array": {"x_": {"$array": [], "text": True, "shape": [0, 10**18]}},
    "empty array of text": {"x_": {"$array": [""] * 9, "text": True, "shape": [10**18, 10**18]}},
}


def write(path, outer, header, data):
    outer = outer | {"__metadata__": {METADATA_KEY: json.dumps(header, ensure_ascii=False)}}
    text = json.dumps(outer, ensure_ascii=False, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


@pytest.fixture
def parts(tmp_path):
    """The path of a model file, its outer header, its inner header and its tensors as bytes."""
    path = tmp_path / "some.dimetric"
    save(LDA().fit(*samples(30)), path)
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    outer = json.loads(data[8 : 8 + length])
    return path, outer, header_and_tensors(path)[0], data[8 + length :]


def assert_little_memory(path):
    """Load a file, which may raise a ValueError of one line, and compare the peak of memory."""
    tracemalloc.start()
    try:
        load(path)
    except ValueError as error:
        text = str(error)
        assert text.startswith(str(path))
        assert "\n" not in text
        assert len(text) < 1000
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + FREE_BYTES


@pytest.mark.parametrize("name", STATES)
def test_memory_of_hostile_values(name, parts):
    path, outer, header, data = parts
    header["model"]["state"] |= STATES[name]
    write(path, outer, header, data)
    assert_little_memory(path)


def test_memory_of_hostile_tensors(parts):
    path, outer, header, data = parts
    empty = {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}
    write(path, outer | {f"t{i}": empty for i in range(N // 70)}, header, data)
    assert_little_memory(path)
    for shape in ([0, 10**15], [2**62, 4], [10**30, 0]):
        write(path, outer | {"t": empty | {"shape": shape}}, header, data)
        with pytest.raises(ValueError, match="tensor 't' has an invalid shape or offset"):
            load(path)


@pytest.mark.parametrize(
    "model",
    [
        Normalizer(),
        StandardScaler(with_mean=False, with_std=False),
        NCMC(),
        KNNClassifier(learner=LDA()),
    ],
)
def test_numbers_that_no_array_can_have(model, tmp_path):
    path = tmp_path / "some.dimetric"
    save(model.fit(*samples(30)), path)
    header, tensors = header_and_tensors(path)
    for value in (10**300, 2**63, -(10**300), -1):
        state = header["model"]["state"]
        for name in ("n_features_in_", "n_iter_") if value > 0 else ("n_features_in_",):
            header["model"]["state"] = state | {name: value}
            rewrite(path, header, tensors)
            with pytest.raises(ValueError, match=rf"loaded: {name} of .* (too large|wrong type)"):
                load(path)
        header["model"]["state"] = state


def test_the_features_of_a_classifier_and_its_learner_agree(tmp_path):
    path = tmp_path / "some.dimetric"
    save(KNNClassifier(learner=LDA()).fit(*samples(30)), path)
    header, tensors = header_and_tensors(path)
    header["model"]["state"]["n_features_in_"] = 10**9
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match="its learner must have the same number of features"):
        load(path)


@pytest.mark.slow
def test_a_very_long_class_name_is_not_saved(tmp_path):
    """What is saved can be loaded, so the limit on arrays of strings applies to both."""
    X, _ = samples(120)
    path = tmp_path / "some.dimetric"
    y = np.array([f"class {i}" for i in range(59)] + ["a" * 20_000])[np.arange(120) % 60]
    save(KNNClassifier().fit(X, y), path)
    assert load(path).classes_[0] == "a" * 20_000
    y = np.array([f"class {i}" for i in range(59)] + ["a" * 90_000])[np.arange(120) % 60]
    with pytest.raises(ValueError, match="one string is much longer than the others"):
        save(KNNClassifier().fit(X, y), path)


def test_punctuation_in_names_is_not_counted(tmp_path):
    """Commas, colons and brackets in names are not values of the header."""
    names = [f'a[{i}],b:{{{i}}}\\"[[' for i in range(8000)]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 8000)), columns=names)
    save(make_pipeline(StandardScaler(), PCA(1)).fit(frame), tmp_path / "wide.dimetric")
    assert list(load(tmp_path / "wide.dimetric").feature_names_in_) == names


def test_models_with_too_many_values_are_not_saved(tmp_path):
    model = PCA(1).fit(samples(30)[0])
    with pytest.raises(ValueError, match=r"about must be valid JSON: its header .*too many values"):
        save(model, tmp_path / "a", about=[[]] * 100_000)
    model._metadata["list"] = [[]] * 100_000
    with pytest.raises(ValueError, match=r"The model cannot be saved: .* too many values\."):
        save(model, tmp_path / "a")
