"""Adapter: the calls that the cases make, on the names of this version of the library.

Results come back as plain dictionaries. Another version is recorded with an adapter of its own
(``record --api FILE``) that defines the same functions.
"""

from inspect import signature
from typing import Any

import dimetric
from dimetric import advice, classify, data, manifold, quality, selection, stats
from dimetric import benchmark as many
from dimetric.kernels import Kernel
from dimetric.supervision import Pairs, Triplets

__all__ = ["Pairs", "Triplets"]
averages, ranks = stats.averages, stats.ranks
trustworthiness, before_and_after = quality.trustworthiness, quality.before_and_after
eigenvalue_shares, residual_variances = quality.eigenvalue_shares, quality.residual_variances
cross_validate_pairs = selection.cross_validate_pairs

SHORT_NAMES = {
    "LBFGS": "lbfgs",
    "GradientDescent": "bgd",
    "SGD": "sgd",
    "ProjectedGradient": "sdp",
    "BregmanProjections": "bregman",
    "FrankWolfe": "frank_wolfe",
}
RENAMED = {"increase": "learn_inc", "decrease": "learn_dec"}
KERNEL_NAMES = {"kernel": "name", "kernel_params": "params", "n_components_kernel": "n_components"}


def short_name(solver: str) -> str:
    """Return the string that stands for a solver."""
    return SHORT_NAMES[solver]


def build(spec: Any) -> Any:
    """Return the estimator, solver or kernel of a spec; anything else as it is."""
    if not hasattr(spec, "params"):
        return spec
    params: dict[str, Any] = {}
    for name, value in spec.params.items():
        if name == "solver" and hasattr(value, "params"):
            params["solver"] = SHORT_NAMES[value.name]
            if spec.name == "LSI" and value.name == "ProjectedGradient":
                params["solver"] = "projected"
            params |= {RENAMED.get(key, key): each for key, each in value.params.items()}
        elif name == "kernel" and hasattr(value, "params"):
            own = {KERNEL_NAMES.get(key, key): each for key, each in value.params.items()}
            params["kernel"] = Kernel(**own, random_state=spec.params.get("random_state"))
        else:
            params[name] = build(value)
    cls = getattr(dimetric, spec.name)
    if "random_state" not in signature(cls).parameters:  # it is the kernel's
        params.pop("random_state", None)
    return cls(**params)


def metadata(estimator: Any) -> dict[str, Any]:
    """Return what an estimator tells about its fit."""
    return estimator.metadata() if hasattr(estimator, "metadata") else {}


def toy(name: str, n: int, **params: Any) -> Any:
    """Return X, y and coordinates of a generated data set."""
    return tuple(getattr(data, name)(n, **params))


def load_data_set(name: str) -> dict[str, Any]:
    """Return a data set by name."""
    return _samples(data.load_data_set(name))


def read_table(path: Any, target: str, missing: str) -> dict[str, Any]:
    """Return the samples of a file."""
    return _samples(data.read_table(path, target, missing=missing))


def _samples(found: Any) -> dict[str, Any]:
    return {"X": found.X, "y": found.y, "features": list(found.feature_names)}


def cross_validate(model: Any, X: Any, y: Any, cv: int, **options: Any) -> dict[str, Any]:
    """Return scores in folds."""
    found = selection.cross_validate(model, X, y, cv=cv, **options)
    return {"train": found.train, "test": found.test}


def metadata_cross_validate(learner: Any, X: Any, y: Any, cv: int, **options: Any) -> Any:
    """Return the metadata of fits in folds."""
    return selection.metadata_cross_validate(learner, X, y, cv=cv, **options)


def tune(model: Any, X: Any, y: Any, grid: Any, cv: int, **options: Any) -> dict[str, Any]:
    """Return the choice of parameters."""
    return _tuned(selection.tune(model, X, y, grid, cv=cv, **options))


def tune_knn(model: Any, X: Any, y: Any, grid: Any, cv: int, **options: Any) -> dict[str, Any]:
    """Return the choice of parameters and of the number of neighbours."""
    return _tuned(selection.tune_knn(model, X, y, grid, cv=cv, **options))


