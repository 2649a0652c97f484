"""Judging what was learned: by pairs and triplets that were held out."""

from dimetric.evaluate.pairs import PairSearch, cross_validate_pairs, search_pairs

__all__ = ["PairSearch", "cross_validate_pairs", "search_pairs"]
