"""The record of a report on retrieval."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import t as t_distribution

from dimetric._versions import installed_versions
from dimetric.advice._retrieval.compare import CRITERION, ROPE
from dimetric.advice._retrieval.comparison import QueryChange, RetrievalComparison
from dimetric.advice._retrieval.held_out import ADAPTER, IDENTITY
from dimetric.data._retrieval.join import RetrievalData
from dimetric.quality.retrieval import grouped_means
from dimetric.report import (
    CandidateRow,
    ChangedQuery,
    FoundDocument,
    GroupRow,
    RetrievalRecord,
)

MAX_QUERIES = 10  # of those that got worse, and of those that got better
CONFIDENCE = 0.95
PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn")
MEASURES = {"ndcg": "nDCG", "mrr": "MRR", "map": "mAP"}  # other names stay as they are


def retrieval_record(
    comparison: RetrievalComparison,
    data: RetrievalData,
    *,
    source: str,
    model_file: str | None,
    random_state: int | None,
) -> RetrievalRecord:
    """Return the contents of a report.

    Parameters
    ----------
    comparison : RetrievalComparison
        The result of a comparison.
    data : RetrievalData
        The data that were compared.
    source : str
        The files of the data.
    model_file : str or None
        The file that holds the adapter.
    random_state : int or None
        Random seed of the comparison.
    """
    posterior, adapter = comparison.posterior, comparison.adapter
    candidates = candidate_rows(comparison, data.groups)
    n_better, n_worse = len(comparison.winners), len(comparison.losers)
    return RetrievalRecord(
        name=data.name,
        source=source,
        verdict=comparison.verdict,
        outcome=outcome(comparison),
        measure=measure_name(CRITERION),
        baseline=IDENTITY,
        chosen=IDENTITY if adapter.is_identity_ else ADAPTER,
        tested=ADAPTER,
        candidates=candidates,
        probabilities={
            "worse": posterior.left,
            "equivalent": posterior.rope,
            "better": posterior.right,
        },
        rope=ROPE,
        gains_of="groups" if comparison.split_by == "group" else "queries",
        groups=[
            GroupRow(str(each.group), each.n_queries, each.before, each.after)
            for each in comparison.group_gains
        ],
        losers=_changes(comparison.losers, data),
        winners=_changes(comparison.winners, data),
        n_worse=n_worse,
        n_better=n_better,
        n_equal=comparison.n_tested - n_worse - n_better,
        counts={
            "queries": len(data.queries),
            "documents": len(data.documents),
            "judged pairs": len(data.relevance),
            "features": data.queries.shape[1],
        },
        method=_method(comparison),
        notes=data.notes,
        model_file=model_file,
        sides=adapter.sides,
        seconds=comparison.seconds,
        random_state=random_state,
        versions={name: each for name, each in installed_versions(PACKAGES).items() if each},
    )


def measure_name(metric: str) -> str:
    """Return the name of a score as it is written in a text.

    Examples
    --------
    >>> measure_name("ndcg@10"), measure_name("map@100")
    ('nDCG@10', 'mAP@100')
    """
    name, _, k = metric.partition("@")
    return f"{MEASURES.get(name, name)}@{k}"


def outcome(comparison: RetrievalComparison) -> str:
    """Return sentences on the scores, and on an adapter that is the identity."""
    before, after = (comparison.scores[name][CRITERION] for name in (IDENTITY, ADAPTER))
    new = "new groups" if comparison.split_by == "group" else "queries"
    text = (
        f"For {comparison.n_tested:,} {new if new == 'queries' else 'queries of ' + new} that it "
        f"had not seen, {measure_name(CRITERION)} is {after:.3f} with the adapter and {before:.3f} "
        "without."
    )
    if comparison.adapter.is_identity_:
        reason = comparison.adapter.metadata()["reason"]
        text += f" The model file contains the initial maps, because {reason}."
    return text


def candidate_rows(
    comparison: RetrievalComparison, groups: np.ndarray | None
) -> list[CandidateRow]:
    """Return the scores of all maps, the best first, with the interval of their gains."""
    rows = []
    base = comparison.query_scores[IDENTITY]
    for name, scores in comparison.scores.items():
        gains = comparison.query_scores[name] - base
        if comparison.split_by == "group":
            gains = np.array(list(grouped_means(gains, groups).values()))
        gains = gains[~np.isnan(gains)]
        rows.append(
            CandidateRow(
                name,
                {measure_name(metric): value for metric, value in scores.items()},
                float(np.mean(gains)),
                *_interval(gains),
            )
        )
    return sorted(rows, key=lambda row: -row.scores[measure_name(CRITERION)])


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Return the confidence interval of a mean."""
    n = len(values)
    if n < 2:
        return float(values[0]), float(values[0])
    half = t_distribution.ppf((1 + CONFIDENCE) / 2, n - 1) * np.std(values, ddof=1) / n**0.5
    mean = np.mean(values)
    return float(mean - half), float(mean + half)


def _changes(changes: Sequence[QueryChange], data: RetrievalData) -> list[ChangedQuery]:
    def found(query: int, document: int) -> tuple[FoundDocument, ...]:
        text = _text(data.document_texts, data.document_ids, document)
        return (FoundDocument(text, bool(np.isin(document, data.relevance.of_query(query)))),)

    return [
        ChangedQuery(
            _text(data.query_texts, data.query_ids, each.query),
            "" if each.group is None else str(each.group),
            each.before,
            each.after,
            found(each.query, each.first_before),
            found(each.query, each.first_after),
        )
        for each in changes[:MAX_QUERIES]
    ]


def _text(texts: Sequence[str] | None, ids: Sequence[str], position: int) -> str:
    text = "" if texts is None else texts[position]
    return text or ids[position]


def _method(comparison: RetrievalComparison) -> dict[str, Any]:
    adapter, by_group = comparison.adapter, comparison.split_by == "group"
    metadata = adapter.metadata()
    over = "groups" if by_group else "queries"
    reg = "initial maps" if metadata["is_identity"] else f"reg={metadata['reg']:g}"
    method = {
        "Test": f"The {over} were divided into folds. In {comparison.n_folds} "
        f"{'fold' if comparison.n_folds == 1 else 'folds'}, the maps and their parameters were "
        "learned without the queries of the fold, and tested on these queries. The probabilities "
        f"come from a Bayesian paired t-test over {over}. Differences of at most {ROPE:g} "
        "count as equivalent.",
        "Adapter": f"sides={adapter.sides!r}, {metadata['n_components']} components, "
        f"{reg}, scale={adapter.scale_:g}, fitted to all queries.",
    }
    if comparison.skipped:
        parts = [f"{name}: {reason}" for name, reason in comparison.skipped.items()]
        method["Skipped maps"] = f"{'. '.join(parts)}."
    return method
