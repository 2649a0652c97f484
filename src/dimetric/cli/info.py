"""The verb ``info``: what a model file says about itself."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimetric.cli._options import Json, ModelFile
from dimetric.cli._terminal import as_json

if TYPE_CHECKING:
    from rich.table import Table

FEW = 12  # names that are shown of many


def info(
    model: ModelFile,
    json: Json = False,
) -> None:
    """Describe a model file: its steps, features and classes. Only its header is read."""
    import dimetric

    about = dimetric.describe(model)
    if json:
        as_json({"model": model, **about})
        return
    from rich.console import Console

    Console().print(table_of(model, about), soft_wrap=False)


def table_of(path: Path, about: dict[str, Any]) -> "Table":
    """Return the description as a table for the terminal.

    Parameters
    ----------
    path : path
        The file.
    about : dict
        As :func:`dimetric.describe` gives it.
    """
    from rich.table import Table
    from rich.text import Text

    rows = [("file", f"{path} ({size(about['bytes'])}, format {about['format']})")]
    for step in about.get("steps") or [about]:
        rows.append((shown(step.get("name", "model")), _estimator(step)))
    features, classes = about["features"], about["classes"]
    if about["n_features"] or features:
        rows.append(("features", _some(features, about["n_features"])))
    if classes:
        rows.append(("classes", _some(classes, len(classes))))
    said = about["about"]
    for name, value in said.items() if isinstance(said, dict) else [("about", said)]:
        if value not in (None, "", [], {}):
            rows.append((shown(name), shown(value)))
    n_numbers = sum(_product(each["shape"]) for each in about["tensors"].values())
    rows.append(("numbers", f"{n_numbers:,} in {len(about['tensors'])} arrays"))
    versions = [f"{shown(name)} {shown(each)}" for name, each in about["versions"].items() if each]
    rows.append(("written by", ", ".join(versions)))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*(Text(each) for each in row))
    return table


def _estimator(step: dict[str, Any]) -> str:
    """Return an estimator as Python code, without parameters that are None."""
    given = []
    for name, value in step.get("parameters", {}).items():
        if value is None:
            continue
        inner = isinstance(value, dict) and "class" in value
        given.append(f"{shown(name)}={_estimator(value) if inner else shown(repr(value))}")
    return f"{shown(step['class'])}({', '.join(given)})"


def _some(names: list[Any] | None, count: int | None) -> str:
    if not names:
        return str(count)
    there = ", ".join(shown(each) for each in names[:FEW])
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"{len(names)}: {there}{more}"


def shown(value: Any) -> str:
    r"""Return a text without characters that control a terminal.

    Examples
    --------
    >>> print(shown("red\x1b[31m"))
    red\x1b[31m
    """
    text = str(value)
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def size(n_bytes: int) -> str:
    """Return a number of bytes in a readable unit.

    Examples
    --------
    >>> size(900), size(12_345), size(12_345_678)
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
