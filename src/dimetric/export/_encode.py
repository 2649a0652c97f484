"""Turn fitted estimators into JSON and tensors.

A model file holds these JSON objects:

===================================== ==========================================================
``{"$class", "parameters", "state"}`` an estimator; ``state`` is empty if it is not fitted
``{"$record", "fields"}``             a record of dimetric, such as a kernel function
``{"$tensor", "order"}``              an array: the name of a tensor, "C" or "F" order in memory
``{"$sparse", "shape"}``              a sparse matrix: values, columns, starts of rows
``{"$array", "text", "shape"}``       an array of texts, or of any JSON scalars
``{"$scalar", "dtype"}``              a scalar of NumPy
``{"$float"}``                        "inf", "-inf" or "nan", which JSON lacks
``{"$dtype"}``                        a dtype of NumPy
``{"$tuple"}``                        a tuple
``{"$dict"}``                         pairs of a dict whose keys are not all plain texts
===================================== ==========================================================

Everything else is plain JSON: null, true, false, numbers, texts, lists, objects with plain keys.
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

# Attributes of a running fit, or of scikit-learn's metadata routing: they are not learned.
NOT_STATE = {"_skl_callbacks", "_parent_callback_ctx", "_callback_fit_ctx", "_metadata_request"}


class Encoder:
    """Turns values into JSON, and collects their arrays.

    Attributes
    ----------
    tensors : dict of str to ndarray
        Arrays by the path of their attribute, such as ``learner_.components_``.
    """

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}

    def estimator(self, model: BaseEstimator, path: str = "", *, fitted: bool = True) -> Any:
        """Return an estimator as JSON; what it has learned is included if `fitted`."""
        cls = type(model)
        name = cls.__name__
        try:
            known = class_named(name) is cls
        except ValueError:
            known = False
        if not known:
            raise ValueError(
                f"A model file cannot hold {cls.__module__}.{name}{_at(path)}: it holds estimators "
                "of dimetric, pipelines and scalers, see docs/model-file.md. skops saves any "
                "estimator of scikit-learn, and those of dimetric by dimetric.trusted_types()."
            )
        given = model.get_params(deep=False)
        unfitted = {*vars(cls(**given)), *NOT_STATE}
        state = {key: each for key, each in vars(model).items() if fitted and key not in unfitted}
        for key in state:
            if not is_state(cls, key):
                raise ValueError(
                    f"{name}{_at(path)} has an attribute {key!r} that cannot be saved."
                )
        if name == "Pipeline":
            given["memory"] = None  # it names a folder of this machine
            given["steps"] = [(step, each) for step, each in given["steps"]]
        inner = fitted and name == "Pipeline"
        return {
            "$class": name,
            "parameters": {
                key: self.value(each, _below(path, key), fitted=inner)
                for key, each in given.items()
            },
            "state": {key: self.value(each, _below(path, key)) for key, each in state.items()},
        }

    def value(self, value: Any, path: str, *, fitted: bool = True) -> Any:
        """Return any value as JSON."""
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
            held = {key: self.value(each, _below(path, key)) for key, each in vars(value).items()}
            return {"$record": name, "fields": held}
        if callable(value):
            raise ValueError(
                f"A model file holds numbers and texts, no functions: {path} is {value!r}. Name a "
                "built-in one, or save the model by another way."
            )
        remedy = " Set random_state to an int." if isinstance(value, np.random.RandomState) else ""
        if path.endswith("_tree"):
            remedy = " Set algorithm='brute': trees are not saved."
        raise ValueError(
            f"A model file cannot hold {type(value).__module__}.{name}, which {path} is.{remedy}"
        )

    def _array(self, array: np.ndarray, path: str) -> Any:
        if array.dtype.kind in NUMERIC_KINDS and array.dtype.itemsize <= 8:
            return self._tensor(array, path)
        if array.dtype.kind not in "UO":
            raise ValueError(f"A model file cannot hold arrays of {array.dtype}, which {path} is.")
        values = [self.value(each, path) for each in array.ravel().tolist()]
        if any(isinstance(each, (dict, list)) for each in values):
            raise ValueError(f"A model file cannot hold the objects in the array {path}.")
        return {"$array": values, "text": array.dtype.kind == "U", "shape": list(array.shape)}

    def _tensor(self, array: np.ndarray, path: str) -> Any:
        column_major = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        while path in self.tensors:  # a key of a dict may contain dots
            path += "_"
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        self.tensors[path] = plain.reshape(array.shape)
        return {"$tensor": path, "order": "F" if column_major else "C"}


def _scalar(value: np.generic, path: str) -> Any:
    if value.dtype.kind not in NUMERIC_KINDS or value.dtype.itemsize > 8:
        raise ValueError(f"A model file cannot hold a {value.dtype}, which {path} is.")
    plain = value.item()
    return {"$scalar": _float(plain), "dtype": value.dtype.name}


def _float(value: Any) -> Any:
    """Return a number as JSON can write it."""
    return {"$float": str(value)} if isinstance(value, float) and not isfinite(value) else value


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _at(path: str) -> str:
    return f" ({path})" if path else ""
