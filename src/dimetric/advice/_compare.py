"""Compare learners: which distance suits the samples, and whether it beats the Euclidean."""

import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from time import perf_counter
from typing import Any

from dimetric.advice._choose import choose
from dimetric.advice._comparison import Comparison
from dimetric.advice._race import Callback
from dimetric.advice._samples import LabelledSamples, labelled_samples
from dimetric.advice._seeds import seed_from
from dimetric.advice._settings import SETTINGS
from dimetric.advice._table import samples_from
from dimetric.benchmark._inputs import models_of

__all__ = ["compare", "compare_samples"]


def compare(
    X: Any,
    y: Any = None,
    *,
    target: str | int | None = None,
    learners: Mapping[str, Any] | Iterable[Any] | None = None,
    budget: float = 60.0,
    n_neighbors: int = 3,
    cv: int = 5,
    rope: float = 0.01,
    missing: str = "drop",
    drop: Iterable[str] = (),
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Comparison:
    """Find the distance that suits samples best, and test whether it beats the Euclidean distance.

    All learners are judged in the same folds by nearest neighbours, features scaled to [0, 1] by
    the training samples of each fold. The best learner then meets the Euclidean distance in other
    folds, inside each of which its parameters are tuned. From 1,000 samples on, these are samples
    that had no part in the choice, and the verdict is as honest as a new experiment. With fewer
    samples, the learner was chosen by the samples that judge it, and the verdict favours it a
    little; ``choice.judged_on_unseen_rows`` says which.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), data frame of pandas or polars, or path
        Samples. In a data frame, or in a file that :func:`dimetric.data.read_table` reads, columns
        of text are categories and are encoded one-hot; columns that only number the rows are left
        out.
    y : array-like of shape (n_samples,), optional
        Classes of the samples.
    target : str or int, optional
        The column of X that holds the classes, in place of `y`.
    learners : mapping of names to learners, or iterable of learners or names, optional
        Learners to compare, such as ``["NCA", LDA()]``. By default those that suit samples of this
        size.
    budget : float, default=60.0
        Seconds, about. Most of it is for the comparison, the rest for the fitted model and the
        insight, which are computed when they are first used.
    n_neighbors : int, default=3
        Number of neighbours that vote.
    cv : int, default=5
        Number of folds. There are fewer if the smallest class has fewer members. Classes with
        fewer than three members are left out.
    rope : float, default=0.01
        Largest difference of scores that counts as none (the region of practical equivalence).
    missing : {"drop", "impute", "raise"}, default="drop"
        What to do with rows that have missing values: leave them out, with a warning; fill in the
        median or the most frequent category of the column; or raise an error. Rows without a class
        are left out in the first two cases.
    drop : iterable of str
        Columns of a data frame to leave out.
    random_state : int, RandomState or None, default=None
        Seed of samples, folds and learners. None draws one; the result's ``random_state`` holds
        it.
    n_jobs : int or None, default=None
        Number of processes, as joblib counts them. None uses all processors for long fits, and one
        process for short ones. Scores do not depend on it, but how many learners, parameters and
        repeats the budget allows does.
    callback : callable, optional
        Called as ``callback(stage, n_done, n_all)`` after each fit; the stage is "race" or
        "final".

    Returns
    -------
    Comparison
        With ``verdict``, ``scores``, the fitted ``learner``, ``insight``, ``report(path)`` and
        ``save(path)``.

    Examples
    --------
    >>> import dimetric
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = dimetric.compare(X, y, learners=["LDA", "PCA"], budget=10, random_state=0)
    >>> found.best
    'LDA'
    >>> found.learner.predict(X[:3])
    array([0, 0, 0])
    """
    _check_options(budget, n_neighbors, cv, rope)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = samples_from(X, y, target, drop=drop, missing=missing)
    for each in caught:  # rows that were left out; the warning names the caller's line
        warnings.warn(str(each.message), stacklevel=2)
    samples = labelled_samples(table, cv=int(cv), missing=missing)
    return compare_samples(
        samples,
        None if learners is None else _checked_learners(learners),
        budget=budget,
        n_neighbors=n_neighbors,
        rope=rope,
        random_state=seed_from(random_state),
        n_jobs=n_jobs,
        callback=callback,
    )


def compare_samples(
    samples: LabelledSamples,
    learners: Mapping[str, Any] | None = None,
    *,
    budget: float,
    n_neighbors: int,
    rope: float = 0.01,
    random_state: int,
    n_jobs: int | None,
    callback: Callback | None = None,
) -> Comparison:
    """Compare learners on samples that are prepared already; see :func:`compare`.

    Parameters
    ----------
    samples : LabelledSamples
        The samples.
    learners, budget, n_neighbors, rope, random_state, n_jobs, callback
        As in :func:`compare`.
    """
    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of fits that failed are among the results
        choice = choose(
            samples.X,
            samples.y,
            learners,
            seconds=SETTINGS.choosing_share * budget,
            n_neighbors=n_neighbors,
            cv=samples.n_folds,
            rope=rope,
            random_state=random_state,
            n_jobs=n_jobs,
            callback=callback,
        )
    seconds = {"choice": perf_counter() - started}
    return Comparison(samples, choice, n_neighbors, rope, budget, random_state, seconds)


def _checked_learners(learners: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Return learners by name; raise if one of them does not map samples."""
    models = models_of(learners)
    for name, each in models.items():
        if each is not None and not hasattr(each, "transform"):
            raise TypeError(
                f"{name} has no transform, so it is no learner of a distance. Classifiers are "
                "compared by dimetric.benchmark.run."
            )
    return models


def _check_options(budget: Any, n_neighbors: Any, cv: Any, rope: Any) -> None:
    if not isinstance(budget, Real) or not 0 < float(budget) < float("inf"):
        raise ValueError(f"budget={budget!r} must be a positive, finite number of seconds.")
    for name, value, least in (("n_neighbors", n_neighbors, 1), ("cv", cv, 2)):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name}={value!r} must be an int of at least {least}.")
    if not isinstance(rope, Real) or not 0 <= float(rope) < 1:
        raise ValueError(f"rope={rope!r} must be a number of at least 0, and less than 1.")
