"""Convert models of format 1, in which learners had the parameters of their solver and kernel."""

from inspect import signature
from typing import Any

from dimetric.export._schema import class_named

# Parameters of learners in format 1, and their names in the kernel and solver objects.
KERNEL_PARAMETERS = {
    "gamma": "gamma",
    "degree": "degree",
    "coef0": "coef0",
    "kernel_params": "params",
    "n_components_kernel": "n_components",
    "n_landmarks": "n_landmarks",
    "landmarks": "landmarks",
    "random_state": "random_state",
}
LEARNING_RATE_PARAMETERS = {
    "learning_rate": "learning_rate",
    "eta0": "eta0",
    "learn_inc": "increase",
    "learn_dec": "decrease",
}
SOLVERS = {
    "lbfgs": ("LBFGS", {}),
    "bgd": ("GradientDescent", LEARNING_RATE_PARAMETERS),
    "sgd": ("SGD", LEARNING_RATE_PARAMETERS | {"batch_size": "batch_size"}),
    "frank_wolfe": ("FrankWolfe", {"schedule": "schedule"}),
}
SOLVER_PARAMETERS = {*LEARNING_RATE_PARAMETERS, "batch_size", "schedule"}
DEFAULT_KERNEL_RANKS = {"KLMNN": 30}  # defaults of n_components_kernel; other learners: 100
RENAMED_RECORDS = {"Kernel": "KernelFunction"}


def upgrade(data: Any) -> Any:
    """Convert the JSON of a model from format 1 to format 2.

    Parameters that were removed are not changed here; the decoder rejects them.

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
    upgraded = {key: upgrade(each) for key, each in data.items()}
    if isinstance(upgraded.get("$record"), str):
        upgraded["$record"] = RENAMED_RECORDS.get(upgraded["$record"], upgraded["$record"])
    name, given = upgraded.get("$class"), upgraded.get("parameters")
    if isinstance(name, str) and isinstance(given, dict):
        known = class_named(name)._get_param_names()  # type: ignore[attr-defined]
        upgraded["parameters"] = _move_parameters(name, given, set(known))
    return upgraded


def _move_parameters(name: str, given: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Move the parameters that a learner does not have into its kernel and solver objects."""
    kept = {key: each for key, each in given.items() if key in known}
    removed = {key: each for key, each in given.items() if key not in known}
    if "coef0" in removed and isinstance(given.get("kernel"), str):
        if given.get("n_components_kernel") == DEFAULT_KERNEL_RANKS.get(name, 100):
            del removed["n_components_kernel"]  # the default of the learner
        for_kernel = removed | {key: given[key] for key in ("random_state",) if key in given}
        kept["kernel"] = _solver_or_kernel(
            "Kernel", KERNEL_PARAMETERS, for_kernel, shortcut=given["kernel"]
        )
        removed = {key: each for key, each in removed.items() if key not in KERNEL_PARAMETERS}
    if removed.keys() & SOLVER_PARAMETERS and isinstance(given.get("solver"), str):
        solver, names = SOLVERS.get(given["solver"], ("", {}))
        kept["solver"] = _solver_or_kernel(solver, names, removed, shortcut=given["solver"])
        removed = {key: each for key, each in removed.items() if key not in SOLVER_PARAMETERS}
    return kept | removed


def _solver_or_kernel(
    name: str, names: dict[str, str], given: dict[str, Any], *, shortcut: str
) -> Any:
    """Return a solver or kernel with its non-default parameters; the shortcut if it has none."""
    moved = {names[key]: each for key, each in given.items() if key in names}
    defaults = signature(class_named(name)).parameters if moved else {}
    moved = {key: each for key, each in moved.items() if each != defaults[key].default}
    if not moved:
        return shortcut
    first = {"name": shortcut} if name == "Kernel" else {}
    return {"$class": name, "parameters": first | moved, "state": {}}
