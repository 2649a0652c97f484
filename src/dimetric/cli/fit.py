"""The verb ``fit``: learn a distance from a table, and write the model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dimetric.cli._options import (
    Data,
    Drop,
    Header,
    Json,
    LearnerOptions,
    Missing,
    Seed,
    Target,
    Voters,
    check_choice,
)
from dimetric.cli._read import learner_from, read
from dimetric.cli._terminal import as_json, say

MAX_SHOWN_CLASSES = 10


def fit(
    data: Data,
    out: Annotated[Path, typer.Option(help="File of the model, called *.dimetric.")],
    target: Target = None,
    learner: Annotated[
        str, typer.Option(help="Learner, such as NCA, LMNN or PCA; or Euclidean.")
    ] = "NCA",
    option: LearnerOptions = None,
    k: Voters = 3,
    scale: Annotated[
        str,
        typer.Option(help="Scale features to 'minmax' [0, 1], 'standard' variance, or 'none'."),
    ] = "minmax",
    drop: Drop = "",
    missing: Missing = "drop",
    header: Header = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Learn a distance from a table, and write the model.

    With classes (--target), the model predicts by nearest neighbours under the learned distance.
    PCA, KPCA, Covariance, MDS, Isomap and LLE need no classes. Text columns are categories and are
    encoded one-hot.
    """
    import dimetric
    from dimetric._files import atomic
    from dimetric.advice._model import SCALERS, fit_table
    from dimetric.advice._table import class_counts

    made = learner_from(learner, option, seed)
    labelled = made is None or made.__sklearn_tags__().target_tags.required
    table = read(data, target, drop, missing, header, labelled=labelled)
    classes = {} if table.y is None else class_counts(table.y, str(table.target), "--target")
    check_choice("--scale", scale, SCALERS)
    n_rows = len(table.rows)
    # The file is begun first: if it cannot be written, nothing is learned.
    with atomic(out) as begun:
        found = fit_table(table, made, n_neighbors=k, scale=scale, missing=missing)
        about = {"data": str(data), "target": table.target, "rows": n_rows}
        dimetric.save(found.model, begun, about=about)
    results = {
        "model": out,
        "rows": n_rows,
        "features": found.model[-1].n_features_in_,
        "target": table.target,
        "classes": classes,
        "seconds": found.seconds,
        "leave_one_out_accuracy": found.leave_one_out_accuracy,
        "notes": found.notes,
    }
    if json:
        as_json(results)
    else:
        _show(results, type(made).__name__ if made is not None else "Euclidean", k)


def _show(results: dict[str, Any], name: str, k: int) -> None:
    say(*results["notes"])
    rows, features, seconds = (results[each] for each in ("rows", "features", "seconds"))
    print(f"{name}: {rows} rows, {features} features, {seconds:.1f} s")
    classes = results["classes"]
    if classes:
        shown = list(classes.items())[:MAX_SHOWN_CLASSES]
        told = ", ".join(f"{name} {count}" for name, count in shown)
        others = f" and {len(classes) - len(shown)} more" if len(classes) > len(shown) else ""
        score = results["leave_one_out_accuracy"]
        print(f"{len(classes)} classes: {told}{others}")
        print(f"Share of rows that their {k} nearest neighbours give their class: {score:.3f}")
        print("(each left out of the vote, but not of the learning: 'dimetric compare' judges)")
    print(f"Written: {results['model']}")
