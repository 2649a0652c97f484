"""What embeddings share: coordinates of the training samples, and a way to place new ones."""

from abc import abstractmethod
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, like
from dimetric._arrays.validation import checked_samples
from dimetric._compat import check_same_namespace, framed
from dimetric.learners._base import Learner


class Embedding(Learner):
    """A learner of coordinates for its training samples, and of a way to place new ones.

    There is no map that is the same everywhere, hence no ``metric()``. A learner's ``_fit`` sets
    ``embedding_``, and its ``_place`` returns the coordinates of checked new samples, in any
    namespace. The embedding follows X as all else does.
    """

    embedding_: Array
    _fitted_attribute: ClassVar[str] = "embedding_"
    _supervision_kinds: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _place(self, X: Array) -> Array:
        """Return the coordinates of checked new samples."""

    def fit_transform(self, X: Array, y: Array | None = None, **given: Any) -> Array:
        """Learn the embedding and return it: ``embedding_``, not the training samples placed anew.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y, **given : ignored, refused
            Nothing but X is learned from.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        return framed(self.fit(X, y, **given).embedding_, X, self)

    def transform(self, X: Array) -> Array:
        """Place new samples among the embedded ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        Z : array of shape (n_samples, n_components)
            In X's namespace, dtype and device; a data frame where X is one.
        """
        check_is_fitted(self)
        check_same_namespace(X, self, attribute="embedding_", method="transform")
        samples = checked_samples(self, X, reset=False)
        return framed(like(self._place(samples), samples), X, self)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]
