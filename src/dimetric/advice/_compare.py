"""Compare learners with each other and with the Euclidean distance: ``dimetric.compare``."""

import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric.advice._choose import choose
from dimetric.advice._comparison import Comparison
from dimetric.advice._race_options import Callback
from dimetric.advice._samples import LabelledSamples, labelled_samples
from dimetric.advice._scaled_neighbors import check_scale
from dimetric.advice._seeds import seed_from
from dimetric.advice._settings import SETTINGS
from dimetric.advice._table import samples_from
from dimetric.benchmark._inputs import models_of
from dimetric.data._parquet.limit import SampleOptions, checked_max_memory

__all__ = ["compare", "compare_samples"]

DEFAULT_ROPE = 0.01  # of the accuracy and R2, and relative to the error of the mean prediction


@check_types
def compare(
    X: Any,
    y: Any = None,
    *,
    target: str | int | None = None,
    target_kind: str | None = None,
    score: str | None = None,
    groups: Any = None,
    learners: Mapping[str, Any] | Iterable[Any] | None = None,
    budget: float = 60.0,
    n_neighbors: int | str = "auto",
    scale: str = "auto",
    cv: int = 5,
    rope: float | None = None,
    missing: str = "drop",
    drop: Iterable[str] = (),
    auto: bool = False,
    max_memory: float | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callback | None = None,
) -> Comparison:
    """Find the best learned distance, and test whether it beats the Euclidean distance.

    All learners are cross-validated in the same folds. A score is the accuracy of a k-nearest
    neighbour classifier under the learned distance, or R2 of a k-nearest neighbour regressor if
    the target contains numbers. In each fold, columns are encoded, missing values are imputed, and
    features are scaled, all with the values of the training samples. The best learner is then
    tested against the Euclidean distance in new folds, and its parameters are tuned within each
    fold.

    With 1,000 samples or more, the test uses samples that were not used to choose the learner, so
    its scores are a fair estimate for new data. With fewer samples, the test reuses the samples,
    so its scores are slightly optimistic. ``choice.judged_on_unseen_rows`` is True in the first
    case.

    Parameters
    ----------
    X : array-like or sparse array of shape (n_samples, n_features), data frame, or path
        Samples. A path is read as by :func:`dimetric.data.read_table`. Columns of a data
        frame or file are encoded as by :class:`dimetric.data.TableEncoder`. Columns that only
        identify the rows are ignored.
        Sparse samples with many columns are reduced to 300 coordinates by PCA first, as a note
        in the result says.
    y : array-like of shape (n_samples,), optional
        Classes of the samples, or numbers to predict.
    target : str or int, optional
        The column of X that contains the classes or numbers. Use either `target` or `y`.
    target_kind : {"classes", "ordinal", "continuous"}, optional
        How to read the target. Both kinds of numbers are predicted by regression, and NCA uses the
        cost "absolute" for ordinal numbers, "squared" for continuous ones. By default, strings and
        booleans are classes. So are integers that occur 2 times or more on average and have at most
        50 distinct values, or that occur 5 times or more on average. Other numbers are continuous.
        ``samples.reading`` of the result says how the target was read.
    score : {"accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"}, optional
        The score. For classes, "accuracy", "balanced_accuracy" (the mean of the recalls of the
        classes) or "f1_macro" (the mean of their F1 scores). By default, "balanced_accuracy" if the
        largest class has more than 80 % of the samples, and "accuracy" otherwise. For numbers,
        "r2" (default) is the coefficient of determination, and "mae" the mean absolute error. R2 of
        a fold is 1 - (mean squared error in the fold) / (variance of the target in all folds), so
        its mean over folds of equal size is R2 of all cross-validated predictions.
    groups : array-like of shape (n_samples,) or str, optional
        Group of each sample, such as a patient, or the name of a column of X that contains it. This
        column is not a feature. Samples of one group are never in both the training and the test
        part of a fold, nor used both to choose and to test a learner. Samples without a group are
        removed, or raise an error if ``missing="raise"``. By default, copies of a sample form a
        group: equal samples that are unlikely to be equal by chance. To let copies be split, pass
        ``groups=np.arange(n_samples)``.
    learners : mapping of names to learners, or iterable of learners or names, optional
        Learners to compare, such as ``["NCA", LDA()]``. By default, all learners that are fast
        enough for data of this size. A learner that is also a classifier is scored by its own
        predictions rather than by those of nearest neighbours.
    budget : float, default=60.0
        Approximate total time in seconds. Most of it is used by the comparison. The rest is
        reserved for ``curve``, ``insight`` and ``learner`` of the result, which are computed on
        first use.
    n_neighbors : int or "auto", default="auto"
        Number of nearest neighbours used for predictions. "auto" chooses 1, 3, 5 or 7 in each fold,
        by the Euclidean neighbours of its training samples.
    scale : {"minmax", "standard", "robust", "auto"}, default="auto"
        How features are scaled: "minmax" to [0, 1], "standard" to zero mean and unit variance,
        "robust" to zero median and unit interquartile range. "auto" chooses one of these in each
        fold, by the Euclidean neighbours of its training samples. All learners and the Euclidean
        distance get the same scaling and number of neighbours. ``choice.scale`` and
        ``choice.n_neighbors`` of the result are those of the fitted model.
    cv : int, default=5
        Number of folds. It is reduced to the size of the smallest class if that is smaller.
        Classes with fewer than three members are dropped. For numbers, folds are not stratified.
    rope : float, optional
        Region of practical equivalence: two scores that differ by at most this count as equal. It
        is in units of the score. By default, 0.01 for the accuracy and R2. For the mean absolute
        error, 1 % of the error that the mean of the target has as prediction.
    missing : {"auto", "drop", "impute", "raise"}, default="drop"
        How to treat rows with missing values. "drop" removes them and issues a warning.
        "impute" fills in the median, or the most frequent category, of the column. "auto" removes
        them if they are at most 10 % of all rows, and otherwise imputes. "raise" raises an error.
        Rows without a target are always removed.
    drop : iterable of str
        Columns of a data frame to ignore.
    auto : bool, default=False
        Whether to ignore columns that cannot be used, such as amounts in several currencies.
        Otherwise, they raise an error.
    max_memory : float, optional
        Memory in GB that a Parquet file may take as a data frame. A sample of 50,000 rows of a
        larger file is used: random rows of random row groups, in proportion to the class sizes. A
        note in the result says so. By default, an eighth of the memory of the machine.
    random_state : int, RandomState or None, default=None
        Seed for selecting samples, splitting folds and fitting learners. None chooses a random
        seed. The attribute ``random_state`` of the result contains the seed.
    n_jobs : int or None, default=None
        Number of processes, as in joblib. None uses all processors for long fits, and one process
        for short ones. It does not change the scores, but more processes can evaluate more
        learners, parameters and repeats within the budget.
    callback : callable, optional
        Called as ``callback(stage, n_done, n_all)`` after each fit. The stage is "race" or
        "final".

    Returns
    -------
    Comparison
        The result. It has ``verdict``, ``advice``, ``scores``, the learning ``curve``, the fitted
        ``learner``, ``insight``, ``report(path)`` and ``save(path)``.

    Examples
    --------
    >>> import dimetric
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> comparison = dimetric.compare(X, y, learners=["LDA", "PCA"], budget=10, random_state=0)
    >>> comparison.best
    'LDA'
    >>> comparison.learner.predict(X[:3])
    array([0, 0, 0])

    The last feature of the wine data is a number. Its regression on the other features:

    >>> comparison = dimetric.compare(X[:, :12], X[:, 12], learners=["Covariance"], budget=10)
    >>> comparison.choice.task
    Task(kind='continuous', score='r2')
    >>> comparison.learner.predict(X[:3, :12]).shape
    (3,)
    """
    _check_options(budget, n_neighbors, cv, rope)
    check_scale(scale)
    seed = seed_from(random_state)
    sample = SampleOptions(checked_max_memory(max_memory), seed=seed)
    options: dict[str, Any] = {"drop": drop, "missing": missing, "groups": groups, "auto": auto}
    table = samples_from(X, y, target, sample=sample, **options)
    samples = labelled_samples(table, cv=int(cv), missing=missing, kind=target_kind, score=score)
    return compare_samples(
        samples,
        None if learners is None else _checked_learners(learners),
        budget=budget,
        n_neighbors=n_neighbors if n_neighbors == "auto" else int(n_neighbors),
        scale=scale,
        rope=rope,
        random_state=seed,
        n_jobs=n_jobs,
        callback=callback,
    )


