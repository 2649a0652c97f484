"""Classifiers and regressors over a learned distance."""

from dimetric.classify.bounds import BayesErrorBounds, bayes_error_bounds
from dimetric.classify.centroid import NCMCClassifier, NCMClassifier
from dimetric.classify.energy import EnergyClassifier
from dimetric.classify.knn import KNNClassifier, KNNRegressor
from dimetric.classify.many import KNNScore, knn_scores
from dimetric.classify.multi import MultiMetricKNNClassifier

__all__ = [
    "BayesErrorBounds",
    "EnergyClassifier",
    "KNNClassifier",
    "KNNRegressor",
    "KNNScore",
    "MultiMetricKNNClassifier",
    "NCMCClassifier",
    "NCMClassifier",
    "bayes_error_bounds",
    "knn_scores",
]
