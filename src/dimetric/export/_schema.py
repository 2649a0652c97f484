"""The classes that a model file may hold, and the fitted attributes that each must have.

Classes are looked up here by name, so a file cannot cause other modules to be imported. The state
of a fitted estimator consists of its attributes that end in ``_`` and the private attributes listed
in ``SCHEMA``. Attributes of the class itself, such as methods, are not state.
"""

import re
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

import dimetric
from dimetric.export._column_records import COLUMN_RECORDS, COLUMN_SCHEMA, ENCODER_SCHEMA
from dimetric.export._retrieval.schema import RETRIEVAL_CLASSES, RETRIEVAL_SCHEMA

# Estimators of scikit-learn that a file may hold, and their modules.
SKLEARN_CLASSES = {
    "Pipeline": "sklearn.pipeline",
    "StandardScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "MaxAbsScaler": "sklearn.preprocessing",
    "RobustScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
    "VarianceThreshold": "sklearn.feature_selection",
} | dict.fromkeys(
    ("KNeighborsRegressor", "KNeighborsTransformer", "NearestNeighbors"), "sklearn.neighbors"
)
# Classes of dimetric that a file may hold in addition to the names in dimetric.__all__.
OWN_CLASSES = {
    "ApproximateNeighbors": "dimetric.neighbors",
    "BregmanProjections": "dimetric.solvers",
    "FrankWolfe": "dimetric.solvers",
    "GradientDescent": "dimetric.solvers",
    "Kernel": "dimetric.kernels",
    "LBFGS": "dimetric.solvers",
    "ProjectedGradient": "dimetric.solvers",
    "RankScaler": "dimetric.classify._rank_scaler",
    "SGD": "dimetric.solvers",
    "TableEncoder": "dimetric.data",
} | RETRIEVAL_CLASSES
# Dataclasses that are parts of fitted estimators.
RECORDS = {
    "KernelFunction": "dimetric.kernels._function",
    "Axes": "dimetric.manifold._classical",
    "References": "dimetric.manifold._classical",
    "Configuration": "dimetric.manifold._smacof",
    "Geodesics": "dimetric.manifold._geodesics",
    "Moments": "dimetric.linalg.scatter",
    "PrincipalCoordinates": "dimetric.linalg.classical_scaling",
} | COLUMN_RECORDS

