"""Tables, from files or data frames, as samples."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dimetric.data.columns import DataSet, encoded

__all__ = ["read_table"]

TARGETS = ("class", "target", "label", "y")  # names that say what a column is for
SEPARATORS = ",;\t|"


def read_table(
    source: Any,
    target: str | None = None,
    *,
    drop: Iterable[str] = (),
    extra: Iterable[str] = (),
    missing: str = "drop",
    name: str | None = None,
) -> DataSet:
    """Return a table as samples.

    Texts are categories, and one-hot: a column for each, named ``column=category``, or a single
    one where there are two. What was done is told in ``notes``. Dates are refused.

    Parameters
    ----------
    source : path, or data frame of pandas or polars
        A ``.csv`` (or ``.tsv``, ``.txt``; perhaps ``.gz``) or ``.parquet`` file, read by whichever
        of pandas and polars is there; or a frame.
    target : str, optional
        The column that is y. By default one called "class", "target", "label" or "y", else the
        last one.
    drop : iterable of str
        Columns to leave out.
    extra : iterable of str
        Columns that are no features, and are kept in ``extra``.
    missing : {"drop", "impute", "raise"}, default="drop"
        What is done with rows that have missing values: they are left out, which a warning counts;
        or the values are the median, or the most frequent category, of their column.
    name : str, optional
        Name of the data set; by default that of the file.

    Returns
    -------
    DataSet
        With ``X``, ``y`` and ``feature_names``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "class": ["s", "t", "t"]})
    >>> data = read_table(frame, name="tiny")
    >>> data
    DataSet('tiny': 3 samples, 2 features, 2 values of y)
      Column 'b' is 1 where it is 'y', else 0.
    >>> data.feature_names, data.y
    (('a', 'b=y'), array(['s', 't', 't'], dtype='<U1'))
    """
    if isinstance(source, str | Path):
        path = Path(source)
        name = _stem(path) if name is None else name
        frame = read_file(path)
    else:
        frame = source
        if not hasattr(frame, "columns") or not hasattr(frame, "dtypes"):
            raise TypeError(
                f"A table is the path of a file, or a data frame of pandas or polars, not "
                f"{type(source).__name__}."
            )
    columns = _columns(frame)
    if not columns or not len(next(iter(columns.values()))):
        raise ValueError(f"{name or 'The table'} is empty: it has no rows, or no columns.")
    drop, extra = _known(drop, columns, "drop"), _known(extra, columns, "extra")
    columns = {each: values for each, values in columns.items() if each not in drop}
    candidates = [each for each in columns if each not in extra]
    if not candidates:
        raise ValueError(f"{name or 'The table'} has no column that is a feature.")
    target = _target(target, candidates)
    return encoded(columns, target, name=name or "", missing=missing, extra=extra)


def _target(target: str | None, names: list[str]) -> str:
    if target is not None:
        _known([target], names, "target")
        return target
    # As it is spelt if it is, else the last of those that are spelt otherwise.
    by_name = {each.lower(): each for each in names} | {each: each for each in names}
    return next((by_name[each] for each in TARGETS if each in by_name), names[-1])


def _known(wanted: Iterable[str], names: Iterable[str], role: str) -> list[str]:
    """Return the names of columns, all of which must be there."""
    from difflib import get_close_matches

    wanted, names = ([wanted] if isinstance(wanted, str) else list(wanted)), list(names)
    for each in wanted:
        if each not in names:
            near = get_close_matches(str(each), names, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {names[:20]}."
            raise ValueError(f"{role}: there is no column {each!r}; {hint}")
    return wanted


def read_file(path: Path) -> Any:
    """Return a file as a data frame of pandas or polars."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file.")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty.")
    library, is_pandas = _library()
    kind = [each.lower() for each in path.suffixes]
    try:
        if ".parquet" in kind:
            return library.read_parquet(path)
        if not {".csv", ".tsv", ".txt", ".dat"} & set(kind):
            raise ValueError(
                f"{path.name} is of no known kind: a table is a .csv, .tsv, .txt (perhaps .gz) or "
                ".parquet file."
            )
        separator = _separator(path)
        if is_pandas:
            return library.read_csv(path, sep=separator, skipinitialspace=True)
        return library.read_csv(path, separator=separator, null_values=["", "NA", "?"])
    except (UnicodeDecodeError, EOFError, OSError) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}.") from error


def _library() -> tuple[Any, bool]:
    """Return pandas, or else polars, and whether it is pandas."""
    try:
        import pandas

        return pandas, True
    except ImportError:
        pass
    try:
        import polars

        return polars, False
    except ImportError:
        raise ImportError(
            "To read a file of a table, dimetric needs pandas or polars: pip install pandas "
            "pyarrow, or give the samples as arrays."
        ) from None


def _separator(path: Path) -> str:
    """Return the separator that the first line has most of."""
    import gzip

    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as lines:
        first = lines.readline()
    return max(SEPARATORS, key=first.count)


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def _columns(frame: Any) -> dict[str, np.ndarray]:
    """Return the columns of a frame: numbers, dates, or objects in which None is missing."""
    columns = {}
    for name in frame.columns:
        series = frame[name]
        if getattr(series, "ndim", 1) != 1:
            raise ValueError(f"There is more than one column {name!r}: names must differ.")
        values = series.to_numpy()
        if values.dtype.kind not in "iufbmM":
            values = np.empty(len(series), dtype=object)
            values[:] = [None if _is_gap(each) else each for each in series.to_list()]
            values = _numbers_if_all_are(values)
        columns[str(name)] = values
    return columns


def _is_gap(value: object) -> bool:
    """Tell whether a value stands for none; pandas' NA refuses to be compared."""
    return value is None or str(value) in ("<NA>", "NaT", "?") or value != value


def _numbers_if_all_are(values: np.ndarray) -> np.ndarray:
    """Return objects as numbers if all of them are; None is NaN."""
    there = [each for each in values if each is not None]
    if not there or not all(_is_number(each) for each in there):
        return values
    return np.array([np.nan if each is None else float(each) for each in values])


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True
