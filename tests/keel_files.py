"""Write KEEL files for the tests of their reader."""

import re
from pathlib import Path

import numpy as np


def write_keel(path, X, y, *, feature_names=None, target_name="class", relation="data"):
    """Write samples as a KEEL ``.dat`` file. y is nominal unless its dtype is float."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    names = [f"x{i}" for i in range(X.shape[1])] if feature_names is None else list(feature_names)
    columns = [_numeric_attribute(column) for column in X.T]
    columns.append(_numeric_attribute(y) if y.dtype.kind == "f" else _nominal_attribute(y))
    quoted = [_quoted(name) for name in (*names, target_name)]
    lines = [f"@relation {_quoted(relation)}" if relation else "@relation"]
    lines += [
        f"@attribute {name} {declared_type}"
        for name, (declared_type, _) in zip(quoted, columns, strict=True)
    ]
    lines += [f"@inputs {', '.join(quoted[:-1])}", f"@outputs {quoted[-1]}", "@data"]
    lines += [", ".join(row) for row in zip(*(strings for _, strings in columns), strict=True)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _numeric_attribute(values):
    """Return the type of a numeric attribute, with its range, and its values as strings."""
    whole = bool(np.all(values == np.round(values)))
    strings = [str(int(each)) if whole else repr(each) for each in values.tolist()]
    low, high = strings[np.argmin(values)], strings[np.argmax(values)]
    return f"{'integer' if whole else 'real'} [{low}, {high}]", strings


def _nominal_attribute(labels):
    """Return the type of a nominal attribute, with its classes, and its values as strings."""
    listed = ", ".join(str(each) for each in np.unique(labels).tolist())
    return f"{{{listed}}}", [str(each) for each in labels.tolist()]


def _quoted(name):
    mark = '"' if "'" in name else "'"
    return f"{mark}{name}{mark}" if re.search(r"[\s{}\[\],'\"]", name) else name
