"""The model of a comparison that is saved, fitted to as many rows as the budget allows."""

import numpy as np
from sklearn.pipeline import Pipeline

from dimetric.advice._guidance.growing_fit import FittedRows, growing_fit
from dimetric.advice._model import table_pipeline
from dimetric.advice._race_options import predicts
from dimetric.advice._samples import LabelledSamples
from dimetric.advice._settings import SETTINGS
from dimetric.advice._stratified import MIN_ROWS_PER_CLASS, strata, stratified_rows
from dimetric.report._records import BASELINE, Choice
from dimetric.report._setting import neighbors_text, scale_text
from dimetric.selection._curve_result import LearningCurve

__all__ = ["fit_model", "model_description"]


def fit_model(
    samples: LabelledSamples,
    choice: Choice,
    curve: LearningCurve | None,
    *,
    n_neighbors: int,
    seconds: float,
    random_state: int,
) -> FittedRows[Pipeline]:
    """Fit the model that is saved to all rows, or to as many as the time allows.

    Parameters
    ----------
    samples : LabelledSamples
        The rows.
    choice : Choice
        The chosen distance, and the time of its fits.
    curve : LearningCurve or None
        Shows how the time of a fit grows with the number of rows.
    n_neighbors : int
        Number of nearest neighbours used for predictions.
    seconds : float
        Time for the fit.
    random_state : int
        Seed for selecting rows.
    """
    table, y = samples.table, samples.y
    learner = None if choice.chosen == BASELINE else choice.learner
    layers = strata(y, samples.task.is_regression)

    def fit(n_rows: int) -> Pipeline:
        # The model must know all classes.
        rng = np.random.default_rng(random_state)
        rows = stratified_rows(np.arange(len(y)), layers, n_rows, MIN_ROWS_PER_CLASS, rng)
        model = table_pipeline(
            learner,
            n_neighbors=n_neighbors,
            scale=choice.scale,
            missing=samples.missing,
            is_regression=samples.task.is_regression,
        )
        steps = model.fit(table.take(rows), y[rows]).steps
        return Pipeline(steps if table.reducer is None else [("reduce", table.reducer), *steps])

    if curve is None:
        sizes = [max(1, choice.n_race_rows * (samples.n_folds - 1) // samples.n_folds)]
        times = [choice.fit_seconds[choice.chosen]]
    else:
        sizes, times = curve.sizes.tolist(), curve.fit_seconds.mean(axis=1).tolist()
    max_rows = max(sizes[-1], SETTINGS.max_model_values // samples.X.shape[1])
    return growing_fit(
        fit,
        min(len(y), max_rows),
        known_sizes=[min(each, len(y)) for each in sizes],
        known_seconds=times,
        seconds=seconds,
        min_rows=choice.n_final_rows,  # the final has made several fits of about this size
    )


def model_description(
    samples: LabelledSamples, choice: Choice, n_neighbors: int, n_fitted: int
) -> str:
    """Return one or two sentences that describe the fitted model.

    Parameters
    ----------
    samples : LabelledSamples
        The rows.
    choice : Choice
        The chosen distance.
    n_neighbors : int
        Number of nearest neighbours used for predictions.
    n_fitted : int
        Number of rows that the model was fitted to.
    """
    n, is_best = len(samples.y), choice.chosen == choice.best
    params = ", ".join(f"{name}={value!r}" for name, value in choice.params.items())
    name = f"{choice.best} ({params})" if params else choice.best
    verb = f"predicts {samples.target}" if samples.task.is_regression else "classifies"
    distance = name if is_best else "the Euclidean distance"
    by_itself = is_best and predicts(choice.learner)
    by = name if by_itself else f"{neighbors_text(n_neighbors)} under {distance}"
    model = f"The model {verb} by {by}, with {scale_text(choice.scale)}"
    sampled = "" if samples.table.sampling is None else "sampled "
    if n_fitted == n:
        return f"{model}, trained on all {n:,} {sampled}rows."
    return (
        f"{model}, trained on a random {n_fitted:,} of {n:,} {sampled}rows. Use "
        "`dimetric fit` to train on all rows (slower)."
    )
