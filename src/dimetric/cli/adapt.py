"""The verb ``adapt``: learn a map of embeddings for retrieval, and test whether it helps."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dimetric._files import check_writable
from dimetric.cli._checks import STANDARD_OUTPUT_NAME, model_file, refuse_inputs
from dimetric.cli._options import Json, Seed, UsageError, check_choice
from dimetric.cli._terminal import counted, print_json, print_lines, print_notes, spinner, wrote

if TYPE_CHECKING:
    from dimetric.advice import RetrievalComparison
    from dimetric.data import RetrievalData

SIDES = ("query", "both", "two")
ITEMS_HELP = (
    "Parquet, Feather, NPZ, JSON lines or CSV with an id, a vector and, optionally, a text for each"
)
Queries = Annotated[Path | None, typer.Option(metavar="FILE", help=f"Queries: {ITEMS_HELP} query.")]
Documents = Annotated[
    Path | None, typer.Option(metavar="FILE", help=f"Documents: {ITEMS_HELP} document.")
]
Relevance = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Table of relevant pairs with the columns query_id and document_id and, optionally, "
        "score (grades) or clicks.",
    ),
]
Beir = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Directory in the layout of BEIR, with vectors in corpus.npz and queries.npz or in "
        "Parquet files. Replaces the three options above.",
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --beir: table qrels/NAME.tsv to use. (Default: 'train', or all tables.)",
    ),
]
QueryGroups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of the queries with the group of each query, such as its topic. The test then "
        "uses new groups, not only new queries.",
    ),
]
Sides = Annotated[
    str,
    typer.Option(
        metavar="SIDES",
        help="Map the queries only, so that no document is indexed again ('query'), both by one "
        "matrix ('both'), or both by two matrices ('two').",
    ),
]
Components = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Number of components. (Default: that of the vectors.)"),
]
Budget = Annotated[float, typer.Option(metavar="SECONDS", help="Approximate time in seconds.")]
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Report to write. (Default: --out with the extension .html.)"
    ),
]


def adapt(
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Model file to write, with the extension .dimetric."),
    ],
    queries: Queries = None,
    documents: Documents = None,
    relevance: Relevance = None,
    beir: Beir = None,
    split: Split = None,
    groups: QueryGroups = None,
    sides: Sides = "query",
    components: Components = None,
    budget: Budget = 300.0,
    report: Report = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Learn a map of embeddings for retrieval, and test whether it helps.

    Queries and documents are vectors of any embedding model, which is not
    trained again. Writes the adapter and a report (one HTML file) that compares
    it with the unchanged vectors and other maps on queries that were held out.
    """
    files = {"--queries": queries, "--documents": documents, "--relevance": relevance}
    _check_usage(files, beir, split, budget)
    check_choice("--sides", sides, SIDES)
    out = model_file(out, json)
    page = _report_file(report, out)
    given = [each for each in files.values() if each is not None]
    for each in [out] if page is None else [out, page]:
        refuse_inputs(each, given)
    from dimetric._files import atomic_write
    from dimetric.advice import compare_retrieval
    from dimetric.learners import RetrievalAdapter

    with spinner("Reading the data") as show, atomic_write(out) as temporary:
        data = _read(files, beir, split, groups)
        if show is not None:
            show(f"Comparing maps on {counted(len(data.queries), 'query').replace('ys', 'ies')}")
        comparison = compare_retrieval(
            data.queries,
            data.documents,
            data.relevance,
            groups=data.groups,
            query_texts=data.query_texts,
            document_texts=data.document_texts,
            adapter=RetrievalAdapter(components, sides=sides),
            budget=budget,
            random_state=seed,
        )
        _write(comparison, data, temporary, out, page, beir or queries, seed)
    results = _results(comparison, data, out, page)
    if json:
        print_json(results)
    else:
        _print_results(results, comparison, data)


