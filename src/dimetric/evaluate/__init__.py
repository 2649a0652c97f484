"""Judging what was learned: the quality of embeddings."""

from dimetric.evaluate.quality import EmbeddingQuality, embedding_quality, trustworthiness

__all__ = ["EmbeddingQuality", "embedding_quality", "trustworthiness"]
