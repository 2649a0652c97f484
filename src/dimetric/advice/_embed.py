"""Embed the rows of a table, and measure the quality of the embedding."""

import io
import warnings
from collections.abc import Callable, Container
from contextlib import redirect_stdout
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from dimetric._arrays.namespaces import to_host
from dimetric.advice._colors import Colors, colors_of
from dimetric.advice._model import table_pipeline
from dimetric.advice._table import TableSamples
from dimetric.learners.pca import PCA
from dimetric.quality._embedding import EmbeddingQuality, embedding_quality

__all__ = ["EmbeddedTable", "embed_table", "needs_classes"]

MAX_EXACT_ROWS = 5_000  # larger tables are scored on a sample, and embedded with landmarks
MIN_SAMPLE, MAX_SAMPLE = 200, 2_000  # size of that sample
MAX_SCORED_PAIRS = 20_000_000  # of a row of the sample and another row
N_LANDMARKS = 1_000  # number of landmarks, for methods that need n^2 time otherwise
# Largest tables that slow methods embed within a few minutes. They cannot map new rows.
MAX_EMBEDDED_ROWS = {"TSNE": 5_000, "UMAP": 50_000, "PaCMAP": 50_000, "TRIMAP": 50_000}
MAX_TRAINING_ROWS = 5_000  # of our methods whose time grows with the number of pairs of rows
MAX_KERNEL_ROWS = 20_000  # of methods with a kernel and landmarks
FAST_METHODS = ("PCA", "LDA", "Covariance", "MDS")
# Messages of other packages that do not help the user of the command.
IGNORED_WARNINGS = ("n_jobs value", "random state is")
MIN_SCORED_ROWS = 4
MIN_EMBEDDED_ROWS = 2


class EmbeddedTable(NamedTuple):
    """An embedding of the rows of a table.

    Attributes
    ----------
    table : TableSamples
        The embedded rows: all rows of the table, or a sample of them.
    X : ndarray of shape (n_rows, n_features)
        The encoded and scaled rows.
    Z : ndarray of shape (n_rows, n_components)
        Coordinates of the rows in the embedding.
    quality : EmbeddingQuality or None
        Scores of the embedding. None if there are too few rows, or if none were requested.
    seconds : float
        Time of the embedding.
    notes : list of str
        Sentences about the data and the method, with the warnings of the method.
    colors : Colors or None
        What sets the colours of the rows in a plot.
    """

    table: TableSamples
    X: np.ndarray
    Z: np.ndarray
    quality: EmbeddingQuality | None
    seconds: float
    notes: list[str]
    colors: Colors | None = None


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
    max_rows: int | None = None,
    scores: bool = True,
    callback: Callable[[str], None] | None = None,
) -> EmbeddedTable:
    """Embed the rows of a table.

    Slow methods use a random sample of a large table. A learner is fitted to the sample and maps
    all rows. Other methods embed only the sample.

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
    max_rows : int, optional
        Largest number of rows that the method is fitted to. By default, it depends on the method.
    scores : bool, default=True
        Whether to compute the quality scores.
    callback : callable, optional
        Called with a text that says what is done, before each step.
    """
    say = callback or (lambda text: None)
    name = type(model).__name__
    maps_new_rows = hasattr(model, "transform")
    if len(table.rows) < MIN_EMBEDDED_ROWS:
        raise ValueError(
            f"{table.name} has only {len(table.rows)} usable row. An embedding needs at least "
            f"{MIN_EMBEDDED_ROWS}."
        )
    n_fitted = min(len(table.rows), max_rows or _max_rows(model) or len(table.rows))
    sample = _sample(len(table.rows), n_fitted, random_state)
    notes_on_sample = _sample_notes(name, n_fitted, len(table.rows), maps_new_rows)
    if not maps_new_rows and notes_on_sample:
        table = table.select(sample, notes_on_sample.pop())
        sample = np.arange(n_fitted)
    steps = table_pipeline(None, n_neighbors=None, scale=scale, missing=missing)[:-1]
    X = steps.fit_transform(table.columns)
    notes = [*table.notes, *steps[0].notes_, *notes_on_sample]
    notes += _limit_components(model, table.y, fixed) + _limit_to_features(model, X, fixed)
    notes += _use_landmarks(model, len(X), n_fitted, fixed) + _adapt_to_few_rows(model, X, fixed)
    say(f"{name}: {len(X):,} rows")
    started = perf_counter()
    Z, method_notes = _embed(model, X, table.y, n_components, sample)
    seconds = perf_counter() - started
    colors = None if table.y is None else colors_of(str(table.target), table.y, table.unit)
    quality, quality_notes = None, list[str]()
    if scores:
        say("Quality scores")
        classes = None if colors is None else colors.classes
        quality, quality_notes = _quality(X, Z, classes, n_neighbors, random_state)
    notes += method_notes + quality_notes
    return EmbeddedTable(table, X, Z, quality, seconds, notes, colors)