# The attributes of a class and its subclasses, and their types. "float k d" is a finite float array
# with k rows and d columns. A letter stands for the same number in all attributes of an object, "*"
# for any number, and "..." for any further dimensions. "index(C) n" is an array of n integers from
# 0 to C - 1, and "labels C" an array of C values of any dtype. "several" precedes the type of the
# items of a list. "A/B" is an instance of A or B. "or" separates alternatives, "none" is None, and
# "maybe" allows a missing attribute.
SCHEMA = {
    "Learner": {"_metadata": "dict"},
    "LinearMetric": {"components_": "float k d", "offset_": "float d"},
    "PCA": {
        "explained_variance_": "maybe float k",
        "explained_variance_ratio_": "maybe float k",
        "n_samples_": "maybe number",
        "noise_variance_": "maybe number",
        "_fit_svd_solver": "maybe text",
        "_moments": "maybe Moments or none",
    },
    "Covariance": {"_moments": "maybe Moments or none", "_rounding": "maybe float d or none"},
    "LDA": {
        "_moments": "maybe Moments or none",
        "_unlabelled_moments": "maybe Moments or none",
        "_n_distinct": "maybe number",
    },
    "KernelMetric": {
        "components_": "float k m",
        "offset_": "float m",
        "X_fit_": "float m d or none",
        "landmarks_": "maybe int m",
        "dual_coef_": "maybe float m d",
        "gamma_": "number",
        "_kernel": "KernelFunction",
        "_Z_fit": "maybe float m k",
    },
    "Embedding": {"embedding_": "float n k"},
    "Isomap": {"_factor": "number", "_map": "Geodesics", "regressor_": "maybe estimator"},
    "LLE": {"_factor": "number", "_points": "float p d", "_coordinates": "float p k"},
    "MDS": {
        "_factor": "number",
        "_unit": "number",
        "_references": "References",
        "_model": "Axes/PrincipalCoordinates/Configuration",
    },
    "DistanceEstimator": {"learner_": "estimator or none"},
    "DistanceClassifier": {"classes_": "labels C"},
    "NeighborsEstimator": {
        "_points": "float n k",
        "n_samples_fit_": "count",
        "n_samples_seen_": "maybe count",
        "temperature_": "maybe number",
        "_vote_weights": "maybe float n",
        "_rows": "maybe int n",
    },
    # With several outputs, classes_ is a list, and the rows of _codes have a code for each output.
    "KNNClassifier": {
        "classes_": "labels C or several labels *",
        "_codes": "index(C) n or int n *",
    },
    "KNNRegressor": {"_targets": "float n ..."},
    "MultiMetricKNNClassifier": {
        "classes_": "labels C",
        "_codes": "index(C) n",
        "components_": "float C k k",
        "_members": "several index(n) *",
    },
    "CentroidClassifier": {
        "centroids_": "float p k",
        "centroid_classes_": "labels p",
        "_owners": "index(C) p",
    },
    "EnergyClassifier": {
        "_points": "float n k",
        "_codes": "index(C) n",
        "_centre": "float k",
        "_thresholds": "float n t",
        "_weights": "maybe float n t or none",
        "_sample_weights": "maybe float n",
        "_k": "count",
        "_mu": "number",
    },
    "MetricEnsembleClassifier": {
        "learner_": "maybe none",
        "estimators_": "several estimator",
        "estimators_features_": "several index(d) *",
        "temperature_": "number",
        "_member_points": "several float n *",
        "_temperatures": "float *",
        "_member_weights": "float *",
        "_codes": "index(C) n",
        "_vote_weights": "maybe float n or none",
        "_metadata": "dict",
    },
    "KernelFunction": {
        "name": "text",
        "gamma": "number",
        "degree": "number",
        "coef0": "number",
        "params": "dict",
        "centre": "float d or none",
    },
    "Axes": {"values": "float k", "offset": "float d", "L": "float k d", "share": "number"},
    "References": {
        "points": "float m d or none",
        "rows": "int m or none",
        "metric": "text",
        "metric_params": "dict or none",
        "constant": "number",
    },
    "Configuration": {"Z": "float n k", "steps": "several float s or none"},
    "Geodesics": {
        "samples": "float n d or none",
        "lengths": "float n m",
        "coordinates": "PrincipalCoordinates",
    },
    "Moments": {
        "counts": "labels C",
        "means": "float C d",
        "spread": "float * d",
        "is_root": "flag",
    },
    "PrincipalCoordinates": {
        "values": "float k",
        "V": "float k m",
        "means": "float m",
        "smallest": "number",
        "norm": "number",
        "noise": "number",
    },
    "RankScaler": {"values_": "float k d", "ranks_": "float k d"},
    "TableEncoder": ENCODER_SCHEMA,
    "StandardScaler": {"mean_": "float d or none", "scale_": "float d or none"},
    "MinMaxScaler": {"min_": "float d", "scale_": "float d"},
    "MaxAbsScaler": {"scale_": "float d"},
    "RobustScaler": {"center_": "float d or none", "scale_": "float d or none"},
    "SimpleImputer": {"statistics_": "labels d", "_fill_dtype": "dtype", "_fit_dtype": "dtype"},
    "KNeighborsRegressor": {
        "_fit_X": "float n d",
        "_y": "float n ...",
        "_fit_method": "brute",
        "_tree": "none",
    },
    **RETRIEVAL_SCHEMA,
} | COLUMN_SCHEMA
ESTIMATOR_SCHEMA = {"n_features_in_": "maybe count", "_sklearn_output_config": "maybe dict"}
MAX_INTEGER = 2**63 - 1  # the largest size of an array
NUMERIC_KINDS = "biuf"  # dtype kinds of arrays that are stored as tensors
FITTED_NAME = re.compile(r"[A-Za-z]\w*_")
PYTHON_TYPES: dict[str, type] = {
    "text": str,
    "dict": dict,
    "list": list,
    "flag": bool,
    "dtype": np.dtype,
}


def class_named(name: str) -> type:
    """Return the estimator class with a given name. Raise if files may not hold it."""
    modules = dict.fromkeys(dimetric.__all__, "dimetric") | OWN_CLASSES | SKLEARN_CLASSES
    cls = getattr(import_module(modules[name]), name) if name in modules else None
    if not (isinstance(cls, type) and issubclass(cls, BaseEstimator)):
        raise ValueError(f"a model file cannot hold an estimator {name!r}")
    return cls


