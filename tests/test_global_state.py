"""Fits and functions leave global settings as they are, also when Ctrl-C interrupts them."""

import os
import pickle
import signal
import sys
import threading
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from estimators import LEARNERS, MODELS, ONE_OF_EACH, name_of
from sklearn import config_context, get_config
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import dimetric
from dimetric import stats
from dimetric._arrays.global_state import safe_to_interrupt
from dimetric._arrays.threads import run_on_threads
from dimetric.data import make_rings
from dimetric.kernels import Kernel
from dimetric.quality import embedding_quality, trustworthiness
from dimetric.selection import choose_dimension, cross_validate, knn_scores, tune
from dimetric.solvers import SGD
from dimetric.supervision import Pairs, Triplets

FACTOR = int(os.environ.get("DIMETRIC_FUZZ_FACTOR", "1"))
RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
X = RNG.normal(size=(60, 4)) + 0.5 * Y[:, None]
LARGE_X, LARGE_Y = np.tile(X, (40, 1)) + 0.1 * RNG.normal(size=(2400, 4)), np.tile(Y, 40)


def global_state():
    """Return the settings that no function may change."""
    return {
        "numpy errors": (np.geterr(), np.geterrcall(), np.getbufsize()),
        "warnings": (list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl),
        "scikit-learn": get_config(),
        "blas": {each["filepath"]: each["num_threads"] for each in threadpool_info()},
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
        "random numbers": pickle.dumps(np.random.get_state()),  # noqa: NPY002
        "threads": threading.enumerate(),
    }


def changes(before, after):
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def unseeded(estimator):
    """Return a copy of an estimator in which every random_state is None."""
    params = [name for name in estimator.get_params() if name.endswith("random_state")]
    return clone(estimator).set_params(**dict.fromkeys(params))


RANDOM = [each for each in LEARNERS if each.get_params().get("random_state") is not None]
FITS = {name_of(each): unseeded(each) for each in [*ONE_OF_EACH, *RANDOM, *MODELS]}
FUNCTIONS = {
    "cross_validate": lambda: cross_validate(dimetric.KNNClassifier(), X, Y),
    "tune": lambda: tune(dimetric.PCA(), X, Y, {"n_components": [1, 2]}),
    "choose_dimension": lambda: choose_dimension(dimetric.PCA(), X, Y, dimensions=[1, 2]),
    "knn_scores": lambda: knn_scores([None], X, Y),
    "embedding_quality": lambda: embedding_quality(X, X[:, :2], sample_size=30),
    "trustworthiness": lambda: trustworthiness(X, X[:, :2]),
    "sign_test": lambda: stats.sign_test(X[:, 0], X[:, 1]),
    "signed_rank_test": lambda: stats.signed_rank_test(X[:, 0], X[:, 1]),
    "Pairs.from_labels": lambda: Pairs.from_labels(Y, 10),
    "Pairs.from_neighbors": lambda: Pairs.from_neighbors(X, Y),
    "Pairs.split": lambda: list(Pairs.from_labels(Y, 40, random_state=0).split(3)),
    "Triplets.from_labels": lambda: Triplets.from_labels(Y, 10),
    "make_rings": lambda: make_rings(50),
}


@pytest.mark.parametrize("name", FITS)
def test_fits_leave_global_settings_alone(name):
    before = global_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FITS[name].fit(X, Y)
    assert not changes(before, global_state())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_leave_global_settings_alone(name):
    before = global_state()
    FUNCTIONS[name]()
    assert not changes(before, global_state())


# Calls whose result depends on random numbers, if no seed is given.
RANDOM_RESULTS = {
    "NCA": lambda: dimetric.NCA(init="random", max_iter=1).fit(X, Y).components_,
    "NCA(sgd)": lambda: dimetric.NCA(solver=SGD(batch_size=8), max_iter=2).fit(X, Y).components_,
    "ITML": lambda: dimetric.ITML().fit(X, Y).components_,
    "PCA": lambda: dimetric.PCA(2, svd_solver="randomized").fit(LARGE_X).components_,
    "MDS": lambda: dimetric.MDS(n_landmarks=5).fit_transform(X),
    "Isomap": lambda: dimetric.Isomap(n_landmarks=10, n_neighbors=9).fit_transform(X),
    "KPCA": lambda: dimetric.KPCA(2, kernel=Kernel(n_landmarks=9)).fit_transform(X),
    "cross_validate": lambda: cross_validate(dimetric.KNNClassifier(), X, Y).test_score,
    "embedding_quality": lambda: embedding_quality(X, X[:, :2], sample_size=5).points,
    "sign_test": lambda: stats.sign_test(X[:, 0], X[:, 1]).samples,
    "Pairs.from_labels": lambda: Pairs.from_labels(Y, 10).rows,
    "Triplets.from_labels": lambda: Triplets.from_labels(Y, 10).rows,
}


