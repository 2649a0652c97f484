"""The verb ``embed``: map a table to few dimensions, and write a plot or the coordinates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric.cli._apply import EscapeFormulas, formula_notes
from dimetric.cli._checks import refuse_folder, refuse_inputs
from dimetric.cli._options import (
    Auto,
    Data,
    Drop,
    Header,
    Json,
    MaxMemory,
    Missing,
    Seed,
    Sheet,
    Sql,
    check_choice,
    parsed_options,
)
from dimetric.cli._picture import (
    PICTURE_EXTENSIONS,
    is_picture,
    use_headless_backend,
    write_picture,
)
from dimetric.cli._read import read, sample_options
from dimetric.cli._terminal import counted, print_json, print_lines, print_notes, spinner

if TYPE_CHECKING:
    import numpy as np

    from dimetric.advice._colors import Colors
    from dimetric.advice._embed import EmbeddedTable
    from dimetric.advice._table import TableSamples
    from dimetric.quality._embedding import EmbeddingQuality

# The best value of each score (None: it depends on the number of rows), and what the score means.
SCORES = {
    "trustworthiness": (1, "whether neighbours in the embedding are also near in the data"),
    "continuity": (1, "whether neighbours in the data are also near in the embedding"),
    "knn_preservation": (1, "fraction of nearest neighbours that stay nearest neighbours"),
    "lcmc": (None, "knn_preservation, minus its value for random points"),
    "neighborhood_hit": (1, "fraction of neighbours in the embedding that have the same class"),
    "r_nx_auc": (1, "how well neighbourhoods of all sizes are kept; random points have 0"),
    "stress": (0, "relative error of the distances between rows"),
    "scaled_stress": (0, "stress after the best scaling of the embedding"),
    "shepard_correlation": (1, "rank correlation of distances in the data and in the embedding"),
    "residual_variance": (0, "1 - squared correlation of the distances"),
    "procrustes": (0, "error of the positions after the best rotation and scaling"),
}
# Scores that are printed by default. Without classes, the distances take the third place.
MAIN_SCORES = ("trustworthiness", "continuity", "neighborhood_hit", "shepard_correlation")
N_MAIN_SCORES = 3

Method = Annotated[
    str,
    typer.Option(
        metavar="METHOD",
        help="Method of dimetric (pca, kpca, mds, isomap, lle, lda, nca, ...), tsne, one of umap, "
        "pacmap and trimap if it is installed, or module:Class of a transformer with "
        "scikit-learn's interface, such as sklearn.manifold:SpectralEmbedding. The module is "
        "imported, so its code runs.",
    ),
]
Color = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of classes or numbers that sets the colours: its name, or its number from "
        "0. It is not used as a feature. Supervised methods use it as the target.",
    ),
]
Out = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="File to write. The extension selects a plot (.png, .svg, .pdf) or coordinates "
        "(.csv, .parquet, .npz, ...). Repeatable. (Default: DATA-METHOD.png.)",
    ),
]
Scores = Annotated[
    bool,
    typer.Option("--scores/--no-scores", help="Whether to compute the quality scores."),
]
AllScores = Annotated[
    bool, typer.Option("--all-scores", help="Print all quality scores, not only the main three.")
]
Dark = Annotated[bool, typer.Option("--dark", help="Draw the plot on a dark background.")]
MaxRows = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=2,
        help="Largest number of rows that the method is fitted to. Larger tables are sampled. "
        "(Default: all rows for pca, lda, covariance and mds; 50,000 for umap, pacmap and "
        "trimap; 20,000 for kernel methods; 5,000 for tsne, isomap, lle and other learners.)",
    ),
]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="Parameter of the method, such as n_neighbors=8. Repeatable."
    ),
]
Scale = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="Scale features to zero mean and unit variance ('standard'), to [0, 1] ('minmax'), "
        "by median and quartiles ('robust'), or not at all ('none').",
    ),
]


def embed(
    data: Data,
    method: Method = "isomap",
    color: Color = None,
    out: Out = None,
    components: Annotated[int, typer.Option(metavar="N", min=1, help="Number of dimensions.")] = 2,
    option: MethodOptions = None,
    k: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Number of neighbours used by the quality scores."),
    ] = 5,
    scale: Scale = "standard",
    scores: Scores = True,
    all_scores: AllScores = False,
    dark: Dark = False,
    max_rows: MaxRows = None,
    drop: Drop = "",
    missing: Missing = "auto",
    auto: Auto = False,
    max_memory: MaxMemory = None,
    escape_formulas: EscapeFormulas = False,
    header: Header = None,
    sheet: Sheet = None,
    sql: Sql = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Map a table to two dimensions, write a plot or the coordinates, and print quality scores."""
    from dimetric.advice._by_name import embedding_by_name, short_name
    from dimetric.advice._embed import embed_table, needs_classes
    from dimetric.advice._model import SCALERS
    from dimetric.advice._table import class_counts

    name = short_name(method)
    files = _checked_files(out, data, name, dark=dark)
    params = parsed_options(option)
    model = embedding_by_name(method, params, n_components=components, random_state=seed)
    supervised = needs_classes(model)
    table = read(
        data,
        color,
        drop,
        missing,
        header,
        needs_target=supervised,
        option="--color",
        sheet=sheet,
        sql=sql,
        auto=auto,
        keeps_missing_target=not supervised,
        sample=sample_options(max_memory, seed),
    )
    if table.y is not None and supervised:
        class_counts(table.y, str(table.target), "--color")
    check_choice("--scale", scale, SCALERS)
    with spinner(f"Encoding {table.name}") as show:
        embedded = embed_table(
            table,
            model,
            n_components=components,
            n_neighbors=k,
            scale=scale,
            missing=missing,
            random_state=seed,
            fixed=params,
            max_rows=max_rows,
            scores=scores or all_scores,
            callback=show,
        )
        notes = embedded.notes + _write_files(embedded, files, model, name, escape_formulas)
    if json:
        print_json(_results(embedded, model) | {"written": files, "notes": notes})
        return
    print_notes(*notes)
    n, d = embedded.X.shape
    sizes = f"from {counted(d, 'feature')} to {counted(embedded.Z.shape[1], 'dimension')}"
    lines = [f"{type(model).__name__}: {counted(n, 'row')}, {sizes}, {embedded.seconds:.1f} s"]
    if embedded.quality is not None:
        lines += quality_lines(embedded.quality, show_all=all_scores)
    print_lines(*lines, f"Wrote {', '.join(str(file) for file in files)}", out=files)


