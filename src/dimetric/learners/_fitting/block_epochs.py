"""``partial_fit`` of learners that are fitted by stochastic gradient descent."""

import warnings
from time import perf_counter
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from dimetric._arrays.namespaces import Array
from dimetric._compat import fit_method
from dimetric.learners._lda_scatter import merged_classes
from dimetric.learners._partial_fit import class_weight_in_block, refuse_auto

# The point of an epoch is the mean of its iterates, which begin with the current map. After one
# epoch of few mini-batches, the map would hardly change.
EPOCHS = 2


def _uses_batches(learner: Any) -> bool:
    """Return True, or raise if the solver does not use mini-batches."""
    if not learner._object_for("solver").uses_batches:
        raise AttributeError(
            f"solver={learner.solver!r} needs all samples at once. For partial_fit, set "
            "solver='sgd'."
        )
    refuse_auto(learner, "identity_mix")
    return True


class BlockEpochsMixin:
    """Mixin of learners that minimise a mean loss, with ``partial_fit`` for the solver SGD."""

    @available_if(_uses_batches)
    @fit_method
    def partial_fit(self, X: Array, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Improve the map by two epochs of stochastic gradient descent on a block of samples.

        A call does the same as :meth:`fit` with ``max_iter=2`` and ``warm_start=True`` on the block
        alone. The first call starts from `init`, or from the map of an earlier :meth:`fit`. The
        result is not that of one fit to all blocks: pairs of samples from different blocks do not
        contribute, and the last blocks have the largest effect. Use blocks of many samples of all
        classes in random order, and pass over the data several times. With `identity_mix`, a call
        starts from the map before mixing. Attributes other than the
        map, ``classes_``, ``n_iter_`` and ``history_`` describe the last block.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A block of samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels or targets of the samples.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, as in :meth:`fit`.

        Returns
        -------
        self : object
            The learner.
        """
        started, learner = perf_counter(), _for_block(self, y)
        seen = {name: getattr(self, name, None) for name in ("classes_", "n_iter_", "history_")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # two epochs do not converge
            learner.fit(X, y, sample_weight=sample_weight)
        parameters = learner.get_params(deep=False)
        fitted = {name: value for name, value in vars(learner).items() if name not in parameters}
        self.__dict__.update(fitted)
        if seen["classes_"] is not None:
            self.classes_ = merged_classes(seen["classes_"], learner.classes_)
        if seen["n_iter_"] is not None:
            self.n_iter_ = seen["n_iter_"] + learner.n_iter_
            self.history_ = seen["history_"] + learner.history_[1:]
        elapsed = perf_counter() - started
        self._metadata = learner._metadata | {"n_iter": self.n_iter_, "time": elapsed}
        return self


def _for_block(learner: Any, y: Any) -> Any:
    """Return a copy of a learner for some epochs on a block. It starts from the learner's map."""
    copy = clone(learner).set_params(max_iter=EPOCHS, warm_start=True)
    if hasattr(learner, "components_"):
        copy.components_, copy._metadata = learner.components_, learner._metadata
    if isinstance(getattr(learner, "class_weight", None), dict) and y is not None:
        names = np.unique(np.asarray(y)).tolist()
        copy.set_params(class_weight=class_weight_in_block(learner.class_weight, names))
    return copy
