"""Cases that fit estimators and record the results of the fits."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.neighbors import KNeighborsClassifier

from _same.data import Data
from _same.record import Case, to_host
from _same.spec import Spec
from _same.variants import CLASSIFIERS, CLOSED, CLOSED_CLASSIFIERS, ITERATIVE, SEEDED

FEW_ITERATIONS = 8
LARGE = ("digits", "many")  # fits to these data sets use few iterations to save time


def estimator_cases(api: ModuleType, sets: dict[str, Data]) -> Iterator[Case]:
    """Return a case for each estimator, variant and data set."""
    for kind, table in (("closed", CLOSED), ("iterative", ITERATIVE), ("", CLASSIFIERS)):
        for name, variants in table.items():
            for params in variants:
                spec = _seeded(Spec(name, **params))
                for data in sets.values():
                    yield _case(api, spec, data, kind or _kind_of(name, params))


def _seeded(spec: Spec) -> Spec:
    """Return a spec with a fixed random state, also for an inner learner."""
    learner = spec.params.get("learner")
    if learner is not None:
        spec = spec.with_params(learner=_seeded(learner))
    return spec.with_params(random_state=0) if spec.name in SEEDED else spec


def _kind_of(name: str, params: dict[str, Any]) -> str:
    """Return "closed" if the distance of a classifier has a closed form, else "iterative"."""
    learner = params.get("learner")
    closed = name in CLOSED_CLASSIFIERS and (learner is None or learner.name in CLOSED)
    return "closed" if closed else "iterative"


def _case(api: ModuleType, spec: Spec, data: Data, kind: str) -> Case:
    built = spec
    if data.name in LARGE and kind == "iterative":
        built = _shortened(spec)
    return Case(
        f"fit {built} on {data.name}",
        kind,
        lambda: fitted_facts(api, api.build(built), data),
        data.single,
    )


def _shortened(spec: Spec) -> Spec:
    """Return a spec whose learner, or inner learner, stops after a few iterations."""
    if spec.name in ITERATIVE and "learner" not in spec.params:
        return spec.with_params(max_iter=FEW_ITERATIONS)
    learner = spec.params.get("learner")
    return spec if learner is None else spec.with_params(learner=_shortened(learner))


def fitted_facts(api: ModuleType, estimator: Any, data: Data, **supervision: Any) -> dict[str, Any]:
    """Fit an estimator and return its reproducible results."""
    if hasattr(estimator, "predict"):
        return _of_predictor(api, estimator, data)
    labels = () if supervision else (data.y,)
    estimator.fit(data.X, *labels, **supervision)
    return mapped_facts(api, estimator, data)


def mapped_facts(api: ModuleType, estimator: Any, data: Data) -> dict[str, Any]:
    """Return the results of a fitted learner or embedding."""
    found: dict[str, Any] = {"metadata": api.metadata(estimator), "fitted": _attributes(estimator)}
    if callable(getattr(estimator, "metric", None)) and hasattr(estimator, "components_"):
        try:
            found["metric"] = estimator.metric()
        except AttributeError:  # the distance of a kernel has no matrix
            found["metric"] = None
    if hasattr(estimator, "embedding_"):
        found["embedding"] = estimator.embedding_
        found["embedding distances"] = pdist(to_host(estimator.embedding_)[:60])
    if not hasattr(estimator, "transform"):
        return found
    Z, Z_new = (np.asarray(to_host(estimator.transform(X))) for X in (data.X, data.X_new))
    found["distances"] = pdist(Z_new[:40])
    found["dtype"] = str(Z_new.dtype)
    classifier = KNeighborsClassifier(3, algorithm="brute").fit(Z.astype(np.float64), data.y)
    found["predicted"] = classifier.predict(Z_new.astype(np.float64))
    if callable(getattr(estimator, "pair_distance", None)):
        rows = np.stack([np.arange(10), np.arange(10, 20)], axis=1)
        found["pair distances"] = estimator.pair_distance(rows, data.X)
    if callable(getattr(estimator, "inverse_transform", None)):
        found["inverse"] = estimator.inverse_transform(estimator.transform(data.X_new))
    return found


def _of_predictor(api: ModuleType, estimator: Any, data: Data) -> dict[str, Any]:
    regression = type(estimator).__name__.endswith("Regressor")
    y, y_new = (data.X[:, 0], data.X_new[:, 0]) if regression else (data.y, data.y_new)
    estimator.fit(data.X, y)
    predicted = to_host(estimator.predict(data.X_new))
    found: dict[str, Any] = {
        "regressed" if regression else "predicted": predicted,
        "score": estimator.score(data.X_new, y_new),
        "fitted": _attributes(estimator),
    }
    for name in ("predict_proba", "decision_function", "energy"):
        if callable(getattr(estimator, name, None)):
            found[name] = getattr(estimator, name)(data.X_new)
    if getattr(estimator, "learner_", None) is not None:
        found["learner"] = api.metadata(estimator.learner_)
    return found


def _attributes(estimator: Any) -> dict[str, Any]:
    """Return the public fitted attributes that are numbers or numeric arrays."""
    found = {}
    for name, value in vars(estimator).items():
        if not name.endswith("_") or name.startswith("_") or hasattr(value, "get_params"):
            continue
        is_array = hasattr(value, "dtype") and not hasattr(value, "tocsr")
        if is_array or isinstance(value, bool | int | float | str | tuple):
            found[name] = value
    return found
