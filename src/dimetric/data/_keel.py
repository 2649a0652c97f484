"""Read files of the KEEL repository: a header of attributes, and rows of values."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dimetric.data._dataset import DataSet
from dimetric.data._missing import KEEL_MISSING_MARKERS
from dimetric.data._samples import encoded

__all__ = ["read_keel"]

ATTRIBUTE = re.compile(
    r"""@attribute\s+(?P<name>'[^']*'|"[^"]*"|[^\s{]+)\s*
        (?:(?P<kind>[a-z]+)\s*(?:\[.*\])?|\{(?P<values>.*)\})\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
VALUE = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([^,]*?))\s*,""")


@dataclass
class _Header:
    relation: str = ""
    values: dict[str, list[str] | None] = field(default_factory=dict)  # None: of numbers
    inputs: list[str] | None = None
    outputs: list[str] | None = None


def read_keel(path: str | Path, *, missing: str = "drop", name: str | None = None) -> DataSet:
    r"""Read a KEEL ``.dat`` file [1]_.

    Parameters
    ----------
    path : path
        File with ``@relation``, ``@attribute``, perhaps ``@inputs`` and ``@outputs``, ``@data``
        and rows of values. Without ``@outputs`` the last attribute is the output.
    missing : {"drop", "impute", "raise"}, default="drop"
        What is done with rows that have missing values, as in
        :func:`~dimetric.data.read_table`.
    name : str, optional
        Name of the data set; by default its relation.

    Returns
    -------
    DataSet
        Nominal inputs are one-hot, as ``notes`` say; a nominal output is an array of texts.

    References
    ----------
    .. [1] J. Alcala-Fdez et al., "KEEL data-mining software tool: data set repository, integration
       of algorithms and experimental analysis framework", Journal of Multiple-Valued Logic and
       Soft Computing 17, 2011.

    Examples
    --------
    >>> import tempfile
    >>> lines = ["@relation tiny", "@attribute size real [0.5, 2.0]", "@attribute class {a, b}"]
    >>> lines += ["@inputs size", "@outputs class", "@data", "0.5, a", "2.0, b"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "tiny.dat")
    ...     _ = path.write_text("\n".join(lines))
    ...     read_keel(path)
    DataSet('tiny': 2 samples, 1 features, 2 values of y)
    """
    path = Path(path)
    lines = _lines(path)
    header, first = _read_header(path, lines)
    rows = _read_rows(path, lines, header, first)
    columns = {
        each: _column(path, each, header.values[each], [(n, row[i]) for n, row in rows])
        for i, each in enumerate(header.values)
    }
    output = _output(path, header)
    chosen = [*(header.inputs or [each for each in header.values if each != output]), output]
    return encoded(
        {each: columns[each] for each in chosen},
        output,
        name=header.relation if name is None else name,
        missing=missing,
        categories={each: values for each, values in header.values.items() if values is not None},
    )


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:  # old files are in Latin-1, in which any byte is a letter
        return content.decode("latin-1").splitlines()


def _read_rows(
    path: Path, lines: list[str], header: _Header, first: int
) -> list[tuple[int, list[str]]]:
    """Return the rows after the header, each with the number of its line."""
    has_percent = any("%" in each for own in header.values.values() for each in own or [])
    rows = []
    for number, line in enumerate(lines[first:], start=first + 1):
        if not has_percent:
            line = line.partition("%")[0]  # a comment at its end
        if line.strip() and not line.lstrip().startswith("%"):
            row = _listed(line)
            if len(row) != len(header.values):
                raise ValueError(
                    f"{path}, line {number}: {len(row)} values, but there are "
                    f"{len(header.values)} attributes."
                )
            rows.append((number, row))
    if not rows:
        raise ValueError(f"{path} holds no rows after @data.")
    return rows


def _listed(text: str) -> list[str]:
    """Return the values between commas, without quotes around them."""
    if "'" not in text and '"' not in text:
        return [each.strip() for each in text.split(",")]
    return ["".join(found) for found in VALUE.findall(f"{text},")]


def _read_header(path: Path, lines: list[str]) -> tuple[_Header, int]:
    """Return the header, and the number of the line with ``@data``."""
    header = _Header()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        keyword, rest = (*text.split(maxsplit=1), "")[:2]
        keyword = keyword.lower()
        if keyword == "@relation":
            header.relation = rest.strip("'\"")
        elif keyword == "@attribute":
            found = ATTRIBUTE.match(text)
            kind = (found["kind"] or "").lower() if found else "?"
            if found is None or kind not in ("", "real", "integer", "numeric"):
                raise ValueError(
                    f"{path}, line {number}: {text!r} is not an attribute, such as "
                    "'@attribute name real [low, high]', 'integer [low, high]' or '{value, value}'."
                )
            name = found["name"]
            name = name[1:-1] if name[0] in "'\"" and name[0] == name[-1] else name
            if name in header.values:
                raise ValueError(f"{path}, line {number}: there is an attribute {name!r} already.")
            header.values[name] = None if kind else _listed(found["values"])
        elif keyword in ("@inputs", "@input"):
            header.inputs = _names(rest, header)
        elif keyword in ("@outputs", "@output"):
            header.outputs = _names(rest, header)
        elif keyword == "@data":
            if not header.values:
                raise ValueError(f"{path} has no @attribute before @data.")
            return header, number
        else:
            raise ValueError(
                f"{path}, line {number}: {text[:40]!r} is not a line of a KEEL header, which has "
                "@relation, @attribute, @inputs, @outputs and @data."
            )
    raise ValueError(f"{path} is not a KEEL file: it has no @data.")


def _names(rest: str, header: _Header) -> list[str]:
    found = _listed(rest)
    if len(found) == 1 and found[0] not in header.values:
        return rest.split()  # without commas
    return found


def _output(path: Path, header: _Header) -> str:
    outputs = header.outputs or [list(header.values)[-1]]
    if len(outputs) != 1:
        raise ValueError(f"{path} has {len(outputs)} outputs, {outputs}: only one can be read.")
    for each in (*(header.inputs or []), *outputs):
        if each not in header.values:
            raise ValueError(
                f"{path} names {each!r} in @inputs or @outputs, but there is no such attribute."
            )
    return outputs[0]


def _column(
    path: Path, name: str, values: list[str] | None, rows: list[tuple[int, str]]
) -> np.ndarray:
    """Return the values of an attribute: numbers, or objects in which None is missing."""
    column: list[Any] = []
    for number, text in rows:
        if text.lower() in KEEL_MISSING_MARKERS and text not in (values or []):
            column.append(np.nan if values is None else None)
            continue
        try:
            column.append(float(text) if values is None else text)
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: {text!r} is not a number, but {name!r} is an attribute of "
                "numbers."
            ) from None
        if values is not None and text not in values:
            raise ValueError(
                f"{path}, line {number}: {text!r} is not among the values of {name!r}, "
                f"{values[:20]}."
            )
    return np.array(column, dtype=np.float64 if values is None else object)
