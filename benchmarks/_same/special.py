"""Cases that fit estimators to pairs, triplets or blocks, from a given start, or in a pipeline."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _same.data import Data
from _same.estimators import fitted_facts, mapped_facts
from _same.record import Case
from _same.spec import Spec

DATA_SETS = ("iris", "wine", "duplicates", "float32", "array_api_strict")
FROM_PAIRS = (
    Spec("ITML", random_state=0),
    Spec("ITML", gamma=0.1, random_state=0, solver=Spec("BregmanProjections"), max_iter=30),
    Spec("LSI"),
    Spec("LSI", solver=Spec("ProjectedGradient"), max_iter=20),
    Spec("DMLEig"),
    Spec("DMLEig", solver=Spec("FrankWolfe"), max_iter=20),
    Spec("LDML", random_state=0),
    Spec("LDML", random_state=0, solver=Spec("ProjectedGradient"), max_iter=20),
    Spec("Kernelized", learner=Spec("LDML", max_iter=9, random_state=0), random_state=0),
)
FROM_TRIPLETS = (
    Spec("LMNN", max_iter=30, random_state=0),
    Spec("LMNN", max_iter=5, random_state=0, solver=Spec("SGD", batch_size=32)),
    Spec("LMNN", max_iter=20, random_state=0, solver=Spec("ProjectedGradient")),
)
SOLVERS_WITH_SHORT_NAME = ("LBFGS", "GradientDescent", "SGD", "ProjectedGradient")


def special_cases(api: ModuleType, sets: dict[str, Data]) -> Iterator[Case]:
    """Return the cases of this file."""
    for name in DATA_SETS:
        if name in sets:
            yield from _supervised(api, sets[name])
    for name in ("iris", "wine"):
        yield from _started(api, sets[name])
        yield from _in_blocks(api, sets[name])
        yield from _by_short_name(api, sets[name])
        yield Case(f"pipeline on {name}", "iterative", _pipeline(api, sets[name]))
    for what, run in _sampled(api, sets["iris"]).items():
        yield Case(f"draw {what}", "closed", run)


def _supervised(api: ModuleType, data: Data) -> Iterator[Case]:
    """Fit from pairs and triplets of rows, and from partly missing labels."""
    y = data.y
    pairs = api.Pairs.from_labels(y, 120, random_state=0)
    triplets = api.Triplets.from_labels(y, 150, random_state=0)
    for spec in FROM_PAIRS:
        yield _case(f"fit {spec} to pairs of", api, spec, data, pairs=pairs)
    for spec in FROM_TRIPLETS:
        yield _case(f"fit {spec} to triplets of", api, spec, data, triplets=triplets)
    for name in ("ITML", "LSI", "DMLEig", "LDML", "LMNN"):
        spec = Spec(name, unlabelled=-1, max_iter=20)
        spec = spec.with_params(random_state=0) if name in ("ITML", "LDML", "LMNN") else spec
        yield Case(
            f"fit {spec} on {data.name}", "iterative", _unlabelled(api, spec, data), data.single
        )
    yield Case(f"thresholds on {data.name}", "iterative", _thresholds(api, data, pairs, triplets))


def _case(text: str, api: ModuleType, spec: Spec, data: Data, **supervision: Any) -> Case:
    return Case(
        f"{text} {data.name}",
        "iterative",
        lambda: fitted_facts(api, api.build(spec), data, **supervision),
        data.single,
    )


def _unlabelled(api: ModuleType, spec: Spec, data: Data) -> Any:
    def run() -> dict[str, Any]:
        y = np.where(np.arange(len(data.y)) % 4 == 0, -1, data.y)
        return mapped_facts(api, api.build(spec).fit(data.X, y), data)

    return run


def _thresholds(api: ModuleType, data: Data, pairs: Any, triplets: Any) -> Any:
    def run() -> dict[str, Any]:
        learner = api.build(Spec("LDML", max_iter=20, random_state=0)).fit(data.X, pairs=pairs)
        found: dict[str, Any] = {}
        for strategy in ("accuracy", "f_beta", "tpr"):
            learner.calibrate_threshold(pairs, data.X, strategy=strategy)
            alike = learner.predict_pairs(pairs, data.X)
            found[strategy] = {"predicted": alike, "threshold": learner.threshold_}
        found["pairs"] = learner.score_pairs(pairs, data.X)
        found["triplets"] = learner.score_triplets(triplets, data.X)
        return found

    return run


def _started(api: ModuleType, data: Data) -> Iterator[Case]:
    """Fit with a given start, a warm start and given targets."""
    d = data.X.shape[1]
    start = np.eye(2, d) + 0.1 * np.arange(2 * d).reshape(2, d) / d
    for name in ("NCA", "LMNN", "MCML", "LDML", "NCMML", "NCMC"):
        spec = Spec(name, init=start, n_components=2, max_iter=15, random_state=0)
        yield _case(f"fit {spec} on", api, spec, data)

        def warm(name: str = name) -> dict[str, Any]:
            learner = api.build(Spec(name, warm_start=True, max_iter=4, random_state=0))
            return mapped_facts(api, learner.fit(data.X, data.y).fit(data.X, data.y), data)

        yield Case(f"fit {name} twice, warm, on {data.name}", "iterative", warm)
    targets = np.stack([np.roll(np.arange(len(data)), -1), np.roll(np.arange(len(data)), -2)], 1)
    targets = np.where(data.y[targets] == data.y[:, None], targets, -1)
    spec = Spec("LMNN", targets=targets, max_iter=20)
    yield _case(f"fit {spec} on", api, spec, data)


def _in_blocks(api: ModuleType, data: Data) -> Iterator[Case]:
    for name, params in (("PCA", {"n_components": 2}), ("LDA", {}), ("LDA", {"reg": 0.1})):

        def run(name: str = name, params: dict[str, Any] = params) -> dict[str, Any]:
            learner = api.build(Spec(name, **params))
            for rows in np.array_split(np.arange(len(data)), 4):
                learner.partial_fit(data.X[rows], data.y[rows])
            return mapped_facts(api, learner, data)

        yield Case(f"fit {Spec(name, **params)} in blocks of {data.name}", "closed", run)


def _by_short_name(api: ModuleType, data: Data) -> Iterator[Case]:
    """Fit with a solver given as a string."""
    for solver in SOLVERS_WITH_SHORT_NAME:
        text = api.short_name(solver)

        def run(text: str = text) -> dict[str, Any]:
            learner = api.build(Spec("LDML", max_iter=5, random_state=0)).set_params(solver=text)
            return mapped_facts(api, learner.fit(data.X, data.y), data)

        yield Case(f"fit LDML with the string for {solver} on {data.name}", "iterative", run)


def _pipeline(api: ModuleType, data: Data) -> Any:
    def run() -> dict[str, Any]:
        steps = [Spec("NCA", n_components=2, max_iter=10, random_state=0), Spec("KNNClassifier")]
        model = make_pipeline(StandardScaler(), *(api.build(each) for each in steps))
        model.fit(data.X, data.y)
        return {
            "predicted": model.predict(data.X_new),
            "predict_proba": model.predict_proba(data.X_new),
            "score": model.score(data.X_new, data.y_new),
        }

    return run


def _sampled(api: ModuleType, data: Data) -> dict[str, Any]:
    """Return random pairs and triplets by name."""
    Pairs, Triplets, X, y = api.Pairs, api.Triplets, data.X, data.y
    rows = np.stack([np.arange(50), (7 * np.arange(50) + 1) % 50], 1)
    rows = rows[rows[:, 0] != rows[:, 1]]
    scores = np.sin(np.arange(len(rows)))
    made = {
        "pairs from labels": lambda: Pairs.from_labels(y, 40, random_state=1),
        "all pairs from labels": lambda: Pairs.from_labels(y[:20]),
        "unbalanced pairs": lambda: Pairs.from_labels(y, 40, balanced=False, random_state=1),
        "pairs from neighbors": lambda: Pairs.from_neighbors(X, n_neighbors=2, random_state=1),
        "pairs from labelled neighbors": lambda: Pairs.from_neighbors(X, y, 2, random_state=1),
        "pairs from similar": lambda: Pairs.from_similar(rows, 50, 30, random_state=1),
        "triplets from labels": lambda: Triplets.from_labels(y, 40, random_state=1),
        "triplets from neighbors": lambda: Triplets.from_neighbors(X, y, 2, 40, random_state=1),
        "triplets from scores": lambda: Triplets.from_scores(rows, scores, 0.1, 40, random_state=1),
    }
    return {name: (lambda make=make: {"rows": make().rows}) for name, make in made.items()}
