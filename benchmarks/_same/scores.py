"""Cases of quality, selection, stats, benchmark, advice and data."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from _same.data import Data
from _same.record import Case
from _same.spec import Spec

LDA, NCA = Spec("LDA", reg=0.01), Spec("NCA", max_iter=10, random_state=0)
UNLIMITED_SECONDS = 1e5  # time budget large enough that nothing is skipped
TABLE = """size;colour;weight;kind
1,5;red;10;a
2,5;green;12;b
NA;red;9;a
3,0;blue;11;b
2,0;green;?;a
1,0;blue;8;b
"""


def score_cases(api: ModuleType, sets: dict[str, Data]) -> Iterator[Case]:
    """Return the cases of this file."""
    made: list[tuple[str, Callable[[], Any]]] = [
        *_quality(api, sets),
        *_selection(api, sets),
        *_pairs(api, sets["iris"]),
        *_stats(api),
        *_stats_of_data(api, sets["iris"]),
        *_benchmark(api, sets),
        *_advice(api, sets),
        *_data(api),
    ]
    for name, run in made:
        yield Case(name, "closed", lambda run=run: {"result": run()})


def _quality(api: ModuleType, sets: dict[str, Data]) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in ("iris", "wine", "digits", "duplicates", "float32", "array_api_strict"):
        if name not in sets:
            continue
        X, y = sets[name].X, sets[name].y
        Z = X[:, :2]
        for params in (
            {},
            {"y": y, "n_neighbors": 7},
            {"metric": "cityblock"},
            {"sample_size": 30, "random_state": 0},
        ):
            shown = {key: "labels" if key == "y" else value for key, value in params.items()}
            yield (
                f"embedding_quality of {name}, {shown}",
                lambda X=X, Z=Z, params=params: api.embedding_quality(X, Z, **params),
            )
        yield f"trustworthiness of {name}", lambda X=X, Z=Z: api.trustworthiness(X, Z)
    X, y = sets["wine"].X, sets["wine"].y
    for spec in (Spec("PCA"), LDA, Spec("KPCA"), Spec("MDS", n_components=3), Spec("Isomap")):
        fitted = lambda spec=spec: api.build(spec).fit(X, y)  # noqa: E731
        yield f"eigenvalue shares of {spec}", lambda f=fitted: api.eigenvalue_ratios(f())
    for spec in (Spec("MDS"), Spec("Isomap", n_neighbors=8)):
        yield (
            f"residual variances of {spec}",
            lambda spec=spec: api.residual_variances(api.build(spec), X, (1, 2, 3)),
        )
    yield "neighborhood", lambda: api.neighborhood(X, X[:, :4], 3, n_neighbors=5)
    yield "before and after", lambda: api.before_and_after(api.build(LDA).fit(X, y), X)
    roll = lambda: api.toy("swiss_roll", 120, random_state=0)[0]  # noqa: E731
    yield "scan of neighbors", lambda: api.scan_neighbors(roll(), range(4, 12))


def _selection(api: ModuleType, sets: dict[str, Data]) -> Iterator[tuple[str, Callable[[], Any]]]:
    fixed = {"cv": 4, "random_state": 0}
    for name in ("iris", "wine"):
        X, y = sets[name].X, sets[name].y
        for learner in (None, LDA, NCA):
            model = Spec("KNNClassifier", learner=learner)
            yield (
                f"cross_validate {model} on {name}",
                lambda X=X, y=y, model=model: api.cross_validate(
                    api.build(model), X, y, n_repeats=2, **fixed
                ),
            )
        yield (
            f"metadata_cross_validate on {name}",
            lambda X=X, y=y: api.metadata_cross_validate(api.build(NCA), X, y, **fixed),
        )
        grid = {"n_components": [1, 2], "reg": [0.0, 0.1]}
        for criterion in (3, "final_objective"):
            yield (
                f"tune NCA by {criterion} on {name}",
                lambda X=X, y=y, criterion=criterion, grid=grid: api.tune(
                    api.build(NCA), X, y, grid, criterion=criterion, **fixed
                ),
            )
        yield (
            f"tune NCA by draws on {name}",
            lambda X=X, y=y, grid=grid: api.tune(api.build(NCA), X, y, grid, n_iter=2, **fixed),
        )
        yield (
            f"tune_knn on {name}",
            lambda X=X, y=y: api.tune_knn(api.build(LDA), X, y, {"reg": [0.01, 0.5]}, **fixed),
        )
        yield (
            f"choose_dimension of PCA on {name}",
            lambda X=X, y=y: api.choose_dimension(api.build(Spec("PCA")), X, y, **fixed),
        )
        yield (
            f"choose_dimension of PCA by threshold on {name}",
            lambda X=X: api.choose_dimension(api.build(Spec("PCA")), X, threshold=0.95),
        )


def _pairs(api: ModuleType, data: Data) -> Iterator[tuple[str, Callable[[], Any]]]:
    X, pairs = data.X, api.Pairs.from_labels(data.y, 200, random_state=0)
    triplets = api.Triplets.from_labels(data.y, 200, random_state=0)
    ldml, lmnn = Spec("LDML", max_iter=10, random_state=0), Spec("LMNN", max_iter=10)
    fixed = {"cv": 3, "random_state": 0}
    for scoring in ("roc_auc", "accuracy"):
        for share_samples in (False, True):
            yield (
                f"cross_validate_pairs by {scoring}, share_samples={share_samples}",
                lambda scoring=scoring, share_samples=share_samples: api.cross_validate_pairs(
                    api.build(ldml), X, pairs, scoring=scoring, share_samples=share_samples, **fixed
                ),
            )
    yield (
        "cross_validate_pairs of triplets",
        lambda: api.cross_validate_pairs(api.build(lmnn), X, triplets, **fixed),
    )
    yield (
        "tune_pairs",
        lambda: api.tune_pairs(api.build(ldml), X, pairs, {"reg": [0.0, 1.0]}, **fixed),
    )


def _stats(api: ModuleType) -> Iterator[tuple[str, Callable[[], Any]]]:
    rng = np.random.default_rng(5)
    a, b = rng.random(20), rng.random(20) + 0.02
    table = np.round(rng.random((6, 4)), 1)
    yield "correlated_t_test", lambda: api.correlated_t_test(a, b, 0.01, 0, n_repeats=2)
    for rope in (0.0, 0.05):
        yield f"sign_test, rope={rope}", lambda rope=rope: api.sign_test(a, b, rope, 0)
        yield (
            f"signed_rank_test, rope={rope}",
            lambda rope=rope: api.signed_rank_test(a, b, rope, 0, n_samples=4000),
        )
    yield "ranks", lambda: api.ranks(table)
    yield "ranks, less is better", lambda: api.ranks(table, greater_is_better=False)
    yield "averages", lambda: api.averages(table)


def _stats_of_data(api: ModuleType, data: Data) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "bayes_error_bounds", lambda: api.bayes_error_bounds(data.X, data.y)
    yield (
        "bayes_error_bounds of LDA",
        lambda: api.bayes_error_bounds(data.X, data.y, learner=api.build(LDA)),
    )
    yield (
        "knn_scores",
        lambda: api.knn_scores(
            {"none": None, "LDA": api.build(LDA), "NCA": api.build(NCA)},
            data.X, data.y, data.X_new, data.y_new, n_neighbors=(1, 3, 5),
        ),
    )  # fmt: skip


def _benchmark(api: ModuleType, sets: dict[str, Data]) -> Iterator[tuple[str, Callable[[], Any]]]:
    data = {name: (sets[name].X, sets[name].y) for name in ("iris", "wine")}
    learners = {"Euclidean": None, "LDA": LDA, "NCA": NCA, "means": Spec("NCMClassifier")}

    def models() -> dict[str, Any]:
        return {name: spec and api.build(spec) for name, spec in learners.items()}

    fixed = {"cv": 3, "random_state": 1}
    yield (
        "benchmark of two sets",
        lambda: api.benchmark(models(), data, n_neighbors=(1, 3), n_repeats=2, **fixed),
    )
    yield (
        "benchmark with a grid",
        lambda: api.benchmark(
            models(), data, param_grid={"LDA": {"reg": [0.01, 0.5]}}, scale="set", **fixed
        ),
    )


def _advice(api: ModuleType, sets: dict[str, Data]) -> Iterator[tuple[str, Callable[[], Any]]]:
    X, y = sets["wine"].X, sets["wine"].y
    rng = np.random.default_rng(11)
    many_y = np.arange(1200) % 3
    many_X = rng.normal(size=(1200, 5)) + 1.1 * (many_y[:, None] == np.arange(5))
    specs = {"PCA": Spec("PCA", n_components=2), "LDA": Spec("LDA"), "NCA": NCA}

    def models(*names: str) -> dict[str, Any]:
        return {name: api.build(specs[name]) for name in names}

    fixed = {"budget": UNLIMITED_SECONDS, "random_state": 3}
    yield "compare on wine", lambda: api.compare(X, y, models("PCA", "LDA", "NCA"), **fixed)
    yield "compare on 1200 rows", lambda: api.compare(many_X, many_y, models("PCA", "LDA"), **fixed)
    names = [f"f{i}" for i in range(X.shape[1])]
    for spec in (LDA, NCA, Spec("KDA")):
        yield f"insight of {spec}", lambda spec=spec: api.insight(api.build(spec), X, y, names)


def _data(api: ModuleType) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, params in (
        ("swiss_roll", {"noise": 0.1}),
        ("swiss_roll", {"hole": True, "uniform": True}),
        ("s_curve", {}),
        ("rings", {}),
        ("parallel_bands", {"noise_features": 2}),
    ):
        yield (
            f"toy {name} {params}",
            lambda name=name, params=params: api.toy(name, 80, random_state=2, **params),
        )
    for name in ("iris", "wine", "breast_cancer"):
        yield f"data set {name}", lambda name=name: api.load_data_set(name)
    for missing in ("drop", "impute"):
        yield f"read_table, missing={missing}", lambda missing=missing: _read(api, missing)


def _read(api: ModuleType, missing: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text(TABLE)
        return api.read_table(path, "kind", missing=missing)
