"""Fits of sparse samples by learners that need dense samples."""

from numbers import Integral
from typing import Any

from scipy import sparse

from dimetric._arrays.blocks import BLOCK_ENTRIES, row_blocks
from dimetric._arrays.namespaces import Array
from dimetric._compat import Progress
from dimetric.learners._converted_progress import ConvertedProgress
from dimetric.linalg.row_basis import MAX_DENSE_FEATURES, RowBasis
from dimetric.linalg.spectral import fixed_signs
from dimetric.supervision.labels import Supervision, relative_weights

# Fitted attributes whose columns are features.
FEATURE_ATTRIBUTES = ("components_", "offset_", "means_", "centroids_")


def fit_in_basis(
    learner: Any, X: Array, supervision: Supervision | None, progress: Progress
) -> dict[str, Any]:
    """Fit a learner, to dense coordinates if it needs them, and return the metadata.

    A linear learner that gets sparse samples needs them. The fitted attributes refer to the
    features. The metadata gets the type of the basis, the number of coordinates and the fraction of
    the sum of squares that they keep.
    """
    if learner._fits_sparse or not sparse.issparse(X):
        return learner._learn(X, supervision, progress)
    basis = RowBasis.of(X, relative_weights(supervision))
    if basis.rows is None:
        return learner._learn(basis.coordinates, supervision, progress)
    _check_parameters(learner, X.shape, basis.rank)
    # A copy is fitted, because parameters such as `init` must also be converted.
    copy = object.__new__(type(learner))
    vars(copy).update(vars(learner))
    copy._move_to_basis(basis)

    def of_features(fitted: dict[str, Any]) -> dict[str, Any]:
        lifted = {
            name: basis.of_features(value)
            for name, value in fitted.items()
            if name in FEATURE_ATTRIBUTES
        }
        if learner._max_steps() == 0:  # closed forms fix the signs, which depend on the basis
            _fix_signs(lifted["components_"])
        return fitted | lifted

    before = dict(vars(copy))
    metadata = copy._learn(basis.coordinates, supervision, ConvertedProgress(progress, of_features))
    fitted = {name: v for name, v in vars(copy).items() if v is not before.get(name, copy)}
    vars(learner).update(of_features(fitted))
    return metadata | {
        "basis": "truncated SVD",
        "basis_rank": basis.rank,
        "basis_energy": basis.energy,
    }


def _check_parameters(learner: Any, shape: tuple[int, int], rank: int) -> None:
    """Raise if a parameter does not suit the coordinates."""
    n, d = shape
    axes = learner._axis_parameter()
    if axes:
        raise ValueError(
            f"{axes} needs the original features, but sparse X of shape {(n, d)} is reduced to "
            f"{rank} coordinates, because it has more than {MAX_DENSE_FEATURES} features or too "
            "many samples. Select features first, for example with SelectKBest from "
            f"sklearn.feature_selection, or do not set {axes.partition('=')[0]}."
        )
    k = getattr(learner, "n_components", None)
    if isinstance(k, Integral) and int(k) > rank:
        raise ValueError(
            f"n_components={k} must be at most {rank}, the number of coordinates that sparse X of "
            f"shape {(n, d)} is reduced to. Choose a smaller n_components."
        )


def _fix_signs(L: Array) -> None:
    """Fix the signs of the rows of L in place, in blocks, because L may be large."""
    for rows in row_blocks(L.shape[0], max(1, BLOCK_ENTRIES // L.shape[1])):
        L[rows] = fixed_signs(L[rows])
