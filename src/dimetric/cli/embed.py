"""The verb ``embed``: a table in two dimensions or so, as a picture or as coordinates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._options import (
    Data,
    Drop,
    Header,
    Json,
    Missing,
    Seed,
    check_choice,
    parsed_options,
)
from dimetric.cli._picture import PICTURES, is_picture, no_window, write_picture
from dimetric.cli._read import read
from dimetric.cli._terminal import as_json, say

if TYPE_CHECKING:
    import numpy as np

    from dimetric.advice._embed import EmbeddedTable
    from dimetric.advice._table import TableSamples
    from dimetric.quality._embedding import EmbeddingQuality

BEST = {"stress": 0, "scaled_stress": 0, "residual_variance": 0, "procrustes": 0}  # others: 1

Method = Annotated[
    str,
    typer.Option(
        help="pca, kpca, mds, isomap, lle, lda, nca, ...; or module:Class of any transformer "
        "as scikit-learn's, such as umap:UMAP: that module is imported, and so runs."
    ),
]
Color = Annotated[
    str | None,
    typer.Option(
        help="Column that colours the picture, by name or number: classes or numbers. It is "
        "no feature; methods that learn from classes learn from it."
    ),
]
Out = Annotated[
    list[Path] | None,
    typer.Option(
        help="Picture (.png, .svg, .pdf) or coordinates (.csv, .parquet, .npz, ...), by the "
        "ending; may be given several times. (Default: DATA-METHOD.png.)"
    ),
]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option(help="Option of the method, as n_neighbors=8; may be given several times."),
]
Scale = Annotated[
    str,
    typer.Option(help="Scale features to 'standard' variance, 'minmax' [0, 1], or 'none'."),
]


def embed(
    data: Data,
    method: Method = "isomap",
    color: Color = None,
    out: Out = None,
    components: Annotated[int, typer.Option(min=1, help="Dimensions.")] = 2,
    option: MethodOptions = None,
    k: Annotated[int, typer.Option(min=1, help="Neighbours that the scores look at.")] = 5,
    scale: Scale = "standard",
    drop: Drop = "",
    missing: Missing = "drop",
    header: Header = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Embed the rows of a table, draw or write them, and print how faithful the embedding is."""
    from dimetric.advice._by_name import embedding_by_name
    from dimetric.advice._embed import embed_table, needs_classes
    from dimetric.advice._model import SCALERS
    from dimetric.advice._table import class_counts

    name = method.rpartition(":")[2].lower()
    files = _checked_files(out, data, name)
    params = parsed_options(option)
    model = embedding_by_name(method, params, n_components=components, random_state=seed)
    table = read(data, color, drop, missing, header, labelled=needs_classes(model))
    if table.y is not None and needs_classes(model):
        class_counts(table.y, str(table.target), "--color")
    check_choice("--scale", scale, SCALERS)
    found = embed_table(
        table,
        model,
        n_components=components,
        n_neighbors=k,
        scale=scale,
        missing=missing,
        random_state=seed,
        fixed=params,
    )
    notes = list(found.notes)
    for file in files:
        if is_picture(file):
            notes += draw(file, found.Z, table, f"{type(model).__name__} of {table.name}")
        else:
            write(file, found.Z, table, name)
    if json:
        as_json(_results(found, model) | {"written": files, "notes": notes})
        return
    say(*notes)
    n, d = found.X.shape
    mapped = f"{n} rows, {d} features to {found.Z.shape[1]}"
    print(f"{type(model).__name__}: {mapped}, {found.seconds:.1f} s")
    if found.quality is not None:
        print(*lines_of(found.quality), sep="\n")
    print(f"Written: {', '.join(str(file) for file in files)}")


def _checked_files(out: list[Path] | None, data: Path, name: str) -> list[Path]:
    """Return the files to write; raise, before any work is done, if one cannot be written."""
    from dimetric.data._files import table_name
    from dimetric.data._writers import WRITABLE_EXTENSIONS

    files = out or [Path(f"{table_name(data)}-{name}.png")]
    for file in files:
        if not is_picture(file) and not file.name.lower().endswith(WRITABLE_EXTENSIONS):
            kinds = ", ".join((*PICTURES, *WRITABLE_EXTENSIONS))
            raise ValueError(f"{file} is of no kind that can be written: end it in {kinds}.")
    if any(is_picture(file) for file in files):
        no_window()
    return files


def _results(found: "EmbeddedTable", model: Any) -> dict[str, Any]:
    quality = found.quality
    return {
        "method": type(model).__name__,
        "rows": len(found.Z),
        "features": found.X.shape[1],
        "components": found.Z.shape[1],
        "seconds": found.seconds,
        "scores": {} if quality is None else quality.scores(),
        "standard_errors": {} if quality is None else quality.standard_error,
        "n_neighbors": None if quality is None else quality.n_neighbors,
    }


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


def draw(file: Path, Z: "np.ndarray", table: "TableSamples", title: str) -> list[str]:
    """Write a picture of an embedding; return notes about it."""
    from dimetric.plot import EmbeddingDisplay

    shown = Z if Z.shape[1] <= 3 else Z[:, :2]
    display = EmbeddingDisplay.from_embedding(
        shown, table.y, title=title, target_name=table.target or ""
    )
    notes = write_picture(display.figure_, file)
    if Z.shape[1] > 3:
        notes.append(f"{file} shows the first 2 of {Z.shape[1]} dimensions.")
    return notes


def write(file: Path, Z: "np.ndarray", table: "TableSamples", name: str) -> None:
    """Write coordinates, with the numbers of the rows from 0 on, and the colour."""
    from dimetric.data._writers import ColumnWriter

    coordinates = [f"{name}{i}" for i in range(Z.shape[1])]
    columns = {"row": table.rows} | dict(zip(coordinates, Z.T, strict=True))
    if table.y is not None:
        color = str(table.target)
        columns[color if color not in columns else f"{color}_"] = table.y
    with ColumnWriter(file, {"X": coordinates}) as writer:
        writer.write(columns)