def compare_samples(
    samples: LabelledSamples,
    learners: Mapping[str, Any] | None = None,
    *,
    budget: float,
    n_neighbors: int | str = "auto",
    scale: str = "auto",
    rope: float | None = None,
    random_state: int,
    n_jobs: int | None,
    callback: Callback | None = None,
    option: str = "n_neighbors",
) -> Comparison:
    """Compare learners on prepared samples, as :func:`compare` does.

    Parameters
    ----------
    samples : LabelledSamples
        The samples to compare on.
    learners, budget, n_neighbors, scale, rope, random_state, n_jobs, callback
        As in :func:`compare`.
    option : str, default="n_neighbors"
        Name of the option that sets `n_neighbors`, used in error messages.
    """
    started = perf_counter()
    rope = _checked_rope(rope, samples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # choice.dropped reports the fits that failed
        choice = choose(
            samples.coded.codes,
            samples.y,
            learners,
            seconds=SETTINGS.choice_fraction * budget,
            n_neighbors=n_neighbors,
            scale=scale,
            cv=samples.n_folds,
            rope=rope,
            random_state=random_state,
            n_jobs=n_jobs,
            callback=callback,
            groups=samples.groups,
            encoder=samples.coded.encoder,
            option=option,
            task=samples.task,
        )
    seconds = {"choice": perf_counter() - started}
    return Comparison(samples, choice, choice.n_neighbors, rope, budget, random_state, seconds)


def _checked_learners(learners: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Return learners by name. Raise if a learner has no method transform."""
    models = models_of(learners)
    for name, each in models.items():
        if each is not None and not hasattr(each, "transform"):
            raise TypeError(
                f"{name} has no method transform, so it does not learn a distance. To compare "
                "classifiers, use dimetric.benchmark.run."
            )
    return models


def _check_options(budget: Any, n_neighbors: Any, cv: Any, rope: Any) -> None:
    if not isinstance(budget, Real) or not 0 < float(budget) < float("inf"):
        raise ValueError(f"budget={budget!r} must be a positive, finite number of seconds.")
    for name, value, minimum in (("n_neighbors", n_neighbors, 1), ("cv", cv, 2)):
        if (name, value) != ("n_neighbors", "auto") and (
            not isinstance(value, Integral) or value < minimum
        ):
            auto = " or 'auto'" if name == "n_neighbors" else ""
            raise ValueError(f"{name}={value!r} must be an integer >= {minimum}{auto}.")
    if rope is not None and (not isinstance(rope, Real) or not 0 <= float(rope) < float("inf")):
        raise ValueError(f"rope={rope!r} must be a finite number >= 0.")


def _checked_rope(rope: float | None, samples: LabelledSamples) -> float:
    """Return the rope in units of the score. Raise if it is too large for the score."""
    if rope is not None:
        if samples.task.greater_is_better and rope >= 1:
            raise ValueError(f"rope={rope!r} must be a number in [0, 1).")
        return float(rope)
    if samples.task.greater_is_better:
        return DEFAULT_ROPE
    return DEFAULT_ROPE * float(np.mean(np.abs(samples.y - np.mean(samples.y))))
