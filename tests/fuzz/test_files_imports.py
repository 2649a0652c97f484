"""Processes do not run files of the current folder, but find the modules of the user."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from sklearn.datasets import load_iris

import dimetric
from dimetric._processes import (
    SAFE_PATH,
    modules_of_user,
    safe_environment,
    safe_path_for_children,
    search_path,
)

SOURCES = str(Path(dimetric.__file__).parents[1])
# Modules of Python, of dimetric, and modules that Python imports by itself if they exist.
HOSTILE_NAMES = ("queue", "json", "pickle", "secrets", "platform", "numpy", "joblib", "dimetric")
CUSTOMIZE_NAMES = ("sitecustomize", "usercustomize")
LEARNER = """
from sklearn.base import BaseEstimator, TransformerMixin
class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None): return self
    def transform(self, X): return X
"""
RUN = """
from dimetric import benchmark
cells = benchmark.run([Own()], ["iris"], cv=2, n_jobs=2).cells
assert all(each.status == "ok" for each in cells), cells
"""
SELECT = """
from sklearn.datasets import load_iris
from dimetric import KNNClassifier
from dimetric.selection import cross_validate, metadata_cross_validate, tune
from dimetric import LDA
X, y = load_iris(return_X_y=True)
cross_validate(KNNClassifier(), X, y, cv=2, n_jobs=2)
tune(KNNClassifier(), X, y, {"n_neighbors": [1, 3]}, cv=2, n_jobs=2)
metadata_cross_validate(LDA(), X, y, cv=2, n_jobs=2)
import os
assert "PYTHONSAFEPATH" not in os.environ
"""


@pytest.fixture
def hostile(tmp_path):
    """Return a folder with a table, and with modules that leave a mark if they are imported."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in (*HOSTILE_NAMES, *CUSTOMIZE_NAMES):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')")
    X, y = load_iris(return_X_y=True)
    pd.DataFrame(X, columns=list("abcd")).assign(kind=y).to_csv(folder / "iris.csv", index=False)
    return folder


def run_python(*words, cwd, path=(), **options):
    path = os.pathsep.join([SOURCES, *map(str, path)])
    environment = {name: value for name, value in os.environ.items() if name != SAFE_PATH}
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env=environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done


def marks(folder):
    mark = folder.parent / "ran"
    return mark.read_text() if mark.exists() else ""


COMMAND = "import sys; from dimetric.cli import main; main()"  # as the installed script does


@pytest.mark.slow
def test_compare_and_benchmark_ignore_the_current_folder(hostile):
    words = ("compare", "iris.csv", "--jobs", 2, "--budget", 3, "--learners", "LDA", "--json")
    run_python("-P", "-c", COMMAND, *words, cwd=hostile)
    assert marks(hostile) == ""
    script = hostile.parent / "script.py"
    script.write_text(LEARNER + RUN + SELECT)
    run_python(script, cwd=hostile)
    assert marks(hostile) == ""


@pytest.mark.slow
def test_reproduce_ignores_the_current_folder(hostile, tmp_path):
    keel = tmp_path / "data" / "keel"
    keel.mkdir(parents=True)
    table = pd.read_csv(hostile / "iris.csv")
    for name in ("iris", "wine"):
        table.assign(fold10=table.index % 10 + 1).to_csv(keel / f"{name}.csv", index=False)
    run_python(
        "-P", "-c", COMMAND, "reproduce", "--data", tmp_path / "data", "--only", "iris",
        "--learners", "Euclidean,LDA", "--jobs", 2, "--out", tmp_path / "out", cwd=hostile,
    )  # fmt: skip
    assert marks(hostile) == ""


@pytest.mark.slow
def test_module_form_of_the_command_ignores_the_current_folder(hostile):
    (hostile / "dimetric.py").unlink()  # Python itself runs this file
    for name in CUSTOMIZE_NAMES:
        (hostile / f"{name}.py").unlink()
    words = ("compare", "iris.csv", "--jobs", 2, "--budget", 3, "--learners", "LDA", "--json")
    run_python("-m", "dimetric", *words, cwd=hostile)
    assert marks(hostile) == ""


@pytest.mark.slow
def test_learners_of_the_user_reach_the_workers(tmp_path):
    """A learner may be defined in the script, beside it, in a package, or on the search path."""
    beside, elsewhere, package = tmp_path / "beside", tmp_path / "elsewhere", tmp_path / "package"
    for folder in (beside, elsewhere, package / "mine"):
        folder.mkdir(parents=True)
    late = LEARNER.replace("return X", "import helper; return X * helper.ONE")
    (beside / "own.py").write_text(late)
    (beside / "helper.py").write_text("ONE = 1")
    (beside / "script.py").write_text("from own import Own" + RUN)
    (beside / "whole.py").write_text(LEARNER + RUN)
    (elsewhere / "own.py").write_text("raise ImportError('the wrong module')")
    (elsewhere / "other.py").write_text(LEARNER)
    (package / "mine" / "__init__.py").write_text("")
    (package / "mine" / "own.py").write_text(LEARNER)
    (package / "mine" / "__main__.py").write_text("from mine.own import Own" + RUN)
    # The module beside the script has the same name as one on the search path.
    run_python(beside / "script.py", cwd=tmp_path, path=[elsewhere])
    run_python("script.py", cwd=beside)
    run_python(beside / "whole.py", cwd=elsewhere)
    run_python("-c", "from other import Own" + RUN, cwd=tmp_path, path=[elsewhere])
    run_python("-c", "from own import Own" + RUN, cwd=beside)  # as in a notebook
    run_python("-", cwd=beside, input="from own import Own" + RUN)
    run_python("-m", "mine", cwd=package)
    late_path = f"import sys; sys.path.insert(0, {str(elsewhere)!r}); from other import Own"
    run_python("-c", late_path + RUN, cwd=tmp_path)