def _write_files(
    embedded: "EmbeddedTable", files: list[Path], model: Any, name: str, escape_formulas: bool
) -> list[str]:
    """Write plots and coordinates. Return notes about them."""
    table, notes = embedded.table, []
    for file in files:
        if is_picture(file):
            title = f"{type(model).__name__} of {table.name}"
            notes += plot(file, embedded.Z, embedded.colors, title)
        else:
            n_formulas = write(file, embedded.Z, table, name, escape_formulas=escape_formulas)
            notes += formula_notes(n_formulas, file, escape_formulas)
    return list(dict.fromkeys(notes))


def _checked_files(
    out: list[Path] | None, data: list[Path], name: str, *, dark: bool = False
) -> list[Path]:
    """Return the files to write. Raise if an extension is not supported."""
    from dimetric.data._files import tables_name
    from dimetric.data._writers import WRITABLE_EXTENSIONS, is_writable_table

    files = out or [Path(f"{tables_name(data)}-{name}.png")]
    for file in files:
        refuse_folder(file, "plot.png")
        refuse_inputs(file, data)
        if not is_picture(file) and not is_writable_table(file):
            raise ValueError(
                f"Unsupported file type: {file}. Use {', '.join(PICTURE_EXTENSIONS)} for a plot, "
                f"or {', '.join(WRITABLE_EXTENSIONS)} for the coordinates."
            )
    if any(is_picture(file) for file in files):
        use_headless_backend(dark=dark)
    return files


def _results(embedded: "EmbeddedTable", model: Any) -> dict[str, Any]:
    quality = embedded.quality
    return {
        "method": type(model).__name__,
        "rows": len(embedded.Z),
        "features": embedded.X.shape[1],
        "components": embedded.Z.shape[1],
        "seconds": embedded.seconds,
        "scores": {} if quality is None else quality.scores(),
        "standard_errors": {} if quality is None else quality.standard_error,
        "n_neighbors": None if quality is None else quality.n_neighbors,
    }


def quality_lines(quality: "EmbeddingQuality", *, show_all: bool = False) -> list[str]:
    """Return one line for each score, with its meaning.

    Parameters
    ----------
    quality : EmbeddingQuality
        The scores.
    show_all : bool, default=False
        Whether to return all scores instead of the main three.
    """
    scores = quality.scores()
    if not show_all:
        main = [each for each in MAIN_SCORES if each in scores][:N_MAIN_SCORES]
        scores = {each: scores[each] for each in main}
    lines = []
    # lcmc is the fraction of neighbours kept, minus that of random points, k / (n - 1).
    max_lcmc = 1 - quality.n_neighbors / (len(quality.q_nx) + 1)
    for name, score in scores.items():
        error = quality.standard_error.get(name, 0.0)
        plus_minus = f" ± {error:.3f}" if error > 0 else ""
        best, meaning = SCORES[name]
        best_text = f"(best {max_lcmc if best is None else best:.3g})"
        lines.append(f"  {name:19} {score:6.3f}{plus_minus} {best_text:12}  {meaning}")
    return lines


def plot(file: Path, Z: "np.ndarray", colors: "Colors | None", title: str) -> list[str]:
    """Write a plot of an embedding. Rows without a colour are grey. Return notes about it."""
    from dimetric.plot import EmbeddingDisplay
    from dimetric.plot._points import draw_grey

    shown = Z if Z.shape[1] <= 3 else Z[:, :2]
    notes = [] if colors is None else list(colors.notes)
    if colors is None or colors.values is None:
        display = EmbeddingDisplay.from_embedding(shown, title=title)
    else:
        display = EmbeddingDisplay.from_embedding(
            shown[colors.known], colors.values, title=title, target_name=colors.label
        )
        draw_grey(display.ax_, shown[~colors.known], len(shown))
    notes += write_picture(display.figure_, file)
    if Z.shape[1] > 3:
        notes.append(f"{file} shows the first 2 of {Z.shape[1]} dimensions.")
    return notes


def write(
    file: Path,
    Z: "np.ndarray",
    table: "TableSamples",
    name: str,
    *,
    escape_formulas: bool = False,
) -> int:
    """Write the row indices, the coordinates, and the colour column if there is one.

    Return the number of texts in a CSV file that a spreadsheet program would run as formulas.
    """
    from dimetric.advice._colors import written_values
    from dimetric.data._writers import ColumnWriter

    coordinates = [f"{name}{i}" for i in range(Z.shape[1])]
    columns = {"row": table.rows} | dict(zip(coordinates, Z.T, strict=True))
    if table.y is not None:
        color = str(table.target)
        columns[color if color not in columns else f"{color}_"] = written_values(table.y)
    with ColumnWriter(file, {"X": coordinates}, escape_formulas=escape_formulas) as writer:
        writer.write(columns)
    return writer.n_formula_cells
