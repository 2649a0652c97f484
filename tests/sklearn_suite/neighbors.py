"""scikit-learn's module of nearest neighbours, with dimetric's classifiers and regressors.

The classes only translate parameters. All other names are those of scikit-learn.
"""

import sklearn.neighbors as theirs
from sklearn.utils._testing import ignore_warnings

import dimetric


class _Minkowski:
    """Estimator that has the power p of the Minkowski metric as a parameter of its own.

    `algorithm`, `leaf_size` and `n_jobs` are ignored.
    """

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
    ):
        super().__init__(n_neighbors, weights=weights, metric=metric, metric_params=metric_params)
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.n_jobs = n_jobs

    def _search(self, Z, k):
        given = self.metric_params
        if self.metric == "minkowski":
            self.metric_params = {"p": self.p} | (given or {})
        try:
            return super()._search(Z, k)
        finally:
            self.metric_params = given


class KNeighborsClassifier(_Minkowski, dimetric.KNNClassifier):
    """KNNClassifier without a learner."""


class KNeighborsRegressor(_Minkowski, dimetric.KNNRegressor):
    """KNNRegressor without a learner."""


class NearestCentroid(dimetric.NCMClassifier):
    """NCMClassifier without a learner."""

    def __init__(self, metric="euclidean", *, shrink_threshold=None, priors="uniform"):
        super().__init__()
        self.metric = metric
        self.shrink_threshold = shrink_threshold
        self.priors = priors


# scikit-learn's tests replace these two functions in the module.
kneighbors_graph = ignore_warnings(theirs.kneighbors_graph)
radius_neighbors_graph = ignore_warnings(theirs.radius_neighbors_graph)


def __getattr__(name):
    return getattr(theirs, name)
