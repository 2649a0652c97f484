"""Model files of format 1: version 0.1 has written those in the folder ``data``."""

from pathlib import Path

import numpy as np
import pytest
from model_files import parts, rewrite

from dimetric import describe, load, save
from dimetric.export._upgrade import upgrade

DATA = Path(__file__).parent / "data"
FILES = ["kernel.dimetric", "solver.dimetric"]


def given(about):
    """Return the samples for which the file says what its model returned."""
    samples = about["given"]
    if isinstance(samples, dict):
        return {name: np.array(values) for name, values in samples.items()}
    return np.array(samples)


@pytest.mark.parametrize("name", FILES)
def test_what_was_learned_is_the_same(name, tmp_path):
    about = describe(DATA / name)["about"]
    model = load(DATA / name)
    for path in (DATA / name, tmp_path / "again.dimetric"):
        save(model, tmp_path / "again.dimetric")
        model = load(path)
        for method in about.keys() - {"given"}:
            found = getattr(model, method)(given(about))
            if found.dtype.kind == "f":
                np.testing.assert_allclose(found, about[method], rtol=1e-12, atol=1e-12)
            else:
                assert found.tolist() == about[method]
    assert describe(tmp_path / "again.dimetric")["format"] == 2


def test_parameters_are_in_the_objects_that_have_them_now():
    learner = load(DATA / "kernel.dimetric")
    own = {"name": "poly", "gamma": 0.1, "degree": 2, "n_components": 4, "n_landmarks": 6}
    own |= {"landmarks": "greedy", "random_state": 3, "coef0": 1.0, "params": None}
    assert learner.kernel.get_params() == own
    assert learner.random_state == 3
    solver = load(DATA / "solver.dimetric")[-1].learner_.solver
    assert str(solver) == "SGD(batch_size=8, eta0=0.05, increase=1.05)"


def old(class_name, state=None, /, **parameters):
    return {"$class": class_name, "parameters": parameters, "state": state or {}}


KERNEL = {"kernel": "rbf", "gamma": "scale", "degree": 3, "coef0": 1.0, "kernel_params": None}
KERNEL |= {"n_landmarks": None, "landmarks": "uniform", "random_state": None}
RATES = {"learning_rate": "adaptive", "eta0": None, "learn_inc": 1.01, "learn_dec": 0.5}


@pytest.mark.parametrize(
    ("data", "new"),
    [
        (old("LDA", n_components=1), {"n_components": 1}),
        (old("KPCA", n_components=2, **KERNEL), {"n_components": 2, "kernel": "rbf"}),
        (old("KDA", **KERNEL, n_components_kernel=100), {"kernel": "rbf"}),
        (old("KDA", **KERNEL, n_components_kernel=30),
         {"kernel": old("Kernel", name="rbf", n_components=30)}),
        (old("KLMNN", **KERNEL, n_components_kernel=30), {"kernel": "rbf", "random_state": None}),
        (old("KDA", **(KERNEL | {"gamma": 0.5, "random_state": 1})),
         {"kernel": old("Kernel", name="rbf", gamma=0.5, random_state=1)}),
        (old("NCA", solver="sgd", batch_size=512, **RATES), {"solver": "sgd"}),
        (old("NCA", solver="lbfgs", batch_size=7, **RATES), {"solver": "lbfgs"}),
        (old("MCML", solver="sdp", batch_size=7, **RATES), {"solver": "sdp"}),
        (old("NCA", solver="sgd", batch_size=7, **RATES), {"solver": old("SGD", batch_size=7)}),
        (old("LMNN", solver="bgd", batch_size=7, **(RATES | {"learn_inc": 1.2})),
         {"solver": old("GradientDescent", increase=1.2)}),
        (old("DMLEig", solver="frank_wolfe", schedule="smoothed"), {"solver": "frank_wolfe"}),
        (old("DMLEig", solver="frank_wolfe", schedule="greedy"),
         {"solver": old("FrankWolfe", schedule="greedy")}),
        (old("DMLEig", solver="lbfgs", schedule="smoothed"), {"solver": "lbfgs"}),
    ],
)  # fmt: skip
def test_translation(data, new):
    assert upgrade(data)["parameters"] == new
    inside = {"steps": [{"$tuple": ["a", data]}]}
    assert upgrade(old("Pipeline", **inside))["parameters"]["steps"][0]["$tuple"][1] == (
        data | {"parameters": new}
    )


def test_records_have_their_new_name():
    record = {"$record": "Kernel", "fields": {}}
    found = upgrade(old("KPCA", {"_kernel": record}, kernel="rbf"))
    assert found["state"]["_kernel"]["$record"] == "KernelFunction"


@pytest.mark.parametrize("name", FILES)
def test_what_is_unknown_is_refused(name, tmp_path):
    header, tensors = parts(DATA / name)
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
def test_formats_are_not_mixed(name, tmp_path):
    header, tensors = parts(DATA / name)
    rewrite(tmp_path / "mixed.dimetric", header | {"format": 2}, tensors)
    with pytest.raises(ValueError, match=r"has no parameter .*fit the model again"):
        load(tmp_path / "mixed.dimetric")
