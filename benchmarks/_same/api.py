"""Adapter: functions that the cases call, implemented with this version of the library.

Results are plain dictionaries. Another version needs its own adapter (``record --api FILE``) with
the same functions. Entries of two records are compared by name, so their names must stay the same
even if the library renames what they describe.
"""

from typing import Any

import dimetric
from dimetric import advice, data, kernels, manifold, quality, selection, solvers, stats
from dimetric import benchmark as benchmarks
from dimetric.supervision import Pairs, Triplets

__all__ = ["Pairs", "Triplets"]
averages, ranks = stats.averages, stats.ranks
choose_dimension = selection.choose_dimension
metadata_cross_validate = selection.metadata_cross_validate
trustworthiness, before_and_after = quality.trustworthiness, quality.before_and_after
eigenvalue_ratios, residual_variances = quality.eigenvalue_ratios, quality.residual_variances

SHORT_NAMES = {
    "LBFGS": "lbfgs",
    "GradientDescent": "bgd",
    "SGD": "sgd",
    "ProjectedGradient": "sdp",
    "BregmanProjections": "bregman",
    "FrankWolfe": "frank_wolfe",
}
KERNEL_LEARNERS = ("KPCA", "KDA", "KANMM", "KDMLMJ", "KLMNN", "Kernelized")


def short_name(solver: str) -> str:
    """Return the string that selects a solver."""
    return SHORT_NAMES[solver]


def build(spec: Any) -> Any:
    """Return the estimator, solver or kernel of a spec. Other values are returned unchanged."""
    if not hasattr(spec, "params"):
        return spec
    params = {name: build(value) for name, value in spec.params.items() if name != "kernel"}
    if spec.name in solvers.__all__:
        return getattr(solvers, spec.name)(**params)
    if spec.name in KERNEL_LEARNERS:
        kernel = spec.params["kernel"].params if "kernel" in spec.params else {}
        params["kernel"] = _kernel(**kernel, random_state=params.get("random_state"))
        if spec.name != "KLMNN":  # in the others, only the landmarks are random
            params.pop("random_state", None)
    return getattr(dimetric, spec.name)(**params)


def _kernel(kernel: str = "rbf", n_components_kernel: Any = "auto", **params: Any) -> Any:
    return kernels.Kernel(kernel, n_components=n_components_kernel, **params)


def metadata(estimator: Any) -> dict[str, Any]:
    """Return the metadata of a fitted estimator."""
    return estimator.metadata() if hasattr(estimator, "metadata") else {}


def toy(name: str, n: int, **params: Any) -> Any:
    """Return X, y and coordinates of a generated data set."""
    return tuple(getattr(data, f"make_{name}")(n, **params))


def load_data_set(name: str) -> dict[str, Any]:
    """Return a data set by name."""
    return _samples(data.load_data_set(name))


def read_table(path: Any, target: str, missing: str) -> dict[str, Any]:
    """Return the samples of a file."""
    return _samples(data.read_table(path, target, missing=missing))


def _samples(found: Any) -> dict[str, Any]:
    return {"X": found.X, "y": found.y, "features": list(found.feature_names)}


def cross_validate(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the cross-validated scores."""
    return _fields(selection.cross_validate(*args, **options), "train_score test_score")


def cross_validate_pairs(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the cross-validated scores on pairs."""
    return _fields(selection.cross_validate_pairs(*args, **options), "train_score test_score")


def tune(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the tuned parameters."""
    return _tuned(selection.tune(*args, **options))


def tune_knn(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the tuned parameters and number of neighbours."""
    return _tuned(selection.tune_knn(*args, **options))


def tune_pairs(*args: Any, **options: Any) -> dict[str, Any]:
    """Return the parameters tuned on pairs."""
    found = selection.tune_pairs(*args, **options)
    return _tuned(found) | {"mean_train_score": found.cv_results_["mean_train_score"]}


def _tuned(found: Any) -> dict[str, Any]:
    table = found.cv_results_
    return {
        "best_params": found.best_params_,
        "best_score": found.best_score_,
        "params": table["params"],
        "mean_test_score": table["mean_test_score"],
    }


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
    return [_fields(each, names) for each in selection.knn_scores(*args, **options)]


def embedding_quality(X: Any, Z: Any, **options: Any) -> dict[str, Any]:
    """Return all scores of an embedding."""
    found = quality.embedding_quality(X, Z, **options)
    return {"scores": found.scores()} | _fields(found, "q_nx r_nx points per_point standard_error")


def neighborhood(X: Any, Z: Any, row: int, **options: Any) -> dict[str, Any]:
    """Return the neighbours of a sample before and after learning."""
    names = "before after distances_before distances_after shown places_before places_after"
    return _fields(quality.neighborhood(X, Z, row, **options), names)


def scan_neighbors(X: Any, n_neighbors: Any) -> dict[str, Any]:
    """Return properties of the neighbour graphs for several numbers of neighbours."""
    return _fields(
        manifold.scan_neighbors(X, n_neighbors, random_state=0),
        "n_neighbors n_parts mean_geodesic drop",
    )


def benchmark(
    learners: Any, sets: Any, cv: int, param_grid: Any = None, **options: Any
) -> dict[str, Any]:
    """Return the cells of a benchmark, their means and a summary."""
    found = benchmarks.run(learners, sets, cv=cv, param_grids=param_grid, **options)
    k = None if options.get("n_neighbors") is None else 3
    cells = {
        f"{cell.data} {cell.learner} {cell.n_neighbors} {cell.repeat} {cell.fold}": _fields(
            cell, "train test status metadata"
        )
        for cell in found.cells
    }
    table = {
        each.learner: _fields(each, "values mean n_failed n_cells") | {"spread": each.std}
        for each in benchmarks.summary(found, n_neighbors=k, data="iris")
    }
    scores = _fields(found.scores(n_neighbors=k), "data learners values")
    return {"cells": cells, "scores": scores, "summary": table}


def compare(X: Any, y: Any, learners: Any, budget: float, random_state: int) -> dict[str, Any]:
    """Return the result of ``dimetric.compare``."""
    found = dimetric.compare(
        X, y, learners=learners, budget=budget, random_state=random_state, n_jobs=1
    ).choice
    return _fields(found, "best params scores dropped verdict") | {
        "n_race": found.n_race_rows,
        "n_final": found.n_final_rows,
        "means": found.mean_scores,
        "runs": found.n_repeats,
        "final": found.final_scores,
        "unseen": found.judged_on_unseen_rows,
        "posterior": _fields(found.posterior, "left rope right samples"),
    }


def insight(learner: Any, X: Any, y: Any, names: list[str]) -> dict[str, Any]:
    """Return the effects of a learned distance."""
    found = advice.insight(learner, X, y, names, random_state=0)
    return _fields(found, "n_train n_test importance metric rows before after") | {
        "gained": [_fields(each, "row before after") for each in found.corrected_errors],
        "lost": [_fields(each, "row before after") for each in found.new_errors],
        "of_metric": found.from_metric,
        "unseen": found.shows_unseen_rows,
    }


def _fields(found: Any, names: str) -> dict[str, Any]:
    return {name: getattr(found, name) for name in names.split()}
