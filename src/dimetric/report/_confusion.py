"""Recalls and confusion matrices of classes under the Euclidean and under the learned distance."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dimetric.benchmark._cell import Cell
from dimetric.report._text import percent

__all__ = ["ClassRecall", "Confusion", "confusion_of", "rare_class_note"]

MAX_SHOWN = 10  # classes in the tables of a report
MAX_RARE_FRACTION = 0.1  # of the rows, for a class to be called rare
MIN_CHANGE = 0.05  # of a recall, to be mentioned
MIN_CHANGED_ROWS = 2


class ClassRecall(NamedTuple):
    """The recall of a class: the fraction of its rows that are classified correctly.

    Attributes
    ----------
    name : str
        The class.
    n_rows : int
        Number of its rows.
    before, after : float
        Recall under the Euclidean and under the learned distance.
    """

    name: str
    n_rows: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """Recall under the learned distance minus that under the Euclidean distance."""
        return self.after - self.before


@dataclass(frozen=True, eq=False)
class Confusion:
    """Confusion matrices of test rows. Each row is counted once.

    Attributes
    ----------
    classes : tuple of str
        The classes, the largest first.
    before, after : ndarray of int of shape (n_classes, n_classes)
        Number of rows of the class in the row that are predicted as the class in the column, under
        the Euclidean and under the learned distance. If only some classes are listed, the last of
        n_classes + 1 columns counts the predictions of all others.
    """

    classes: tuple[str, ...]
    before: np.ndarray
    after: np.ndarray

    @property
    def recalls(self) -> list[ClassRecall]:
        """The recall of each class, the largest class first."""
        sizes = self.before.sum(axis=1)
        return [
            ClassRecall(name, int(n), float(self.before[i, i] / n), float(self.after[i, i] / n))
            for i, (name, n) in enumerate(zip(self.classes, sizes, strict=True))
            if n
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the matrices and recalls as lists and arrays, for JSON."""
        recalls = [
            {"class": each.name, "rows": each.n_rows, "before": each.before, "after": each.after}
            for each in self.recalls
        ]
        return {
            "classes": list(self.classes),
            "before": self.before,
            "after": self.after,
            "recall": recalls,
        }

    def largest_changes(self, n_classes: int = MAX_SHOWN) -> "Confusion":
        """Return the matrices of the classes whose recalls change most.

        Parameters
        ----------
        n_classes : int, default=10
            Number of classes to keep. If there are no more than this, all are kept.
        """
        if len(self.classes) <= n_classes:
            return self
        correct = np.diag(self.after) - np.diag(self.before)
        change = np.abs(correct) / np.maximum(self.before.sum(axis=1), 1)
        kept = np.sort(np.argsort(-change, kind="stable")[:n_classes])
        before, after = (
            np.column_stack([each[np.ix_(kept, kept)], np.delete(each[kept], kept, 1).sum(axis=1)])
            for each in (self.before, self.after)
        )
        return Confusion(tuple(self.classes[i] for i in kept), before, after)


def confusion_of(cells: Iterable[Cell], before: str, after: str) -> Confusion | None:
    """Return the confusion matrices of the first repeat of a benchmark, or None for numbers.

    Parameters
    ----------
    cells : iterable of Cell
        The cells of a benchmark of one data set.
    before, after : str
        Names of the Euclidean distance and the learner.

    Examples
    --------
    >>> counts = {"a": {"a": 2, "b": 1}}, {"a": {"a": 3}, "b": {"b": 1}}
    >>> cells = [Cell("data", x, 3, 0, 0, metadata={"confusion": n}) for x, n in zip("EL", counts)]
    >>> found = confusion_of(cells, "E", "L")
    >>> found.classes, found.after.tolist()
    (('a', 'b'), [[3, 0], [0, 1]])
    """
    pairs: dict[str, Counter[tuple[str, str]]] = {before: Counter(), after: Counter()}
    for cell in cells:
        if cell.repeat == 0 and cell.learner in pairs:
            for true, guesses in cell.metadata.get("confusion", {}).items():
                for guess, n in guesses.items():
                    pairs[cell.learner][true, guess] += n
    sizes: Counter[str] = Counter()
    for (true, guess), n in pairs[after].items():
        sizes[true] += n
        sizes[guess] += 0
    if not sizes:
        return None
    classes = tuple(sorted(sizes, key=lambda name: (-sizes[name], name)))
    index = {name: i for i, name in enumerate(classes)}
    matrices = [np.zeros((len(classes), len(classes)), dtype=int) for _ in pairs]
    for matrix, counts in zip(matrices, pairs.values(), strict=True):
        for (true, guess), n in counts.items():
            matrix[index[true], index[guess]] = n
    return Confusion(classes, matrices[0], matrices[1])


def rare_class_note(confusion: Confusion | None, learner: str) -> str:
    """Return a sentence about the rare class whose recall changes most, or "".

    Parameters
    ----------
    confusion : Confusion or None
        The confusion matrices.
    learner : str
        Name of the learner.
    """
    if confusion is None:
        return ""
    total = int(confusion.before.sum())
    rare = [
        each
        for each in confusion.recalls
        if each.n_rows <= MAX_RARE_FRACTION * total
        and abs(each.change) >= MIN_CHANGE
        and round(abs(each.change) * each.n_rows) >= MIN_CHANGED_ROWS
    ]
    if not rare:
        return ""
    most = max(rare, key=lambda each: abs(each.change))
    verb = "finds more" if most.change > 0 else "misses more"
    return (
        f"{learner} {verb} of the rare class {most.name}: {percent(most.after, 0)} of its "
        f"{most.n_rows} test rows, against {percent(most.before, 0)} under the Euclidean distance."
    )
