"""Warnings point to the line of the user, not to a line of dimetric or scikit-learn."""

import concurrent.futures.thread
import runpy
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from inspect import currentframe

import numpy as np
import pandas as pd
import pytest
import sklearn
from model_files import header_and_tensors, rewrite
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dimetric
from dimetric import KPCA, LDA, LLE, MDS, NCA, NCMC, PCA, Isomap, KNNClassifier, load, save
from dimetric._warnings import warn
from dimetric.data import TableEncoder
from dimetric.quality import embedding_quality
from dimetric.selection import cross_validate as our_cross_validate

X, y = load_iris(return_X_y=True)
FLAT = np.column_stack([X, X[:, 0]])  # five features that vary in four directions
APART = np.concatenate([X[:10], X[:10] + 1e3])
TABLE = pd.DataFrame({"a": ["x", "y", "z", None, "z", "y"] * 5, "target": ["p", "q"] * 15})
OUTSIDE = pd.DataFrame({"a": ["new"]})


def old_model_file(tmp_path):
    """Save a model that contains a scaler of another scikit-learn version."""
    path = tmp_path / "old.dimetric"
    save(make_pipeline(StandardScaler(), PCA(2)).fit(X), path)
    header, tensors = header_and_tensors(path)
    header["versions"]["scikit-learn"] = "0.1"
    rewrite(path, header, tensors)
    return path


def without_convergence(**params):
    return NCA(max_iter=1, **params)


class UserEstimator(BaseEstimator):
    """A class of the user that calls a learner."""

    def fit(self, X, y):
        self.line = currentframe().f_lineno + 1
        without_convergence().fit(X, y)
        return self


CALLS = {
    "fit": lambda: without_convergence().fit(X, y),
    "fit_transform": lambda: without_convergence().fit_transform(X, y),
    "fit_transform with set_output": lambda: (
        without_convergence().set_output(transform="pandas").fit_transform(X, y)
    ),
    "fit of a closed form": lambda: PCA(5, whiten=True).fit(FLAT),
    "fit of clusters": lambda: NCMC(n_centroids=[2, 60, 2], max_iter=500).fit(X, y),
    "fit of one class": lambda: NCA().fit(X, np.zeros(len(X), dtype=int)),
    "fit of a graph": lambda: Isomap(n_neighbors=2).fit(APART),
    "fit of patches": lambda: LLE(n_neighbors=3).fit(APART),
    "fit by SMACOF": lambda: MDS(algorithm="smacof", max_iter=1).fit(X),
    "fit of a kernel": lambda: KPCA(3, kernel="linear").fit(FLAT[:, [0, 4, 0]]),
    "fit of a classifier": lambda: KNNClassifier(learner=without_convergence()).fit(X, y),
    "fit of a pipeline": lambda: make_pipeline(StandardScaler(), without_convergence()).fit(X, y),
    "fit_transform of a pipeline": lambda: make_pipeline(without_convergence()).fit_transform(X, y),
    "cross_validate of scikit-learn": lambda: cross_validate(
        make_pipeline(KNNClassifier(learner=without_convergence())), X, y, cv=2
    ),
    "grid search": lambda: GridSearchCV(
        KNNClassifier(learner=without_convergence()), {"n_neighbors": [1]}, cv=2
    ).fit(X, y),
    "cross_validate": lambda: our_cross_validate(
        KNNClassifier(learner=without_convergence()), X, y, cv=2
    ),
    "folds": lambda: our_cross_validate(KNNClassifier(learner=LDA()), X, y, cv=99),
    "pipe of pandas": lambda: pd.DataFrame(X).pipe(without_convergence().fit, y),
    "apply of pandas": lambda: (
        pd.DataFrame(X)
        .groupby(np.zeros(len(X)))
        .apply(lambda part: without_convergence().fit(part, y))
    ),
    "transform": lambda: TableEncoder().fit(TABLE[["a"]].dropna()).transform(OUTSIDE),
    "function": lambda: embedding_quality(X, np.zeros((len(X), 2)), n_neighbors=3),
    "compare": lambda: dimetric.compare(
        TABLE, target="target", learners=["PCA"], budget=5, cv=2, random_state=0
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_warning_points_to_the_call(name):
    call = CALLS[name]
    first = call.__code__.co_firstlineno
    lines = {line for *_, line in call.__code__.co_lines() if line is not None} | {first}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    assert {each.filename for each in caught} == {__file__}
    assert {each.lineno for each in caught} <= lines


def test_warning_of_load_points_to_the_call(tmp_path):
    path = old_model_file(tmp_path)
    line = currentframe().f_lineno + 2
    with pytest.warns(UserWarning, match="saved with scikit-learn 0.1") as caught:
        load(path)
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_warning_points_into_a_class_of_the_user():
    with pytest.warns(UserWarning, match="did not converge") as caught:
        model = make_pipeline(UserEstimator()).fit(X, y)
    assert (caught[0].filename, caught[0].lineno) == (__file__, model[-1].line)


def run_in_thread(function, *args):
    thread = threading.Thread(target=function, args=args)
    thread.start()
    thread.join()


def run_in_executor(function, *args):
    with ThreadPoolExecutor(1) as executor:
        executor.submit(function, *args).result()


@pytest.mark.parametrize(
    ("run", "file"),
    [(run_in_thread, threading.__file__), (run_in_executor, concurrent.futures.thread.__file__)],
)
def test_warning_points_to_the_caller_of_dimetric_if_there_is_no_user_line(run, file):
    """A thread whose target is a method of dimetric has no frame of the user."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(without_convergence().fit, X, y)
        run(make_pipeline(StandardScaler(), without_convergence()).fit, X, y)
    assert [each.category.__name__ for each in caught] == ["ConvergenceWarning"] * 2
    assert caught[0].filename == file
    assert caught[1].filename.startswith(sklearn.__path__[0])


def test_warning_points_to_a_module_that_runs_as_a_script(tmp_path, monkeypatch):
    """Its frames have the name __main__, as those of ``python -m dimetric`` do."""
    script = tmp_path / "study.py"
    script.write_text("from dimetric._warnings import warn\nwarn('text')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for run in (lambda: runpy.run_path(script, run_name="__main__"), lambda: run_module("study")):
        with pytest.warns(UserWarning, match="text") as caught:
            run()
        assert (caught[0].filename, caught[0].lineno) == (str(script), 2)


def run_module(name):
    return runpy.run_module(name, run_name="__main__")


def test_warning_is_shown_once_for_each_line():
    """The default filter must show each location only once, as for warnings.warn."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn("text")
        warn("text")
    assert [each.lineno for each in caught] == [caught[0].lineno, caught[0].lineno + 1]


def test_command_prints_warnings_without_a_location(tmp_path, monkeypatch, capsys):
    from dimetric.cli.main import run

    path, table = old_model_file(tmp_path), tmp_path / "table.csv"
    pd.DataFrame(X).to_csv(table, index=False)
    arguments = ["transform", str(path), str(table), "--out", str(tmp_path / "out.csv")]
    monkeypatch.setattr(sys, "argv", ["dimetric", *arguments])
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # restored at the end

    def show(message, category, filename, lineno, file=None, line=None):  # pytest records warnings
        print(warnings.formatwarning(message, category, filename, lineno), file=sys.stderr)

    monkeypatch.setattr(warnings, "showwarning", show)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.raises(SystemExit) as end:
            run()
    assert not end.value.code
    errors = capsys.readouterr().err
    assert "Warning: The model was saved with scikit-learn 0.1" in errors
    assert ".py" not in errors
