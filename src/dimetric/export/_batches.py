"""Apply a model to Arrow record batches, the format in which batch engines pass rows to Python."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._names import suggest
from dimetric.data._features import model_parts
from dimetric.data._readers.arrow import frame_of
from dimetric.export._map_chain import require_euclidean
from dimetric.learners._inner_learner import mapping_of

__all__ = ["batch_transform"]


@check_types
def batch_transform(
    model: Any, *, keep: Sequence[str] = ()
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function that maps record batches with a model, for use in a batch engine.

    Spark (``mapInArrow``), Ray, Dask, DuckDB and Polars call such a function with the rows of a
    large table. The function can be pickled, so that an engine can send it to its workers.

    Parameters
    ----------
    model : estimator
        A fitted learner, a classifier with a learner, or a pipeline that ends in one. Models of
        ``dimetric fit``, which encode the columns of a table, are accepted, too.
    keep : sequence of str
        Columns that are copied to the output, such as identifiers.

    Returns
    -------
    function : callable
        Takes an iterable of :class:`pyarrow.RecordBatch`, and yields one record batch for each. It
        has the kept columns, and one column for each coordinate of the mapped rows. Features are
        matched by name if the model was fitted with column names. Otherwise all columns that are
        not kept are features, or one of them holds the vectors as lists. In the latter case, the
        output holds the mapped vectors as lists in a column of the same name. The coordinates of
        rows with missing values are null.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dimetric import PCA
    >>> from dimetric.export import batch_transform
    >>> pca = PCA(1).fit([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    >>> batch = pa.RecordBatch.from_pydict({"id": ["a", "b"], "x": [2.0, 3.0], "y": [0.0, None]})
    >>> for mapped in batch_transform(pca, keep=["id"])([batch]):
    ...     print(mapped.to_pydict())
    {'id': ['a', 'b'], 'pca0': [0.0, None]}
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be an estimator, not {type(model).__name__}.")
    check_is_fitted(model)
    return _BatchTransform(model, list(dict.fromkeys(keep)))


class _BatchTransform:
    """Maps record batches. A class, because engines pickle it."""

    def __init__(self, model: Any, keep: list[str]) -> None:
        self._encoder, self._scalers, last = model_parts(model)
        require_euclidean(last)
        self._map, self._keep = mapping_of(last), keep
        if self._map is not None and not hasattr(self._map, "transform"):
            raise ValueError(
                f"{type(self._map).__name__} has no method transform, so it cannot map new rows."
            )
        self._has_names = hasattr(self._encoder, "feature_names_in_")
        names = (
            self._encoder.get_feature_names_out()
            if self._map is None
            else self._map.get_feature_names_out()
        )
        self._names = [str(each) for each in names]
        clash = next((each for each in keep if each in self._names), None)
        if clash is not None:
            raise ValueError(
                f"keep: column {clash!r} has the same name as a coordinate of the mapped rows. "
                "Rename it in the table."
            )

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield self._mapped(batch)

    def _mapped(self, batch: Any) -> Any:
        import pyarrow as pa

        kept = [self._kept_column(batch, name) for name in self._keep]
        vector_name = self._vector_name(batch.schema)
        features = (
            self._encoder.encode(self._feature_frame(batch))[0]
            if vector_name is None
            else _vectors(batch.column(vector_name), vector_name, self._encoder.n_features_in_)
        )
        complete = ~np.isnan(features).any(axis=1)
        Z = self._transform(features[complete])
        if vector_name is None:
            names = [*self._keep, *self._names]
            mapped = [_with_nulls(column, complete) for column in Z.T]
        else:
            names = [*self._keep, vector_name]
            mapped = [_as_lists(Z, complete)]
        return pa.RecordBatch.from_arrays([*kept, *mapped], names)

    def _transform(self, features: np.ndarray) -> np.ndarray:
        """Scale and map features. Estimators of scikit-learn reject arrays without rows."""
        if not len(features):
            return np.empty((0, len(self._names)), dtype=features.dtype)
        with warnings.catch_warnings():
            # The columns have already been matched by name.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            for each in (*self._scalers, self._map):
                features = features if each is None else np.asarray(each.transform(features))
        return features

    def _kept_column(self, batch: Any, name: str) -> Any:
        if name not in batch.schema.names:
            hint = suggest(name, batch.schema.names)
            raise ValueError(f"keep: there is no column {name!r}. {hint}")
        return batch.column(name)

    def _vector_name(self, schema: Any) -> str | None:
        """Return the name of the only feature column if it holds lists, else None."""
        from pyarrow import types

        if self._has_names:
            return None
        others = [each for each in schema if each.name not in self._keep]
        if len(others) != 1:
            return None
        kind = others[0].type
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return str(others[0].name) if is_list else None

    def _feature_frame(self, batch: Any) -> Any:
        """Return the columns that may be features, as a data frame."""
        names = batch.schema.names
        if self._has_names:  # the encoder reports absent columns
            wanted = set(self._encoder.column_names())
            return frame_of(batch.select([each for each in names if each in wanted]))
        return frame_of(batch.select([each for each in names if each not in self._keep]))


def _vectors(column: Any, name: str, n_features: int) -> np.ndarray:
    """Return a column of lists as an array with one row per list, NaN where the list is null."""
    from pyarrow import compute

    lengths = compute.list_value_length(column).drop_null()
    wrong = np.flatnonzero(lengths.to_numpy(zero_copy_only=False) != n_features)
    if len(wrong):
        raise ValueError(
            f"Column {name!r} holds a list of {lengths[int(wrong[0])]} numbers, but the model has "
            f"{n_features} features."
        )
    # flatten leaves out null lists, whatever values they hide
    values = column.flatten().to_numpy(zero_copy_only=False)
    dtype = values.dtype if values.dtype in (np.float32, np.float64) else np.float64
    vectors = np.full((len(column), n_features), np.nan, dtype=dtype)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    vectors[present] = values.reshape(-1, n_features)
    return vectors


def _with_nulls(values: np.ndarray, complete: np.ndarray) -> Any:
    """Return the values of complete rows as an Arrow array with nulls for the other rows."""
    import pyarrow as pa

    column = np.zeros(len(complete), dtype=values.dtype)
    column[complete] = values
    return pa.array(column, mask=~complete)


def _as_lists(Z: np.ndarray, complete: np.ndarray) -> Any:
    """Return mapped vectors as lists of a fixed size, with nulls for incomplete rows."""
    import pyarrow as pa

    full = np.zeros((len(complete), Z.shape[1]), dtype=Z.dtype)
    full[complete] = Z
    return pa.FixedSizeListArray.from_arrays(
        pa.array(full.ravel()), Z.shape[1], mask=pa.array(~complete)
    )
