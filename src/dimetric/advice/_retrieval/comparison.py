"""The result of a comparison of retrieval methods."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dimetric.learners import RetrievalAdapter
from dimetric.stats import Posterior


@dataclass(frozen=True)
class QueryChange:
    """The change of a query's nDCG@10 by the adapter.

    Attributes
    ----------
    query : int
        Position of the query.
    before, after : float
        nDCG@10 without and with the adapter.
    text : str or None
        Text of the query, if given.
    group : object
        Group of the query, or None.
    first_before, first_after : int
        Position of the first document without and with the adapter.
    first_text_before, first_text_after : str or None
        Texts of these documents, if given.
    """

    query: int
    before: float
    after: float
    text: str | None
    group: Any
    first_before: int
    first_after: int
    first_text_before: str | None
    first_text_after: str | None


@dataclass(frozen=True)
class GroupGain:
    """Mean nDCG@10 of the queries of a group, without and with the adapter."""

    group: Any
    n_queries: int
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class RetrievalComparison:
    """The result of :func:`dimetric.advice.compare_retrieval`.

    Attributes
    ----------
    verdict : str
        Whether the adapter is better than the identity for new queries, in one sentence.
    posterior : Posterior
        Probabilities that the adapter is worse than the identity, equivalent, and better.
    scores : dict
        For each method, its mean scores over the held-out queries, such as ``"ndcg@10"``.
    query_scores : dict
        For each method, the nDCG@10 of every query, which is NaN for queries that were not tested.
    skipped : dict
        For each method that was not run, the reason.
    adapter : RetrievalAdapter
        The adapter, fitted to all queries.
    group_gains : tuple of GroupGain
        The gain of each group, largest loss first. Empty without groups.
    losers, winners : tuple of QueryChange
        Held-out queries that the adapter makes worse or better, largest change first.
    n_queries, n_documents, n_tested, n_folds : int
        Numbers of queries with relevant documents, documents, tested queries, and folds.
    split_by : {"query", "group"}
        What the folds divide.
    seconds : float
        Duration.
    """

    verdict: str
    posterior: Posterior
    scores: dict[str, dict[str, float]]
    query_scores: dict[str, np.ndarray]
    skipped: dict[str, str]
    adapter: RetrievalAdapter
    group_gains: tuple[GroupGain, ...] = ()
    losers: tuple[QueryChange, ...] = ()
    winners: tuple[QueryChange, ...] = ()
    n_queries: int = 0
    n_documents: int = 0
    n_tested: int = 0
    n_folds: int = 0
    split_by: str = "query"
    seconds: float = field(default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers, strings, lists and dictionaries."""
        names = ("n_queries", "n_documents", "n_tested", "n_folds", "split_by", "seconds")
        posterior = self.posterior
        return {
            "verdict": self.verdict,
            "posterior": {
                "worse": posterior.left,
                "equivalent": posterior.rope,
                "better": posterior.right,
            },
            "scores": {method: dict(values) for method, values in self.scores.items()},
            "skipped": dict(self.skipped),
            "adapter": {
                "is_identity": bool(self.adapter.is_identity_),
                "reg": self.adapter.metadata()["reg"],
                "scale": self.adapter.scale_,
                "sides": self.adapter.sides,
            },
            "group_gains": [asdict(each) for each in self.group_gains],
            "losers": [asdict(each) for each in self.losers],
            "winners": [asdict(each) for each in self.winners],
            **{name: getattr(self, name) for name in names},
        }

    def __str__(self) -> str:
        metrics = list(next(iter(self.scores.values())))
        width = max(len(method) for method in self.scores)
        lines = [self.verdict, "", " " * width + "".join(f"  {name:>12}" for name in metrics)]
        for method, values in self.scores.items():
            lines.append(method.ljust(width) + "".join(f"  {values[m]:12.4f}" for m in metrics))
        lines += [f"{method}: skipped, {reason}" for method, reason in self.skipped.items()]
        return "\n".join(lines)
