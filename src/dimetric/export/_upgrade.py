"""Convert models that earlier versions of dimetric saved.

In format 1, learners had the parameters of their solver and kernel.
"""

from inspect import signature
from typing import Any

from dimetric.export._schema import class_named
from dimetric.learners._probabilistic_pca import noise_variance
from dimetric.learners.pca import PCA

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
# Defaults of n_components_kernel in format 1.
DEFAULT_KERNEL_RANKS = {"KLMNN": 30}
DEFAULT_KERNEL_RANK = 100  # of all other learners
RENAMED_RECORDS = {"Kernel": "KernelFunction"}


def upgrade(data: Any) -> Any:
    """Convert the JSON of a model from format 1 to format 2.

    Parameters that were removed are not changed here. The decoder rejects them.

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
    name, params = upgraded.get("$class"), upgraded.get("parameters")
    if isinstance(name, str) and isinstance(params, dict):
        known = class_named(name)._get_param_names()  # type: ignore[attr-defined]
        upgraded["parameters"] = _move_parameters(name, params, set(known))
    return upgraded


def _move_parameters(name: str, params: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """Move the parameters that a learner does not have into its kernel and solver objects."""
    kept = {key: each for key, each in params.items() if key in known}
    removed = {key: each for key, each in params.items() if key not in known}
    if "coef0" in removed and isinstance(params.get("kernel"), str):
        if params.get("n_components_kernel") == DEFAULT_KERNEL_RANKS.get(name, DEFAULT_KERNEL_RANK):
            del removed["n_components_kernel"]  # the default of the learner
        for_kernel = removed | {key: params[key] for key in ("random_state",) if key in params}
        kept["kernel"] = _solver_or_kernel(
            "Kernel", KERNEL_PARAMETERS, for_kernel, shortcut=params["kernel"]
        )
        removed = {key: each for key, each in removed.items() if key not in KERNEL_PARAMETERS}
    if removed.keys() & SOLVER_PARAMETERS and isinstance(params.get("solver"), str):
        solver, names = SOLVERS.get(params["solver"], ("", {}))
        kept["solver"] = _solver_or_kernel(solver, names, removed, shortcut=params["solver"])
        removed = {key: each for key, each in removed.items() if key not in SOLVER_PARAMETERS}
    return kept | removed


def _solver_or_kernel(
    name: str, names: dict[str, str], params: dict[str, Any], *, shortcut: str
) -> Any:
    """Return a solver or kernel with its non-default parameters, or the shortcut if it has none."""
    moved = {names[key]: each for key, each in params.items() if key in names}
    defaults = signature(class_named(name)).parameters if moved else {}
    moved = {key: each for key, each in moved.items() if each != defaults[key].default}
    if not moved:
        return shortcut
    first = {"name": shortcut} if name == "Kernel" else {}
    return {"$class": name, "parameters": first | moved, "state": {}}


def add_noise_variance(model: Any) -> None:
    """Compute ``noise_variance_`` of a PCA that was saved before version 0.3."""
    names = {"explained_variance_", "explained_variance_ratio_", "n_samples_"}
    state = vars(model)
    if not isinstance(model, PCA) or "noise_variance_" in state or not names <= set(state):
        return
    variances = model.explained_variance_.astype(float)
    fraction = float(model.explained_variance_ratio_.sum())
    if variances.sum() > 0 and fraction > 0:
        total, (k, d) = float(variances.sum()) / fraction, model.components_.shape
        model.noise_variance_ = noise_variance(variances, total, k, int(model.n_samples_), d)
    elif not variances.any():  # all samples were identical
        model.noise_variance_ = 0.0
