"""Model files: models are restored exactly, and invalid files are rejected."""

import json
import os
import struct
import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from estimators import LEARNERS, MODELS, ONE_OF_EACH, each, fit, has_partial_fit, samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_files import header_and_tensors, rewrite
from safetensors.numpy import save_file
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

import dimetric
from dimetric import (
    KDA,
    KPCA,
    LDA,
    MDS,
    NCA,
    NCMML,
    PCA,
    EnergyClassifier,
    Isomap,
    KNNClassifier,
    KNNRegressor,
    MetricEnsembleClassifier,
    MultiMetricKNNClassifier,
    NCMCClassifier,
    NCMClassifier,
    describe,
    load,
    save,
    solvers,
)
from dimetric.data._encoder import TableEncoder
from dimetric.export import _model_file
from dimetric.export._container import METADATA_KEY
from dimetric.export._map_chain import map_chain
from dimetric.kernels import Kernel
from dimetric.solvers import SGD, GradientDescent

CLASSIFIERS = [
    KNNClassifier(),
    KNNClassifier(5, learner=NCA(2), weights="distance"),
    KNNClassifier(learner=KPCA(2)),
    KNNClassifier(learner=make_pipeline(StandardScaler(), LDA())),
    KNNClassifier(learner=LDA(), weights="softmax"),
    KNNRegressor(learner=PCA(2)),
    NCMClassifier(NCMML()),
    NCMCClassifier(2, random_state=0),
    NCMCClassifier([1, 2, 3], learner=LDA(), random_state=0),
    EnergyClassifier(),
    MetricEnsembleClassifier([NCA(max_iter=2), LDA()], n_estimators=3, random_state=0),
    MultiMetricKNNClassifier(max_iter=5),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.dimetric"


def fit_quietly(learner, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(learner, X, y)


def results(model, X):
    """Return the results of all methods of a model that take samples."""
    names = ("transform", "predict", "predict_proba", "energy", "kneighbors")
    return [getattr(model, name)(X) for name in names if hasattr(model, name)]


def assert_same(model, again, X):
    assert type(again) is type(model)
    pairs = list(zip(results(model, X), results(again, X), strict=True))
    assert pairs
    for ours, theirs in pairs:
        several = isinstance(ours, tuple)
        for a, b in zip(ours, theirs, strict=True) if several else [(ours, theirs)]:
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@each(learners=LEARNERS + CLASSIFIERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_round_trip(learner, dtype, path):
    X, y = samples()
    model = fit_quietly(learner, X.astype(dtype), y)
    save(model, path)
    again = load(path)
    new = (X[::3] + 0.25).astype(dtype)
    assert_same(model, again, new)
    assert str(again) == str(model)
    assert set(vars(again)) == set(vars(model))
    if hasattr(model, "metadata"):
        assert again.metadata() == model.metadata()
    if hasattr(model, "inverse_transform"):
        Z = model.transform(new)
        np.testing.assert_array_equal(again.inverse_transform(Z), model.inverse_transform(Z))
    assert not clone(again).__dict__.keys() - model.get_params().keys()


def test_several_outputs(path):
    X, y = samples()
    outputs = np.stack([y, y > 0], axis=1)
    model = KNNClassifier(metric="minkowski", metric_params={"p": 3}).fit(X, outputs)
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    assert describe(path)["classes"] == [[0, 1, 2], [0, 1]]
    for codes, classes, error in (
        (model._codes + 1, model.classes_, "Class codes must be between 0 and 2"),
        (model._codes, model.classes_[0], "classes_ must be a list"),
    ):
        damaged = clone(model).fit(X, outputs)
        damaged._codes, damaged.classes_ = codes, classes
        save(damaged, path)
        with pytest.raises(ValueError, match=error):
            load(path).predict(X)


@pytest.mark.filterwarnings("ignore:.* did not converge:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weighted_models(model, path):
    X, y = samples()
    weights = np.arange(len(X)) % 4 * 0.5
    model = clone(model).fit(X, y, sample_weight=weights)
    if is_classifier(model) and not isinstance(model, NCMCClassifier):
        model = clone(model).set_params(class_weight={0: 2.0}).fit(X, y, sample_weight=weights)
    save(model, path)
    again = load(path)
    assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    if hasattr(model, "kneighbors"):
        np.testing.assert_array_equal(again.predict(), model.predict())
        np.testing.assert_array_equal(again.kneighbors()[1], model.kneighbors()[1])


def test_weights_in_a_file_must_be_positive(path):
    X, y = samples()
    model = KNNClassifier().fit(X, y, sample_weight=np.arange(1, len(X) + 1))
    model._vote_weights[3] = 0
    save(model, path)
    with pytest.raises(ValueError, match="the sample weights of KNNClassifier must be positive"):
        load(path)


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MaxAbsScaler(),
    RobustScaler(),
    Normalizer(),
    SimpleImputer(strategy="median"),
    "passthrough",
]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_pipelines(scaler, path):
    X, y = samples()
    X[3, 1] = np.nan if isinstance(scaler, SimpleImputer) else X[3, 1]
    model = Pipeline([("scale", scaler), ("model", KNNClassifier(learner=LDA()))]).fit(X, y)
    save(model, path)
    assert_same(model, load(path), samples(seed=1)[0])


@pytest.mark.parametrize("n_steps", [1, 2])
def test_pipeline_with_non_ascii_names_and_classes(n_steps, path):
    X, y = samples()
    frame = pd.DataFrame(X, columns=["länge", 'a "quoted" one', "$class", ""])
    labels = np.array(["rot", "grün", "日本"])[y]
    model = make_pipeline(*[StandardScaler()] * (n_steps - 1), KNNClassifier(learner=NCA()))
    model.fit(frame, labels)
    save(model, path, about={"source": "nowhere"})
    again = load(path)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.predict(frame).dtype.kind == model.predict(frame).dtype.kind
    assert list(again.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(frame.rename(columns={"länge": "breite"}))
    summary = describe(path)
    assert summary["features"] == list(frame.columns)
    assert sorted(summary["classes"]) == sorted(set(labels))
    assert summary["about"] == {"source": "nowhere"}


def test_features_of_a_pipeline_that_begins_with_passthrough(path):
    X, y = samples()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = Pipeline([("scale", "passthrough"), ("model", LDA())]).fit(frame, y)
    save(model, path)
    assert describe(path)["features"] == list("abcd")
    assert describe(path)["n_features"] == 4
    assert map_chain(model).features == tuple("abcd")
    with pytest.raises(ValueError, match="The pipeline has no step that maps samples"):
        map_chain(Pipeline([("scale", "passthrough")]).fit(X))


def test_model_with_a_table_encoder(path):
    X, y = samples()
    table = pd.DataFrame(X, columns=list("abcd"))
    table["colour"] = pd.array(np.array(["red", "green", "blue"])[y[::-1]], dtype="str")
    table["big"] = np.where(X[:, 0] > 1, "yes", "no")
    steps = [("columns", TableEncoder(missing="impute")), ("scale", MinMaxScaler())]
    model = Pipeline([*steps, ("model", KNNClassifier(learner=LDA(reg=0.01)))]).fit(table, y)
    save(model, path)
    new = table.iloc[::-1].copy()
    new.iloc[0, 4] = None
    assert_same(model, load(path), new)
    assert describe(path)["features"] == list(table)
    header, tensors = header_and_tensors(path)
    state = header["model"]["parameters"]["steps"][0]["$tuple"][1]["state"]
    for wrong in ([None], [None] * 6, [None] * 4 + [["red", 1], ["no", "yes"]]):
        state["categories_"] = wrong
        rewrite(path, header, tensors)
        with pytest.raises(ValueError, match="TableEncoder must have a list of categories"):
            load(path)


@each(has_partial_fit, learners=ONE_OF_EACH)
def test_partial_fit_continues_after_loading(learner, path):
    X, y = samples()
    model = clone(learner).partial_fit(X[:30], y[:30])
    save(model, path)
    again = load(path)
    assert_same(model.partial_fit(X[30:], y[30:]), again.partial_fit(X[30:], y[30:]), X)


def test_set_output_is_kept(path):
    X, y = samples()
    model = LDA().set_output(transform="pandas").fit(X, y)
    save(model, path)
    assert isinstance(load(path).transform(X), pd.DataFrame)


def test_parameters_of_all_kinds(path):
    """Arrays, NumPy scalars, and dicts with any keys."""
    X, _ = samples()
    params = {
        "a.b": np.arange(3), "a": {"b": np.arange(4.0)}, 1: (None, True), "$class": "LDA",
        "number": np.float32(0.1), "infinite": -np.inf, "order": np.asfortranarray(np.eye(3)[:2]),
        "texts": np.array([["ä", "b"]]), "objects": np.array(["a", 1, None], dtype=object),
    }  # fmt: skip
    model = Isomap(metric_params=None).fit(X)
    model.metric_params = params
    save(model, path)
    again = load(path).metric_params
    assert list(again) == list(params)
    np.testing.assert_array_equal(again["a.b"], params["a.b"])
    np.testing.assert_array_equal(again["a"]["b"], params["a"]["b"])
    assert again[1] == (None, True)
    assert again["$class"] == "LDA"
    assert type(again["number"]) is np.float32
    assert again["infinite"] == -np.inf
    assert again["order"].flags.f_contiguous
    assert again["texts"].tolist() == [["ä", "b"]]
    assert again["objects"].tolist() == ["a", 1, None]


def test_sparse_points(path):
    X, y = samples()
    model = KNNClassifier().fit(sparse.csr_array(X), y)
    save(model, path)
    assert_same(model, load(path), sparse.csr_array(X[:7] + 1))
    isomap = fit_quietly(Isomap(metric="precomputed", n_neighbors=None), *graph_of(X))
    save(isomap, path)
    assert_same(isomap, load(path), graph_of(X)[0][:7])


def graph_of(X):
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, 12, mode="distance")
    return graph.maximum(graph.T), None


def test_precomputed_kernel(path):
    X, _ = samples()
    model = KPCA(2, kernel=Kernel("precomputed", n_landmarks=10, random_state=0)).fit(X @ X.T)
    save(model, path)
    assert_same(model, load(path), X[:5] @ X.T)
    mds = MDS(metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0]))
    save(mds, path)
    assert_same(mds, load(path), np.abs(X[:5, :1] - X[:, 0]))


def test_torch_arrays_are_loaded_as_numpy_arrays(path):
    torch = pytest.importorskip("torch")
    X, _ = samples()
    model = fit(KPCA(2), torch.asarray(X, dtype=torch.float32), None)
    save(model, path)
    again = load(path)
    assert type(again.components_) is np.ndarray
    assert again.components_.dtype == np.float32
    new = torch.asarray(X[:5], dtype=torch.float32)
    assert torch.equal(again.transform(new), model.transform(new))


def test_describe(path):
    X, y = samples()
    save(make_pipeline(StandardScaler(), NCA(2, reg=0.5)).fit(X, y), path, about="a test")
    summary = describe(path)
    json.dumps(summary)
    assert [step["class"] for step in summary["steps"]] == ["StandardScaler", "NCA"]
    assert summary["steps"][1]["parameters"]["reg"] == 0.5
    assert summary["tensors"]["steps.1.1.components_"] == {"dtype": "F64", "shape": [2, 4]}
    assert summary["n_features"] == 4
    assert summary["about"] == "a test"
    assert summary["versions"]["numpy"] == np.__version__
    assert summary["bytes"] == path.stat().st_size
    save(KNNClassifier(learner=LDA(), weights="distance").fit(X, y), path)
    summary = describe(path)
    assert summary["class"] == "KNNClassifier"
    assert summary["parameters"]["learner"]["class"] == "LDA"
    assert summary["classes"] == [0, 1, 2]


def test_the_documented_reader_works(path):
    from pathlib import Path

    X, y = samples()
    model = make_pipeline(StandardScaler(), LDA()).fit(X, y)
    save(model, path)
    text = (Path(__file__).parents[2] / "docs/model-file.md").read_text()
    code = text.split("```python")[2].split("```")[0]
    known = {"path": path, "X": X}
    exec(code, known)
    np.testing.assert_allclose(known["Z"], model.transform(X), rtol=1e-12)


# Models that cannot be saved -----------------------------------------------------------------


def kernel(X, Y):
    return X @ Y.T


class Own(LDA):
    """A class that model files do not support."""


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (KPCA(kernel=kernel), r"cannot hold functions, but kernel is <function kernel"),
        (KNNClassifier(weights=np.exp), r"cannot hold functions, but weights is"),
        (Isomap(metric=lambda a, b: abs(a - b).sum()), "cannot hold functions, but metric is"),
        (KPCA(kernel=Kernel(random_state=np.random.RandomState(0))), "Set random_state to an int"),
        (Own(), r"cannot hold .*test_file\.Own"),
        (KNNClassifier(learner=PolynomialFeatures()), r"PolynomialFeatures \(learner\)"),
        (make_pipeline(PolynomialFeatures(), LDA()), r"PolynomialFeatures \(steps\.0\.1\)"),
        (Isomap(regressor=KNeighborsRegressor(1, algorithm="kd_tree")), "algorithm='brute'"),
    ],
)
def test_unsupported_models_raise_on_saving(model, error, path):
    X, y = samples()
    model.fit(X, y)
    with pytest.raises(ValueError, match=error):
        save(model, path)
    assert not os.listdir(path.parent)


