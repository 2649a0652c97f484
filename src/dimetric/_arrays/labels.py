"""Encoding of class labels, and error messages about y."""

from itertools import combinations
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import is_foreign, to_host


def dense_y(y: Any) -> Any:
    """Return y in host memory. Raise if it is sparse."""
    if sparse.issparse(y):
        raise TypeError("y is sparse, but it must be dense. Pass y.toarray().")
    return to_host(y) if is_foreign(y) else y


def encode_labels(labels: np.ndarray, unlabelled: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, and for each sample the index of its class, or -1 if unlabelled.

    Examples
    --------
    >>> encode_labels(np.array([7, -1, 3, 7]), unlabelled=-1)
    (array([3, 7]), array([ 1, -1,  0,  1]))
    """
    if unlabelled is None:
        try:
            classes, codes = np.unique(labels, return_inverse=True)
        except TypeError as error:
            raise no_order_error(labels) from error
        return classes, codes
    known = labels != unlabelled
    if not known.any():
        raise ValueError(f"All samples are unlabelled: every value of y is {unlabelled!r}.")
    codes = np.full(len(labels), -1)
    classes, codes[known] = encode_labels(labels[known])
    return classes, codes


def no_order_error(labels: np.ndarray) -> TypeError:
    """Return the error for labels that cannot be sorted.

    Examples
    --------
    >>> str(no_order_error(np.array([1, 2, "a"], dtype=object)))
    "y contains labels of several types, such as 1 and 'a'. Convert all labels to one type."
    """
    examples: dict[type, Any] = {}
    for label in labels.ravel().tolist():
        examples.setdefault(type(label), label)
    for first, second in combinations(examples.values(), 2):
        try:
            _ = first < second
        except TypeError:
            return TypeError(
                f"y contains labels of several types, such as {first!r} and {second!r}. Convert "
                "all labels to one type."
            )
    names = ", ".join(sorted(each.__name__ for each in examples))
    return TypeError(
        f"y contains labels of type {names}, which have no order. Pass strings or integers."
    )


def several_columns_remedy(y: Any) -> str:
    """Return how to learn from a matrix y, or an empty string if y has fewer than two columns.

    Examples
    --------
    >>> several_columns_remedy([[0, 1], [1, 1]])
    ' To learn from several labels per sample, use NCA(cost="jaccard").'
    """
    values = np.asarray(y)
    if values.ndim != 2 or values.shape[1] < 2:
        return ""
    if np.all((values == 0) | (values == 1)):
        return ' To learn from several labels per sample, use NCA(cost="jaccard").'
    return ' To learn from several numbers per sample, use MLKR or NCA(cost="squared").'


def check_label_types(known: np.ndarray, new: np.ndarray) -> None:
    """Raise if the labels of one block are numbers and those of another one are not."""
    if (known.dtype.kind in "biuf") != (new.dtype.kind in "biuf"):
        raise ValueError(
            f"y has labels such as {new[0]!r}, but earlier blocks have labels such as "
            f"{known[0]!r}. All labels must have the same type."
        )
