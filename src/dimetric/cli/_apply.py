"""A model that is applied to a table, some rows at a time."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dimetric._names import suggest
from dimetric.cli._options import names
from dimetric.cli._terminal import progress, say

if TYPE_CHECKING:
    import numpy as np

    from dimetric.data._files import TableFile


class Applied(NamedTuple):
    """Some rows of a table, as features.

    Attributes
    ----------
    features : ndarray of shape (n_complete, n_features)
        Features of the rows that are complete, scaled.
    complete : ndarray of bool, of shape (n_rows,)
        Which rows those are.
    kept : dict of str to ndarray
        Columns that are passed through.
    rows : ndarray of shape (n_rows,)
        Their numbers in the table.
    """

    features: "np.ndarray"
    complete: "np.ndarray"
    kept: dict[str, "np.ndarray"]
    rows: "np.ndarray"


class Applier:
    """A model and a file it is applied to, some rows at a time.

    Parameters
    ----------
    model : estimator
        The loaded model.
    file : TableFile
        The table.
    keep : str
        Columns to pass through, with commas between them.
    """

    def __init__(self, model: Any, file: "TableFile", keep: str) -> None:
        self.encoder, self._scalers, self.last = parts_of(model)
        self._file, self._keep = file, names(keep) or []
        self.n_rows = self.n_incomplete = 0
        self.unknown: dict[str, int] = {}
        self._others: list[str] | None = None

    def __iter__(self) -> Iterator[Applied]:
        import numpy as np

        texts = [*self.encoder.category_columns(), *self._keep]
        for chunk in self._file.chunks(texts=texts):
            columns = [str(each) for each in chunk]
            lost = next((each for each in self._keep if each not in columns), None)
            if lost is not None:
                hint = suggest(lost, columns)
                raise ValueError(f"--keep: there is no column {lost!r}. {hint}")
            features, unknown = self.encoder.encode(self._without_others(chunk))
            for name, count in unknown.items():
                self.unknown[name] = self.unknown.get(name, 0) + count
            complete = ~np.isnan(features).any(axis=1)
            features = features[complete]
            if len(features):
                for each in self._scalers:
                    features = each.transform(features)
            self.n_rows += len(complete)
            self.n_incomplete += int(np.sum(~complete))
            kept = {each: _as_they_are(chunk[each]) for each in self._keep}
            rows = np.arange(self.n_rows - len(complete), self.n_rows)
            yield Applied(features, complete, kept, rows)

    def _without_others(self, chunk: Any) -> Any:
        """Return some rows without what is no feature, for a model that knows no names.

        It takes columns by their places: those of classes, ids and texts among them would shift
        the others, or be one too many.
        """
        if hasattr(self.encoder, "feature_names_in_"):
            return chunk
        if self._others is None:
            self._others = _no_features(chunk, self._keep, self.encoder.n_features_in_)
        return {str(each): chunk[each] for each in chunk if str(each) not in self._others}

    def notes(self) -> list[str]:
        """Return what is to be said in the end."""
        notes = []
        if self._others:
            notes.append(
                f"The model knows no names of columns, and takes {self.encoder.n_features_in_} by "
                f"their places: {', '.join(map(repr, self._others))} left out."
            )
        notes += [
            f"Column {name!r} holds {count} values that are none of the model's categories."
            for name, count in self.unknown.items()
        ]
        if self.n_incomplete:
            notes.append(
                f"{self.n_incomplete} of {self.n_rows} rows have missing values: their results are "
                "empty."
            )
        return notes


def _no_features(chunk: Any, keep: list[str], wanted: int) -> list[str]:
    """Return the columns that are no features, if there are as many others as are wanted."""
    from dimetric.data._columns import columns_of
    from dimetric.data._tables import TARGET_NAMES, why_no_feature

    columns = columns_of(chunk)
    if len(columns) == wanted:
        return []
    others = [
        name
        for name, values in columns.items()
        if name in keep
        or name.lower() in TARGET_NAMES
        or values.dtype.kind not in "iufb"
        or why_no_feature(name, values)
    ]
    return others if len(columns) - len(others) == wanted else []


def _as_they_are(column: Any) -> "np.ndarray":
    """Return the values of a column, None where they are missing from whole numbers."""
    import numpy as np

    if column.dtype.kind in "iu" and hasattr(column, "isna") and column.isna().any():
        return column.to_numpy(dtype=object, na_value=None)
    return np.asarray(column)


def parts_of(model: Any) -> tuple[Any, list[Any], Any]:
    """Return the encoder of a model, what scales, and what learned.

    Parameters
    ----------
    model : estimator
        A pipeline, or a learner or classifier alone, which takes numbers as they are.
    """
    import numpy as np

    from dimetric.data._encoder import TableEncoder

    steps = [each for _, each in getattr(model, "steps", [("", model)])]
    if isinstance(steps[0], TableEncoder):
        return steps[0], steps[1:-1], steps[-1]
    encoder = TableEncoder()
    first = steps[0]
    if not hasattr(first, "n_features_in_"):
        raise ValueError(f"{type(first).__name__} does not say what features it takes.")
    encoder.n_features_in_ = int(first.n_features_in_)
    encoder.categories_, encoder.notes_ = [None] * encoder.n_features_in_, []
    encoder.fills_ = [0.0] * encoder.n_features_in_
    if hasattr(first, "feature_names_in_"):
        encoder.feature_names_in_ = np.asarray(first.feature_names_in_, dtype=object)
    return encoder, steps[:-1], steps[-1]


@contextmanager
def _without_names() -> Iterator[None]:
    """Keep scikit-learn from asking for names: the columns were chosen by them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def applied(
    applier: Applier, out: Path | None, matrices: dict[str, list[str]],
    results: Callable[["Applied"], "dict[str, np.ndarray]"], title: str,
    like: "dict[str, np.ndarray] | None" = None,
) -> None:  # fmt: skip
    """Write the results for all rows of a table, in their order; say what was odd.

    Parameters
    ----------
    applier : Applier
        Model and table.
    out : path or None
        File; None is standard output.
    matrices : dict of str to list of str
        Results that are one array in NPZ.
    results : callable
        From some rows to columns.
    title : str
        Of the progress bar.
    like : dict of str to ndarray, optional
        Values of the kind that a result has.
    """
    from dimetric.data._writers import ColumnWriter

    with ColumnWriter(out, matrices, like) as writer, progress(title) as watch, _without_names():
        for part in applier:
            found = results(part)
            twice = next((each for each in part.kept if each in found), None)
            if twice is not None:
                raise ValueError(
                    f"--keep: a result is called {twice!r}, too: give the column another name."
                )
            columns = part.kept | found
            if len(columns) == 1:  # an empty line would be no row for many a program
                columns = {"row": part.rows} | columns
            writer.write(columns)
            watch(applier.n_rows, None)
    say(*applier.notes())
