"""The result of ``dimetric.compare``: verdict, scores, fitted model and report."""

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from sklearn.pipeline import Pipeline

from dimetric._files import atomic_write
from dimetric._versions import installed_versions
from dimetric.advice._insight import insight
from dimetric.advice._model import table_pipeline
from dimetric.advice._race_options import predicts
from dimetric.advice._samples import LabelledSamples
from dimetric.advice._settings import SETTINGS
from dimetric.advice._stratified import MIN_ROWS_PER_CLASS, strata, stratified_rows
from dimetric.report._outcome import outcome, references_note
from dimetric.report._records import Choice, Insight, ReportRecord
from dimetric.report._setting import neighbors_text, scale_text
from dimetric.stats._bayes import Posterior

__all__ = ["Comparison"]

REPORTED_PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn")

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
        """Whether the best learner beats the Euclidean distance, in one sentence.

        A second sentence follows if the model uses the Euclidean distance. For numbers, the last
        sentence has the mean scores of both. For classes, it warns if the best learner is no better
        than always predicting the largest class.
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
        """Test scores of reference models of regression in the folds of the race.

        These are mean prediction, ridge regression and a random forest. They do not take part in
        the verdict. Empty for classes.
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
        """Number of rows that equal another row, of copies, and of rows of another class."""
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
        under the distance that `chosen` names. It is fitted to as many rows as the budget allows.
        """
        return self._timed("learner", self._fit)

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

    @property
    def learner_description(self) -> str:
        """One or two sentences that describe the fitted model."""
        samples, n, n_fitted = self.samples, len(self.samples.y), self._n_model_rows
        params = ", ".join(f"{name}={value!r}" for name, value in self.choice.params.items())
        name = f"{self.best} ({params})" if params else self.best
        distance = name if self.chosen == self.best else "the Euclidean distance"
        verb = f"predicts {samples.target}" if samples.task.is_regression else "classifies"
        by_itself = self.chosen == self.best and predicts(self.choice.learner)
        by = name if by_itself else f"{neighbors_text(self.n_neighbors)} under {distance}"
        model = f"The model {verb} by {by}, with {scale_text(self.choice.scale)}"
        if n_fitted == n:
            return f"{model}, trained on all {n:,} rows."
        return (
            f"{model}, trained on a random {n_fitted:,} of {n:,} rows. Use 'dimetric fit' to "
            "train on all rows (slower)."
        )

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
            record = self._record(None if model_file is None else str(model_file))
            temporary.write_text(render_report(record), encoding="utf-8")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`dimetric.load` and the command can read.

        Parameters
        ----------
        path : path
            File to write.
        """
        from dimetric.export import save

        samples = self.samples
        about = {"data": samples.table.source, "target": samples.target, "verdict": self.verdict}
        if samples.task.is_regression:
            about["target_kind"] = samples.task.kind
        save(self.learner, path, about=about)

    def __repr__(self) -> str:
        (n, d), task = self.samples.X.shape, self.samples.task
        scores = ", ".join(f"{row.learner} {task.text(row.score)}" for row in self.choice.table)
        contents = task.reading if task.is_regression else f"{len(self.samples.classes)} classes"
        lines = [
            f"Comparison({n} samples, {d} features, {contents})",
            self.verdict,
            f"Cross-validated {task.score_name}: {scores}",
            references_note(self.choice),
            self.samples.reading,
            *self.notes,
        ]
        return "\n  ".join(filter(None, lines))

    def _repr_html_(self) -> str | None:
        """Return a summary for notebooks, or None without Jinja2 (notebooks then show the repr)."""
        from dimetric.report._page import render_summary

        samples = self.samples
        try:
            return render_summary(
                self.choice,
                classes=samples.classes,
                n_rows=len(samples.y),
                n_features=samples.X.shape[1],
                n_neighbors=self.n_neighbors,
                target=samples.target,
                notes=[*filter(None, [samples.reading]), *samples.notes],
            )
        except ImportError:
            return None

    @property
    def _n_model_rows(self) -> int:
        """Number of rows that the model can be fitted to in the time reserved for it."""
        choice, n_folds = self.choice, self.samples.n_folds
        seconds = SETTINGS.model_fraction * SETTINGS.choice_fraction * self.budget
        seconds = max(seconds, SETTINGS.min_model_seconds)
        n_fitted = choice.n_race_rows * (n_folds - 1) / n_folds  # in each fold of the race
        # The time of a fit grows with the number of pairs of rows.
        growth = (seconds / max(choice.fit_seconds[choice.chosen], SETTINGS.min_fit_seconds)) ** 0.5
        max_rows = int(min(SETTINGS.max_model_rows, max(n_fitted, growth * n_fitted)))
        return min(len(self.samples.y), max_rows)

    def _fit(self) -> Pipeline:
        table, y, n_rows = self.samples.table, self.samples.y, self._n_model_rows
        rows = np.arange(len(y))
        if n_rows < len(y):
            rng, task = np.random.default_rng(self.random_state), self.samples.task
            # The model must know all classes.
            rows = stratified_rows(
                rows, strata(y, task.is_regression), n_rows, MIN_ROWS_PER_CLASS, rng
            )
        model = table_pipeline(
            self.choice.learner if self.chosen == self.best else None,
            n_neighbors=self.n_neighbors,
            scale=self.choice.scale,
            missing=self.samples.missing,
            is_regression=self.samples.task.is_regression,
        )
        steps = model.fit(table.take(rows), y[rows]).steps
        return Pipeline(steps if table.reducer is None else [("reduce", table.reducer), *steps])

    def _timed(self, what: str, compute: Callable[[], T]) -> T:
        """Call a function with warnings ignored, and add its time to ``seconds``."""
        started = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = compute()
        self._seconds[what] = perf_counter() - started
        return result

    def _record(self, model_file: str | None) -> ReportRecord:
        samples = self.samples
        return ReportRecord(
            name=samples.table.name,
            source=samples.table.source,
            target=samples.target,
            y=samples.y,
            rows=samples.table.rows,
            feature_names=samples.feature_names,
            classes=samples.classes,
            notes=samples.notes,
            n_neighbors=self.n_neighbors,
            n_folds=samples.n_folds,
            rope=self.rope,
            random_state=self.random_state,
            choice=self.choice,
            insight=self.insight,
            model_file=model_file,
            model_description=self.learner_description,
            seconds=self.seconds,
            versions=installed_versions(REPORTED_PACKAGES),
            reading=samples.reading,
        )