def _tuned(found: Any) -> dict[str, Any]:
    return {
        "best_params": found.best_params,
        "best_score": found.best_score,
        "params": found.params,
        "scores": found.scores,
    }


def choose_dimension(learner: Any, X: Any, y: Any = None, cv: int = 5, **options: Any) -> int:
    """Return the chosen number of components."""
    return selection.choose_dimension(learner, X, y, cv=cv, **options)


def search_pairs(learner: Any, X: Any, pairs: Any, grid: Any, **options: Any) -> dict[str, Any]:
    """Return the choice of parameters by pairs."""
    found = selection.search_pairs(learner, X, pairs, grid, **options)
    return {"params": found.params, "score": found.score, "table": found.table}


def correlated_t_test(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the posterior of the test."""
    return _fields(stats.correlated_t_test(*args, **options), "left rope right samples")


def sign_test(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the posterior of the test."""
    return _fields(stats.sign_test(*args, **options), "left rope right samples")


def signed_rank_test(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the posterior of the test."""
    return _fields(stats.signed_rank_test(*args, **options), "left rope right samples")


def bayes_error_bounds(X: Any, y: Any, **options: Any) -> dict[str, Any]:
    """Return bounds of the Bayes error."""
    return _fields(stats.bayes_error_bounds(X, y, **options), "lower upper")


def knn_scores(*args: Any, **options: Any) -> list[dict[str, Any]]:
    """Return scores of several learners."""
    names = "learner n_neighbors train test"
    return [_fields(each, names) for each in classify.knn_scores(*args, **options)]


def embedding_quality(X: Any, Z: Any, **options: Any) -> dict[str, Any]:
    """Return all scores of an embedding."""
    found = quality.embedding_quality(X, Z, **options)
    return {"scores": found.scores()} | _fields(found, "q_nx r_nx points per_point standard_error")


def neighborhood(X: Any, Z: Any, row: int, **options: Any) -> dict[str, Any]:
    """Return the neighbours of a sample before and after."""
    names = "before after distances_before distances_after shown places_before places_after"
    return _fields(quality.neighborhood(X, Z, row, **options), names)


def scan_neighbors(X: Any, n_neighbors: Any) -> dict[str, Any]:
    """Return what is known of the graphs of several numbers of neighbours."""
    return _fields(
        manifold.scan_neighbors(X, n_neighbors), "n_neighbors n_parts mean_geodesic drop"
    )


def benchmark(
    learners: Any, sets: Any, cv: int, param_grid: Any = None, **options: Any
) -> dict[str, Any]:
    """Return the cells of a benchmark, their means and a summary."""
    found = many.run(learners, sets, cv=cv, param_grids=param_grid, **options)
    k = None if options.get("n_neighbors") is None else 3
    cells = {
        f"{cell.data} {cell.learner} {cell.n_neighbors} {cell.repeat} {cell.fold}": _fields(
            cell, "train test status metadata"
        )
        for cell in found.cells
    }
    table = {
        each.learner: _fields(each, "values mean spread n_failed n_cells")
        for each in many.summary(found, n_neighbors=k, data="iris")
    }
    scores = _fields(found.scores(n_neighbors=k), "data learners values")
    return {"cells": cells, "scores": scores, "summary": table}


def compare(X: Any, y: Any, learners: Any, budget: float, random_state: int) -> dict[str, Any]:
    """Return the answer to "which learner?"."""
    found = advice.choose(X, y, learners, budget=budget, random_state=random_state, n_jobs=1)
    return _fields(found, "best params scores means runs n_race verdict") | {
        "dropped": found.given_up,
        "final": found.judged,
        "unseen": found.fresh,
        "n_final": found.n_judge,
        "posterior": _fields(found.posterior, "left rope right samples"),
    }


def insight(learner: Any, X: Any, y: Any, names: list[str]) -> dict[str, Any]:
    """Return what a learned distance changes."""
    found = advice.insight(learner, X, y, names)
    return _fields(found, "n_train n_test importance of_metric metric rows before after") | {
        "gained": [_fields(each, "row before after") for each in found.gained],
        "lost": [_fields(each, "row before after") for each in found.lost],
        "unseen": found.drawn_are_left_out,
    }


def _fields(found: Any, names: str) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names.split()}