@pytest.mark.parametrize("name", RANDOM_RESULTS)
def test_numpys_seed_does_not_make_unseeded_calls_repeat(name):
    results = []
    for _ in range(3):
        with seeded_numpy(0), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(np.asarray(RANDOM_RESULTS[name]()))
    assert any(not np.array_equal(results[0], other) for other in results[1:])


@contextmanager
def seeded_numpy(seed):
    """Seed NumPy's global generator for a while."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


class Interrupter:
    """Trace function that raises KeyboardInterrupt once, at the start or end of a function.

    Python checks for signals at the start of a function and after calls. It does not do so at the
    end of a ``with`` block, so interrupts at lines would find faults that do not exist.

    Parameters
    ----------
    count : int or None
        Number of the event at which it raises. With None, it only counts the events.
    """

    def __init__(self, count=None):
        self.count, self.seen = count, 0

    def __call__(self, frame, event, arg):
        if event in ("call", "return"):
            self.seen += 1
            if self.seen == self.count:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self

    def run(self, call):
        """Run the call, and return whether it was interrupted."""
        previous = sys.gettrace()
        sys.settrace(self)
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(previous)
        return False


def large_fit(model):
    return lambda: clone(model).fit(LARGE_X, LARGE_Y)


LONG_CALLS = {
    "NCA": large_fit(dimetric.NCA(max_iter=3)),
    "NCA(sgd)": large_fit(dimetric.NCA(solver="sgd", max_iter=1)),
    "LMNN": large_fit(dimetric.LMNN(max_iter=3)),
    "NCMC": large_fit(dimetric.NCMC(max_iter=3)),
    "ITML": large_fit(dimetric.ITML(max_iter=2)),
    "KDA": large_fit(dimetric.KDA(kernel=Kernel(n_landmarks=50))),
    "Isomap": large_fit(dimetric.Isomap(n_landmarks=50)),
    "LLE": large_fit(dimetric.LLE()),
    "MDS": large_fit(dimetric.MDS(n_landmarks=50)),
}


@pytest.mark.slow
# Python ignores an interrupt while it closes a generator.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", LONG_CALLS)
def test_interrupts_at_random_calls_leave_global_settings_alone(name):
    counter = Interrupter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LONG_CALLS[name]()  # imports
        counter.run(LONG_CALLS[name])
        rng = np.random.default_rng()
        for count in rng.integers(1, counter.seen, size=30 * FACTOR):
            with threadpool_limits(2, "blas"):
                before = global_state()
                Interrupter(count).run(LONG_CALLS[name])
                assert not changes(before, global_state()), count


@safe_to_interrupt
def change_settings_for_a_while():
    with warnings.catch_warnings(record=True), np.errstate(all="ignore"):
        warnings.simplefilter("always")
        with config_context(skip_parameter_validation=True):
            run_on_threads(list, range(4))


# Python drops an exception in the callback of a weak reference.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_every_call_leave_global_settings_alone():
    counter = Interrupter()
    with threadpool_limits(2, "blas"):
        counter.run(change_settings_for_a_while)
        before = global_state()
        for count in range(1, counter.seen):
            Interrupter(count).run(change_settings_for_a_while)
            assert not changes(before, global_state()), count


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fit_in_another_thread_installs_no_signal_handler():
    handler, models = signal.getsignal(signal.SIGINT), []
    thread = threading.Thread(target=lambda: models.append(dimetric.NCA(max_iter=2).fit(X, Y)))
    thread.start()
    thread.join()
    assert models[0].components_.shape == (4, 4)
    assert signal.getsignal(signal.SIGINT) is handler
