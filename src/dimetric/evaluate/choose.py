"""Which learner for these samples? A race within a time budget, a winner, an honest verdict."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from dimetric.evaluate._learners import grid_of, sensible
from dimetric.evaluate.bayes import Posterior, correlated_t_test
from dimetric.evaluate.compare import Cell, Comparison, compare
from dimetric.evaluate.report import verdict
from dimetric.evaluate.store import Store
from dimetric.evaluate.tune import tune

__all__ = ["Choice", "choose"]

BASELINE = "Euclidean"
ROWS = 250  # of the race in a budget of one second; their pairs grow with the budget
VALUES = 4_000_000  # of these rows together, at most
SMALL = 3_000_000  # n^2 d up to which fits are over before a process has started
SCREEN, JUDGE = 0.45, 0.4  # shares of the time
TUNING_FOLDS = 3

Tell = Callable[[str, int, int | None], None]


@dataclass(frozen=True, eq=False)
class Choice:
    """The learner that suits the samples best, and how that was found.

    Attributes
    ----------
    best : str
        Name of the best learner, the Euclidean distance left aside.
    learner : learner
        The same with its best parameters, not fitted.
    params : dict of str to object
        The parameters that were tuned; empty if time was too short.
    scores : dict of str to ndarray of shape (n_folds,)
        Test scores of all learners in the folds of the race.
    seconds : dict of str to float
        Mean time of a fit.
    given_up : dict of str to str
        Learners that were not judged, and why.
    judged : dict of str to ndarray of shape (n_runs * n_folds,)
        Test scores of the baseline and of the best learner, tuned anew inside every fold, in
        folds that had no part in the race.
    runs : int
        How often these folds were drawn.
    fresh : bool
        Whether they are of other samples than those of the race.
    n_race, n_judge : int
        Numbers of samples of the race and of the verdict.
    posterior : Posterior
        What is believed of the baseline (left) and the best learner (right).
    """

    best: str
    learner: Any
    params: dict[str, Any]
    scores: dict[str, np.ndarray]
    seconds: dict[str, float]
    given_up: dict[str, str]
    judged: dict[str, np.ndarray]
    runs: int
    fresh: bool
    n_race: int
    n_judge: int
    posterior: Posterior = field(repr=False)

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        return verdict(BASELINE, self.best, self.posterior)

    @property
    def means(self) -> dict[str, float]:
        """Mean scores of the race, best first."""
        found = {name: float(np.mean(each)) for name, each in self.scores.items()}
        return dict(sorted(found.items(), key=lambda each: -each[1]))


def choose(
    X: Any,
    y: Any,
    learners: Mapping[str, Any] | None = None,
    *,
    budget: float = 60.0,
    n_neighbors: int = 3,
    n_folds: int = 5,
    rope: float = 0.01,
    random_state: int = 0,
    n_jobs: int | None = None,
    tell: Tell | None = None,
) -> Choice:
    """Find the learner that suits samples best, within a time budget, and whether it helps.

    All learners race in the same folds, features scaled to [0, 1] by the training samples of each.
    The best then meets the Euclidean distance in other folds, inside each of which its parameters
    are tuned. Where there are more samples than the race needs, these folds are of other samples,
    and the verdict is as honest as a new experiment. Where there are not, the learner was chosen
    by the same samples, if in other folds, and the verdict favours it a little.

    Parameters
    ----------
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes, each with at least `n_folds` members.
    learners : mapping of names to learners, optional
        By default those that are sensible for such samples.
    budget : float, default=60.0
        Seconds, about.
    n_neighbors : int, default=3
        Neighbours that vote.
    n_folds : int, default=5
        Number of folds.
    rope : float, default=0.01
        Largest difference that is none in practice.
    random_state : int, default=0
        Of samples, folds and learners.
    n_jobs : int or None, default=None
        Processes, as joblib counts them. Scores do not depend on it, but how far the budget goes.
    tell : callable, optional
        Called as ``tell(what, n_done, n_all)`` while it goes on.

    Examples
    --------
    >>> from dimetric import LDA, PCA
    >>> from sklearn.datasets import load_wine
    >>> found = choose(*load_wine(return_X_y=True), {"LDA": LDA(), "PCA": PCA(2)})
    >>> found.best, round(found.means["LDA"], 2)
    ('LDA', 0.98)
    """
    started = perf_counter()
    X, y = np.asarray(X), np.asarray(y)
    race, judge = _parts(X, y, int(ROWS * budget**0.5), n_folds, random_state)
    models = dict(sensible(len(race), X.shape[1], len(np.unique(y))) if learners is None
                  else learners)  # fmt: skip
    models = {BASELINE: None} | {name: each for name, each in models.items() if each is not None}
    if len(models) == 1:
        raise ValueError("There is no learner beside the Euclidean distance: name one.")
    options = {"n_neighbors": n_neighbors, "n_folds": n_folds, "n_jobs": _jobs(X[race], n_jobs)}
    cells, given_up = _raced(models, X[race], y[race], SCREEN * budget, options, random_state, tell)
    scores, seconds = _common(cells, models, given_up, budget)
    best = max((each for each in scores if each != BASELINE), key=lambda each: scores[each].mean())
    grid = grid_of(models[best], X.shape[1])
    left = budget - (perf_counter() - started)
    grid, runs = _affordable(grid, seconds[best], JUDGE / (1 - SCREEN) * left, options)
    pair = {BASELINE: None, best: models[best]}
    found = _run(
        pair, X[judge], y[judge], None, options | {"n_repeats": runs}, random_state + 1, tell,
        "verdict", grids={best: grid} if grid else None,
    )  # fmt: skip
    judged = {name: _scores(found, name) for name in pair}
    params = _tuned(models[best], X[race], y[race], grid, n_neighbors, random_state)
    learner = clone(models[best]).set_params(**params)
    posterior = correlated_t_test(*judged.values(), rope, random_state, runs=runs)
    return Choice(
        best, learner, params, scores, seconds, given_up, judged, runs,
        not np.array_equal(race, judge), len(race), len(judge), posterior,
    )  # fmt: skip


def _parts(
    X: np.ndarray, y: np.ndarray, most: int, n_folds: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the race and of the verdict: others, if there are enough."""
    n, rows = len(X), np.arange(len(X))
    most = min(most, max(200, VALUES // X.shape[1]))
    if n <= most:
        return rows, rows
    race, rest = _drawn(rows, y, most, seed)
    if len(rest) < most // 2 or np.min(np.unique(y[rest], return_counts=True)[1]) < n_folds:
        return race, race
    return race, rest if len(rest) <= most else _drawn(rest, y, most, seed + 1)[0]


def _drawn(rows: np.ndarray, y: np.ndarray, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return so many rows, in their order, all classes in proportion, and those that are left."""
    chosen, rest = train_test_split(rows, train_size=size, stratify=y[rows], random_state=seed)
    return np.sort(chosen), np.sort(rest)


def _jobs(X: np.ndarray, n_jobs: int | None) -> int:
    small = len(X) ** 2 * X.shape[1] <= SMALL
    return 1 if small else min(8, joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))


class _Over(Exception):
    """The time is over."""


class _Dropped(Exception):
    """A learner failed, or took too long: it is not asked again."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell


def _raced(
    models: dict[str, Any], X: np.ndarray, y: np.ndarray, seconds: float, options: dict[str, Any],
    seed: int, tell: Tell | None,
) -> tuple[list[Cell], dict[str, str]]:  # fmt: skip
    """Return what all learners did until the time was over, and why some of them did not."""
    deadline = perf_counter() + seconds
    limit = None if options["n_jobs"] == 1 else max(1.0, seconds / 4)
    cells: list[Cell] = []
    given_up: dict[str, str] = {}
    store = Store()  # what is done is done, whoever is dropped

    def watch(cell: Cell) -> None:
        cells.append(cell)
        if cell.status != "ok" and cell.learner != BASELINE:
            raise _Dropped(cell)
        if perf_counter() > deadline:
            raise _Over

    while len(given_up) + 1 < len(models):
        racing = {name: each for name, each in models.items() if name not in given_up}
        try:
            _run(racing, X, y, limit, options | {"store": store}, seed, tell, "race", watch)
            break
        except _Dropped as drop:
            given_up[drop.cell.learner] = drop.cell.message or drop.cell.status
        except _Over:
            break
    store.close()
    return cells, given_up


def _run(
    models: dict[str, Any], X: np.ndarray, y: np.ndarray, limit: float | None,
    options: dict[str, Any], seed: int, tell: Tell | None, what: str,
    watch: Callable[[Cell], None] | None = None, grids: dict[str, Any] | None = None,
) -> Comparison:  # fmt: skip
    def told(done: int, total: int, cell: Cell | None) -> None:
        if tell is not None:
            tell(what, done, total)
        if cell is not None and watch is not None:
            watch(cell)

    return compare(
        models, {"data": (X, y)}, time_budget=limit, params=grids, n_tuning_folds=TUNING_FOLDS,
        random_state=seed, watch=told, **options,
    )  # fmt: skip


def _common(
    cells: list[Cell], models: dict[str, Any], given_up: dict[str, str], budget: float
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return scores in the folds that all learners have finished, and times."""
    done: dict[str, dict[int, Cell]] = {name: {} for name in models if name not in given_up}
    for cell in cells:
        if cell.status == "ok" and cell.learner in done:
            done[cell.learner][cell.fold] = cell
    for name in [name for name, own in done.items() if len(own) < 2]:
        given_up[name] = "The time was over."
        del done[name]
    if BASELINE not in done or len(done) == 1:
        why = "; ".join(f"{name}: {message}" for name, message in given_up.items())
        raise ValueError(f"A time budget of {budget:g} s is too short to judge any learner: {why}")
    folds = sorted(set.intersection(*(set(own) for own in done.values())))
    scores = {name: np.array([own[fold].test for fold in folds]) for name, own in done.items()}
    seconds = {name: float(np.mean([own[fold].time for fold in folds]))
               for name, own in done.items()}  # fmt: skip
    return scores, seconds


def _affordable(
    grid: dict[str, list[Any]], seconds: float, budget: float, options: dict[str, Any]
) -> tuple[dict[str, list[Any]], int]:
    """Return as much of a grid, and as many repeats of the verdict, as there is time for."""
    fits = budget * options["n_jobs"] / max(seconds, 1e-3) / options["n_folds"]
    size = int(np.prod([len(values) for values in grid.values()]))
    while grid and size * TUNING_FOLDS + 1 > fits:
        longest = max(grid, key=lambda name: len(grid[name]))
        grid = {name: values[:-1] if name == longest else values for name, values in grid.items()}
        size = int(np.prod([len(values) for values in grid.values()]))
        if size == 1:
            grid = {}
    per_fold = size * TUNING_FOLDS + 1 if grid else 1
    return grid, int(np.clip(fits // per_fold, 1, 4))


def _scores(found: Comparison, name: str) -> np.ndarray:
    cells = [cell for cell in found.cells if cell.learner == name]
    bad = next((cell for cell in cells if cell.status != "ok"), None)
    if bad is not None:
        raise ValueError(f"{name} could not be judged: {bad.message or bad.status}")
    return np.array([cell.test for cell in cells])


def _tuned(
    learner: Any, X: np.ndarray, y: np.ndarray, grid: dict[str, list[Any]], k: int, seed: int
) -> dict[str, Any]:
    """Return the best of the parameters for all samples of the race."""
    if not grid:
        return {}
    steps = Pipeline([("scale", MinMaxScaler()), ("learner", learner)])
    params = {f"learner__{name}": values for name, values in grid.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = tune(steps, X, y, params, criterion=k, n_folds=TUNING_FOLDS, random_state=seed)
    return {name.removeprefix("learner__"): value for name, value in found.best_params.items()}
