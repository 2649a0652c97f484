"""Check the files that a verb reads and writes, before any long work starts."""

from collections.abc import Sequence
from pathlib import Path

from dimetric._files import check_folder, check_writable, is_stream
from dimetric.cli._options import UsageError
from dimetric.cli._terminal import is_standard_output

MODEL_EXTENSION = ".dimetric"
STANDARD_OUTPUT_NAME = "-"
# The format that `dimetric export` writes, by the extension of the file.
EXPORT_FORMATS = {
    ".onnx": "onnx",
    ".py": "numpy",
    ".faiss": "faiss",
    ".usearch": "usearch",
    ".sql": "duckdb",
}
TABLE_EXTENSIONS = (
    ".csv",
    ".tsv",
    ".txt",
    ".dat",
    ".gz",
    ".parquet",
    ".npz",
    ".npy",
    ".xlsx",
    ".xls",
    ".ods",
    ".json",
    ".jsonl",
    ".ndjson",
    ".feather",
    ".arrow",
    ".db",
    ".duckdb",
    ".sqlite",
)
REPORT_EXTENSIONS = (".html", ".htm", ".pdf", MODEL_EXTENSION)


def output_file(out: Path, json: bool = False) -> Path:
    """Return the file to write. Raise if it cannot be written, or conflicts with ``--json``.

    Parameters
    ----------
    out : path
        The value of ``--out``. "-" is standard output.
    json : bool, default=False
        Whether the verb prints a JSON object.
    """
    file = Path("/dev/stdout") if str(out) == STANDARD_OUTPUT_NAME else out
    if json and is_standard_output(file):
        raise UsageError("--json requires --out FILE, because both would write to standard output.")
    check_writable(file)
    return file


def refuse_folder(out: Path, example: str) -> None:
    """Raise if the file to write is a directory, and suggest a file in it.

    Parameters
    ----------
    out : path
        The value of ``--out``.
    example : str
        Name of a file that the verb can write.
    """
    if out.is_dir():
        raise ValueError(
            f"--out {out} is a directory, not a file. Write a file such as {out / example}."
        )


def refuse_inputs(out: Path, data: Sequence[Path], model: Path | None = None) -> None:
    """Raise if writing a file would replace a file that the verb reads.

    Parameters
    ----------
    out : path
        The file to write. Links to a file are the same file.
    data : sequence of paths
        The tables.
    model : path, optional
        The model file.
    """
    if not out.is_file():  # a terminal may be both standard input and output
        return
    inputs = [(each, "table") for each in data]
    inputs += [] if model is None else [(model, "model")]
    for path, what in inputs:
        if path.is_file() and out.samefile(path):
            raise ValueError(f"--out {out} would overwrite the {what}. Write another file.")


def model_file(out: Path, json: bool) -> Path:
    """Return the model file to write. Raise if it is not a ``.dimetric`` file.

    Parameters
    ----------
    out, json
        As in :func:`output_file`.
    """
    refuse_folder(out, "model.dimetric")
    suffix = out.suffix.lower()
    if suffix != MODEL_EXTENSION and str(out) != STANDARD_OUTPUT_NAME and not is_stream(out):
        model = out.with_suffix(MODEL_EXTENSION)
        message = f"Unsupported file type: {out}. A model file ends in .dimetric. Use --out {model}"
        if suffix in EXPORT_FORMATS:
            to = f"--to {EXPORT_FORMATS[suffix]} --out {out}"
            raise ValueError(f"{message}, and then run `dimetric export {model} {to}`.")
        raise ValueError(f"{message}.")
    return output_file(out, json)


def results_file(out: Path | None, json: bool, model: Path, data: Sequence[Path]) -> Path | None:
    """Return the file for a table of results. None stands for standard output.

    With ``--json``, standard output gets the JSON object, which then contains the results.

    Parameters
    ----------
    out, json
        As in :func:`output_file`. None is standard output.
    model, data : path, sequence of paths
        The files that the verb reads. They are not overwritten.
    """
    from dimetric.data._writers import check_extension

    if out is None or str(out) == STANDARD_OUTPUT_NAME or (json and is_standard_output(out)):
        return None
    refuse_folder(out, "results.csv")
    check_extension(out)
    refuse_inputs(out, data, model)
    return output_file(out)


def check_output_folder(out: Path) -> None:
    """Raise if files cannot be written to a folder, or if its name is that of a file."""
    if not out.is_dir() and out.suffix.lower() in REPORT_EXTENSIONS:
        raise ValueError(
            f"--out {out} must be a directory, because several files are written. Use --out "
            f"{out.with_suffix('')}."
        )
    check_folder(out)


def check_is_model(model: Path, data: Path | Sequence[Path] = ()) -> None:
    """Raise if a file is not a model, and say so if the model and the table are exchanged.

    Parameters
    ----------
    model : path
        The first argument of a verb.
    data : path or sequence of paths, default=()
        The other arguments.
    """
    from dimetric.export._container import read_header

    if not model.exists():
        from dimetric.data._readers.source import check_not_url  # it imports scikit-learn

        check_not_url(model)
    try:
        read_header(model)
    except ValueError as error:
        tables = [data] if isinstance(data, Path) else data
        swapped = next((each for each in tables if _is_model(each)), None)
        if swapped is not None:
            raise ValueError(
                f"{model} is not a model file, but {swapped} is. Give the model first, and then "
                "the table."
            ) from None
        if model.suffix.lower() != MODEL_EXTENSION and is_table(model):
            fitted = model.with_name(model.name.partition(".")[0]).with_suffix(MODEL_EXTENSION)
            raise ValueError(
                f"{model} is not a model file, but a table. Run `dimetric fit {model} --out "
                f"{fitted}` to fit a model, or `dimetric inspect {model}` to see the columns."
            ) from None
        raise error


def refuse_adapter(model: object, path: Path) -> None:
    """Raise if a model maps queries and documents, not the rows of a table."""
    if type(model).__name__ == "RetrievalAdapter":
        raise ValueError(
            f"{path} holds a RetrievalAdapter, which maps vectors of queries and documents, not "
            "tables. In Python, load it and call its method search, or use `dimetric export`."
        )


def import_scikit_learn() -> None:
    """Import scikit-learn before other packages import it.

    Python stores the frames of nested calls in blocks of 16 kB. At some depths of nested imports,
    almost every call allocates a block and frees it again, which takes up to 0.4 seconds.
    """
    import sklearn.base  # noqa: F401


def _is_model(path: Path) -> bool:
    from dimetric.export._container import read_header

    try:
        read_header(path)
    except (ValueError, OSError):
        return False
    return True


def is_table(path: Path) -> bool:
    """Return whether the extension of a file is that of a table.

    Examples
    --------
    >>> is_table(Path("wine.CSV")), is_table(Path("wine.dimetric"))
    (True, False)
    """
    return path.suffix.lower() in TABLE_EXTENSIONS