def record_named(name: str) -> type:
    """Return the dataclass with a given name. Raise if files may not hold it."""
    if name not in RECORDS:
        raise ValueError(f"a model file cannot hold a record {name!r}")
    return getattr(import_module(RECORDS[name]), name)


def all_types() -> list[type]:
    """Return all classes of dimetric that can be part of a fitted model."""
    modules = dict.fromkeys(dimetric.__all__, "dimetric") | OWN_CLASSES
    named = [getattr(import_module(module), name) for name, module in modules.items()]
    ours = [each for each in named if isinstance(each, type) and issubclass(each, BaseEstimator)]
    return ours + [record_named(name) for name in RECORDS]


@cache
def schema_of(cls: type) -> dict[str, str]:
    """Return the schema of a class. Subclasses override their bases."""
    schema = {} if is_dataclass(cls) else dict(ESTIMATOR_SCHEMA)
    for base in reversed(cls.__mro__):
        schema |= SCHEMA.get(base.__name__, {})
    return schema


def is_state(cls: type, name: str) -> bool:
    """Return whether a class can have a fitted attribute with a given name.

    The names of class attributes, such as methods, are excluded. Classes without ``fit``, such as
    solvers and kernels, have no fitted attributes.
    """
    is_valid_name = bool(FITTED_NAME.fullmatch(name)) or name in schema_of(cls)
    return is_valid_name and hasattr(cls, "fit") and not hasattr(cls, name)


def check_attributes(cls: type, attributes: dict[str, Any]) -> None:
    """Raise unless the attributes of an instance match the schema of its class."""
    schema = schema_of(cls)
    if is_dataclass(cls) and set(attributes) != set(schema):
        raise ValueError(f"{cls.__name__} must have the fields {', '.join(schema)}")
    sizes = {} if is_dataclass(cls) else {"d": attributes.get("n_features_in_")}
    for name, text in schema.items():
        alternatives = text.removeprefix("maybe ").split(" or ")
        if name not in attributes:
            if text.startswith("maybe "):
                continue
            raise ValueError(f"{cls.__name__} has no attribute {name}")
        value = attributes[name]
        if not any(_fits(value, each, sizes) for each in alternatives):
            raise ValueError(
                f"{name} of {cls.__name__} has a wrong type or shape; it must be {text!r}"
            )


def _fits(value: Any, wanted: str, sizes: dict[str, Any]) -> bool:
    kind, *letters = wanted.split()
    if kind in PYTHON_TYPES:
        return isinstance(value, PYTHON_TYPES[kind])
    if kind == "number":
        return isinstance(value, Real) and isfinite(value)
    if kind == "count":
        return isinstance(value, Integral) and 0 <= int(value) <= MAX_INTEGER
    if kind == "several":
        return isinstance(value, (list, tuple)) and all(
            _fits(each, " ".join(letters), sizes) for each in value
        )
    if kind in ("none", "brute"):
        return value is None if kind == "none" else value == kind
    if kind == "estimator":
        return isinstance(value, BaseEstimator)
    if not letters:
        return type(value).__name__ in kind.split("/")
    return _is_array_of_kind(value, kind, sizes) and _has_shape(value, letters, sizes)


def _is_array_of_kind(value: Any, kind: str, sizes: dict[str, Any]) -> bool:
    if not isinstance(value, np.ndarray) and not sparse.issparse(value):
        return False
    if kind == "float":
        numbers = value.data if sparse.issparse(value) else value
        return value.dtype.kind == "f" and bool(np.all(np.isfinite(numbers)))
    if kind == "labels":
        return True
    bound = kind.partition("(")[2].rstrip(")")
    if value.dtype.kind not in "iu" or not value.size:
        return False
    return not bound or bool(value.min() >= 0 and value.max() < sizes.get(bound, 0))


def _has_shape(value: Any, letters: list[str], sizes: dict[str, Any]) -> bool:
    shape = value.shape
    if letters[-1] == "...":
        letters, shape = letters[:-1], shape[: len(letters) - 1]
    if len(shape) != len(letters):
        return False
    pairs = list(zip(letters, shape, strict=True))
    return all(letter == "*" or sizes.setdefault(letter, size) == size for letter, size in pairs)
