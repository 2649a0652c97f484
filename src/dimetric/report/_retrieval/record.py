"""The contents of a report on retrieval."""

from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["CandidateRow", "ChangedQuery", "FoundDocument", "GroupRow", "RetrievalRecord"]


class CandidateRow(NamedTuple):
    """The scores of one map on the test queries.

    Attributes
    ----------
    name : str
        Name of the map.
    scores : dict of str to float
        Mean scores over the test queries, such as "nDCG@10". The first one is compared.
    gain, low, high : float
        Difference of the first score to that of the unchanged vectors, and its 95 % interval.
    """

    name: str
    scores: dict[str, float]
    gain: float
    low: float
    high: float


class GroupRow(NamedTuple):
    """Mean scores of the test queries of one group, before and after the map."""

    name: str
    n_queries: int
    before: float
    after: float

    @property
    def gain(self) -> float:
        """The difference of the scores."""
        return self.after - self.before


class FoundDocument(NamedTuple):
    """The text or id of a document that a query finds, and whether it is relevant."""

    text: str
    is_relevant: bool


class ChangedQuery(NamedTuple):
    """A test query, its scores, and its first documents before and after the map."""

    text: str
    group: str
    before: float
    after: float
    found_before: tuple[FoundDocument, ...]
    found_after: tuple[FoundDocument, ...]


@dataclass(frozen=True, eq=False)
class RetrievalRecord:
    """The contents of a report on retrieval.

    Attributes
    ----------
    name, source : str
        Name of the data, and the files.
    verdict, outcome : str
        Whether the adapter helps, in one sentence, and the scores.
    measure : str
        Name of the score, such as "nDCG@10".
    baseline, chosen : str
        Names of the unchanged vectors, and of the map in the model file.
    tested : str
        Name of the map that was tested against the unchanged vectors, which is shown in the tables
        of groups and queries.
    candidates : list of CandidateRow
        All maps, the best first.
    probabilities : dict of str to float
        Probability of each outcome: "worse", "equivalent" and "better".
    rope : float
        Difference of scores up to which maps count as equivalent.
    gains_of : str
        What the gains and intervals are means over, such as "queries".
    groups : list of GroupRow
        Scores of the groups, the largest gain first.
    losers, winners : list of ChangedQuery
        The test queries whose scores fell and rose most.
    n_worse, n_better, n_equal : int
        Number of test queries whose score fell, rose and did not change.
    counts : dict of str to int
        Sizes of the data, such as the number of queries.
    method : dict of str to str
        How it was done, by heading.
    notes : tuple of str
        What was left out, and why.
    model_file : str or None
        Name of the model file.
    sides : str
        Which sides the adapter maps.
    seconds : float
        Time of the comparison.
    random_state : int or None
        Random seed.
    versions : dict of str to str
        Versions of the packages.
    """

    name: str
    source: str
    verdict: str
    outcome: str
    measure: str
    baseline: str
    chosen: str
    tested: str
    candidates: list[CandidateRow]
    probabilities: dict[str, float]
    rope: float
    gains_of: str
    groups: list[GroupRow]
    losers: list[ChangedQuery]
    winners: list[ChangedQuery]
    n_worse: int
    n_better: int
    n_equal: int
    counts: dict[str, int]
    method: dict[str, str]
    notes: tuple[str, ...] = ()
    model_file: str | None = None
    sides: str = "query"
    seconds: float = 0.0
    random_state: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
