"""Judging what was learned: the quality of embeddings, and which of several learners is better."""

from dimetric.evaluate.bayes import Posterior, correlated_t_test, sign_test, signed_rank_test
from dimetric.evaluate.compare import Comparison, compare
from dimetric.evaluate.dimension import choose_dimension
from dimetric.evaluate.neighborhood import Neighborhood, before_and_after, neighborhood
from dimetric.evaluate.pairs import PairSearch, cross_validate_pairs, search_pairs
from dimetric.evaluate.quality import EmbeddingQuality, embedding_quality, trustworthiness
from dimetric.evaluate.ranking import Averages, averages, ranks
from dimetric.evaluate.spectrum import eigenvalue_shares, residual_variances
from dimetric.evaluate.store import Cell, Store
from dimetric.evaluate.summary import LearnerScores, summary
from dimetric.evaluate.tune import Tuned, tune, tune_knn
from dimetric.evaluate.validate import CrossValidation, cross_validate, metadata_cross_validate

__all__ = [
    "Averages",
    "Cell",
    "Comparison",
    "CrossValidation",
    "EmbeddingQuality",
    "LearnerScores",
    "Neighborhood",
    "PairSearch",
    "Posterior",
    "Store",
    "Tuned",
    "averages",
    "before_and_after",
    "choose_dimension",
    "compare",
    "correlated_t_test",
    "cross_validate",
    "cross_validate_pairs",
    "eigenvalue_shares",
    "embedding_quality",
    "metadata_cross_validate",
    "neighborhood",
    "ranks",
    "residual_variances",
    "search_pairs",
    "sign_test",
    "signed_rank_test",
    "summary",
    "trustworthiness",
    "tune",
    "tune_knn",
]
