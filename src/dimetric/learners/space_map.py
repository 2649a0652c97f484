"""Maps from one embedding space to another."""

from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import ArgumentErrorMixin
from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._arrays.validation import checked_array
from dimetric._compat import Interval, StrOptions, fit_method
from dimetric.learners._retrieval.vectors import checked_vectors
from dimetric.neighbors.ranking import ranked_documents


class SpaceMap(ArgumentErrorMixin, TransformerMixin, BaseEstimator):
    r"""Map the vectors of one embedding model to the space of another model.

    From paired vectors x and y of the same items, learn the map R of

    .. math:: \min_R \frac{1}{n} \sum_i |R x_i - y_i|^2.

    An index of documents then survives a change of the model: map new queries to the space of the
    index, or map the index to the space of the new model. The metadata say how much of the
    retrieval survives: among held-out pairs, the share of the nearest neighbours of y that the
    mapped x finds.

    Parameters
    ----------
    method : {"procrustes", "ridge", "low_rank"}, default="procrustes"
        "procrustes": R is orthogonal, or has orthonormal rows or columns if the dimensions differ.
        "ridge": any R, with the penalty ``reg |R|^2`` times the mean variance of the features of X.
        "low_rank": the ridge solution of rank `n_components` with the smallest error.
    n_components : int, optional
        Rank of R for ``method="low_rank"``, which needs it.
    reg : float, default=1e-3
        Weight of the penalty for "ridge" and "low_rank".
    n_neighbors : int, default=10
        Number of neighbours k for the recall in the metadata.
    test_size : float, default=0.2
        Share of the pairs that the recall is measured on. The final map uses all pairs. 0 omits the
        measurement.
    random_state : int, RandomState or None, default=None
        Random seed of the held-out pairs.

    Attributes
    ----------
    components_ : array of shape (n_features_out, n_features_in)
        The map R.
    n_features_in_ : int
        Number of features of X.

    References
    ----------
    .. [1] P. H. Schönemann, "A generalized solution of the orthogonal Procrustes problem",
       Psychometrika 31, 1966.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> Y = rng.randn(100, 3)
    >>> rotation = np.linalg.qr(rng.randn(3, 3))[0]
    >>> space_map = SpaceMap(random_state=0).fit(Y @ rotation, Y)
    >>> bool(np.allclose(space_map.transform(Y @ rotation), Y))
    True
    >>> space_map.metadata()["recall"]
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions({"procrustes", "ridge", "low_rank"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "reg": [Interval(Real, 0, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "test_size": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        method: str = "procrustes",
        *,
        n_components: int | None = None,
        reg: float = 1e-3,
        n_neighbors: int = 10,
        test_size: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.n_components = n_components
        self.reg = reg
        self.n_neighbors = n_neighbors
        self.test_size = test_size
        self.random_state = random_state

    @fit_method
    def fit(self, X: Array, Y: Array) -> Self:
        """Learn the map from paired vectors.

        Parameters
        ----------
        X : array-like of shape (n_pairs, n_features_in)
            Vectors in the space to map from.
        Y : array-like of shape (n_pairs, n_features_out)
            Vectors of the same items in the space to map to.

        Returns
        -------
        self : object
            The fitted map.
        """
        started = perf_counter()
        X = checked_array(X, "X")
        Y = asarray_like(checked_array(Y, "Y"), X)
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"X has {X.shape[0]} vectors and Y has {Y.shape[0]}. Pass pairs.")
        rank = self._rank(X.shape[1], Y.shape[1])
        recall = self._held_out_recall(X, Y, rank)
        self.components_ = self._solved(X, Y, rank)
        self.n_features_in_ = X.shape[1]
        residual = X @ self.components_.T - Y
        xp = namespace(X)
        self._metadata = {
            "n_components": rank,
            "mean_squared_error": float(xp.mean(xp.sum(residual * residual, axis=1))),
            **recall,
            "time": perf_counter() - started,
        }
        return self

    def transform(self, X: Array) -> Array:
        """Return the vectors mapped to the other space.

        Parameters
        ----------
        X : array-like of shape (n, n_features_in)
            Vectors.

        Returns
        -------
        Z : array of shape (n, n_features_out)
            Mapped vectors. They are not divided by their norms.
        """
        check_is_fitted(self)
        X = checked_array(X, "X")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but SpaceMap was fitted with {self.n_features_in_}."
            )
        return X @ asarray_like(to_host(self.components_), X).T

    def metadata(self) -> dict[str, Any]:
        """Return information about the fit.

        `recall` is the mean share of the `n_neighbors` nearest neighbours by cosine, among the
        held-out vectors of Y, that the mapped X finds. `baseline_recall` is the same for the
        unmapped X, if both spaces have the same dimension.
        """
        check_is_fitted(self)
        return dict(self._metadata)

    def _rank(self, d: int, p: int) -> int:
        """Return the rank of the map. Raise if n_components does not match the method."""
        if self.method != "low_rank":
            if self.n_components is not None:
                raise ValueError(
                    f"n_components={self.n_components} needs method='low_rank', but method="
                    f"{self.method!r}."
                )
            return min(d, p)
        if self.n_components is None or self.n_components > min(d, p):
            raise ValueError(
                f"method='low_rank' needs n_components from 1 to {min(d, p)}, but n_components="
                f"{self.n_components}."
            )
        return int(self.n_components)

    def _solved(self, X: Array, Y: Array, rank: int) -> Array:
        """Return the map R, of shape (n_features_out, n_features_in)."""
        xp, n = namespace(X), X.shape[0]
        cross = Y.T @ X / n
        if self.method == "procrustes":
            left, _, right = xp.linalg.svd(cross, full_matrices=False)
            return left @ right
        moments = X.T @ X / n
        ridge = self.reg * xp.linalg.trace(moments) / X.shape[1]
        moments = moments + ridge * asarray_like(np.eye(X.shape[1]), X)
        R = xp.linalg.solve(moments, cross.T).T
        if self.method == "ridge":
            return R
        # Reduced-rank regression: project the fitted values onto their principal axes.
        values = R @ moments @ R.T
        axes = xp.linalg.eigh((values + values.T) / 2)[1][:, -rank:]
        return axes @ (axes.T @ R)

    def _held_out_recall(self, X: Array, Y: Array, rank: int) -> dict[str, Any]:
        """Return the recall of nearest neighbours, for a map that does not know some pairs."""
        n = X.shape[0]
        n_test = int(self.test_size * n)
        if n_test < 2 or n - n_test < 1:
            return {"n_test": 0}
        order = random_generator(self.random_state).permutation(n)
        train, test = np.sort(order[n_test:]), np.sort(order[:n_test])
        R = self._solved(take_rows(X, train), take_rows(Y, train), rank)
        k = min(self.n_neighbors, n_test - 1)
        target, unmapped = take_rows(Y, test), take_rows(X, test)
        metadata = {
            "n_test": n_test,
            "n_neighbors": k,
            "recall": _recall(unmapped @ R.T, target, k),
        }
        if X.shape[1] == Y.shape[1]:
            metadata["baseline_recall"] = _recall(unmapped, target, k)
        return metadata


def _recall(Z: Array, Y: Array, k: int) -> float:
    """Return the share of each vector's k neighbours in Y that its counterpart in Z finds."""
    Z, Y = checked_vectors(Z, "X"), checked_vectors(Y, "Y")
    own = np.arange(Y.shape[0])
    wanted = to_host(ranked_documents(Y, Y, k, own)[1])
    found = to_host(ranked_documents(Z, Y, k, own)[1])
    return float(np.mean(np.any(wanted[:, :, None] == found[:, None, :], axis=2)))
