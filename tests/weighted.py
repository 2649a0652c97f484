"""What tests of sample weights share."""

import numpy as np
import pytest
from estimators import MODELS
from sklearn.base import BaseEstimator, TransformerMixin

from dimetric import EnergyClassifier, MultiMetricKNNClassifier, NCMCClassifier

# Other tests check these warnings.
IGNORED_WARNINGS = [
    pytest.mark.filterwarnings("ignore:.* did not converge:sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*classes have fewer distinct samples:UserWarning"),
]
SLOW = EnergyClassifier, MultiMetricKNNClassifier, NCMCClassifier
MODELS_WITH_MARKS = [
    pytest.param(model, marks=[pytest.mark.slow] if isinstance(model, SLOW) else [])
    for model in MODELS
]
# Two folds of 60 samples.
FOLDS = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]


class Shift(TransformerMixin, BaseEstimator):
    """Subtract the weighted mean, and record the weights."""

    def fit(self, X, y=None, sample_weight=None):
        self.weights_ = sample_weight
        self.mean_ = np.average(X, axis=0, weights=sample_weight)
        return self

    def transform(self, X):
        return X - self.mean_
