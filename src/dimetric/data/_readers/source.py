"""Find the files that a user names: paths, or "-" for standard input."""

import atexit
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from dimetric._errors import as_url
from dimetric._scratch import scratch_folder

STDIN = "-"
STDIN_LABEL = "standard input"
# A scheme has two letters or more, because "C:/" is a drive. A Path turns "//" into "/".


class InputFile(NamedTuple):
    """A file that holds a table.

    Attributes
    ----------
    path : Path
        Path of the file. Standard input is copied to a temporary file.
    label : str
        Name of the file in messages.
    is_stream : bool
        Whether the file was a stream, such as a pipe, whose name need not have an extension.
    """

    path: Path
    label: str
    is_stream: bool = False


def table_name(path: Path) -> str:
    """Return the name of a file without its extension.

    Examples
    --------
    >>> table_name(Path("data/iris.csv.gz")), table_name(Path("sales.2024.csv"))
    ('iris', 'sales.2024')
    """
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def tables_name(paths: Iterable[str | Path]) -> str:
    """Return a name for the table in one or several files.

    Examples
    --------
    >>> tables_name(["a.csv"]), tables_name(["-"]), tables_name(["jan.csv", "feb.csv"])
    ('a', 'stdin', 'jan-and-1-more')
    """
    first, *others = (
        "stdin" if str(each) in (STDIN, STDIN_LABEL) else table_name(Path(each)) for each in paths
    )
    return f"{first}-and-{len(others)}-more" if others else first


def is_file_source(source: Any) -> bool:
    """Return whether an argument names files: a path, or a list of paths.

    Examples
    --------
    >>> is_file_source("a.csv"), is_file_source(["a.csv", "b.csv"]), is_file_source([[1.0]])
    (True, True, False)
    """
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(each, str | Path) for each in source)
    return isinstance(source, str | Path)


def input_files(source: str | Path | Iterable[str | Path]) -> list[InputFile]:
    """Return the files that a user names. Raise if one is not a file.

    Parameters
    ----------
    source : path, "-", or iterable of these
        The files. "-" is standard input, which is copied to a temporary file. A folder stands for
        the Parquet files in it.
    """
    paths = [source] if isinstance(source, str | Path) else list(source)
    if [str(each) for each in paths].count(STDIN) > 1:
        raise ValueError(f"{STDIN} (standard input) is given twice, but can be read only once.")
    return [_input_file(each) for path in paths for each in _files_in(path)]


def _files_in(path: str | Path) -> list[str | Path]:
    """Return the Parquet files in a folder, or the path itself if it is no such folder."""
    if str(path) == STDIN or not Path(path).is_dir():
        return [path]
    # Engines write a table as a folder of files, and names such as _SUCCESS are not tables.
    names = sorted(each.name for each in Path(path).glob("*.parquet") if each.name[0] not in "_.")
    return [Path(path) / each for each in names] or [path]


def _input_file(path: str | Path) -> InputFile:
    if str(path) == STDIN:
        return InputFile(_spooled_input(), STDIN_LABEL, True)
    file = InputFile(Path(path), str(path))
    if file.path.is_dir():
        raise IsADirectoryError(f"{path} is a directory, not a file. It contains no Parquet file.")
    if not file.path.exists():
        check_not_url(path)
        raise FileNotFoundError(f"There is no file {path}.")
    if not file.path.is_file():  # a pipe, such as /dev/stdin, can be read only once
        with open(file.path, "rb") as stream:
            return InputFile(_spooled(stream, str(path)), str(path), True)
    if not file.path.stat().st_size:
        raise ValueError(f"{path} is empty.")
    return file


def check_not_url(path: str | Path) -> None:
    """Raise if a path is a URL.

    Examples
    --------
    >>> check_not_url("s3://bucket/a.csv")
    Traceback (most recent call last):
    ...
    ValueError: dimetric does not download files. Download s3://bucket/a.csv first, then pass the...
    """
    url = as_url(path)
    if url is None:
        return
    scheme, _, rest = url.partition("://")
    if scheme.lower() == "file":
        raise ValueError(f"{scheme}:///{rest} is a URL. Pass the path of the file, /{rest}.")
    raise ValueError(f"dimetric does not download files. Download {url} first, then pass the file.")


def _spooled_input() -> Path:
    """Copy standard input to a temporary file, because a table is read more than once."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        raise ValueError(
            f"{STDIN} reads a table from standard input, but no file or pipe is connected to it."
        )
    return _spooled(sys.stdin.buffer, STDIN_LABEL)


def _spooled(stream: Any, label: str) -> Path:
    """Copy a stream to a temporary file, which is removed when Python ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(scratch_folder(Path(tempfile.gettempdir())))
    path = folder / "input"
    with open(path, "wb") as file:
        shutil.copyfileobj(stream, file)
    if not path.stat().st_size:
        raise ValueError(f"{label} is empty.")
    return path
