"""Which learner for these samples? A race within a time budget, a winner, an honest verdict."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from dimetric.advice._candidates import grid_of, sensible
from dimetric.advice._race import BASELINE, TUNING_FOLDS, Tell, common, judged, raced
from dimetric.advice._sample import drawn
from dimetric.selection._tune import tune
from dimetric.stats._bayes import Posterior, correlated_t_test
from dimetric.stats._verdict import verdict

__all__ = ["Choice", "choose"]

ROWS = 250  # of the race in a budget of one second; their pairs grow with the budget
VALUES = 4_000_000  # of these rows together, at most
HALVED = 1000  # samples from which on one half races, and others judge
SMALL = 10_000_000  # n^2 d up to which fits are over before a process has started
SCREEN, JUDGE = 0.45, 0.4  # shares of the time


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
    are tuned. Of 1,000 samples or more, one part races and another judges, and the verdict is as
    honest as a new experiment. Of fewer, the learner is chosen by the samples that judge it, if in
    other folds, and the verdict favours it a little.

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
        Processes, as joblib counts them. Scores do not depend on it, but how far the budget goes:
        how many learners, parameters and repeats there are, and with them the verdict.
    tell : callable, optional
        Called as ``tell(what, n_done, n_all)`` while it goes on.

    Examples
    --------
    >>> from dimetric import LDA, PCA
    >>> from sklearn.datasets import load_wine
    >>> found = choose(*load_wine(return_X_y=True), {"LDA": LDA(), "PCA": PCA(2)})
    >>> found.best, round(found.means["LDA"], 2)
    ('LDA', 0.99)
    """
    started = perf_counter()
    X, y = np.asarray(X), np.asarray(y)
    race, judge = _parts(X, y, int(ROWS * budget**0.5), n_folds, random_state)
    models = dict(sensible(len(race), X.shape[1], len(np.unique(y))) if learners is None
                  else learners)  # fmt: skip
    models = {BASELINE: None} | {name: each for name, each in models.items() if each is not None}
    if len(models) == 1:
        raise ValueError("There is no learner beside the Euclidean distance: name one.")
    options = {"n_neighbors": n_neighbors, "cv": n_folds, "n_jobs": _jobs(X[race], n_jobs)}
    cells, given_up = raced(models, X[race], y[race], SCREEN * budget, options, random_state, tell)
    scores, seconds = common(cells, models, given_up)
    best = max((each for each in scores if each != BASELINE), key=lambda each: scores[each].mean())
    few = np.min(np.unique(y[judge], return_counts=True)[1]) < 3 * TUNING_FOLDS
    grid = {} if few else grid_of(models[best], X.shape[1])
    left = budget - (perf_counter() - started)
    share = JUDGE / (1 - SCREEN) * left
    grid, runs = _affordable(grid, seconds[best], share, options)
    pair = {BASELINE: None, best: models[best]}
    scores_of_pair, runs = judged(
        pair, X[judge], y[judge], share, options | {"n_repeats": runs}, random_state + 1, tell,
        {best: grid} if grid else None,
    )  # fmt: skip
    params = _tuned(models[best], X[race], y[race], grid, n_neighbors, random_state)
    learner = clone(models[best]).set_params(**params)
    before, after = scores_of_pair[BASELINE], scores_of_pair[best]
    posterior = correlated_t_test(before, after, rope, random_state, runs=runs)
    return Choice(
        best, learner, params, scores, seconds, given_up, scores_of_pair, runs,
        not np.array_equal(race, judge), len(race), len(judge), posterior,
    )  # fmt: skip


def _parts(
    X: np.ndarray, y: np.ndarray, most: int, n_folds: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the race and of the verdict: others, if there are enough."""
    n, rows = len(X), np.arange(len(X))
    most = min(most, max(200, VALUES // X.shape[1]))
    if n < HALVED:
        return rows, rows
    most = min(most, n // 2)
    rng = np.random.default_rng(seed)
    race = drawn(rows, y, most, n_folds, rng)
    rest = np.setdiff1d(rows, race)
    classes, counts = np.unique(y[rest], return_counts=True)
    rest = rest[np.isin(y[rest], classes[counts >= n_folds])]
    if len(np.unique(y[rest])) < 2:
        return race, race
    return race, drawn(rest, y, most, n_folds, rng)


def _jobs(X: np.ndarray, n_jobs: int | None) -> int | None:
    small = len(X) ** 2 * X.shape[1] <= SMALL
    return None if small else min(8, joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs))


def _affordable(
    grid: dict[str, list[Any]], seconds: float, budget: float, options: dict[str, Any]
) -> tuple[dict[str, list[Any]], int]:
    """Return as much of a grid, and as many repeats of the verdict, as there is time for."""
    fits = budget * (options["n_jobs"] or 1) / max(seconds, 1e-3) / options["cv"]
    size = int(np.prod([len(values) for values in grid.values()]))
    while grid and size * TUNING_FOLDS + 1 > fits:
        longest = max(grid, key=lambda name: len(grid[name]))
        grid = {name: values[:-1] if name == longest else values for name, values in grid.items()}
        size = int(np.prod([len(values) for values in grid.values()]))
        if size == 1:
            grid = {}
    per_fold = size * TUNING_FOLDS + 1 if grid else 1
    return grid, int(np.clip(fits // per_fold, 1, 4))


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
        found = tune(steps, X, y, params, criterion=k, cv=TUNING_FOLDS, random_state=seed)
    return {name.removeprefix("learner__"): value for name, value in found.best_params.items()}
