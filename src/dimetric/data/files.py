"""Files of tables, read at once or some rows at a time."""

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dimetric.data.columns import GAPS, GAPS_AMONG_NUMBERS
from dimetric.data.dialect import POINTED, Dialect, dialect_of

TEXT = {".csv", ".tsv", ".txt", ".dat", ".data"}
KINDS = ".csv, .tsv, .txt (perhaps .gz), .parquet, .npz or .npy"
CELLS = 2**20  # values of a chunk


def read_file(path: Path, header: bool | None = None, target: str | None = None) -> Any:
    """Return a file as a data frame of pandas or polars; arrays as a mapping of names to columns.

    Parameters
    ----------
    path : path
        The file.
    header : bool or None, default=None
        Whether the first line of a file of text holds names; None finds out.
    target : str, optional
        A column whose values stay texts, unless the file is one of arrays or Parquet.
    """
    kind = kind_of(path)
    with explained(path):
        if kind == "arrays":
            return dict(_arrays(path, None).__next__())
        library, is_pandas = _library()
        if kind == "parquet":
            return library.read_parquet(path)
        dialect = dialect_of(path, header)
        if not is_pandas:
            return _named(_by_polars(library, path, dialect))
        options = _pandas_options(dialect)
        if target is not None:
            head = library.read_csv(path, nrows=0, **options)
            key = head.columns[list(map(str, _named(head).columns)).index(target)]
            options["na_values"] = {each: options["na_values"] for each in head} | {key: [""]}
            options["converters"] = {key: dialect.plain}
        frame = _named(library.read_csv(path, low_memory=False, **options))
        return _without_points(frame, dialect, [] if target is None else [target])


def names_in(path: Path, header: bool | None = None) -> list[str]:
    """Return the names of the columns of a file of text.

    Parameters
    ----------
    path : path
        The file.
    header : bool or None, default=None
        As in :func:`read_file`.
    """
    with explained(path):
        library, is_pandas = _library()
        dialect = dialect_of(path, header)
        if is_pandas:
            head = library.read_csv(path, nrows=0, **_pandas_options(dialect))
        else:
            head = _by_polars(library, path, dialect, n_rows=0)
        return [str(each) for each in _named(head).columns]


