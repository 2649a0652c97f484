"""Translate models of format 1, whose learners held the parameters of their solver and kernel."""

from inspect import signature
from typing import Any

from dimetric.export._schema import class_named

# The class of the object that holds a parameter now, and its name there.
KERNEL = {
    "gamma": "gamma",
    "degree": "degree",
    "coef0": "coef0",
    "kernel_params": "params",
    "n_components_kernel": "n_components",
    "n_landmarks": "n_landmarks",
    "landmarks": "landmarks",
    "random_state": "random_state",
}
LEARNING_RATE = {
    "learning_rate": "learning_rate",
    "eta0": "eta0",
    "learn_inc": "increase",
    "learn_dec": "decrease",
}
SOLVERS = {
    "lbfgs": ("LBFGS", {}),
    "bgd": ("GradientDescent", LEARNING_RATE),
    "sgd": ("SGD", LEARNING_RATE | {"batch_size": "batch_size"}),
    "frank_wolfe": ("FrankWolfe", {"schedule": "schedule"}),
}
UNUSED = {*LEARNING_RATE, "batch_size", "schedule"}  # by solvers that do not have them
RANKS = {"KLMNN": 30}  # what n_components_kernel was by default; 100 for the others
RECORDS = {"Kernel": "KernelFunction"}


def upgrade(data: Any) -> Any:
    """Return the JSON of a model of format 1 as this version writes it.

    Parameters that were removed stay where they are: the decoder refuses them.

    Examples
    --------
    >>> old = {"kernel": "poly", "gamma": "scale", "degree": 2, "coef0": 1.0}
    >>> new = upgrade({"$class": "KDA", "parameters": old, "state": {}})
    >>> new["parameters"]
    {'kernel': {'$class': 'Kernel', 'parameters': {'name': 'poly', 'degree': 2}, 'state': {}}}
    """
    if isinstance(data, list):
        return [upgrade(each) for each in data]
    if not isinstance(data, dict):
        return data
    found = {key: upgrade(each) for key, each in data.items()}
    if isinstance(found.get("$record"), str):
        found["$record"] = RECORDS.get(found["$record"], found["$record"])
    name, given = found.get("$class"), found.get("parameters")
    if isinstance(name, str) and isinstance(given, dict):
        known = class_named(name)._get_param_names()  # type: ignore[attr-defined]
        found["parameters"] = _moved(name, given, set(known))
    return found


def _moved(name: str, given: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Return the parameters of a learner, those that it no longer has inside its objects."""
    kept = {key: each for key, each in given.items() if key in known}
    lost = {key: each for key, each in given.items() if key not in known}
    if "coef0" in lost and isinstance(given.get("kernel"), str):
        if given.get("n_components_kernel") == RANKS.get(name, 100):
            del lost["n_components_kernel"]  # the learner's own value
        own = lost | {key: given[key] for key in ("random_state",) if key in given}
        kept["kernel"] = _object("Kernel", KERNEL, own, shortcut=given["kernel"])
        lost = {key: each for key, each in lost.items() if key not in KERNEL}
    if lost.keys() & UNUSED and isinstance(given.get("solver"), str):
        solver, names = SOLVERS.get(given["solver"], ("", {}))
        kept["solver"] = _object(solver, names, lost, shortcut=given["solver"])
        lost = {key: each for key, each in lost.items() if key not in UNUSED}
    return kept | lost


def _object(name: str, names: dict[str, str], given: dict[str, Any], *, shortcut: str) -> Any:
    """Return an object with the parameters that are not its defaults; the shortcut if none are."""
    moved = {names[key]: each for key, each in given.items() if key in names}
    defaults = signature(class_named(name)).parameters if moved else {}
    moved = {key: each for key, each in moved.items() if each != defaults[key].default}
    if not moved:
        return shortcut
    first = {"name": shortcut} if name == "Kernel" else {}
    return {"$class": name, "parameters": first | moved, "state": {}}
