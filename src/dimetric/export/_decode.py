"""Build estimators from JSON and tensors, without executing or importing anything from a file.

Error messages here are clauses. The caller adds the name of the file.
"""

import re
from math import prod
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from dimetric._compat import check_params
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.export._container import MAX_VALUE_LEVELS
from dimetric.export._schema import (
    MAX_INTEGER,
    check_attributes,
    class_named,
    is_state,
    record_named,
)
from dimetric.export._upgrade import add_noise_variance
from dimetric.kernels.kernel import as_kernel

DTYPE_NAMES = {"bool", "float16", "float32", "float64"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
DTYPE_CODE = re.compile(r"[<>|=]?([biuf][1248]|O|U\d{1,5})")
CHARACTER_BYTES = 4  # size of a character in an array of strings
FREE_STRING_BYTES = 2**24  # memory that the arrays of strings in a file of any size may take
# The keys of each kind of JSON object, besides the "$" key that names the kind, and their types.
LAYOUT: dict[str, dict[str, str]] = {
    "$class": {"parameters": "object", "state": "object"},
    "$record": {"fields": "object"},
    "$tensor": {"order": "text"},
    "$sparse": {"shape": "shape"},
    "$array": {"text": "bool", "shape": "shape"},
    "$scalar": {"dtype": "text"},
    "$float": {},
    "$dtype": {},
    "$tuple": {},
    "$dict": {},
}


class Decoder:
    """Decode JSON to values, and reject everything that the encoder does not write.

    Parameters
    ----------
    tensors : dict of str to ndarray
        All arrays of the file. Each must be used exactly once.
    file_bytes : int
        Size of the file, which limits the size of arrays of strings.
    """

    def __init__(self, tensors: dict[str, np.ndarray], file_bytes: int) -> None:
        self._tensors = dict(tensors)
        self._string_bytes_left = max_string_bytes(file_bytes)

    def model(self, data: Any) -> BaseEstimator:
        """Return the estimator that a file describes."""
        model = self.value(data)
        if not isinstance(model, BaseEstimator):
            raise ValueError("it does not hold an estimator")
        if self._tensors:
            raise ValueError(f"its tensor {next(iter(self._tensors))!r} is not used")
        return model

    def value(self, data: Any, depth: int = 0) -> Any:
        """Return the value that JSON describes."""
        if depth > MAX_VALUE_LEVELS:
            raise ValueError("it is nested too deeply")
        if isinstance(data, list):
            return [self.value(each, depth + 1) for each in data]
        if not isinstance(data, dict):
            return data
        kinds = [key for key in data if key.startswith("$")]
        if not kinds:
            return {key: self.value(each, depth + 1) for key, each in data.items()}
        wanted = LAYOUT.get(kinds[0])
        if wanted is None or set(data) != {kinds[0], *wanted}:
            raise ValueError(f"it holds an unknown object with the keys {', '.join(sorted(data))}")
        for key, kind in wanted.items():
            _require(data[key], kind, key)
        return getattr(self, f"_{kinds[0][1:]}")(data, depth + 1)

    def _class(self, data: dict[str, Any], depth: int) -> BaseEstimator:
        cls: Any = class_named(_required_string(data["$class"]))
        params = {key: self.value(each, depth) for key, each in data["parameters"].items()}
        unknown = sorted(set(params) - set(cls._get_param_names()))
        if unknown:
            raise ValueError(
                f"{cls.__name__} has no parameter {unknown[0]!r} in this version of dimetric; fit "
                "the model again and save it"
            )
        if cls.__name__ == "Pipeline":
            _check_steps(params)
        model = cls(**params)
        check_params(model)
        for key, each in data["state"].items():
            if key in vars(model) or not is_state(cls, key):
                raise ValueError(f"{cls.__name__} has no fitted attribute {key!r}")
            value = self.value(each, depth)
            if isinstance(value, int) and abs(value) > MAX_INTEGER:
                raise ValueError(f"{key} of {cls.__name__} is too large an integer")
            setattr(model, key, value)
        if data["state"]:
            check_attributes(cls, vars(model))
            _check_relations(model)
            add_noise_variance(model)
        return model

    def _record(self, data: dict[str, Any], depth: int) -> Any:
        cls = record_named(_required_string(data["$record"]))
        attributes = {key: self.value(each, depth) for key, each in data["fields"].items()}
        check_attributes(cls, attributes)
        return cls(**attributes)

    def _tensor(self, data: dict[str, Any], depth: int) -> np.ndarray:
        name = _required_string(data["$tensor"])
        if data["order"] not in ("C", "F"):
            raise ValueError(f"the order of tensor {name!r} is neither C nor F")
        if name not in self._tensors:
            raise ValueError(f"its tensor {name!r} does not exist or is used twice")
        return np.array(self._tensors.pop(name), order=data["order"])

    def _sparse(self, data: dict[str, Any], depth: int) -> Any:
        parts = [self.value(each, depth) for each in _required_list(data["$sparse"])]
        if len(parts) != 3:
            raise ValueError("a sparse matrix must have values, column indices and row offsets")
        values, columns, offsets = parts
        matrix = sparse.csr_array((values, columns, offsets), shape=tuple(data["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _array(self, data: dict[str, Any], depth: int) -> np.ndarray:
        values = _required_list(data["$array"])
        kinds = (str,) if data["text"] else (str, int, float, bool, type(None))
        if not all(isinstance(each, kinds) for each in values):
            raise ValueError("an array holds values other than strings and numbers")
        if prod(data["shape"]) != len(values):
            raise ValueError(f"cannot reshape {len(values)} values into shape {data['shape']}")
        if data["text"]:
            longest = max(map(len, values), default=1)
            self._string_bytes_left -= CHARACTER_BYTES * longest * len(values)
            if self._string_bytes_left < 0:
                raise ValueError(
                    f"an array of {len(values)} strings, the longest of which has {longest} "
                    "characters, takes too much memory for a file of this size"
                )
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return (array.astype(str) if data["text"] else array).reshape(data["shape"])

    def _scalar(self, data: dict[str, Any], depth: int) -> Any:
        if data["dtype"] not in DTYPE_NAMES:
            raise ValueError(f"data type {data['dtype']!r} is not allowed")
        dtype = np.dtype(data["dtype"])
        value = self.value(data["$scalar"], depth)
        if not isinstance(value, (bool, int, float)):
            raise ValueError("a $scalar object must hold a number")
        return dtype.type(value)

    def _float(self, data: dict[str, Any], depth: int) -> float:
        if data["$float"] not in ("inf", "-inf", "nan"):
            raise ValueError("a $float object must hold inf, -inf or nan")
        return float(data["$float"])

    def _dtype(self, data: dict[str, Any], depth: int) -> np.dtype[Any]:
        code = _required_string(data["$dtype"])
        if not DTYPE_CODE.fullmatch(code):
            raise ValueError(f"the dtype {code!r} is not allowed")
        return np.dtype(code)

    def _tuple(self, data: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self.value(each, depth) for each in _required_list(data["$tuple"]))

    def _dict(self, data: dict[str, Any], depth: int) -> dict[Any, Any]:
        pairs = [
            (self.value(key, depth), self.value(each, depth))
            for key, each in map(_required_list, _required_list(data["$dict"]))
        ]
        decoded = dict(pairs)
        if len(decoded) < len(pairs):
            raise ValueError("a dict has a duplicate key")
        return decoded


def max_string_bytes(file_bytes: int) -> int:
    """Return how much memory the arrays of strings in a file of a given size may take.

    All strings of a NumPy array take as much memory as the longest, so a small file could hold an
    array that does not fit into memory.
    """
    return FREE_STRING_BYTES + CHARACTER_BYTES * file_bytes


def _require(value: Any, kind: str, key: str) -> None:
    fits, wanted = {
        "object": (isinstance(value, dict), "an object"),
        "text": (isinstance(value, str), "a string"),
        "bool": (isinstance(value, bool), "true or false"),
        "shape": (
            isinstance(value, list) and all(type(size) is int and size >= 0 for size in value),
            "a list of non-negative integers",
        ),
    }[kind]
    if not fits:
        raise ValueError(f"{key!r} must be {wanted}")


def _required_string(value: Any) -> str:
    _require(value, "text", "name")
    return value


def _required_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a list was expected")
    return value


def _check_steps(params: dict[str, Any]) -> None:
    """Raise unless a pipeline consists of named estimators and has memory=None."""
    steps = params.get("steps")
    valid = isinstance(steps, list) and bool(steps) and params.get("memory") is None
    for step in steps if isinstance(steps, list) else ():
        valid &= isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        valid = valid and (isinstance(step[1], BaseEstimator) or step[1] in (None, "passthrough"))
    if not valid:
        raise ValueError("a Pipeline must have named steps that are estimators, and memory=None")


def _check_relations(model: Any) -> None:
    """Raise unless the fitted attributes of an estimator are consistent."""
    name, attributes = type(model).__name__, vars(model)
    names = attributes.get("feature_names_in_")
    if names is not None and not (
        isinstance(names, np.ndarray)
        and names.shape == (attributes.get("n_features_in_"),)
        and all(isinstance(each, str) for each in names)
    ):
        raise ValueError(f"{name} must have one name for each feature")
    inner = attributes.get("learner_")
    points = attributes.get("_points", attributes.get("centroids_"))
    if inner is not None and not hasattr(inner, "transform"):
        raise ValueError(f"the learner of {name} has no transform method")
    n_features = attributes.get("n_features_in_")
    if n_features is not None and getattr(inner, "n_features_in_", n_features) != n_features:
        raise ValueError(f"{name} and its learner must have the same number of features")
    width = getattr(inner, "_n_features_out", None)
    if width is not None and points is not None and width != points.shape[1]:
        raise ValueError(f"the points of {name} have {points.shape[1]} coordinates, not {width}")
    if (
        "n_samples_fit_" in attributes
        and points is not None
        and attributes["n_samples_fit_"] != points.shape[0]
    ):
        raise ValueError(f"the number of points of {name} differs from n_samples_fit_")
    for weights in (attributes.get("_vote_weights"), attributes.get("_sample_weights")):
        if weights is not None and np.any(weights <= 0):
            raise ValueError(f"the sample weights of {name} must be positive")
    temperature = attributes.get("temperature_", 0 if attributes.get("weights") == "softmax" else 1)
    if temperature <= 0:
        raise ValueError(f"the temperature of {name} must be positive")
    if name == "MetricEnsembleClassifier":
        _check_members(attributes)
    if name == "TableEncoder" and not _is_valid_encoder(attributes):
        raise ValueError(
            f"{name} must have a list of categories, an encoding or None for each column"
        )
    kernel = attributes.get("_kernel")
    if kernel is not None and kernel.name != as_kernel(attributes["kernel"]).name:
        raise ValueError(f"the fitted kernel of {name} differs from its parameter kernel")


def _check_members(attributes: dict[str, Any]) -> None:
    """Raise unless an ensemble has a learner, features and points for each member."""
    members, columns = attributes["estimators_"], attributes["estimators_features_"]
    names = ("estimators_features_", "_member_points", "_temperatures", "_member_weights")
    valid = all(len(attributes[each]) == len(members) > 0 for each in names) and all(
        hasattr(member, "transform") and getattr(member, "n_features_in_", len(used)) == len(used)
        for member, used in zip(members, columns, strict=True)
    )
    if not valid:
        raise ValueError("an ensemble must have a learner, features and points for each member")


def _is_valid_encoder(attributes: dict[str, Any]) -> bool:
    categories, fills = attributes["categories_"], attributes["fills_"]
    encodings = attributes.get("encodings_", {})
    names_in = [str(each) for each in attributes.get("feature_names_in_", ())]
    if not set(encodings) <= set(names_in) or not all(
        isinstance(each, ColumnEncoding) and each.is_valid() for each in encodings.values()
    ):
        return False
    return len(categories) == len(fills) == attributes.get("n_features_in_") and all(
        (names is None and isinstance(fill, float))
        or (
            isinstance(names, list)
            and names
            and all(isinstance(each, str) for each in [*names, fill])
        )
        for names, fill in zip(categories, fills, strict=True)
    )