def test_wrong_arguments_of_save(path):
    X, y = samples()
    with pytest.raises(NotFittedError):
        save(LDA(), path)
    with pytest.raises(TypeError, match="model must be an estimator, not dict"):
        save({}, path)
    model = LDA().fit(X, y)
    with pytest.raises(ValueError, match="about must be valid JSON"):
        save(model, path, about={1, 2})
    model.transform = None
    with pytest.raises(ValueError, match="'transform' that cannot be saved"):
        save(model, path)
    with pytest.raises(OSError, match=r"directory .* does not exist"):
        save(LDA().fit(X, y), path.parent / "nowhere" / "file")


def test_failed_save_leaves_the_old_file(path):
    X, y = samples()
    save(LDA().fit(X, y), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="cannot hold functions"):
        save(KPCA(kernel=kernel).fit(X), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# Files that cannot be loaded -----------------------------------------------------------------


def test_new_file_has_default_permissions(path):
    path.with_name("plain").write_text("")
    save(PCA().fit(samples()[0]), path)
    assert path.stat().st_mode == path.with_name("plain").stat().st_mode


def test_file_that_is_replaced_while_it_is_read(path, monkeypatch):
    """The header and the tensors of the loaded model belong to the same file."""
    X, _ = samples()
    old, new = (KPCA(2, kernel=Kernel(gamma=gamma)).fit(X + shift) for gamma, shift in
                ((0.1, 0.0), (3.0, 1.0)))  # fmt: skip
    save(old, path)
    read, left = _model_file.read_header, [new]

    def replaced(where):
        found = read(where)
        if left:
            save(left.pop(), path)
        return found

    monkeypatch.setattr(_model_file, "read_header", replaced)
    assert_same(new, load(path), X)
    left += [new, old] * _model_file.MAX_READ_ATTEMPTS
    with pytest.raises(ValueError, match="it changed during 20 attempts to read it"):
        load(path)


def test_deeply_nested_about_raises(path):
    with pytest.raises(ValueError, match="about must be valid JSON: it is nested too deeply"):
        save(PCA().fit(samples()[0]), path, about=nested(200))
    assert not path.exists()


def saved_parts(path, model=None):
    """Save a fitted model, by default LDA, and return the header and the tensors of its file."""
    X, y = samples()
    save((LDA() if model is None else model).fit(X, y), path)
    return header_and_tensors(path)


def change(place, value):
    """Return a function that sets a value in a header, by its path of keys. ``...`` deletes it."""

    def apply(header, tensors):
        *above, last = place.split("/")
        for key in above:
            header = header[key]
        if value is ...:
            del header[last]
        else:
            header[last] = value

    return apply


def change_tensor(name, value):
    """Return a function that replaces a tensor by a value or by a function of the tensor."""

    def apply(header, tensors):
        tensors[name] = value(tensors[name]) if callable(value) else value

    return apply


def nested(depth):
    return json.loads("[" * depth + "]" * depth)


CHANGES = {
    "format": (change("format", 3), "its format version is 3, but .* reads versions up to 2; upg"),
    "no format": (change("format", ...), "its format version is None"),
    "no integer as format": (change("format", True), "its format version is True"),
    "no model": (change("model", ...), "does not describe an estimator"),
    "versions": (change("versions", []), "does not list package versions"),
    "class": (change("model/$class", "os.system"), "cannot hold an estimator 'os.system'"),
    "no estimator": (change("model/$class", "Pairs"), "cannot hold an estimator 'Pairs'"),
    "function": (change("model/$class", "save"), "cannot hold an estimator 'save'"),
    "parameter": (change("model/parameters/evil", 1), "LDA has no parameter 'evil'"),
    "parameter's value": (change("model/parameters/reg", "x"), "'reg' parameter of LDA must be"),
    "method": (change("model/state/transform", 1), "LDA has no fitted attribute 'transform'"),
    "dunder": (change("model/state/__class__", 1), "LDA has no fitted attribute '__class__'"),
    "private": (change("model/state/_fit", 1), "LDA has no fitted attribute '_fit'"),
    "private of another": (change("model/state/_points", 1), "no fitted attribute '_points'"),
    "parameter as state": (change("model/state/reg", 1), "LDA has no fitted attribute 'reg'"),
    "missing state": (change("model/state/offset_", ...), "LDA has no attribute offset_"),
    "no state": (change("model/state", {}), "its tensor '.*' is not used"),
    "state as list": (change("model/state", []), "'state' must be an object"),
    "more keys": (change("model/evil", 1), "unknown object with the keys"),
    "unknown kind": (change("model/state/x_", {"$eval": "1"}), r"an unknown object .* \$eval"),
    "no tensor": (
        change("model/state/components_", {"$tensor": "x", "order": "C"}), "'x' does not exist",
    ),
    "same tensor": (
        change("model/state/components_", {"$tensor": "offset_", "order": "C"}), "used twice",
    ),
    "order": (
        change("model/state/components_", {"$tensor": "components_", "order": "K"}),
        "the order of tensor 'components_' is neither C nor F",
    ),
    "text for an array": (change("model/state/offset_", "0"), "offset_ of LDA has a wrong type"),
    "features": (change("model/state/n_features_in_", 5), "components_ of LDA has a wrong type"),
    "huge": (change("model/state/n_features_in_", 10**30), "n_features_in_ of LDA is too large"),
    "no number": (
        change("model/state/n_features_in_", {"$float": "inf"}), "n_features_in_ of LDA has a",
    ),
    "strange float": (change("model/state/extra_", {"$float": "1"}), "must hold inf, -inf or nan"),
    "metadata": (change("model/state/_metadata", 1), "_metadata of LDA has a wrong type"),
    "names": (
        change("model/state/feature_names_in_",
               {"$array": ["a"], "text": False, "shape": [1]}), "one name for each feature",
    ),
    "array": (
        change("model/state/x_", {"$array": [[1]], "text": False, "shape": [1]}),
        "an array holds values other than strings and numbers",
    ),
    "shape": (change("model/state/x_", {"$array": ["a"], "text": True, "shape": [-1]}), "'shape'"),
    "size": (change("model/state/x_", {"$array": ["a"], "text": True, "shape": [2]}), "reshape"),
    "record": (change("model/state/x_", {"$record": "Popen", "fields": {}}), "a record 'Popen'"),
    "fields": (change("model/state/x_", {"$record": "Moments", "fields": {}}), "must have the"),
    "dtype": (change("model/state/x_", {"$dtype": "M8[s]"}), "is not allowed"),
    "scalar": (change("model/state/x_", {"$scalar": "a", "dtype": "float64"}), "must hold a num"),
    "scalar's dtype": (change("model/state/x_", {"$scalar": 1, "dtype": "x"}), "data type 'x'"),
    "sparse": (change("model/state/x_", {"$sparse": [], "shape": [1, 1]}), "sparse matrix must"),
    "dict": (change("model/state/x_", {"$dict": [[1, 2], [1, 3]]}), "a duplicate key"),
    "pair": (change("model/state/x_", {"$dict": [[1, 2, 3]]}), "too many values"),
    "list": (change("model/state/x_", {"$tuple": 1}), "a list was expected"),
    "deep": (change("model/state/x_", nested(60)), "too deep(ly)?"),
    "deeper": (change("about", nested(200)), "too deep(ly)?"),
    "nan": (
        change_tensor("components_", lambda L: L * np.nan), "components_ of LDA has a wrong type",
    ),
    "infinite": (change_tensor("offset_", lambda o: o + np.inf), "offset_ of LDA has a wrong type"),
    "integers": (
        change_tensor("offset_", lambda o: o.astype(np.int64)), "offset_ of LDA has a wrong type",
    ),
    "other shape": (change_tensor("offset_", lambda o: o[:-1]), "offset_ of LDA has a wrong type"),
    "one more": (change_tensor("more", np.ones(3)), "its tensor 'more' is not used"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_invalid_files_raise_on_loading(name, path):
    header, tensors = saved_parts(path)
    apply, error = CHANGES[name]
    apply(header, tensors)
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match=error) as raised:
        load(path)
    assert str(path) in str(raised.value)
    assert str(raised.value).endswith(".")


POINTS = "model/state/_points"


@pytest.mark.parametrize(
    ("apply", "error"),
    [
        (change_tensor("_codes", lambda codes: codes + 1), "_codes of KNNClassifier"),
        (change_tensor("_codes", lambda codes: codes - 1), "_codes of KNNClassifier"),
        (
            change_tensor("_points", lambda Z: np.ascontiguousarray(Z[:, :1])),
            "points of .* have 1 coordinates, not",
        ),
        (change_tensor("_points", lambda Z: Z[1:]), "_codes of KNNClassifier"),
        (
            change("model/state/n_samples_fit_", 3),
            "number of points of .* differs from n_samples_fit_",
        ),
        (change("model/state/learner_", 3), "learner_ of KNNClassifier has a wrong"),
        (change("model/parameters/n_neighbors", 0), "'n_neighbors' parameter"),
    ],
)
def test_invalid_classifiers_raise_on_loading(apply, error, path):
    header, tensors = saved_parts(path, model=KNNClassifier(learner=LDA()))
    apply(header, tensors)
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match=error):
        load(path)


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        ("model/parameters/memory", "/tmp", "and memory=None"),
        ("model/parameters/steps", [], "named steps that are estimators"),
        ("model/parameters/steps", [{"$tuple": ["a", 1]}], "named steps that are estimators"),
        ("model/parameters/steps", 1, "named steps that are estimators"),
    ],
)
def test_invalid_pipelines_raise_on_loading(place, value, error, path):
    header, tensors = saved_parts(path, model=make_pipeline(StandardScaler(), LDA()))
    change(place, value)(header, tensors)
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match=error):
        load(path)


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        ("model/parameters/steps", [], "a pipeline without steps"),
        ("model/parameters/steps", [{"$tuple": ["a"]}], "a pipeline without steps"),
        ("model/parameters/steps", [{"$tuple": ["a", {}]}], "does not describe an estimator"),
        ("model/parameters", [], "does not describe the parameters"),
        ("model/$class", 1, "does not describe an estimator"),
    ],
)
def test_describe_rejects_invalid_headers(place, value, error, path):
    header, tensors = saved_parts(path, model=make_pipeline(StandardScaler(), LDA()))
    change(place, value)(header, tensors)
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match=f"is not a model file: its header .*{error}"):
        describe(path)


