"""Judging what was learned: the quality of embeddings, and which of several learners is better."""

from dimetric.evaluate.bayes import Posterior, correlated_t_test, sign_test, signed_rank_test
from dimetric.evaluate.quality import EmbeddingQuality, embedding_quality, trustworthiness
from dimetric.evaluate.ranking import Averages, averages, ranks

__all__ = [
    "Averages",
    "EmbeddingQuality",
    "Posterior",
    "averages",
    "correlated_t_test",
    "embedding_quality",
    "ranks",
    "sign_test",
    "signed_rank_test",
    "trustworthiness",
]
