"""The verb ``embed``: a table in two dimensions or so, as a picture or as coordinates."""

import warnings
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._model import Drop, Header, Json, Missing, Read, class_counts, read
from dimetric.cli._picture import PICTURES, is_picture, no_window, write_picture
from dimetric.cli._terminal import as_json, say

if TYPE_CHECKING:
    import numpy as np

    from dimetric.quality._embedding import EmbeddingQuality

MANY = 5_000  # rows from which on only some are judged
SAMPLE = 2_000  # so many
LANDMARKS = 1_000  # rows that others are placed by, of so many
BEST = {"stress": 0, "scaled_stress": 0, "residual_variance": 0, "procrustes": 0}  # others: 1


def embed(
    data: Annotated[Path, typer.Argument(help="Table: CSV (perhaps .gz), Parquet or NPZ (X, y).")],
    method: Annotated[
        str,
        typer.Option(
            help="pca, kpca, mds, isomap, lle, lda, nca, ...; or module:Class of any transformer "
            "as scikit-learn's, such as umap:UMAP: that module is imported, and so runs."
        ),
    ] = "isomap",
    color: Annotated[
        str | None,
        typer.Option(
            help="Column that colours the picture, by name or number: classes or numbers. It is "
            "no feature; methods that learn from classes learn from it."
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Picture (.png, .svg, .pdf) or coordinates (.csv, .parquet, .npz, ...), by the "
            "ending; may be given several times. (Default: DATA-METHOD.png.)"
        ),
    ] = None,
    components: Annotated[int, typer.Option(min=1, help="Dimensions.")] = 2,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Option of the method, as n_neighbors=8; may be given several times."),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Neighbours that the scores look at.")] = 5,
    scale: Annotated[
        str,
        typer.Option(help="Scale features to 'standard' variance, 'minmax' [0, 1], or 'none'."),
    ] = "standard",
    drop: Drop = "",
    missing: Missing = "drop",
    header: Header = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random.")] = 0,
    json: Json = False,
) -> None:
    """Embed the rows of a table, draw or write them, and say how faithful that is."""
    from dimetric.cli._method import embedding_from
    from dimetric.data._files import table_name
    from dimetric.data._writers import ENDINGS

    name = method.rpartition(":")[2].lower()
    files = out or [Path(f"{table_name(data)}-{name}.png")]
    for file in files:
        if not is_picture(file) and not file.name.lower().endswith(ENDINGS):
            kinds = ", ".join((*PICTURES, *ENDINGS))
            raise ValueError(f"{file} is of no kind that can be written: end it in {kinds}.")
    if any(is_picture(file) for file in files):
        no_window()
    model = embedding_from(method, option or [], n_components=components, seed=seed)
    found = read(data, color, drop, missing, header, labelled=_needs_labels(model))
    if found.samples.y is not None and _needs_labels(model):
        try:
            class_counts(found.samples.y, str(found.table.target))
        except ValueError as error:  # in the words of verbs that have a target
            raise ValueError(str(error).replace("--target", "--color")) from None
    X, notes = features_of(found, scale, missing)
    notes += _fewer_components(model, found.samples.y, option or [])
    notes += _landmarks(model, len(X), option or [])
    started = perf_counter()
    Z, told = embedded(model, X, found.samples.y, components)
    seconds = perf_counter() - started
    notes += told
    quality, why = judged(X, Z, found.samples.y, k, seed)
    notes += why
    for file in files:
        if is_picture(file):
            notes += draw(file, Z, found, f"{type(model).__name__} of {found.table.name}")
        else:
            write(file, Z, found, name)
    if json:
        as_json(
            {"method": type(model).__name__, "rows": len(Z), "features": X.shape[1],
             "components": Z.shape[1], "seconds": seconds,
             "scores": {} if quality is None else quality.scores(),
             "standard_errors": {} if quality is None else quality.standard_error,
             "n_neighbors": None if quality is None else quality.n_neighbors,
             "written": files, "notes": notes}
        )  # fmt: skip
        return
    say(*notes)
    n, d = X.shape
    print(f"{type(model).__name__}: {n} rows, {d} features to {Z.shape[1]}, {seconds:.1f} s")
    if quality is not None:
        print(*lines_of(quality), sep="\n")
    print(f"Written: {', '.join(str(file) for file in files)}")


def features_of(found: Read, scale: str, missing: str) -> "tuple[np.ndarray, list[str]]":
    """Return the features of a table, scaled, and what there is to say.

    Parameters
    ----------
    found : Read
        The table.
    scale, missing : str
        As the user gave them.
    """
    from dimetric.cli._model import pipeline

    steps = pipeline(None, k=None, scale=scale, missing=missing)[:-1]
    X = steps.fit_transform(found.samples.columns)
    return X, [*found.notes, *steps[0].notes_]