def test_fitted_kernel_must_match_the_parameter(path):
    header, tensors = saved_parts(path, model=KPCA(2))
    change("model/state/_kernel/fields/name", "linear")(header, tensors)
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match="fitted kernel of KPCA differs from its parameter kernel"):
        load(path)


def test_kernel_parameters_are_restored(path):
    X, y = samples()
    model = KDA(kernel=Kernel("poly", degree=2, n_landmarks=10, random_state=0)).fit(X, y)
    save(model, path)
    again = load(path)
    assert_same(model, again, X)
    assert again.kernel.get_params() == model.kernel.get_params()
    assert describe(path)["parameters"]["kernel"]["parameters"]["degree"] == 2


def test_invalid_kernel_parameter_raises_on_loading(path):
    header, tensors = saved_parts(path, model=KPCA(2, kernel=Kernel(gamma=0.1)))
    change("model/parameters/kernel/parameters/gamma", -1.0)(header, tensors)
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match="'gamma' parameter of Kernel must be"):
        load(path)


@pytest.mark.parametrize(
    ("learner", "error"),
    [
        (NCA(2, solver=SGD(batch_size=16, eta0=0.1), max_iter=3, random_state=0), "batch_size"),
        (NCA(2, solver=GradientDescent(learning_rate="constant", eta0=0.1)), "learning_rate"),
        (KDA(kernel=Kernel("poly", degree=2)), "degree"),
    ],
    ids=str,
)
def test_solver_and_kernel_objects(learner, error, path):
    """They are restored with equal parameters, and checked like estimators."""
    X, y = samples()
    model = fit_quietly(KNNClassifier(learner=learner), X, y)
    save(model, path)
    again = load(path)
    assert_same(model, again, X)
    name = "kernel" if isinstance(learner, KDA) else "solver"
    ours = getattr(learner, name)
    for found in (getattr(again.learner, name), getattr(again.learner_, name)):
        assert type(found) is type(ours)
        assert found.get_params() == ours.get_params()
    summary = describe(path)["parameters"]["learner"]["parameters"][name]
    assert summary == {"class": type(ours).__name__, "parameters": ours.get_params()}
    header, tensors = header_and_tensors(path)
    data = header["model"]["parameters"]["learner"]["parameters"][name]
    assert data["state"] == {}
    for change, sentence in (
        ({"parameters": data["parameters"] | {error: "wrong"}}, error),
        ({"parameters": data["parameters"] | {"run": 1}}, "has no parameter 'run'"),
        ({"state": {"minimise": 2}}, "has no fitted attribute 'minimise'"),
        ({"state": {"fit_": 1}}, "has no fitted attribute 'fit_'"),
        ({"$class": "LDA", "parameters": {}}, name),
        ({"$class": "Popen"}, "cannot hold an estimator 'Popen'"),
    ):
        header["model"]["parameters"]["learner"]["parameters"][name] = data | change
        rewrite(path, header, tensors)
        with pytest.raises(ValueError, match=sentence):
            load(path)