def _check_usage(
    files: dict[str, Path | None], beir: Path | None, split: str | None, budget: float
) -> None:
    """Raise if the options are incomplete or contradict each other."""
    lacking = [name for name, path in files.items() if path is None]
    if beir is None and lacking:
        raise UsageError(f"{' and '.join(lacking)} must be given, or --beir DIR instead.")
    if beir is not None and len(lacking) < len(files):
        raise UsageError("--beir replaces --queries, --documents and --relevance.")
    if beir is None and split is not None:
        raise UsageError("--split requires --beir.")
    if not 0 < budget < float("inf"):
        raise typer.BadParameter(f"--budget must be a finite number > 0, not {budget:g}.")


def _report_file(report: Path | None, out: Path) -> Path | None:
    """Return the report to write. None if the model goes to standard output."""
    if report is None and (str(out) == STANDARD_OUTPUT_NAME or not out.suffix):
        return None
    page = out.with_suffix(".html") if report is None else report
    check_writable(page)
    return page


def _read(
    files: dict[str, Path | None], beir: Path | None, split: str | None, groups: str | None
) -> "RetrievalData":
    from dimetric.data import read_beir, read_retrieval

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # data.notes repeats the warnings
        if beir is not None:
            return read_beir(beir, split=split, groups=groups)
        paths: Any = files.values()
        return read_retrieval(*paths, groups=groups)


def _write(
    comparison: "RetrievalComparison",
    data: "RetrievalData",
    temporary: Path,
    out: Path,
    page: Path | None,
    source: Path | None,
    seed: int,
) -> None:
    """Write the model and the report."""
    import dimetric
    from dimetric._files import atomic_write
    from dimetric.advice._retrieval.record import outcome, retrieval_record
    from dimetric.report import render_retrieval_report

    about = {
        "data": str(source),
        "queries": len(data.queries),
        "documents": len(data.documents),
        "verdict": comparison.verdict,
        "test": outcome(comparison),
    }
    dimetric.save(comparison.adapter, temporary, about=about)
    if page is not None:
        record = retrieval_record(
            comparison, data, source=str(source), model_file=out.name, random_state=seed
        )
        with atomic_write(page) as file:
            file.write_text(render_retrieval_report(record), encoding="utf-8")


def _results(
    comparison: "RetrievalComparison", data: "RetrievalData", out: Path, page: Path | None
) -> dict[str, Any]:
    """Return the results as a dictionary, for JSON."""
    from dimetric.advice._retrieval.record import candidate_rows

    results = comparison.as_dict()
    rows = candidate_rows(comparison, data.groups)
    gains = {row.name: {"mean": row.gain, "interval": [row.low, row.high]} for row in rows}
    for change in results["losers"] + results["winners"]:
        change["id"] = data.query_ids[change["query"]]
    return {
        "model": out,
        "report": page,
        "data": data.name,
        "features": data.queries.shape[1],
        "pairs": len(data.relevance),
        "gains": gains,
        **results,
        "notes": list(data.notes),
    }


def _print_results(
    results: dict[str, Any], comparison: "RetrievalComparison", data: "RetrievalData"
) -> None:
    from dimetric.advice._retrieval.record import candidate_rows, outcome

    print_notes(*data.notes)
    rows = candidate_rows(comparison, data.groups)
    width = max(len(row.name) for row in rows)
    measures = list(rows[0].scores)
    lines = [
        f"{len(data.queries):,} queries, {len(data.documents):,} documents, "
        f"{len(data.relevance):,} judged pairs, {data.queries.shape[1]} features",
        " " * width + "".join(f"  {name:>12}" for name in measures) + "  gain (95 % interval)",
    ]
    for row in rows:
        scores = "".join(f"  {value:12.4f}" for value in row.scores.values())
        gain = f"  {row.gain:+.4f} ({row.low:+.4f} to {row.high:+.4f})"
        lines.append(f"{row.name:{width}}{scores}{'' if row.name == 'identity' else gain}")
    lines += [f"{name}: skipped, {reason}" for name, reason in comparison.skipped.items()]
    lines += [comparison.verdict, outcome(comparison)]
    out, page = results["model"], results["report"]
    adapter = comparison.adapter
    size = f"{adapter.query_components_.shape[0]} components"
    lines.append(wrote(out, "RetrievalAdapter", f"sides={adapter.sides}", size))
    if page is not None:
        lines.append(wrote(page))
    print_lines(*lines, out=out)
