"""Read files of the KEEL repository: a header that declares attributes, then rows of values."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric.data._columns import MAX_QUOTED_CHARACTERS
from dimetric.data._dataset import DataSet
from dimetric.data._missing import KEEL_MISSING_MARKERS
from dimetric.data._samples import build_data_set

__all__ = ["read_keel"]

KIND = re.compile(r"[a-z]+", re.IGNORECASE)
NUMERIC_KINDS = ("real", "integer", "numeric")
MAX_LISTED_VALUES = 20  # values of an attribute in an error message


@dataclass
class _Header:
    relation: str = ""
    # The values of each nominal attribute, or None if the attribute is numeric.
    attributes: dict[str, list[str] | None] = field(default_factory=dict)
    inputs: list[str] | None = None
    outputs: list[str] | None = None


@check_types
def read_keel(path: str | Path, *, missing: str = "drop", name: str | None = None) -> DataSet:
    r"""Read a KEEL ``.dat`` file [1]_.

    Parameters
    ----------
    path : str or Path
        Path of the file. Its header declares ``@relation``, each ``@attribute`` and, optionally,
        ``@inputs`` and ``@outputs``. The rows follow ``@data``. Without ``@outputs``, the last
        attribute is the output.
    missing : {"drop", "impute", "raise"}, default="drop"
        How to treat missing values, as in :func:`~dimetric.data.read_table`.
    name : str, optional
        Name of the data set. By default, the name of the relation.

    Returns
    -------
    DataSet
        Nominal inputs are one-hot encoded, as described in ``notes``. A nominal output is an array
        of strings.

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
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = Path(directory, "tiny.dat")
    ...     _ = path.write_text("\n".join(lines))
    ...     read_keel(path)
    DataSet('tiny': 2 samples, 1 features, 2 values of y)
    """
    path = Path(path)
    lines = _read_lines(path)
    header, data_line = _read_header(path, lines)
    rows = _read_rows(path, lines, header, data_line)
    columns = {
        each: _column(path, each, header.attributes[each], [(n, row[i]) for n, row in rows])
        for i, each in enumerate(header.attributes)
    }
    output = _output_name(path, header)
    chosen = [*(header.inputs or [each for each in header.attributes if each != output]), output]
    return build_data_set(
        {each: columns[each] for each in chosen},
        output,
        name=header.relation if name is None else name,
        missing=missing,
        categories={
            each: values for each, values in header.attributes.items() if values is not None
        },
    )


def _read_lines(path: Path) -> list[str]:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:  # old files use Latin-1, which decodes any byte
        return content.decode("latin-1").splitlines()


def _read_rows(
    path: Path, lines: list[str], header: _Header, data_line: int
) -> list[tuple[int, list[str]]]:
    """Return the rows after the header, each with its line number."""
    has_percent = any("%" in each for values in header.attributes.values() for each in values or [])
    rows = []
    for number, line in enumerate(lines[data_line:], start=data_line + 1):
        if not has_percent:
            line = line.partition("%")[0]  # remove a comment at the end of the line
        if line.strip() and not line.lstrip().startswith("%"):
            row = _split_values(line)
            if len(row) != len(header.attributes):
                raise ValueError(
                    f"{path}, line {number}: expected {len(header.attributes)} values, one for "
                    f"each attribute, but found {len(row)}."
                )
            rows.append((number, row))
    if not rows:
        raise ValueError(f"{path} has no rows after @data.")
    return rows


def _split_values(text: str) -> list[str]:
    """Split a line at its commas and remove the quotes around values."""
    if "'" not in text and '"' not in text:
        return [each.strip() for each in text.split(",")]
    values, start = [], 0
    while start <= len(text):
        quoted = _quoted(text, start)
        comma = text.find(",", start if quoted is None else quoted[1])
        comma = len(text) if comma < 0 else comma
        if quoted is None or text[quoted[1] : comma].strip():
            comma = text.find(",", start)
            comma = len(text) if comma < 0 else comma
            values.append(text[start:comma].strip())
        else:
            values.append(quoted[0])
        start = comma + 1
    return values


def _quoted(text: str, start: int) -> tuple[str, int] | None:
    """Return the quoted string at a position, after spaces, and its end. None if there is none."""
    while start < len(text) and text[start].isspace():
        start += 1
    quote = text[start : start + 1]
    end = text.find(quote, start + 1) if quote in ("'", '"') else -1
    return None if end < 0 else (text[start + 1 : end], end + 1)


def _parse_attribute(text: str) -> tuple[str, list[str] | None] | None:
    """Return the name and the values of an attribute. The values are None if it is numeric.

    Return None if the text is not a valid attribute.
    """
    quoted = _quoted(text, 0)
    unquoted = text.partition("{")[0].split(maxsplit=1)[:1]
    names = [] if quoted is None else [quoted]
    names += [(each, len(each)) for each in unquoted]
    for name, end in names:
        rest = text[end:].strip()
        if rest.startswith("{") and rest.endswith("}"):
            return name, _split_values(rest[1:-1])
        kind = KIND.match(rest)
        if kind is None or kind[0].lower() not in NUMERIC_KINDS:
            continue
        bounds = rest[kind.end() :].strip()
        if not bounds or (bounds.startswith("[") and bounds.endswith("]")):
            return name, None
    return None


def _read_header(path: Path, lines: list[str]) -> tuple[_Header, int]:
    """Return the header and the line number of ``@data``."""
    header = _Header()
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("%"):
            continue
        keyword, arguments = (*text.split(maxsplit=1), "")[:2]
        keyword = keyword.lower()
        if keyword == "@relation":
            header.relation = arguments.strip("'\"")
        elif keyword == "@attribute":
            attribute = _parse_attribute(arguments)
            if attribute is None:
                raise ValueError(
                    f"{path}, line {number}: {text[:MAX_QUOTED_CHARACTERS]!r} is not a valid "
                    "attribute. Valid forms are '@attribute name real [low, high]', '@attribute "
                    "name integer [low, high]' and '@attribute name {value, value}'."
                )
            name, values = attribute
            if name in header.attributes:
                raise ValueError(
                    f"{path}, line {number}: duplicate attribute {name[:MAX_QUOTED_CHARACTERS]!r}."
                )
            header.attributes[name] = values
        elif keyword in ("@inputs", "@input"):
            header.inputs = _attribute_names(arguments, header)
        elif keyword in ("@outputs", "@output"):
            header.outputs = _attribute_names(arguments, header)
        elif keyword == "@data":
            if not header.attributes:
                raise ValueError(f"{path} has no @attribute before @data.")
            return header, number
        else:
            raise ValueError(
                f"{path}, line {number}: {text[:MAX_QUOTED_CHARACTERS]!r} is not a line of a KEEL "
                "header. Expected @relation, @attribute, @inputs, @outputs or @data."
            )
    raise ValueError(f"{path} is not a KEEL file: it has no @data.")


def _attribute_names(text: str, header: _Header) -> list[str]:
    names = _split_values(text)
    if len(names) == 1 and names[0] not in header.attributes:
        return text.split()  # names separated by spaces
    return names


def _output_name(path: Path, header: _Header) -> str:
    outputs = header.outputs or [list(header.attributes)[-1]]
    if len(outputs) != 1:
        raise ValueError(
            f"{path} has {len(outputs)} outputs, {outputs}. Only one output is supported."
        )
    for each in (*(header.inputs or []), *outputs):
        if each not in header.attributes:
            raise ValueError(
                f"{path} lists {each!r} in @inputs or @outputs, but declares no such attribute."
            )
    return outputs[0]


def _column(
    path: Path, name: str, values: list[str] | None, rows: list[tuple[int, str]]
) -> np.ndarray:
    """Return the values of an attribute as numbers, or as objects with None for missing values."""
    column: list[Any] = []
    declared = set(values or [])
    for number, text in rows:
        if text.lower() in KEEL_MISSING_MARKERS and text not in declared:
            column.append(np.nan if values is None else None)
            continue
        try:
            column.append(float(text) if values is None else text)
        except ValueError:
            raise ValueError(
                f"{path}, line {number}: {text[:MAX_QUOTED_CHARACTERS]!r} is not a number, but "
                f"attribute {name[:MAX_QUOTED_CHARACTERS]!r} is numeric."
            ) from None
        if values is not None and text not in declared:
            listed = [each[:MAX_QUOTED_CHARACTERS] for each in values[:MAX_LISTED_VALUES]]
            raise ValueError(
                f"{path}, line {number}: {text[:MAX_QUOTED_CHARACTERS]!r} is not a value of "
                f"attribute {name[:MAX_QUOTED_CHARACTERS]!r}. Its declared values are {listed}."
            )
    return np.array(column, dtype=np.float64 if values is None else object)