LATE = """
import os, sys
from joblib.externals.loky.backend import popen_loky_posix
CALL
path = list(sys.path)
mark = os.path.abspath("../ran")
from importlib.machinery import PathFinder
names = {each.partition(".")[0] for each in sys.modules} | sys.stdlib_module_names
names = [each for each in names - {"own", "study"} if PathFinder.find_spec(each)]
for name in [*names, "sitecustomize"]:  # as an unpacked archive would
    with open(name + ".py", "w") as file:
        file.write(f"with open({mark!r}, 'a') as file: file.write({name!r} + ' ')\\n")
CALL
assert sys.path == path
"""
OWN_LEARNER = """
from own import Own
from sklearn.pipeline import make_pipeline
from sklearn.datasets import load_iris
from dimetric import KNNClassifier
from dimetric.selection import cross_validate
X, y = load_iris(return_X_y=True)
result = cross_validate(KNNClassifier(learner=Own()), X, y, cv=2, n_jobs=N_JOBS)
assert result.test_score.min() > 0.8, result
"""


def late_code(call):
    first, second = (call.replace("N_JOBS", n_jobs) for n_jobs in "12")
    return LATE.replace("CALL", first, 1).replace("CALL", second)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["-c", "-", "-m"])
def test_files_that_appear_after_the_start_do_not_run(tmp_path, form):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own.py").write_text(LEARNER)
    code = late_code(OWN_LEARNER)
    (folder / "study.py").write_text(code)
    words = {"-c": ["-c", code], "-": ["-"], "-m": ["-m", "study"]}[form]
    run_python(*words, cwd=folder, path=[""], input=code if form == "-" else None)
    assert marks(folder) == ""


@pytest.mark.slow
def test_joblib_finds_a_learner_with_the_name_of_an_installed_module(tmp_path):
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    (folder / "own.py").write_text(LEARNER)
    (elsewhere / "own.py").write_text("raise ImportError('the wrong module')")
    call = OWN_LEARNER.replace("N_JOBS", "2")
    (folder / "study.py").write_text(call)
    for words in (["-c", call], ["study.py"], ["-m", "study"]):
        run_python(*words, cwd=folder, path=[elsewhere])


def test_search_path_is_restored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    installed = [each for each in sys.path if each]
    monkeypatch.setattr(sys, "path", ["", *installed, str(tmp_path), Path("ignored")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "/usr/share"]))
    with safe_path_for_children():
        assert sys.path == [*installed, Path("ignored"), "", str(tmp_path)]
        assert os.environ["PYTHONPATH"] == "/usr/share"
        sys.path.insert(0, "first")
        sys.path.append("last")
        sys.path.remove(str(tmp_path))
    assert sys.path == ["first", "", *installed, Path("ignored"), "last"]
    assert os.environ["PYTHONPATH"] == os.pathsep.join(["", "/usr/share"])


def test_folder_of_installed_modules_is_not_the_folder_of_a_script(tmp_path, monkeypatch):
    """``python -m module`` runs a module that may be in the folder of all packages."""
    main = ModuleType("__main__")
    main.__file__ = str(tmp_path / "launcher.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/usr/share"])
    assert search_path() == ["/usr/share", str(tmp_path)]
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path)])
    assert search_path() == [str(tmp_path), "/usr/share"]


def test_current_folder_and_script_folder_come_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    installed = [each for each in sys.path if each]
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *installed])
    assert search_path()[-1] == str(tmp_path)
    assert search_path().count(str(tmp_path)) == 1
    assert modules_of_user()["dimetric"] == SOURCES
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "/usr/share", str(tmp_path), "."]))
    assert safe_environment()["PYTHONPATH"] == "/usr/share"
    assert safe_environment()[SAFE_PATH] == "1"
    monkeypatch.setenv("PYTHONPATH", "")
    assert "PYTHONPATH" not in safe_environment()


def test_current_folder_may_be_gone(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    monkeypatch.setattr(sys, "path", ["", "relative", *filter(None, sys.path)])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "/usr/share"]))
    assert search_path()[-1] == "relative"
    assert "" not in search_path()
    assert safe_environment()["PYTHONPATH"] == "/usr/share"
    assert modules_of_user()["dimetric"] == SOURCES


def test_environment_is_restored(monkeypatch):
    monkeypatch.delenv(SAFE_PATH, raising=False)
    inside, leave = threading.Event(), threading.Event()

    def hold():
        with safe_path_for_children():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    with safe_path_for_children():
        thread.start()
        inside.wait(10)
    assert os.environ[SAFE_PATH] == "1"  # the other thread still needs it
    leave.set()
    thread.join()
    assert SAFE_PATH not in os.environ
    monkeypatch.setenv(SAFE_PATH, "yes")
    with safe_path_for_children():
        pass
    assert os.environ[SAFE_PATH] == "yes"
