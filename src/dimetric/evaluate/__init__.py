"""Judging what was learned: embeddings by their quality, distances by held-out pairs."""

from dimetric.evaluate.pairs import PairSearch, cross_validate_pairs, search_pairs
from dimetric.evaluate.quality import EmbeddingQuality, embedding_quality, trustworthiness

__all__ = [
    "EmbeddingQuality",
    "PairSearch",
    "cross_validate_pairs",
    "embedding_quality",
    "search_pairs",
    "trustworthiness",
]
