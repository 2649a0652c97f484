"""ONNX graphs compute the same as the models, in onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from estimators import fit, samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from dimetric import (
    KDA,
    KPCA,
    LDA,
    LMNN,
    NCA,
    PCA,
    EnergyClassifier,
    Isomap,
    Kernelized,
    KNNClassifier,
    MultiMetricKNNClassifier,
    NCMCClassifier,
    NCMClassifier,
)
from dimetric.export import to_onnx
from dimetric.kernels import Kernel

MAPS = [
    PCA(2),
    NCA(),
    *(KPCA(2, kernel=kernel) for kernel in ("linear", "cosine")),
    *(KPCA(2, kernel=Kernel(kernel, gamma=0.1)) for kernel in ("poly", "rbf")),
    *(KPCA(2, kernel=Kernel(kernel, gamma=0.1)) for kernel in ("laplacian", "sigmoid")),
    KPCA(3, kernel=Kernel(n_landmarks=10, random_state=0)),
    KDA(),
    Kernelized(LMNN(), kernel=Kernel(n_components=5)),
    make_pipeline(StandardScaler(), LDA()),
    make_pipeline(StandardScaler(with_std=False), MinMaxScaler((-1, 2)), PCA(3), LDA()),
    make_pipeline(RobustScaler(), MaxAbsScaler(), PCA(2, whiten=True)),
    make_pipeline(StandardScaler(), KPCA(2), StandardScaler()),
    make_pipeline(StandardScaler(), "passthrough", make_pipeline(MinMaxScaler(), PCA())),
]
VOTES = [
    KNNClassifier(),
    KNNClassifier(5, learner=NCA(2, reg=0.01)),
    KNNClassifier(7, learner=LDA(), weights="distance"),
    KNNClassifier(1, learner=KPCA(2)),
    KNNClassifier(60),
    make_pipeline(StandardScaler(), KNNClassifier(4, learner=make_pipeline(MinMaxScaler(), LDA()))),
    NCMClassifier(LDA()),
    NCMCClassifier(2, random_state=0),
]
TOLERANCE = {"float32": 1e-5, "float64": 1e-9}


def run(graph, X):
    """Return the outputs by name."""
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


@pytest.mark.filterwarnings("ignore:The kernel is indefinite")
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("model", MAPS, ids=str)
def test_maps(model, dtype):
    X, y = samples()
    model = fit(model, X, y)
    graph = to_onnx(model, dtype=dtype)
    for new in (X[:1] + 0.5, X[::2] * 1.1):  # any number of samples
        new = new.astype(dtype)
        Z = run(graph, new)["Z"]
        assert Z.dtype == dtype
        wanted = model.transform(new)
        assert np.abs(Z - wanted).max() <= TOLERANCE[dtype] * max(1, np.abs(wanted).max())


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("labels", [[3, 5, 9], ["c", "ä", "日本"], [1.0, 2.0, 4.0]], ids=str)
@pytest.mark.parametrize("model", VOTES, ids=str)
def test_classifiers(model, labels, dtype):
    X, codes = samples()
    X = X.astype(dtype)
    labels = np.array(labels)
    model = fit(model, X, labels[codes])
    new = np.concatenate([X[::5], samples(seed=1)[0].astype(dtype)])  # copies are at distance 0
    found = run(to_onnx(model, dtype=dtype), new)
    np.testing.assert_array_equal(found["label"].astype(labels.dtype), model.predict(new))
    if "probabilities" in found:
        np.testing.assert_allclose(
            found["probabilities"], model.predict_proba(new), atol=10 * TOLERANCE[dtype]
        )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("on_grid", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_sample_weights(weights, on_grid, dtype):
    X, y = samples(200)
    X = (np.round(X) if on_grid else X).astype(dtype)
    sample_weight = np.arange(len(X)) % 5 * 0.5
    model = KNNClassifier(6, weights=weights).fit(X, y, sample_weight=sample_weight)
    new = samples(40, seed=1)[0].astype(dtype)
    new = np.round(new).astype(dtype) if on_grid else new
    found = run(to_onnx(model, dtype=dtype), new)
    np.testing.assert_array_equal(found["label"], model.predict(new))
    np.testing.assert_allclose(
        found["probabilities"], model.predict_proba(new), atol=10 * TOLERANCE[dtype]
    )


def test_equally_near_points_share_votes():
    X = np.array([[1.0], [-1.0], [1.0], [-1.0], [5.0]])
    model = KNNClassifier(1).fit(X, ["b", "d", "c", "d", "e"])
    new = np.array([[0.0], [1.0], [-1.0]])
    assert run(to_onnx(model, dtype="float64"), new)["label"].tolist() == ["d", "b", "d"]
    assert model.predict(new).tolist() == ["d", "b", "d"]


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("learner", [None, PCA(4)], ids=str)
def test_more_ties_than_candidates(k, weights, learner):
    """Integer features make more distances equal than there are candidates."""
    rng = np.random.default_rng(k)
    X, y = rng.integers(0, 4, size=(200, 5)).astype(float), rng.integers(0, 5, 200)
    X = np.append(X, np.ones((50, 5)), axis=0)
    y = np.append(y, rng.integers(0, 5, 50))
    new = np.append(rng.integers(0, 4, size=(200, 5)), np.ones((1, 5)), axis=0).astype(float)
    model = KNNClassifier(k, weights=weights, learner=learner).fit(X, y)
    for dtype in TOLERANCE:
        found = run(to_onnx(model, dtype=dtype), new.astype(dtype))
        np.testing.assert_array_equal(found["label"], model.predict(new))
        if "probabilities" in found:
            wanted = model.predict_proba(new)
            np.testing.assert_allclose(found["probabilities"], wanted, atol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("far", [1e4, 1e8])
def test_outlier(far):
    """A distant point does not reduce the precision for the others."""
    X, y = samples()
    X[-1] = far
    model = KNNClassifier(3).fit(X, y)
    new = np.concatenate([samples(seed=1)[0], X[:1], X[-1:]])
    found = run(to_onnx(model, dtype="float64"), new)
    np.testing.assert_array_equal(found["label"], model.predict(new))


def test_copies_of_a_query():
    """All points equal their mean, so all squared lengths are 0."""
    X, y = np.zeros((30, 3)), np.arange(30) % 2
    model = KNNClassifier(3).fit(X, y)
    assert run(to_onnx(model, dtype="float64"), X[:2])["label"].tolist() == [0, 0]


def test_far_from_the_origin():
    X, y = samples()
    X = X + 1e6
    model = KNNClassifier(5, learner=PCA(2)).fit(X, y)
    found = run(to_onnx(model, dtype="float64"), X[::3] + 0.25)
    np.testing.assert_array_equal(found["label"], model.predict(X[::3] + 0.25))


def test_several_outputs_raise():
    X, y = samples()
    with pytest.raises(ValueError, match="cannot be exported, because y has several outputs"):
        to_onnx(KNNClassifier().fit(X, np.stack([y, y], axis=1)))


def test_file(tmp_path):
    X, y = samples()
    graph = to_onnx(LDA().fit(X, y), tmp_path / "lda.onnx")
    assert onnx.load(tmp_path / "lda.onnx") == graph


def cubic(X, Y):
    return (X @ Y.T) ** 3


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (Isomap(), "Isomap cannot be exported"),
        (EnergyClassifier(), "EnergyClassifier cannot be exported"),
        (make_pipeline(MinMaxScaler(clip=True), PCA()), "MinMaxScaler cannot be exported"),
        (MultiMetricKNNClassifier(max_iter=2), "because it has a metric for each class"),
        (
            KNNClassifier(weights=np.exp),
            "KNNClassifier cannot be exported, because its weights are a function",
        ),
        (
            KNNClassifier(metric="l1"),
            "KNNClassifier cannot be exported, because metric='l1' is not",
        ),
        (KPCA(2, kernel=cubic), "A kernel that is a Python function cannot be exported"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_unsupported_models_raise(model, error):
    X, y = samples()
    with pytest.raises(ValueError, match=error):
        to_onnx(model.fit(X, y))


def test_wrong_arguments():
    X, y = samples()
    with pytest.raises(ValueError, match="dtype must be 'float32' or 'float64', not 'float16'"):
        to_onnx(LDA().fit(X, y), dtype="float16")
    with pytest.raises(ValueError, match="not fitted"):
        to_onnx(LDA())
