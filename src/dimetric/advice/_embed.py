"""Embed a table, and judge how faithful the embedding is."""

import warnings
from collections.abc import Container
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from dimetric._arrays.namespaces import to_host
from dimetric.advice._model import table_pipeline
from dimetric.advice._table import TableSamples
from dimetric.learners.pca import PCA
from dimetric.plot._labels import are_numbers
from dimetric.quality._embedding import EmbeddingQuality, embedding_quality

__all__ = ["EmbeddedTable", "embed_table", "needs_classes"]

MAX_EXACT_ROWS = 5_000  # with more rows, scores and n^2 methods look at some of them only
SCORED_ROWS = 2_000  # this many for the scores
N_LANDMARKS = 1_000  # and this many by which the others are placed
MIN_SCORED_ROWS = 4


class EmbeddedTable(NamedTuple):
    """An embedding of the rows of a table.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows as numbers, scaled.
    Z : ndarray of shape (n_rows, n_components)
        Their coordinates.
    quality : EmbeddingQuality or None
        Scores of the embedding; None if there are too few rows.
    seconds : float
        Time of the embedding.
    notes : list of str
        What was done, and warnings, in sentences.
    """

    X: np.ndarray
    Z: np.ndarray
    quality: EmbeddingQuality | None
    seconds: float
    notes: list[str]


def embed_table(
    table: TableSamples,
    model: Any,
    *,
    n_components: int,
    n_neighbors: int,
    scale: str,
    missing: str,
    random_state: int,
    fixed: Container[str] = (),
) -> EmbeddedTable:
    """Embed the rows of a table.

    Parameters
    ----------
    table : TableSamples
        The table.
    model : transformer
        The method, not fitted. Its parameters are adapted to the table.
    n_components : int
        Dimensions. If the method cannot choose them, its first principal components are taken.
    n_neighbors : int
        Number of neighbours that the scores look at.
    scale, missing : str
        As in :func:`~dimetric.advice._model.table_pipeline`.
    random_state : int
        Seed of the rows that the scores look at.
    fixed : container of str
        Parameters of the method that the user has set, and that are not adapted.
    """
    steps = table_pipeline(None, n_neighbors=None, scale=scale, missing=missing)[:-1]
    X = steps.fit_transform(table.columns)
    notes = [*table.notes, *steps[0].notes_]
    notes += _limit_components(model, table.y, fixed) + _use_landmarks(model, len(X), fixed)
    started = perf_counter()
    Z, of_method = _embedded(model, X, table.y, n_components)
    seconds = perf_counter() - started
    quality, of_scores = _judged(X, Z, table.y, n_neighbors, random_state)
    return EmbeddedTable(X, Z, quality, seconds, notes + of_method + of_scores)


def needs_classes(model: Any) -> bool:
    """Tell whether a method learns from classes."""
    tags = getattr(model, "__sklearn_tags__", None)
    try:
        return bool(tags is not None and tags().target_tags.required)
    except (AttributeError, TypeError):  # tags of an older scikit-learn
        return False


def _embedded(
    model: Any, X: np.ndarray, y: np.ndarray | None, n_components: int
) -> tuple[np.ndarray, list[str]]:
    """Return the embedding of samples, and notes about it."""
    given = (y,) if needs_classes(model) else ()
    name = type(model).__name__
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if hasattr(model, "fit_transform"):
                Z = model.fit_transform(X, *given)
            else:
                Z = model.fit(X, *given).transform(X)
        except (TypeError, AttributeError, LookupError, RuntimeError) as error:
            if type(model).__module__.startswith("dimetric."):
                raise
            why = type(error).__name__
            raise ValueError(f"{name} does not embed these rows: {why}: {error}.") from error
    notes = list(dict.fromkeys(str(each.message) for each in caught))
    Z = np.asarray(Z) if hasattr(Z, "columns") else np.asarray(to_host(Z))
    if Z.ndim != 2 or len(Z) != len(X) or not np.all(np.isfinite(Z)):
        raise ValueError(f"{name} gave no embedding: of {len(X)} rows it made {Z.shape}.")
    if Z.shape[1] > n_components and not hasattr(model, "n_components"):
        notes.append(
            f"{name} maps to {Z.shape[1]} dimensions: of these, the first {n_components} principal "
            "components are shown."
        )
        Z = PCA(n_components).fit_transform(Z)
    return Z, notes


def _judged(
    X: np.ndarray, Z: np.ndarray, y: np.ndarray | None, n_neighbors: int, seed: int
) -> tuple[EmbeddingQuality | None, list[str]]:
    """Return the scores of an embedding, if there are enough rows, and notes about them."""
    n = len(X)
    if n < MIN_SCORED_ROWS or (X[0] == X).all():
        return None, ["There are no scores: these need at least 4 rows, and some that differ."]
    k = max(1, min(n_neighbors, (n - 1) // 2))
    notes = []
    if k < n_neighbors:
        notes.append(f"The scores look at {k} neighbours: there are but {n} rows.")
    sample = SCORED_ROWS if n > MAX_EXACT_ROWS else None
    if sample:
        notes.append(f"The scores are means over {sample} of {n} rows, drawn at random.")
    classes = None if y is None or are_numbers(y) else y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quality = embedding_quality(
            X, Z, n_neighbors=k, y=classes, sample_size=sample, random_state=seed
        )
    return quality, notes + [str(each.message) for each in caught]


def _use_landmarks(model: Any, n: int, fixed: Container[str]) -> list[str]:
    """Let methods whose time grows as n^2 look at some rows only; return notes about it."""
    is_ours = type(model).__module__.partition(".")[0] == "dimetric"
    if n <= MAX_EXACT_ROWS or not is_ours or getattr(model, "algorithm", "") == "smacof":
        return []
    params = model.get_params()  # landmarks are a parameter of the method, or of its kernel
    name = next((each for each in params if each.endswith("n_landmarks")), None)
    if name is None or name in fixed or params[name] is not None:
        return []
    model.set_params(**{name: N_LANDMARKS})
    return [
        f"{type(model).__name__} places {n} rows by {N_LANDMARKS} of them: --option {name}=None "
        "takes all, and n^2 time and memory."
    ]


def _limit_components(model: Any, y: np.ndarray | None, fixed: Container[str]) -> list[str]:
    """Give LDA and KDA no more components than they can have; return notes about it."""
    if type(model).__name__ not in ("LDA", "KDA") or "n_components" in fixed or y is None:
        return []
    most = len(np.unique(y)) - 1
    if not 1 <= most < model.n_components:
        return []
    model.set_params(n_components=most)
    return [f"{type(model).__name__} has one dimension fewer than classes: {most}."]
