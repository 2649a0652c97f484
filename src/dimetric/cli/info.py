"""The verb ``info``: describe a model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimetric._names import printable
from dimetric.cli._checks import check_is_model
from dimetric.cli._options import Json, ModelFile
from dimetric.cli._terminal import print_json

if TYPE_CHECKING:
    from rich.table import Table

MAX_SHOWN_NAMES = 12


def info(
    model: ModelFile,
    json: Json = False,
) -> None:
    """Describe a model file: its steps, features and classes. Reads only its header."""
    check_is_model(model)
    import dimetric

    about = dimetric.describe(model)
    if json:
        print_json({"model": model, **about})
        return
    from rich.console import Console

    Console().print(description_table(model, about), soft_wrap=False)


def description_table(path: Path, about: dict[str, Any]) -> "Table":
    """Return the description of a model file as a table for the terminal.

    Parameters
    ----------
    path : path
        The model file.
    about : dict
        The result of :func:`dimetric.describe`.
    """
    from rich.table import Table
    from rich.text import Text

    size = readable_size(about["bytes"])
    rows = [("file", f"{printable(path)} ({size}, format {about['format']})")]
    for step in about.get("steps") or [about]:
        rows.append((printable(step.get("name", "model")), _estimator_repr(step)))
    features, classes = about["features"], about["classes"]
    if about["n_features"] or features:
        names = _name_list(features, about["n_features"])
        # The columns of a table may become several features each.
        reads_table = any(each["class"] == "TableEncoder" for each in about.get("steps") or [])
        rows.append(("reads", _columns(names)) if reads_table else ("features", names))
    if classes:
        rows.append(("classes", _name_list(classes, len(classes))))
    user_info = about["about"]
    for name, value in user_info.items() if isinstance(user_info, dict) else [("about", user_info)]:
        if value not in (None, "", [], {}):
            rows.append((printable(name), printable(value)))
    n_numbers = sum(_product(each["shape"]) for each in about["tensors"].values())
    rows.append(("stored", f"{n_numbers:,} numbers in {len(about['tensors'])} arrays"))
    versions = [
        f"{printable(name)} {printable(each)}" for name, each in about["versions"].items() if each
    ]
    rows.append(("written by", ", ".join(versions)))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(Text(each) for each in row))
    return table


def _estimator_repr(step: dict[str, Any]) -> str:
    """Return the repr of an estimator, without parameters that are None."""
    params = []
    for name, value in step.get("parameters", {}).items():
        if value is None:
            continue
        is_estimator = isinstance(value, dict) and "class" in value
        text = _estimator_repr(value) if is_estimator else printable(repr(value))
        params.append(f"{printable(name)}={text}")
    return f"{printable(step['class'])}({', '.join(params)})"


def _columns(names: str) -> str:
    """Return a list of names with the word "columns" after their number."""
    count, colon, rest = names.partition(":")
    return f"{count} {'column' if count == '1' else 'columns'}{colon}{rest}"


def _name_list(names: list[Any] | None, count: int | None) -> str:
    if not names:
        return str(count)
    shown = ", ".join(printable(each) for each in names[:MAX_SHOWN_NAMES])
    n_hidden = len(names) - MAX_SHOWN_NAMES
    more = f" and {n_hidden} more" if n_hidden > 0 else ""
    return f"{len(names)}: {shown}{more}"


def readable_size(n_bytes: int) -> str:
    """Return a number of bytes with a unit.

    Examples
    --------
    >>> readable_size(900), readable_size(12_345), readable_size(12_345_678)
    ('900 bytes', '12.3 kB', '12.3 MB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    return f"{n_bytes / 1e3:.1f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.1f} MB"


def _product(shape: list[int]) -> int:
    product = 1
    for each in shape:
        product *= each
    return product
