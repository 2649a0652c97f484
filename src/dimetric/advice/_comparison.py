"""The result of ``dimetric.compare``: verdict, scores, fitted model and report."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.pipeline import Pipeline

from dimetric._files import atomic_write
from dimetric.advice._guidance.curve import comparison_curve
from dimetric.advice._guidance.fitted_model import fit_model, model_description
from dimetric.advice._guidance.growing_fit import FittedRows
from dimetric.advice._guidance.sentences import advice
from dimetric.advice._guidance.time_left import curve_seconds, model_seconds
from dimetric.advice._insight import insight
from dimetric.advice._race_options import Callback, RaceOptions
from dimetric.advice._samples import LabelledSamples
from dimetric.advice._show import comparison_html, comparison_text, model_about, report_record
from dimetric.report._outcome import outcome
from dimetric.report._records import Choice, Insight
from dimetric.selection._curve_result import LearningCurve
from dimetric.stats._bayes import Posterior

__all__ = ["Comparison"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of :func:`dimetric.compare`.

    The fitted model and the insight are computed on first use.

    Attributes
    ----------
    samples : LabelledSamples
        The samples used for the comparison: encoded, and without rare classes. ``samples.task``
        and ``samples.reading`` say how the target was read.
    choice : Choice
        The results of the race and the final.
    n_neighbors : int
        Number of nearest neighbours used for predictions.
    rope : float
        Scores that differ by at most this count as equal.
    budget : float
        Time budget in seconds.
    random_state : int
        Random seed. With the same seed and enough time, the results are the same.
    """

    samples: LabelledSamples
    choice: Choice
    n_neighbors: int
    rope: float
    budget: float
    random_state: int
    _seconds: dict[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Whether the best learner beats the Euclidean distance, in a few sentences.

        They also say if the model uses the Euclidean distance, or if a reference model is better.
        The last ones have the score of predicting the largest class or the mean.
        """
        samples = self.samples
        scores = outcome(self.choice, samples.target, self.n_neighbors, samples.classes)
        return f"{self.choice.verdict} {scores}".rstrip()

    @property
    def scores(self) -> dict[str, np.ndarray]:
        """Test scores of each learner in the folds of the race, the best learner first."""
        return {name: self.choice.scores[name] for name in self.choice.mean_scores}

    @property
    def references(self) -> dict[str, np.ndarray]:
        """Test scores of reference models, which use no distance, in the folds of the race.

        For classes, these are logistic regression, an RBF SVM, a random forest and gradient
        boosting. For numbers, mean prediction and ridge regression replace logistic regression.
        A model that is too slow for the budget has no scores.
        """
        return self.choice.references

    @property
    def best(self) -> str:
        """Name of the best learner. It is never "Euclidean"."""
        return self.choice.best

    @property
    def chosen(self) -> str:
        """Name of the distance that the fitted model uses: `best` or "Euclidean".

        It is `best` if that is better with a probability above 50 %.
        """
        return self.choice.chosen

    @property
    def posterior(self) -> Posterior:
        """Probabilities that Euclidean is better, both are equivalent, or `best` is better."""
        return self.choice.posterior

    @property
    def equal_rows(self) -> dict[str, int]:
        """Number of rows that equal another row, of copies, and of rows equal to another class."""
        names = ("repeated", "copies", "conflicting")
        return dict(zip(names, self.samples.equal_rows[:3], strict=True))

    @property
    def notes(self) -> list[str]:
        """Sentences that say which rows and columns were dropped, imputed or encoded."""
        return self.samples.notes

    @property
    def seconds(self) -> float:
        """Total time of all computations so far."""
        return sum(self._seconds.values())

    @cached_property
    def learner(self) -> Pipeline:
        """The fitted model, which accepts new rows with the same columns.

        It encodes columns, scales features, and predicts classes or numbers by nearest neighbours
        under the distance that `chosen` names. It is fitted to all rows, or to as many as the rest
        of the budget allows.
        """
        return self._fitted.model

    @cached_property
    def insight(self) -> Insight:
        """Feature importances under the best learner, and the predictions that it changes."""
        samples = self.samples
        return self._timed(
            "insight",
            lambda: insight(
                self.choice.learner,
                samples.coded.codes,
                samples.y,
                samples.feature_names,
                n_neighbors=self.n_neighbors,
                scale=self.choice.scale,
                random_state=self.random_state,
                groups=samples.groups,
                encoder=samples.coded.encoder,
                is_regression=samples.task.is_regression,
                score=samples.task.score,
            ),
        )

    @cached_property
    def curve(self) -> LearningCurve | None:
        """Learning curve of the distance that `chosen` names.

        It shows whether more rows would help. None if there are too few rows or too little time.
        """
        return self._curve()

    @cached_property
    def advice(self) -> list[str]:
        """Up to three sentences: what to use, what to expect on new data, what limits the answer.

        They depend on the learning curve and on the fitted model, which are computed on first use.
        """
        curve, n_fitted = self.curve, self._fitted.n_rows
        return self._timed(
            "advice",
            lambda: advice(self.samples, self.choice, curve, self.n_neighbors, n_fitted),
        )

    @property
    def learner_description(self) -> str:
        """One or two sentences that describe the fitted model."""
        return model_description(self.samples, self.choice, self.n_neighbors, self._fitted.n_rows)

    def compute(self, callback: Callback | None = None) -> Self:
        """Compute the learning curve, the insight, the fitted model and the advice.

        Otherwise, each of them is computed on first use.

        Parameters
        ----------
        callback : callable, optional
            Called as ``callback(stage, n_done, n_all)`` before and during each stage. The stages
            are "curve", "insight" and "model".
        """
        report = callback or (lambda stage, n_done, n_all: None)
        report("curve", 0, 1)
        if "curve" not in vars(self):
            vars(self)["curve"] = self._curve(lambda n_done, n_all: report("curve", n_done, n_all))
        report("insight", 0, 1)
        _ = self.insight
        report("model", 0, 1)
        _ = self.learner, self.advice
        report("model", 1, 1)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Map rows into a space where the Euclidean distance equals the learned distance.

        Parameters
        ----------
        X : array-like or data frame
            Rows with the same columns as the table used for the comparison.
        """
        from dimetric.export._index import map_samples

        return map_samples(self.learner, X)

    def frame(self) -> Any:
        """Return the scores of all learners as a pandas data frame, the best learner first."""
        import pandas as pd

        return pd.DataFrame(self.choice.table).set_index("learner")

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dictionary of strings, numbers, lists and arrays."""
        from dimetric.advice._as_dict import comparison_dict

        return comparison_dict(self)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        model_file: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write a report as one self-contained HTML file.

        Parameters
        ----------
        path : path
            File to write.
        model_file : path, optional
            File of the saved model. If given, the report shows commands that use this file.
        """
        from dimetric.report._page import render_report

        with atomic_write(path) as temporary:
            record = report_record(self, None if model_file is None else str(model_file))
            temporary.write_text(render_report(record), encoding="utf-8")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`dimetric.load` and the command can read.

        Parameters
        ----------
        path : path
            File to write.
        """
        from dimetric.export import save

        save(self.learner, path, about=model_about(self))

    def __repr__(self) -> str:
        return comparison_text(self)

    def _repr_html_(self) -> str | None:
        """Return a summary for notebooks, or None without Jinja2 (notebooks then show the repr)."""
        return comparison_html(self)

    @cached_property
    def _fitted(self) -> FittedRows[Pipeline]:
        """The fitted model, and the number of rows that it was fitted to."""
        curve = self.curve
        has_insight = "insight" in vars(self)
        seconds = model_seconds(self.budget, self.seconds, reserve_insight=not has_insight)
        return self._timed(
            "learner",
            lambda: fit_model(
                self.samples,
                self.choice,
                curve,
                n_neighbors=self.n_neighbors,
                seconds=seconds,
                random_state=self.random_state,
            ),
        )

    def _curve(self, callback: Callable[[int, int], None] | None = None) -> LearningCurve | None:
        samples = self.samples
        options = RaceOptions(
            self.n_neighbors,
            samples.n_folds,
            None,
            self.random_state,
            groups=samples.groups,
            encoder=samples.coded.encoder,
            task=samples.task,
            scale=self.choice.scale,
        )
        return self._timed(
            "curve",
            lambda: comparison_curve(
                samples.coded.codes,
                samples.y,
                self.choice,
                options,
                seconds=curve_seconds(self.budget, self.seconds),
                callback=callback,
            ),
        )

    def _timed(self, what: str, compute: Callable[[], T]) -> T:
        """Call a function with warnings ignored, and add its time to ``seconds``."""
        started = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = compute()
        self._seconds[what] = perf_counter() - started
        return result