@pytest.mark.parametrize("name", ["LBFGS", "SGD", "Kernel"])
def test_solver_or_kernel_alone_is_not_a_model(name, path):
    header, _ = saved_parts(path)
    header["model"] = {"$class": name, "parameters": {}, "state": {}}
    rewrite(path, header, {})
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(path)
    with pytest.raises(TypeError, match=f"must be an estimator, not {name}|{name}"):
        save(getattr(solvers, name, Kernel)(), path)


def test_trusted_types_include_solvers_and_kernels():
    known = set(dimetric.trusted_types())
    assert {"dimetric.kernels.kernel.Kernel", "dimetric.solvers.sgd.SGD"} <= known
    X, y = samples()
    model = NCA(2, solver=SGD(batch_size=16), max_iter=3, random_state=0)
    model = fit_quietly(model, X, y)
    again = skops.io.loads(skops.io.dumps(model), trusted=sorted(known))
    assert_same(model, again, X)
    assert again.solver.batch_size == 16


def test_not_a_model_file(path, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        load(path)
    for data in (b"", b"PK\x03\x04 a zip file", b"\x80\x04\x95 a pickle of some length", b"x" * 99):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="is not a model file: it is not a safetensors file"):
            load(path)
    save_file({"a": np.ones(3)}, path)
    for read in (load, describe):
        with pytest.raises(ValueError, match="that dimetric did not write"):
            read(path)
    with pytest.raises(IsADirectoryError, match="is a directory, not a model file"):
        load(tmp_path)


