"""Encode record batches of Arrow as features and targets, each distinct text only once."""

from typing import Any

import numpy as np

from dimetric.data._column_features import column_features
from dimetric.data._columns import check_magnitude, columns_of
from dimetric.data._encoder import TableEncoder
from dimetric.data._missing import CLASS_MISSING_MARKERS, marks_missing
from dimetric.data._readers.arrow import frame_of


def encode_batch(encoder: TableEncoder, batch: Any) -> np.ndarray:
    """Return the features of a record batch. Missing values are NaN, unless they are imputed.

    The features are those of :meth:`TableEncoder.encode`, but each distinct text is encoded once,
    because texts are slow to read.

    Parameters
    ----------
    encoder : TableEncoder
        The fitted encoder.
    batch : pyarrow.RecordBatch
        The columns of the encoder.
    """
    parts = []
    learned = zip(encoder.column_names(), encoder.categories_, encoder._encodings(), strict=True)
    for name, categories, encoding in learned:
        is_string = categories is not None or encoding is not None
        values, places = _values(batch.column(name), allows_floats=not is_string)
        values = columns_of({name: values}, [name] if is_string else [])[name]
        features = column_features(name, values, categories, encoding)[0]
        check_magnitude(name, features)
        parts.append(features if places is None else features[places])
    joined = np.concatenate(parts, axis=1)
    if encoder.imputes():
        return np.where(np.isnan(joined), encoder._encoded_fills(), joined)
    return joined


def target_of(name: str, column: Any, *, is_number: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes or numbers of a target, and which of them are missing.

    Parameters
    ----------
    name : str
        Name of the column.
    column : pyarrow.Array
        The values.
    is_number : bool
        Whether the values are numbers, as all values of a sample are.
    """
    from pyarrow import types

    if types.is_integer(column.type) or types.is_boolean(column.type):
        missing = column.is_null().to_numpy(zero_copy_only=False)
        # Without nulls, all batches have the dtype of the column.
        return column.fill_null(0).to_numpy(zero_copy_only=False), missing
    values, places = _values(column, allows_floats=True)
    if is_number and values.dtype.kind == "O":
        values = columns_of({name: values})[name]
        if values.dtype.kind == "O":
            raise ValueError(
                f"Column {name!r} holds texts that are not numbers, but all values of a sample of "
                "rows are numbers. Correct them, or choose another target."
            )
    if is_number:
        numbers = values.astype(np.float64) if places is None else values.astype(float)[places]
        return numbers, np.isnan(numbers)
    missing = np.array([marks_missing(each, CLASS_MISSING_MARKERS) for each in values.tolist()])
    texts = np.array([str(each) for each in values.tolist()])
    return (texts, missing) if places is None else (texts[places], missing[places])


def _values(column: Any, *, allows_floats: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the values of a column, and None. Of objects: the distinct ones, and their places.

    Parameters
    ----------
    column : pyarrow.Array
        The values.
    allows_floats : bool
        Whether integers with missing values may become floats.
    """
    import pyarrow
    from pyarrow import types

    kind = column.type
    is_flat = types.is_floating(kind) or (types.is_temporal(kind) and not types.is_time(kind))
    is_integer = types.is_integer(kind) or types.is_boolean(kind)
    if is_flat or (is_integer and not column.null_count):
        return frame_of(pyarrow.table({"": column}))[""].to_numpy(), None
    if is_integer and allows_floats:
        return column.cast(pyarrow.float64()).to_numpy(zero_copy_only=False), None
    encoded = column if types.is_dictionary(kind) else column.dictionary_encode()
    n_distinct = len(encoded.dictionary)
    places = encoded.indices.fill_null(n_distinct).to_numpy(zero_copy_only=False)
    values = np.empty(n_distinct + 1, dtype=object)  # the last one is missing
    values[:-1] = frame_of(pyarrow.table({"": encoded.dictionary}))[""].to_list()
    return values[: places.max(initial=0) + 1], places
