"""Write KEEL files, which the tests of their reader read back."""

import re
from pathlib import Path

import numpy as np


def write_keel(path, X, y, *, feature_names=None, target_name="class", relation="data"):
    """Write samples as a KEEL ``.dat`` file; real numbers in y are targets, all else classes."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    names = [f"x{i}" for i in range(X.shape[1])] if feature_names is None else list(feature_names)
    columns = [_numbers(column) for column in X.T]
    columns.append(_numbers(y) if y.dtype.kind == "f" else _classes(y))
    quoted = [_quoted(name) for name in (*names, target_name)]
    lines = [f"@relation {_quoted(relation)}" if relation else "@relation"]
    lines += [f"@attribute {name} {kind}" for name, (kind, _) in zip(quoted, columns, strict=True)]
    lines += [f"@inputs {', '.join(quoted[:-1])}", f"@outputs {quoted[-1]}", "@data"]
    lines += [", ".join(row) for row in zip(*(texts for _, texts in columns), strict=True)]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _numbers(values):
    """Return the kind of an attribute of numbers, with its range, and its values as texts."""
    whole = bool(np.all(values == np.round(values)))
    texts = [str(int(each)) if whole else repr(each) for each in values.tolist()]
    low, high = texts[np.argmin(values)], texts[np.argmax(values)]
    return f"{'integer' if whole else 'real'} [{low}, {high}]", texts


def _classes(labels):
    """Return the kind of an attribute of classes, which lists them, and its values as texts."""
    listed = ", ".join(str(each) for each in np.unique(labels).tolist())
    return f"{{{listed}}}", [str(each) for each in labels.tolist()]


def _quoted(name):
    mark = '"' if "'" in name else "'"
    return f"{mark}{name}{mark}" if re.search(r"[\s{}\[\],'\"]", name) else name