def write_raw(path, outer, data=b""):
    text = outer.encode() if isinstance(outer, str) else json.dumps(outer).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def test_invalid_headers_raise(path):
    header, _ = saved_parts(path)
    mine = {"__metadata__": {METADATA_KEY: json.dumps(header)}}
    place = {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}
    cases = [
        ("[]", "not a JSON object"),
        ("{{", "not JSON"),
        ("{" * 100_000, "not JSON|too deep(ly)?"),
        ("[" * 100_000 + "]" * 100_000, "too deep(ly)?"),
        ('{"a": 1, "a": 2}', "a duplicate key"),
        ('{"a": NaN}', "contains NaN or infinity"),
        ('{"a": 1e999}', "contains NaN or infinity"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        (mine | {"x": 1}, "'x' has an unsupported dtype or layout"),
        (mine | {"x": place | {"dtype": "BF16"}}, "'x' has an unsupported dtype or layout"),
        (mine | {"x": place | {"shape": [-1]}}, "'x' has an invalid shape or offset"),
        (mine | {"x": place | {"shape": None}}, "'x' has an invalid shape or offset"),
        (mine | {"x": place}, "its tensors take 0 bytes, but its header declares 16"),
        ({"__metadata__": 1}, "dimetric did not write"),
        ({"__metadata__": {METADATA_KEY: 1}}, "dimetric did not write"),
        ({"__metadata__": {METADATA_KEY: '{"format": 1, "format": 1}'}}, "a duplicate key"),
    ]
    for outer, error in cases:
        write_raw(path, outer)
        for read in (load, describe):
            with pytest.raises(ValueError, match=f"is not a model file: .*({error})"):
                read(path)
    write_raw(path, mine | {"x": place | {"shape": [3]}}, bytes(16))
    with pytest.raises(ValueError, match="cannot be loaded"):
        load(path)


def loads(path, data):
    """Return whether bytes can be loaded. Errors must be a ValueError that names the file."""
    path.write_bytes(data)
    try:
        return isinstance(load(path), BaseEstimator)
    except ValueError as error:
        if str(error).startswith(str(path)) and str(error).endswith("."):
            return False
        raise


@pytest.mark.parametrize("learner", [LDA(), KNNClassifier(learner=KPCA(2)), MDS()], ids=str)
def test_truncated(learner, path):
    X, y = samples(n=12)
    save(fit(learner, X, y), path)
    data = path.read_bytes()
    assert loads(path, data)
    assert not any(loads(path, data[:length]) for length in range(0, len(data), 7))
    assert not loads(path, data + b"x")


@pytest.fixture(scope="module")
def saved_models(tmp_path_factory):
    """The bytes of four model files."""
    path = tmp_path_factory.mktemp("saved") / "file"
    X, y = samples(n=12)
    models = [
        LDA(),
        KNNClassifier(learner=NCA()),
        Isomap(),
        make_pipeline(StandardScaler(), KPCA()),
    ]
    saved = []
    for model in models:
        save(fit_quietly(model, X, y), path)
        saved.append(path.read_bytes())
    return saved


@pytest.mark.filterwarnings("ignore:The model was saved with scikit-learn")
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)),
                        min_size=1, max_size=4), number=st.integers(0, 3))  # fmt: skip
