"""The verb ``fit``: learn a distance from a table, and write the model."""

import warnings
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from dimetric.cli._model import (
    Drop,
    Header,
    Json,
    Missing,
    Target,
    class_counts,
    learner_from,
    pipeline,
    read,
)
from dimetric.cli._terminal import as_json, say


def fit(
    data: Annotated[Path, typer.Argument(help="Table: CSV (perhaps .gz), Parquet or NPZ (X, y).")],
    out: Annotated[Path, typer.Option(help="File of the model, called *.dimetric.")],
    target: Target = None,
    learner: Annotated[str, typer.Option(help="Learner, as NCA, LMNN, PCA; or Euclidean.")] = "NCA",
    option: Annotated[
        list[str] | None,
        typer.Option(help="Option of the learner, as n_components=2; may be given several times."),
    ] = None,
    k: Annotated[int, typer.Option(min=1, help="Neighbours that vote.")] = 3,
    scale: Annotated[
        str,
        typer.Option(help="Scale features to 'minmax' [0, 1], 'standard' variance, or 'none'."),
    ] = "minmax",
    drop: Drop = "",
    missing: Missing = "drop",
    header: Header = None,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random.")] = 0,
    json: Json = False,
) -> None:
    """Learn a distance from a table, and write the model.

    With classes (--target) the model predicts by nearest neighbours under the learned distance;
    PCA, KPCA, Covariance, MDS, Isomap and LLE need none. Texts are categories, and one-hot.
    """
    import dimetric
    from dimetric._files import atomic

    made = learner_from(learner, option or [], seed)
    labelled = made is None or made.__sklearn_tags__().target_tags.required
    found = read(data, target, drop, missing, header, labelled=labelled)
    samples, table = found.samples, found.table
    y = samples.y
    classes = {} if y is None else class_counts(y, str(table.target))
    model = pipeline(made, k=None if y is None else k, scale=scale, missing=missing)
    about = {"data": str(data), "target": table.target, "rows": len(samples.rows)}
    # The file is begun first: where nothing can be written, nothing need be learned.
    with atomic(out) as begun, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        started = perf_counter()
        model.fit(samples.columns, y)
        seconds = perf_counter() - started
        dimetric.save(model, begun, about=about)
    notes = [*found.notes, *model[0].notes_, *dict.fromkeys(str(each.message) for each in told)]
    score = None if y is None else float(model[-1].score())
    if json:
        as_json(
            {"model": out, "rows": len(samples.rows), "features": model[-1].n_features_in_,
             "target": table.target, "classes": classes, "seconds": seconds,
             "left_one_out": score, "notes": notes}
        )  # fmt: skip
        return
    say(*notes)
    name = type(made).__name__ if made is not None else "Euclidean"
    print(f"{name}: {len(samples.rows)} rows, {model[-1].n_features_in_} features, {seconds:.1f} s")
    if classes:
        told_classes = ", ".join(f"{name} {count}" for name, count in list(classes.items())[:10])
        others = f" and {len(classes) - 10} more" if len(classes) > 10 else ""
        print(f"{len(classes)} classes: {told_classes}{others}")
        print(f"Share of rows that their {k} nearest neighbours give their class: {score:.3f}")
        print("(each left out of the vote, but not of the learning: 'dimetric compare' judges)")
    print(f"Written: {out}")
