"""The training samples of classifiers and regressors: those of the learner, and those that vote."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric.blocks.sample import RowSample, random_numbers
from dimetric.classify._weights import rows_used, samples_used
from dimetric.learners._fitting.references import class_sizes

SEED = 0  # of the random choice of references, which depends on the row numbers alone


@dataclass(frozen=True)
class Training:
    """The samples of a fit whose weight is not 0.

    The learner is fitted to all l samples. Predictions use m of them: those that have a label, and
    are references.
    """

    samples: Array  # (l, d)
    learner_y: np.ndarray  # (l,) or (l, n_outputs), labels or targets
    learner_weights: np.ndarray | None  # (l,) positive weights. None if all weights are 1
    labelled: np.ndarray | None  # (m,) indices of the m samples. None if these are all
    rows: np.ndarray | None  # (m,) their row indices in X. None if these are all rows
    n_rows: int  # number of rows of X
    codes: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # of classes

    @property
    def y(self) -> np.ndarray:
        """Labels or targets of the labelled samples."""
        return self.learner_y if self.labelled is None else self.learner_y[self.labelled]

    @property
    def weights(self) -> np.ndarray | None:
        """Weights of the labelled samples."""
        if self.learner_weights is None or self.labelled is None:
            return self.learner_weights
        return self.learner_weights[self.labelled]

    @property
    def n_labelled(self) -> int:
        """Number of labelled samples."""
        return self.samples.shape[0] if self.labelled is None else len(self.labelled)

    @classmethod
    def of(
        cls,
        model: Any,
        X: Array,
        y: np.ndarray,
        weights: np.ndarray | None,
        is_labelled: np.ndarray | None,
    ) -> Self:
        """Leave out samples of weight 0. Raise if too few labelled ones remain."""
        model._check_samples(X)
        rows, n, labelled = rows_used(weights), X.shape[0], None
        if rows is not None:
            X = samples_used(X, rows, pairwise=getattr(model, "metric", None) == "precomputed")
            y, weights = y[rows], None if weights is None else weights[rows]
        if is_labelled is not None:
            labelled = np.flatnonzero(is_labelled if rows is None else is_labelled[rows])
            rows = labelled if rows is None else rows[labelled]
        if rows is not None and len(rows) < model._min_samples:
            have = "a positive weight" if labelled is None else "a label and a positive weight"
            raise ValueError(
                f"{type(model).__name__} requires at least {model._min_samples} samples, but only "
                f"{len(rows)} of {n} samples have {have}."
            )
        return cls(X, y, weights, labelled, rows, n)

    def references(self, size: int | None) -> Self:
        """Return a training of which at most `size` samples are used for predictions.

        Each class has references in proportion. Without codes of one output, they are random.
        """
        if size is None or self.n_labelled <= size:
            return self
        n, by_class = self.n_labelled, self.codes.shape == (self.n_labelled,)
        rows = np.arange(n) if self.rows is None else self.rows
        sizes = class_sizes(np.bincount(self.codes), size) if by_class else size
        codes, keys = self.codes if by_class else None, random_numbers(rows, SEED)
        # Of the samples, only their numbers are needed.
        places = np.arange(n)
        sample = RowSample(sizes, by_class, places[:, None], codes, None, rows, keys).smallest()
        chosen = sample.X[:, 0]
        return replace(
            self,
            labelled=chosen if self.labelled is None else self.labelled[chosen],
            rows=sample.rows,
            codes=self.codes[chosen] if len(self.codes) else self.codes,
        )