def embedded(
    model: Any, X: "np.ndarray", y: "np.ndarray | None", components: int
) -> "tuple[np.ndarray, list[str]]":
    """Return the embedding of samples, and what the method had to say.

    Parameters
    ----------
    model : transformer
        Not fitted.
    X, y : ndarray
        Samples, and classes for those that learn from these.
    components : int
        Dimensions; of a method that cannot choose them, so many principal components.
    """
    import numpy as np

    from dimetric import PCA
    from dimetric._arrays.namespaces import to_host

    given = (y,) if _needs_labels(model) else ()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            if hasattr(model, "fit_transform"):
                Z = model.fit_transform(X, *given)
            else:
                Z = model.fit(X, *given).transform(X)
        except (TypeError, AttributeError, LookupError, RuntimeError) as error:
            if type(model).__module__.startswith("dimetric."):
                raise
            name, why = type(model).__name__, type(error).__name__
            raise ValueError(f"{name} does not embed these rows: {why}: {error}.") from error
    notes = list(dict.fromkeys(str(each.message) for each in told))
    Z = np.asarray(Z) if hasattr(Z, "columns") else np.asarray(to_host(Z))
    if Z.ndim != 2 or len(Z) != len(X) or not np.all(np.isfinite(Z)):
        raise ValueError(
            f"{type(model).__name__} gave no embedding: of {len(X)} rows it made {Z.shape}."
        )
    if Z.shape[1] > components and not hasattr(model, "n_components"):
        notes.append(
            f"{type(model).__name__} maps to {Z.shape[1]} dimensions: of these, the first "
            f"{components} principal components are shown."
        )
        Z = PCA(components).fit_transform(Z)
    return Z, notes


def judged(
    X: "np.ndarray", Z: "np.ndarray", y: "np.ndarray | None", k: int, seed: int
) -> "tuple[EmbeddingQuality | None, list[str]]":
    """Return the scores of an embedding, if there are enough rows, and what is to be said."""
    from dimetric.plot._labels import are_numbers
    from dimetric.quality import embedding_quality

    n = len(X)
    if n < 4 or (X[0] == X).all():
        return None, ["There are no scores: these need at least 4 rows, and some that differ."]
    few = max(1, min(k, (n - 1) // 2))
    notes = [] if few == k else [f"The scores look at {few} neighbours: there are but {n} rows."]
    classes = None if y is None or are_numbers(y) else y
    sample = SAMPLE if n > MANY else None
    if sample:
        notes.append(f"The scores are means over {sample} of {n} rows, drawn at random.")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        quality = embedding_quality(
            X, Z, n_neighbors=few, y=classes, sample_size=sample, random_state=seed
        )
    return quality, notes + [str(each.message) for each in told]


def lines_of(quality: "EmbeddingQuality") -> list[str]:
    """Return the scores, a line each.

    Parameters
    ----------
    quality : EmbeddingQuality
        The scores.
    """
    lines = []
    for name, score in quality.scores().items():
        error = quality.standard_error.get(name, 0.0)
        wide = f" ± {error:.3f}" if error > 0 else ""
        lines.append(f"  {name:20} {score:6.3f}{wide}  (best: {BEST.get(name, 1)})")
    return lines


def draw(file: Path, Z: "np.ndarray", found: Read, title: str) -> list[str]:
    """Write a picture of an embedding; return what is to be said about it."""
    from dimetric.plot import EmbeddingDisplay

    shown = Z if Z.shape[1] <= 3 else Z[:, :2]
    color = found.table.target or ""
    display = EmbeddingDisplay.from_embedding(
        shown, found.samples.y, title=title, target_name=color
    )
    notes = write_picture(display.figure_, file)
    if Z.shape[1] > 3:
        notes.append(f"{file} shows the first 2 of {Z.shape[1]} dimensions.")
    return notes


def write(file: Path, Z: "np.ndarray", found: Read, name: str) -> None:
    """Write coordinates, with the numbers of the rows from 0 on, and the colour."""
    from dimetric.data._writers import ColumnWriter

    names = [f"{name}{i}" for i in range(Z.shape[1])]
    columns = {"row": found.samples.rows} | dict(zip(names, Z.T, strict=True))
    if found.samples.y is not None:
        own = str(found.table.target)
        columns[own if own not in columns else f"{own}_"] = found.samples.y
    with ColumnWriter(file, {"X": names}) as writer:
        writer.write(columns)


def _needs_labels(model: Any) -> bool:
    """Tell whether a method learns from classes."""
    tags = getattr(model, "__sklearn_tags__", None)
    try:
        return bool(tags is not None and tags().target_tags.required)
    except (AttributeError, TypeError):  # tags of another age
        return False


def _landmarks(model: Any, n: int, options: list[str]) -> list[str]:
    """Let methods whose time grows as n^2 look at some rows only; return what is to be said."""
    asked = any(each.partition("=")[0].strip() == "n_landmarks" for each in options)
    could = getattr(model, "n_landmarks", 0) is None and getattr(model, "algorithm", "") != "smacof"
    if asked or not could or n <= MANY or type(model).__module__.partition(".")[0] != "dimetric":
        return []
    model.set_params(n_landmarks=LANDMARKS)
    return [
        f"{type(model).__name__} places {n} rows by {LANDMARKS} of them: --option n_landmarks=None "
        "takes all, and n^2 time and memory."
    ]


def _fewer_components(model: Any, y: "np.ndarray | None", options: list[str]) -> list[str]:
    """Let methods that have fewer components than classes have them; return what is to be said."""
    import numpy as np

    asked = any(each.partition("=")[0].strip() == "n_components" for each in options)
    if type(model).__name__ not in ("LDA", "KDA") or asked or y is None:
        return []
    most = len(np.unique(y)) - 1
    if not 1 <= most < model.n_components:
        return []
    model.set_params(n_components=most)
    return [f"{type(model).__name__} has one dimension fewer than classes: {most}."]
