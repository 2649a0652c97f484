"""Embed the rows of a table, and measure the quality of the embedding."""

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

MAX_EXACT_ROWS = 5_000  # larger tables are scored on a sample, and embedded with landmarks
N_SCORED_ROWS = 2_000  # size of that sample
N_LANDMARKS = 1_000  # number of landmarks, for methods that need n^2 time otherwise
MIN_SCORED_ROWS = 4


class EmbeddedTable(NamedTuple):
    """An embedding of the rows of a table.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The encoded and scaled rows.
    Z : ndarray of shape (n_rows, n_components)
        Coordinates of the rows in the embedding.
    quality : EmbeddingQuality or None
        Scores of the embedding. None if there are too few rows.
    seconds : float
        Time of the embedding.
    notes : list of str
        Sentences about the data and the method, with the warnings of the method.
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
        The table to embed.
    model : transformer
        The unfitted method. Its number of components or landmarks is changed if the table
        requires it.
    n_components : int
        Number of dimensions. If the method has no such parameter and returns more dimensions, its
        output is reduced by PCA.
    n_neighbors : int
        Number of neighbours used by the quality scores.
    scale, missing : str
        As in :func:`~dimetric.advice._model.table_pipeline`.
    random_state : int
        Seed for selecting the rows that are scored.
    fixed : container of str
        Parameters of the method that the user has set. They are not changed.
    """
    steps = table_pipeline(None, n_neighbors=None, scale=scale, missing=missing)[:-1]
    X = steps.fit_transform(table.columns)
    notes = [*table.notes, *steps[0].notes_]
    notes += _limit_components(model, table.y, fixed) + _use_landmarks(model, len(X), fixed)
    started = perf_counter()
    Z, method_notes = _embed(model, X, table.y, n_components)
    seconds = perf_counter() - started
    quality, quality_notes = _quality(X, Z, table.y, n_neighbors, random_state)
    return EmbeddedTable(X, Z, quality, seconds, notes + method_notes + quality_notes)


def needs_classes(model: Any) -> bool:
    """Return whether a method requires classes to fit."""
    tags = getattr(model, "__sklearn_tags__", None)
    try:
        return bool(tags is not None and tags().target_tags.required)
    except (AttributeError, TypeError):  # tags of an older scikit-learn
        return False


def _embed(
    model: Any, X: np.ndarray, y: np.ndarray | None, n_components: int
) -> tuple[np.ndarray, list[str]]:
    """Fit a method. Return the embedding and notes about it."""
    target = (y,) if needs_classes(model) else ()
    name = type(model).__name__
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if hasattr(model, "fit_transform"):
                Z = model.fit_transform(X, *target)
            else:
                Z = model.fit(X, *target).transform(X)
        except (TypeError, AttributeError, LookupError, RuntimeError) as error:
            if type(model).__module__.startswith("dimetric."):
                raise
            kind = type(error).__name__
            raise ValueError(f"{name} failed on these rows with {kind}: {error}.") from error
    notes = list(dict.fromkeys(str(each.message) for each in caught))
    Z = np.asarray(Z) if hasattr(Z, "columns") else np.asarray(to_host(Z))
    if Z.ndim != 2 or len(Z) != len(X) or not np.all(np.isfinite(Z)):
        raise ValueError(
            f"{name} did not return a finite array with one row for each of the {len(X)} samples: "
            f"the result has shape {Z.shape}."
        )
    if Z.shape[1] > n_components and not hasattr(model, "n_components"):
        notes.append(
            f"{name} returned {Z.shape[1]} dimensions, which were reduced to {n_components} by PCA."
        )
        Z = PCA(n_components).fit_transform(Z)
    return Z, notes


def _quality(
    X: np.ndarray, Z: np.ndarray, y: np.ndarray | None, n_neighbors: int, seed: int
) -> tuple[EmbeddingQuality | None, list[str]]:
    """Return the scores of an embedding (None if it has too few rows) and notes about them."""
    n = len(X)
    if n < MIN_SCORED_ROWS or (X[0] == X).all():
        return None, [
            f"No scores: they require at least {MIN_SCORED_ROWS} rows that are not all identical."
        ]
    k = max(1, min(n_neighbors, (n - 1) // 2))
    notes = []
    if k < n_neighbors:
        notes.append(f"The scores use {k} neighbours, because there are only {n} rows.")
    sample_size = N_SCORED_ROWS if n > MAX_EXACT_ROWS else None
    if sample_size:
        notes.append(f"The scores are means over a random {sample_size:,} of {n:,} rows.")
    classes = None if y is None or are_numbers(y) else y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quality = embedding_quality(
            X, Z, n_neighbors=k, y=classes, sample_size=sample_size, random_state=seed
        )
    return quality, notes + [str(each.message) for each in caught]


def _use_landmarks(model: Any, n: int, fixed: Container[str]) -> list[str]:
    """Use landmarks for a large table if the method supports them. Return notes for the user."""
    is_ours = type(model).__module__.partition(".")[0] == "dimetric"
    if n <= MAX_EXACT_ROWS or not is_ours or getattr(model, "algorithm", "") == "smacof":
        return []
    params = model.get_params()  # landmarks are a parameter of the method, or of its kernel
    name = next((each for each in params if each.endswith("n_landmarks")), None)
    if name is None or name in fixed or params[name] is not None:
        return []
    model.set_params(**{name: N_LANDMARKS})
    return [
        f"{type(model).__name__} uses {N_LANDMARKS:,} of {n:,} rows as landmarks. To use all rows "
        f"(n^2 time and memory), set --option {name}=None."
    ]


def _limit_components(model: Any, y: np.ndarray | None, fixed: Container[str]) -> list[str]:
    """Limit LDA and KDA to the number of classes minus one. Return notes for the user."""
    if type(model).__name__ not in ("LDA", "KDA") or "n_components" in fixed or y is None:
        return []
    max_components = len(np.unique(y)) - 1
    if not 1 <= max_components < model.n_components:
        return []
    model.set_params(n_components=max_components)
    return [
        f"n_components was reduced to {max_components}, because {type(model).__name__} finds at "
        "most n_classes - 1 components."
    ]