def read_chunks(
    path: Path, *, texts: Iterable[str] = (), header: bool | None = None, cells: int = CELLS
) -> Iterator[Any]:
    """Yield a file some rows at a time, as data frames of pandas, or as mappings.

    Parameters
    ----------
    path : path
        The file.
    texts : iterable of str
        Columns whose values are texts, whatever they look like in some rows.
    header : bool or None, default=None
        As in :func:`read_file`.
    cells : int
        How many values to read at a time.
    """
    kind = kind_of(path)
    with explained(path):
        if kind == "arrays":
            yield from _arrays(path, cells)
            return
        if kind == "parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(path) as file:
                rows = max(1, cells // max(1, file.metadata.num_columns))
                for batch in file.iter_batches(rows):
                    # Whole numbers beside gaps would become floats, which do not hold long ids.
                    yield batch.to_pandas(integer_object_nulls=True)
            return
        library, is_pandas = _library()
        if not is_pandas:
            raise ImportError("To read a table in chunks dimetric needs pandas: pip install pandas")
        dialect = dialect_of(path, header)
        options = _pandas_options(dialect)
        head = library.read_csv(path, nrows=0, **options)
        rows = max(1, cells // max(1, head.shape[1]))
        places = [i for i, each in enumerate(_named(head).columns) if str(each) in set(texts)]
        options["dtype"] = {(i if options["header"] is None else head.columns[i]): str
                            for i in places}  # fmt: skip
        with library.read_csv(path, chunksize=rows, **options) as chunks:
            for chunk in chunks:
                yield _without_points(_named(chunk), dialect, texts)


def stem(path: Path) -> str:
    """Return the name of a file without the endings that tell its kind.

    Examples
    --------
    >>> stem(Path("data/iris.csv.gz")), stem(Path("sales.2024.csv"))
    ('iris', 'sales.2024')
    """
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def kind_of(path: Path) -> str:
    """Return "text", "parquet" or "arrays"; raise where there is no such file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file.")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty.")
    endings = {each.lower() for each in path.suffixes}
    if ".parquet" in endings:
        return "parquet"
    if endings & {".npz", ".npy"}:
        return "arrays"
    if endings & TEXT:
        return "text"
    raise ValueError(f"{path.name} is of no known kind: a table is a {KINDS} file.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say of which file it is that it cannot be read."""
    try:
        yield
    except (UnicodeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a table: {error}.") from error
    except ValueError as error:
        if type(error).__module__ == "builtins" and str(path) in str(error):
            raise
        why = str(error).strip().rstrip(".").removeprefix("Error tokenizing data. C error: ")
        if why.startswith("Expected "):
            why += "; take out what stands above the names, or is no row"
        raise ValueError(f"{path} cannot be read as a table: {why}.") from error


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


def _pandas_options(dialect: Dialect) -> dict[str, Any]:
    return {
        "sep": dialect.separator,
        "header": 0 if dialect.header else None,
        "decimal": dialect.decimal,
        "encoding": dialect.encoding,
        "skipinitialspace": True,
        "na_values": sorted(GAPS),
        "keep_default_na": False,
    }


def _without_points(frame: Any, dialect: Dialect, texts: Iterable[str] = ()) -> Any:
    """Return a frame with 1.234,5 as a number; pandas would take 1.2.2020 for one as well."""
    if dialect.decimal != ",":
        return frame
    for name in [each for each in frame.columns if str(each) not in set(texts)]:
        if frame[name].dtype.kind in "iufb":
            continue
        values = frame[name].astype(str).str.strip()
        there = (frame[name].notna() & ~values.isin(GAPS_AMONG_NUMBERS)).to_numpy()
        if there.any() and values[there].str.fullmatch(POINTED.pattern).all():
            plain = values[there].str.replace(".", "", regex=False)
            numbers = np.full(len(frame), np.nan)
            numbers[there] = plain.str.replace(",", ".", regex=False).astype(float)
            frame[name] = numbers
    return frame


def _by_polars(library: Any, path: Path, dialect: Dialect, **options: Any) -> Any:
    if len(dialect.separator) > 1:
        raise ValueError("values with spaces between them are read by pandas: pip install pandas")
    return library.read_csv(
        path,
        separator=dialect.separator,
        has_header=dialect.header,
        decimal_comma=dialect.decimal == ",",
        encoding="utf8" if dialect.encoding.startswith("utf-8") else dialect.encoding,
        null_values=sorted(GAPS),
        **options,
    )


def _named(frame: Any) -> Any:
    """Return a frame whose columns have names: x0, x1, ... where the file has none."""
    if hasattr(frame, "set_axis"):  # pandas numbers them
        if len(frame.columns) and frame.columns.dtype.kind in "iu":
            return frame.set_axis([f"x{i}" for i in range(frame.shape[1])], axis=1)
        return frame.set_axis([str(each).strip() for each in frame.columns], axis=1)
    if list(frame.columns) == [f"column_{i + 1}" for i in range(frame.width)]:
        return frame.rename({each: f"x{i}" for i, each in enumerate(frame.columns)})
    return frame


def _arrays(path: Path, cells: int | None) -> Iterator[Mapping[str, np.ndarray]]:
    """Yield rows of X, as columns x0, x1, ..., and of y if it is there."""
    if path.suffix.lower() == ".npy":
        X, y = np.load(path, mmap_mode="r", allow_pickle=False), None
        yield from _rows_of(path, X, y, cells)
        return
    with np.load(path, allow_pickle=False) as file:
        if "X" not in file:
            raise ValueError(f"{path} holds {', '.join(file) or 'nothing'}; a table is X, and y.")
        y = file["y"] if "y" in file.files else None
    with _Member(path, "X.npy") as X:
        yield from _rows_of(path, X, y, cells)


class _Member:
    """An array in an ``.npz`` file, of which some rows at a time are read."""

    def __init__(self, path: Path, name: str) -> None:
        self._archive = zipfile.ZipFile(path)
        self._file = self._archive.open(name)
        version = np.lib.format.read_magic(self._file)
        read = (np.lib.format.read_array_header_1_0 if version == (1, 0)
                else np.lib.format.read_array_header_2_0)  # fmt: skip
        self.shape, self._fortran, self.dtype = read(self._file)
        self.ndim = len(self.shape)
        self._whole: np.ndarray | None = None

    def __enter__(self) -> "_Member":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        self._archive.close()

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return the next rows: they are asked for one after the other."""
        if self.dtype.hasobject:
            raise ValueError("X holds objects, which are not read")
        if self._fortran:  # column after column: there are no rows to read
            if self._whole is None:
                whole = np.frombuffer(self._file.read(), dtype=self.dtype)
                self._whole = whole.reshape(self.shape, order="F")
            return self._whole[rows]
        count = (rows.stop - rows.start) * self.shape[1]
        part = self._file.read(count * self.dtype.itemsize)
        return np.frombuffer(part, dtype=self.dtype).reshape(-1, self.shape[1])


def _rows_of(
    path: Path, X: Any, y: np.ndarray | None, cells: int | None
) -> Iterator[dict[str, np.ndarray]]:
    if X.ndim != 2 or X.dtype.kind not in "iufb":
        raise ValueError(f"{path} holds an X of shape {X.shape}, {X.dtype}: it must be a matrix.")
    n, d = X.shape
    if y is not None and y.shape != (n,):
        raise ValueError(f"{path} holds {n} rows of X, but a y of shape {y.shape}.")
    step = max(1, n if cells is None else cells // max(1, d))
    for start in range(0, max(1, n), step):
        rows = slice(start, min(n, start + step))
        part = np.asarray(X[rows])
        columns = {f"x{i}": part[:, i] for i in range(d)}
        yield columns if y is None else columns | {"y": y[rows]}
