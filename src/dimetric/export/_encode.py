"""Encode fitted estimators as JSON and tensors.

A model file holds these JSON objects:

===================================== ==========================================================
``{"$class", "parameters", "state"}`` an estimator; ``state`` is empty if it is not fitted
``{"$record", "fields"}``             a dataclass of dimetric, such as a kernel function
``{"$tensor", "order"}``              an array: the name of a tensor, and "C" or "F" memory order
``{"$sparse", "shape"}``              a sparse matrix: values, column indices, row offsets
``{"$array", "text", "shape"}``       an array of strings, or of any JSON scalars
``{"$scalar", "dtype"}``              a NumPy scalar
``{"$float"}``                        "inf", "-inf" or "nan", which JSON lacks
``{"$dtype"}``                        a NumPy dtype
``{"$tuple"}``                        a tuple
``{"$dict"}``                         key-value pairs of a dict whose keys are not plain strings
===================================== ==========================================================

Everything else is plain JSON: null, true, false, numbers, strings, lists, and objects whose keys
do not start with "$".
"""

from dataclasses import is_dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from dimetric._arrays.namespaces import to_host
from dimetric.export._schema import NUMERIC_KINDS, RECORDS, class_named, is_state

# Attributes of a running fit, of scikit-learn's metadata routing, and what is built again from the
# training samples. They are not fitted state.
NOT_STATE = {
    "_skl_callbacks",
    "_parent_callback_ctx",
    "_callback_fit_ctx",
    "_metadata_request",
    "_search_index",
}
MAX_ITEM_BYTES = 8  # size of the longest numbers that a safetensors file can hold


class Encoder:
    """Encode values as JSON, and collect their arrays as tensors.

    Attributes
    ----------
    tensors : dict of str to ndarray
        Arrays by attribute path, such as ``learner_.components_``.
    string_bytes : int
        Size of all arrays of strings in memory, where all strings of an array take the same space.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self.string_bytes = 0

    def estimator(self, model: BaseEstimator, path: str = "", *, fitted: bool = True) -> Any:
        """Encode an estimator as JSON, with its fitted attributes if `fitted`."""
        cls = type(model)
        name = cls.__name__
        try:
            can_be_saved = class_named(name) is cls
        except ValueError:
            can_be_saved = False
        if not can_be_saved:
            raise ValueError(
                f"A model file cannot hold {cls.__module__}.{name}{_location(path)}. It can hold "
                "estimators of dimetric, pipelines and scalers (see docs/model-file.md). Use skops "
                "for other estimators. dimetric.trusted_types() lists the types to trust."
            )
        params = model.get_params(deep=False)
        unfitted_attributes = {*vars(cls(**params)), *NOT_STATE}
        state = {
            key: each
            for key, each in vars(model).items()
            if fitted and key not in unfitted_attributes
        }
        for key in state:
            if not is_state(cls, key):
                raise ValueError(
                    f"{name}{_location(path)} has an attribute {key!r} that cannot be saved."
                )
        if name == "Pipeline":
            params["memory"] = None  # a cache directory of this computer
            params["steps"] = [(step, each) for step, each in params["steps"]]
        parameters_are_fitted = fitted and name == "Pipeline"
        return {
            "$class": name,
            "parameters": {
                key: self.value(each, _join_path(path, key), fitted=parameters_are_fitted)
                for key, each in params.items()
            },
            "state": {key: self.value(each, _join_path(path, key)) for key, each in state.items()},
        }

    def value(self, value: Any, path: str, *, fitted: bool = True) -> Any:
        """Encode any value as JSON."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, BaseEstimator) and not isinstance(value, type):
            return self.estimator(value, path, fitted=fitted)
        if isinstance(value, np.generic):
            return _scalar(value, path)
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            return _float(float(value))
        if isinstance(value, (list, tuple)):
            items = [self.value(each, f"{path}.{i}", fitted=fitted) for i, each in enumerate(value)]
            return items if isinstance(value, list) else {"$tuple": items}
        if isinstance(value, dict):
            return self._dict(value, path)
        if isinstance(value, np.dtype):
            return {"$dtype": value.str}
        return self._object(value, path)

    def _dict(self, value: dict[Any, Any], path: str) -> Any:
        items = {key: self.value(each, f"{path}.{key}") for key, each in value.items()}
        if all(type(key) is str and not key.startswith("$") for key in items):
            return items
        return {"$dict": [[self.value(key, path), each] for key, each in items.items()]}

    def _object(self, value: Any, path: str) -> Any:
        if sparse.issparse(value):
            rows = sparse.csr_array(value)
            parts = [
                self._tensor(getattr(rows, part), f"{path}.{part}")
                for part in ("data", "indices", "indptr")
            ]
            return {"$sparse": parts, "shape": list(rows.shape)}
        if compat.is_array_api_obj(value):
            return self._array(to_host(value), path)
        name = type(value).__name__
        if is_dataclass(value) and not isinstance(value, type) and name in RECORDS:
            fields = {
                key: self.value(each, _join_path(path, key)) for key, each in vars(value).items()
            }
            return {"$record": name, "fields": fields}
        if callable(value):
            raise ValueError(
                f"A model file cannot hold functions, but {path} is {value!r}. Choose a built-in "
                "option by its name, or save the model in another format."
            )
        remedy = " Set random_state to an int." if isinstance(value, np.random.RandomState) else ""
        if path.endswith("_tree"):
            remedy = " Set algorithm='brute', because search trees cannot be saved."
        raise ValueError(
            f"A model file cannot hold {path}, which is a {type(value).__module__}.{name}.{remedy}"
        )

    def _array(self, array: np.ndarray, path: str) -> Any:
        if array.dtype.kind in NUMERIC_KINDS and array.dtype.itemsize <= MAX_ITEM_BYTES:
            return self._tensor(array, path)
        if array.dtype.kind not in "UO":
            raise ValueError(f"A model file cannot hold {path}, an array of dtype {array.dtype}.")
        values = [self.value(each, path) for each in array.ravel().tolist()]
        if any(isinstance(each, (dict, list)) for each in values):
            raise ValueError(f"A model file cannot hold {path}, an array of Python objects.")
        self.string_bytes += array.nbytes if array.dtype.kind == "U" else 0
        return {"$array": values, "text": array.dtype.kind == "U", "shape": list(array.shape)}

    def _tensor(self, array: np.ndarray, path: str) -> Any:
        column_major = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        while path in self.tensors:  # dict keys with dots can make two paths equal
            path += "_"
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        self.tensors[path] = plain.reshape(array.shape)
        return {"$tensor": path, "order": "F" if column_major else "C"}


def _scalar(value: np.generic, path: str) -> Any:
    if value.dtype.kind not in NUMERIC_KINDS or value.dtype.itemsize > MAX_ITEM_BYTES:
        raise ValueError(f"A model file cannot hold {path}, a scalar of dtype {value.dtype}.")
    plain = value.item()
    return {"$scalar": _float(plain), "dtype": value.dtype.name}


def _float(value: Any) -> Any:
    """Encode a number as JSON, which has no infinity or NaN."""
    return {"$float": str(value)} if isinstance(value, float) and not isfinite(value) else value


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _location(path: str) -> str:
    return f" ({path})" if path else ""
