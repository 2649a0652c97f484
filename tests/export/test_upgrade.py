"""Loading model files of format 1, such as those in the directory ``data`` (dimetric 0.1)."""

from pathlib import Path

import numpy as np
import pytest
from model_files import header_and_tensors, rewrite
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import PCA, describe, load, save
from dimetric.export._upgrade import upgrade

DATA = Path(__file__).parent / "data"
FILES = ["kernel.dimetric", "solver.dimetric"]


def recorded_samples(about):
    """Return the samples for which the file records the results of its model."""
    samples = about["given"]
    if isinstance(samples, dict):
        return {name: np.array(values) for name, values in samples.items()}
    return np.array(samples)


@pytest.mark.parametrize("name", FILES)
def test_old_files_give_the_recorded_results(name, tmp_path):
    about = describe(DATA / name)["about"]
    model = load(DATA / name)
    for path in (DATA / name, tmp_path / "again.dimetric"):
        save(model, tmp_path / "again.dimetric")
        model = load(path)
        for method in about.keys() - {"given"}:
            found = getattr(model, method)(recorded_samples(about))
            if found.dtype.kind == "f":
                np.testing.assert_allclose(found, about[method], rtol=1e-12, atol=1e-12)
            else:
                assert found.tolist() == about[method]
    assert describe(tmp_path / "again.dimetric")["format"] == 2


def test_parameters_move_to_the_kernel_and_the_solver():
    learner = load(DATA / "kernel.dimetric")
    expected = {"name": "poly", "gamma": 0.1, "degree": 2, "n_components": 4, "n_landmarks": 6}
    expected |= {"landmarks": "greedy", "random_state": 3, "coef0": 1.0, "params": None}
    assert learner.kernel.get_params() == expected
    assert learner.random_state == 3
    solver = load(DATA / "solver.dimetric")[-1].learner_.solver
    assert str(solver) == "SGD(batch_size=8, eta0=0.05, increase=1.05)"


def spec(class_name, state=None, /, **parameters):
    """Return the JSON of an estimator, solver or kernel."""
    return {"$class": class_name, "parameters": parameters, "state": state or {}}


KERNEL = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1.0, "kernel_params": None}
KERNEL |= {"n_landmarks": None, "landmarks": "uniform", "random_state": None}
RATES = {"learning_rate": "adaptive", "eta0": None, "learn_inc": 1.01, "learn_dec": 0.5}


@pytest.mark.parametrize(
    ("data", "new"),
    [
        (spec("LDA", n_components=1), {"n_components": 1}),
        (spec("KPCA", n_components=2, **KERNEL), {"n_components": 2, "kernel": "rbf"}),
        (spec("KDA", **KERNEL, n_components_kernel=100), {"kernel": "rbf"}),
        (spec("KDA", **KERNEL, n_components_kernel=30),
         {"kernel": spec("Kernel", name="rbf", n_components=30)}),
        (spec("KLMNN", **KERNEL, n_components_kernel=30), {"kernel": "rbf", "random_state": None}),
        (spec("KDA", **(KERNEL | {"gamma": 0.5, "random_state": 1})),
         {"kernel": spec("Kernel", name="rbf", gamma=0.5, random_state=1)}),
        (spec("NCA", solver="sgd", batch_size=512, **RATES), {"solver": "sgd"}),
        (spec("NCA", solver="lbfgs", batch_size=7, **RATES), {"solver": "lbfgs"}),
        (spec("MCML", solver="sdp", batch_size=7, **RATES), {"solver": "sdp"}),
        (spec("NCA", solver="sgd", batch_size=7, **RATES), {"solver": spec("SGD", batch_size=7)}),
        (spec("LMNN", solver="bgd", batch_size=7, **(RATES | {"learn_inc": 1.2})),
         {"solver": spec("GradientDescent", increase=1.2)}),
        (spec("DMLEig", solver="frank_wolfe", schedule="smoothed"), {"solver": "frank_wolfe"}),
        (spec("DMLEig", solver="frank_wolfe", schedule="greedy"),
         {"solver": spec("FrankWolfe", schedule="greedy")}),
        (spec("DMLEig", solver="lbfgs", schedule="smoothed"), {"solver": "lbfgs"}),
    ],
)  # fmt: skip
def test_upgraded_parameters(data, new):
    assert upgrade(data)["parameters"] == new
    inside = {"steps": [{"$tuple": ["a", data]}]}
    assert upgrade(spec("Pipeline", **inside))["parameters"]["steps"][0]["$tuple"][1] == (
        data | {"parameters": new}
    )


def test_records_are_renamed():
    record = {"$record": "Kernel", "fields": {}}
    found = upgrade(spec("KPCA", {"_kernel": record}, kernel="rbf"))
    assert found["state"]["_kernel"]["$record"] == "KernelFunction"


@pytest.mark.parametrize("name", FILES)
def test_unknown_parameters_and_classes_raise(name, tmp_path):
    header, tensors = header_and_tensors(DATA / name)
    path = tmp_path / "changed.dimetric"
    header["model"]["parameters"]["colour"] = "red"
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match=r"has no parameter 'colour'.*fit the model again"):
        load(path)
    header["model"]["$class"] = "Popen"
    rewrite(path, header, tensors)
    with pytest.raises(ValueError, match="a model file cannot hold an estimator 'Popen'"):
        load(path)


@pytest.mark.parametrize("name", FILES)
def test_parameters_of_format_1_raise_in_format_2(name, tmp_path):
    header, tensors = header_and_tensors(DATA / name)
    rewrite(tmp_path / "mixed.dimetric", header | {"format": 2}, tensors)
    with pytest.raises(ValueError, match=r"has no parameter .*fit the model again"):
        load(tmp_path / "mixed.dimetric")


@pytest.mark.parametrize("n_components", [None, 1, 2, 0.5])
@pytest.mark.parametrize("whiten", [False, True])
def test_noise_variance_of_older_models(n_components, whiten, tmp_path):
    """Files of versions before 0.3 lack it."""
    X = np.random.default_rng(0).normal(size=(40, 4)) * [4, 3, 2, 1]
    pca = PCA(n_components, whiten=whiten).fit(X)
    path = tmp_path / "old.dimetric"
    save(make_pipeline(StandardScaler(with_std=False), pca), path)
    header, tensors = header_and_tensors(path)
    step = header["model"]["parameters"]["steps"][1]["$tuple"][1]
    del step["state"]["noise_variance_"]
    rewrite(path, header, tensors)
    again = load(path)[-1]
    assert again.noise_variance_ == pytest.approx(pca.noise_variance_, rel=1e-9)
    np.testing.assert_allclose(again.score_samples(X), pca.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose(again.get_covariance(), pca.get_covariance(), rtol=1e-9, atol=1e-9)


def test_older_models_without_the_noise_variance(tmp_path):
    pca = PCA(1).fit(np.eye(4))
    path = tmp_path / "old.dimetric"
    save(pca, path)
    header, tensors = header_and_tensors(path)
    for name in ("noise_variance_", "n_samples_"):
        del header["model"]["state"][name]
    rewrite(path, header, tensors)
    again = load(path)
    np.testing.assert_array_equal(again.transform(np.eye(4)), pca.transform(np.eye(4)))
    for compute in (again.get_covariance, again.get_precision, lambda: again.score(np.eye(4))):
        with pytest.raises(ValueError, match=r"earlier version of dimetric fitted it\. Fit it"):
            compute()