def test_flipped_bytes(changes, number, saved_models, tmp_path_factory):
    """Changed bytes give a model or a documented error. Unchanged bytes give a model."""
    data = bytearray(saved_models[number])
    for place, byte in changes:
        data[int(place * len(data))] = byte
    path = tmp_path_factory.getbasetemp() / "flipped"
    assert loads(path, bytes(data)) or data != saved_models[number]


def test_other_version_of_scikit_learn(path):
    header, tensors = saved_parts(path, model=make_pipeline(StandardScaler(), LDA()))
    header["versions"]["scikit-learn"] = "0.1"
    rewrite(path, header, tensors)
    with pytest.warns(
        UserWarning, match=r"saved with scikit-learn 0\.1, but version .* is installed"
    ):
        load(path)
    header, tensors = saved_parts(path)  # the model has no scikit-learn estimator
    header["versions"]["scikit-learn"] = "0.1"
    rewrite(path, header, tensors)
    load(path)


# skops ---------------------------------------------------------------------------------------


@each(learners=ONE_OF_EACH + CLASSIFIERS)
def test_skops(learner):
    X, y = samples()
    model = make_pipeline(MinMaxScaler(), clone(learner))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        data = skops.io.dumps(model)
        again = skops.io.loads(data, trusted=dimetric.trusted_types())
    assert_same(model, again, X[::3])


def test_trusted_types_belong_to_dimetric():
    names = dimetric.trusted_types()
    assert "dimetric.learners.pca.PCA" in names
    assert all(name.startswith("dimetric.") for name in names)
    assert len(set(names)) == len(names)
