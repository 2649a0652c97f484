"""Exported Python modules compute the same as the models, with only NumPy."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from estimators import fit, samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import KPCA, LDA, PCA, Isomap, KNNClassifier, NCMCClassifier
from dimetric.export import to_numpy
from dimetric.kernels import Kernel

MAPS = [
    PCA(2),
    make_pipeline(StandardScaler(), LDA()),
    make_pipeline(StandardScaler(), KPCA(2), StandardScaler()),
    *(KPCA(2, kernel=kernel) for kernel in ("linear", "cosine")),
    *(KPCA(2, kernel=Kernel(kernel, gamma=0.1)) for kernel in ("poly", "rbf")),
    *(KPCA(2, kernel=Kernel(kernel, gamma=0.1)) for kernel in ("laplacian", "sigmoid")),
]
VOTES = [
    KNNClassifier(),
    KNNClassifier(7, learner=LDA(), weights="distance"),
    make_pipeline(StandardScaler(), KNNClassifier(4, learner=KPCA(2))),
    NCMCClassifier(2, learner=LDA(), random_state=0),
]


def exported_module(model):
    module = {}
    exec(compile(to_numpy(model), "model.py", "exec"), module)
    return module


@pytest.mark.filterwarnings("ignore:The kernel is indefinite")
@pytest.mark.parametrize("model", MAPS, ids=str)
def test_maps(model):
    X, y = samples()
    model = fit(model, X, y)
    new = X[::2] * 1.1
    np.testing.assert_allclose(
        exported_module(model)["transform"](new), model.transform(new), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("labels", [[3, 5, 9], ["c", 'ä"\n\\', "日本"]], ids=["numbers", "texts"])
@pytest.mark.parametrize("model", VOTES, ids=str)
def test_classifiers(model, labels):
    X, codes = samples()
    labels = np.array(labels)
    model = fit(model, X, labels[codes])
    module = exported_module(model)
    new = np.concatenate([X[::5], samples(seed=1)[0]])
    predicted = module["predict"](new)
    assert predicted.dtype == labels.dtype
    np.testing.assert_array_equal(predicted, model.predict(new))
    if isinstance(model, KNNClassifier):
        np.testing.assert_allclose(module["predict_proba"](new), model.predict_proba(new))
        wanted = model.kneighbors(new, 10)
        found = module["neighbors"](new, 10)
        np.testing.assert_allclose(found[0], wanted[0], atol=1e-12)
        np.testing.assert_array_equal(found[1], wanted[1])


@pytest.mark.parametrize("on_grid", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_sample_weights(weights, on_grid):
    X, y = samples(200)
    X, new = (np.round(each) if on_grid else each for each in (X, samples(40, seed=1)[0]))
    sample_weight = np.arange(len(X)) % 5 * 0.5
    model = KNNClassifier(6, weights=weights).fit(X, y, sample_weight=sample_weight)
    module = exported_module(model)
    np.testing.assert_allclose(module["predict_proba"](new), model.predict_proba(new))
    np.testing.assert_array_equal(module["predict"](new), model.predict(new))


def test_equally_near_points_are_sorted_by_row_index():
    rng = np.random.default_rng(0)
    # Integer features make many distances equal.
    X, y = rng.integers(0, 4, size=(200, 3)).astype(float), rng.integers(0, 5, 200)
    new = rng.integers(0, 4, size=(200, 3)).astype(float)
    model = KNNClassifier(10).fit(X, y)
    np.testing.assert_array_equal(
        exported_module(model)["neighbors"](new)[1], model.kneighbors(new)[1]
    )


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("learner", [None, PCA(2), LDA()], ids=str)
def test_tied_points_share_votes(learner, weights):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 3, size=(200, 3)).astype(float), rng.integers(0, 5, 200)
    new = np.append(rng.integers(0, 3, size=(100, 3)), rng.random((20, 3)), axis=0).astype(float)
    for k in (1, 4):
        for dtype in (np.float64, np.float32):
            model = KNNClassifier(k, learner=learner, weights=weights).fit(X.astype(dtype), y)
            module = exported_module(model)
            wanted = model.predict_proba(new.astype(dtype))
            found = module["predict_proba"](new.astype(dtype))
            np.testing.assert_allclose(found, wanted, atol=1e-9 if dtype is np.float64 else 1e-4)
            np.testing.assert_array_equal(module["predict"](new), model.predict(new.astype(dtype)))


@pytest.mark.slow
def test_file_needs_only_numpy(tmp_path):
    X, y = samples()
    model = KNNClassifier(learner=LDA()).fit(X, y)
    to_numpy(model, tmp_path / "learned.py")
    script = (
        "import sys, numpy as np, learned\n"
        "X = np.loadtxt(sys.stdin)\n"
        "print(*learned.predict(X))\n"
        "assert not {'dimetric', 'sklearn', 'scipy'} & set(sys.modules)"
    )
    text = "\n".join(" ".join(map(repr, row)) for row in X.tolist())
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, input=text,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout.split() == [str(each) for each in model.predict(X)]


def test_names_and_classes_that_contain_code_are_escaped():
    X, y = samples()
    names = ['"""', "'); raise SystemExit #", "\\", "x\ny{0}"]
    module = exported_module(LDA().fit(pd.DataFrame(X, columns=names), y))
    assert module["FEATURES"] == names
    labels = np.array(['"]); raise SystemExit #', "'''", "{}"])
    assert exported_module(KNNClassifier().fit(X, labels[y]))["predict"](X[:1]) == labels[y[:1]]


def test_errors():
    X, y = samples()
    neighbors = exported_module(KNNClassifier().fit(X, y))["neighbors"]
    assert neighbors(X[:2], len(X))[1].shape == (2, len(X))
    for k in (0, len(X) + 1):
        with pytest.raises(ValueError, match=f"k={k} must be between 1 and {len(X)}"):
            neighbors(X[:2], k)
    with pytest.raises(ValueError, match=r"X has shape \(2, 3\), but must have 4 columns"):
        exported_module(LDA().fit(X, y))["transform"](X[:2, :3])
    with pytest.raises(ValueError, match="Isomap cannot be exported"):
        to_numpy(Isomap().fit(X))
