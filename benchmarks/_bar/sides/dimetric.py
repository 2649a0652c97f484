"""Our side of each work. It runs in a process of its own."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dimetric
from dimetric._arrays.compiled import import_compiled
from dimetric.kernels import Kernel

import_compiled("_arrays.exponential")  # load numba: the warm-up on a few rows does not
WARM_UP_ROWS = 300


def some_rows(arrays, names):
    """Return a few rows of each array, for a first fit that loads and compiles code."""
    step = max(1, len(arrays[names[0]]) // WARM_UP_ROWS)
    return [arrays[name][::step] for name in names]


def fit(arrays, *, name, params, inputs=("X", "y"), results=("components_",), kernel=None):
    """Fit an estimator, and return some of its attributes."""
    if kernel is not None:
        params = {**params, "kernel": Kernel(**kernel)}
    learner = getattr(dimetric, name)(**params)
    learner.fit(*some_rows(arrays, inputs))

    def call():
        learner.fit(*(arrays[name] for name in inputs))
        found = {name: getattr(learner, name) for name in results}
        return found | {"n_iter": getattr(learner, "n_iter_", 1)}

    return call


def fit_transform(arrays, *, name, params, kernel):
    """Fit a kernel learner, and return the mapped training samples."""
    learner = getattr(dimetric, name)(**params, kernel=Kernel(**kernel))
    learner.fit(*some_rows(arrays, ("X", "y")))

    def call():
        Z = learner.fit_transform(arrays["X"], arrays["y"])
        return {"Z": Z, "n_iter": getattr(learner, "n_iter_", 1)}

    return call


def fit_distances(arrays, *, name, params):
    """Fit an embedding to a matrix of distances."""
    D = arrays["D"]
    step = max(1, len(D) // WARM_UP_ROWS)
    model = getattr(dimetric, name)(**params, metric="precomputed").fit(D[::step, ::step])
    return lambda: {"embedding_": model.fit(D).embedding_}


def itml(arrays, *, params):
    """Fit ITML to the given pairs and bounds."""
    rows, is_similar = arrays["rows"], arrays["is_similar"]
    pairs = dimetric.Pairs(rows[is_similar], rows[~is_similar])
    learner = dimetric.ITML(bounds=arrays["bounds"], **params)

    def call():
        learner.fit(arrays["X"], pairs=pairs)
        return {"components_": learner.components_, "n_iter": learner.n_iter_}

    return call


def neighbors(arrays, *, n_neighbors):
    """Find the nearest neighbours of all samples."""
    from dimetric.neighbors.metric_search import metric_neighbors

    X = arrays["X"]
    metric_neighbors(*some_rows(arrays, ("X",)), n_neighbors)
    return lambda: {"indices": metric_neighbors(X, n_neighbors)[1]}


def predict(arrays, *, n_neighbors):
    """Predict the classes of new rows by a fitted k-NN classifier."""
    model = dimetric.KNNClassifier(n_neighbors).fit(arrays["X"], arrays["y"])
    model.predict(arrays["Q"])
    return lambda: {"labels": model.predict(arrays["Q"])}


def trustworthiness(arrays, *, n_neighbors):
    """Compute the trustworthiness of an embedding."""
    from dimetric.quality import trustworthiness

    trustworthiness(*some_rows(arrays, ("X", "Z")), n_neighbors=n_neighbors)
    return lambda: {"value": trustworthiness(arrays["X"], arrays["Z"], n_neighbors=n_neighbors)}


def experiment(arrays, *, number, n_neighbors):
    """Run a published experiment by its command. A fit without a score is an error."""
    options = {"--experiment": number, "--k": n_neighbors, "--jobs": -1}
    words = [str(word) for option in options.items() for word in option]

    def call():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, "-P", "-m", "dimetric", "reproduce", *words, "--out", folder],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            for report in Path(folder).glob("*.md"):
                if "## Fits without a score" in report.read_text():
                    raise RuntimeError("some fits have no score")
        return {}

    return call


def nca_evaluation_on_gpu(arrays, *, k, device="cuda"):
    """Evaluate the objective of NCA and its gradient on a GPU."""
    import torch

    from dimetric.learners.nca import NCARule
    from dimetric.objectives.pairwise import PairwiseObjective

    X = torch.asarray(arrays["X"], device=device)
    d = X.shape[1]
    L = torch.asarray(np.random.default_rng(0).normal(size=(k, d)) / d**0.5 * 5, dtype=X.dtype)
    L = L.to(device)
    objective = PairwiseObjective(NCARule(), X, arrays["y"])

    def call():
        value = float(objective.gradient_in_map(L, objective.theta)[0])
        wait_for(device)
        return {"value": value}

    call()  # compile
    return call


def fit_on_gpu(arrays, *, name, params, device="cuda"):
    """Fit a learner to samples on a GPU."""
    import torch

    X, y = torch.asarray(arrays["X"], device=device), arrays["y"]
    learner = getattr(dimetric, name)(**params)
    learner.fit(X[::30], y[::30])  # compile

    def call():
        learner.fit(X, y)
        wait_for(device)
        return {"n_iter": learner.n_iter_}

    return call


def wait_for(device):
    """Wait for the work that is queued on a device."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