def needs_classes(model: Any) -> bool:
    """Return whether a method requires classes to fit."""
    tags = getattr(model, "__sklearn_tags__", None)
    try:
        return bool(tags is not None and tags().target_tags.required)
    except (AttributeError, TypeError):  # tags of an older scikit-learn
        return False


def _max_rows(model: Any) -> int | None:
    """Return the largest number of rows that a method is fitted to, or None if there is no limit.

    Kernels use landmarks for large tables, so their limit is larger.
    """
    name, module = type(model).__name__, type(model).__module__
    if not module.startswith("dimetric."):
        return MAX_EMBEDDED_ROWS.get(name)
    if name in FAST_METHODS and getattr(model, "algorithm", "") != "smacof":
        return None
    has_kernel = "kernel__n_landmarks" in model.get_params()
    return MAX_KERNEL_ROWS if has_kernel else MAX_TRAINING_ROWS


def _sample(n: int, n_fitted: int, seed: int) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).permutation(n)[:n_fitted])


def _sample_notes(name: str, n_fitted: int, n: int, maps_new_rows: bool) -> list[str]:
    if n_fitted == n:
        return []
    rows = f"a random {n_fitted:,} of {n:,} rows"
    verb = f"was trained on {rows}, and maps all rows" if maps_new_rows else f"embeds {rows}"
    return [f"{name} {verb}. To use more rows (slower), set --max-rows."]


def _embed(
    model: Any, X: np.ndarray, y: np.ndarray | None, n_components: int, sample: np.ndarray
) -> tuple[np.ndarray, list[str]]:
    """Fit a method to a sample of the rows. Return the embedding of all rows and notes about it."""
    name = type(model).__name__
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            if len(sample) == len(X) and hasattr(model, "fit_transform"):
                Z = model.fit_transform(X, *((y,) if needs_classes(model) else ()))
            else:
                target = (y[sample],) if y is not None and needs_classes(model) else ()
                Z = model.fit(X[sample], *target).transform(X)
        except (TypeError, AttributeError, LookupError, RuntimeError, AssertionError) as error:
            if type(model).__module__.startswith("dimetric."):
                raise
            kind = type(error).__name__
            message = str(error).rstrip(".")
            raise ValueError(f"{name} failed on these rows with {kind}: {message}.") from error
    messages = dict.fromkeys(str(each.message) for each in caught)
    notes = [each for each in messages if not any(part in each for part in IGNORED_WARNINGS)]
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
    X: np.ndarray, Z: np.ndarray, classes: np.ndarray | None, n_neighbors: int, seed: int
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
    sample_size = None
    if n > MAX_EXACT_ROWS:
        sample_size = int(np.clip(MAX_SCORED_PAIRS // n, MIN_SAMPLE, MAX_SAMPLE))
        notes.append(f"The scores are means over a random {sample_size:,} of {n:,} rows.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        quality = embedding_quality(
            X, Z, n_neighbors=k, y=classes, sample_size=sample_size, random_state=seed
        )
    return quality, notes + [str(each.message) for each in caught]


def _use_landmarks(model: Any, n: int, n_fitted: int, fixed: Container[str]) -> list[str]:
    """Use landmarks for a large table if the method supports them. Return notes for the user."""
    is_ours = type(model).__module__.partition(".")[0] == "dimetric"
    if n <= MAX_EXACT_ROWS or not is_ours or getattr(model, "algorithm", "") == "smacof":
        return []
    params = model.get_params()  # landmarks are a parameter of the method, or of its kernel
    name = next((each for each in params if each.endswith("n_landmarks")), None)
    if name is None or name in fixed or params[name] is not None:
        return []
    n_landmarks = min(N_LANDMARKS, n_fitted)
    model.set_params(**{name: n_landmarks})
    return [
        f"{type(model).__name__} uses {n_landmarks:,} of {n_fitted:,} rows as landmarks. To use "
        f"all rows (n^2 time and memory), set --option {name}=None."
    ]


def _adapt_to_few_rows(model: Any, X: np.ndarray, fixed: Container[str]) -> list[str]:
    """Adapt parameters of t-SNE that are too large for a small table. Return notes for the user."""
    n, d = X.shape
    if type(model).__name__ != "TSNE" or not hasattr(model, "perplexity"):
        return []
    if d < model.n_components and "init" not in fixed:
        model.set_params(init="random")  # the default, PCA, needs as many features as components
    if "perplexity" in fixed or model.perplexity < n:
        return []
    model.set_params(perplexity=max(1.0, (n - 1) / 3))
    return [f"perplexity was reduced to {model.perplexity:.3g}, because there are only {n} rows."]


def _limit_to_features(model: Any, X: np.ndarray, fixed: Container[str]) -> list[str]:
    """Limit PCA to the number of features. Return notes for the user."""
    d = X.shape[1]
    if type(model) is not PCA or "n_components" in fixed or model.n_components <= d:
        return []
    model.set_params(n_components=d)
    dimensions, features = (f"{d} {word}{'s' * (d > 1)}" for word in ("dimension", "feature"))
    return [f"The embedding has {dimensions}, because the table has only {features}."]


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
