"""Build estimators from JSON and tensors. Nothing in a file is ever executed or imported.

Messages of errors are parts of sentences: the caller adds the name of the file.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from dimetric._compat import check_params
from dimetric.export._schema import NUMERIC_KINDS, check_held, class_named, is_state, record_named
from dimetric.kernels.kernel import as_kernel

MAX_DEPTH = 24  # of objects within objects; the largest pipelines need about ten
LAYOUT: dict[str, dict[str, str]] = {  # the keys beside the first one, and their kinds
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
    """Turns JSON into values, and refuses all that the encoder does not write.

    Parameters
    ----------
    tensors : dict of str to ndarray
        All arrays; each must be used exactly once.
    """

    def __init__(self, tensors: dict[str, np.ndarray]) -> None:
        self._tensors = dict(tensors)

    def model(self, data: Any) -> BaseEstimator:
        """Return the estimator of a whole file."""
        found = self.value(data)
        if not isinstance(found, BaseEstimator):
            raise ValueError("it holds no estimator")
        if self._tensors:
            raise ValueError(
                f"it holds a tensor {next(iter(self._tensors))!r} that nothing refers to"
            )
        return found

    def value(self, data: Any, depth: int = 0) -> Any:
        """Return the value that JSON describes."""
        if depth > MAX_DEPTH:
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
            raise ValueError(f"it holds an object {', '.join(sorted(data))} of unknown kind")
        for key, kind in wanted.items():
            _require(data[key], kind, key)
        return getattr(self, f"_{kinds[0][1:]}")(data, depth + 1)

    def _class(self, data: dict[str, Any], depth: int) -> BaseEstimator:
        cls: Any = class_named(_text(data["$class"]))
        given = {key: self.value(each, depth) for key, each in data["parameters"].items()}
        unknown = sorted(set(given) - set(cls._get_param_names()))
        if unknown:
            raise ValueError(
                f"{cls.__name__} has no parameter {unknown[0]!r} in this version of dimetric; fit "
                "the model again and save it"
            )
        if cls.__name__ == "Pipeline":
            _check_steps(given)
        model = cls(**given)
        check_params(model)
        for key, each in data["state"].items():
            if key in vars(model) or not is_state(cls, key):
                raise ValueError(f"{cls.__name__} has no state {key!r}")
            setattr(model, key, self.value(each, depth))
        if data["state"]:
            check_held(cls, vars(model))
            _check_relations(model)
        return model

    def _record(self, data: dict[str, Any], depth: int) -> Any:
        cls = record_named(_text(data["$record"]))
        held = {key: self.value(each, depth) for key, each in data["fields"].items()}
        check_held(cls, held)
        return cls(**held)

    def _tensor(self, data: dict[str, Any], depth: int) -> np.ndarray:
        name = _text(data["$tensor"])
        if name not in self._tensors or data["order"] not in ("C", "F"):
            raise ValueError(f"there is no tensor {name!r}, or it is used twice")
        return np.array(self._tensors.pop(name), order=data["order"])

    def _sparse(self, data: dict[str, Any], depth: int) -> Any:
        values, columns, starts = (self.value(each, depth) for each in _triple(data["$sparse"]))
        shape = tuple(data["shape"])
        found = sparse.csr_array((values, columns, starts), shape=shape)
        found.check_format(full_check=True)
        return found

    def _array(self, data: dict[str, Any], depth: int) -> np.ndarray:
        values = _listed(data["$array"])
        kinds = (str,) if data["text"] else (str, int, float, bool, type(None))
        if not all(isinstance(each, kinds) for each in values):
            raise ValueError("an array may hold texts and numbers alone")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return (array.astype(str) if data["text"] else array).reshape(data["shape"])

    def _scalar(self, data: dict[str, Any], depth: int) -> Any:
        dtype = np.dtype(data["dtype"])
        value = self.value(data["$scalar"], depth)
        if dtype.kind not in NUMERIC_KINDS or not isinstance(value, (bool, int, float)):
            raise ValueError("a scalar is not a number")
        return dtype.type(value)

    def _float(self, data: dict[str, Any], depth: int) -> float:
        if data["$float"] not in ("inf", "-inf", "nan"):
            raise ValueError("a float is none of inf, -inf and nan")
        return float(data["$float"])

    def _dtype(self, data: dict[str, Any], depth: int) -> np.dtype[Any]:
        dtype = np.dtype(_text(data["$dtype"]))
        if dtype.kind not in NUMERIC_KINDS + "OU":
            raise ValueError(f"a dtype {dtype} is not allowed")
        return dtype

    def _tuple(self, data: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self.value(each, depth) for each in _listed(data["$tuple"]))

    def _dict(self, data: dict[str, Any], depth: int) -> dict[Any, Any]:
        pairs = [
            (self.value(key, depth), self.value(each, depth))
            for key, each in map(_listed, _listed(data["$dict"]))
        ]
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a dict has a key twice")
        return found


def _require(value: Any, kind: str, key: str) -> None:
    fits, wanted = {
        "object": (isinstance(value, dict), "an object"),
        "text": (isinstance(value, str), "a text"),
        "bool": (isinstance(value, bool), "true or false"),
        "shape": (
            isinstance(value, list) and all(type(size) is int and size >= 0 for size in value),
            "a list of sizes",
        ),
    }[kind]
    if not fits:
        raise ValueError(f"{key!r} must be {wanted}")


def _text(value: Any) -> str:
    _require(value, "text", "name")
    return value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return value


def _triple(value: Any) -> list[Any]:
    if len(_listed(value)) != 3:
        raise ValueError("a sparse matrix needs values, columns and starts of rows")
    return value


def _check_steps(given: dict[str, Any]) -> None:
    """Raise unless a pipeline consists of named estimators and has no cache folder."""
    steps = given.get("steps")
    good = isinstance(steps, list) and bool(steps) and given.get("memory") is None
    for step in steps if isinstance(steps, list) else ():
        good &= isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        good = good and (isinstance(step[1], BaseEstimator) or step[1] in (None, "passthrough"))
    if not good:
        raise ValueError("a Pipeline must have named steps that are estimators, and no memory")


def _check_relations(model: Any) -> None:
    """Raise unless the learned attributes of an estimator agree with each other."""
    name, held = type(model).__name__, vars(model)
    names = held.get("feature_names_in_")
    if names is not None and not (
        isinstance(names, np.ndarray)
        and names.shape == (held.get("n_features_in_"),)
        and all(isinstance(each, str) for each in names)
    ):
        raise ValueError(f"{name} must have one name for each feature")
    inner, points = held.get("learner_"), held.get("_points", held.get("centroids_"))
    if inner is not None and not hasattr(inner, "transform"):
        raise ValueError(f"{name} has a learner that cannot transform")
    width = getattr(inner, "_n_features_out", None)
    if width is not None and points is not None and width != points.shape[1]:
        raise ValueError(f"{name} has points of {points.shape[1]} numbers, not of {width}")
    if (
        "n_samples_fit_" in held
        and points is not None
        and held["n_samples_fit_"] != points.shape[0]
    ):
        raise ValueError(f"{name} must have n_samples_fit_ points")
    if name == "TableEncoder" and not _is_encoder(held):
        raise ValueError(f"{name} must have a list of categories, or None, for each column")
    if "_kernel" in held and held["_kernel"].name != as_kernel(held["kernel"]).name:
        raise ValueError(f"{name} was learned with another kernel than its parameter says")


def _is_encoder(held: dict[str, Any]) -> bool:
    categories, fills, n = held["categories_"], held["fills_"], held.get("n_features_in_")
    return len(categories) == len(fills) == n and all(
        (own is None and isinstance(fill, float))
        or (isinstance(own, list) and own and all(isinstance(each, str) for each in [*own, fill]))
        for own, fill in zip(categories, fills, strict=True)
    )
