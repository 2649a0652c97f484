"""A transformer that uses sample weights."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class Shift(TransformerMixin, BaseEstimator):
    """Subtract the weighted mean, and record the weights."""

    def fit(self, X, y=None, sample_weight=None):
        self.weights_ = sample_weight
        self.mean_ = np.average(X, axis=0, weights=sample_weight)
        return self

    def transform(self, X):
        return X - self.mean_
