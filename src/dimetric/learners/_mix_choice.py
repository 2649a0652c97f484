"""Choice of the weight of the identity in a metric, on held-out samples, pairs or triplets."""

import warnings
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from dimetric._arrays.blocks import BLOCK_ENTRIES, row_blocks
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    namespace,
    smallest_in_rows,
    take_rows,
    to_host,
)
from dimetric._arrays.row_order import distinct_rows
from dimetric._arrays.squared_distances import squared_distances, squared_norms
from dimetric._compat import Progress
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._identity_mix import mixed
from dimetric.learners._pair_scoring import area_under_curve
from dimetric.supervision.labels import Labels, Supervision, Targets, weights_of
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

# The following numbers are chosen by experiment.
GRID = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # weights of the identity
N_NEIGHBORS = 7
N_PARTS = 4
MAX_HELD_OUT = 1000  # samples of a part that are scored

# The score of each weight for each unit (a sample or a part), and the weight of each unit.
Scores = tuple[np.ndarray, np.ndarray]


def choose_mix(learner: Any, X: Array, supervision: Supervision | None) -> dict[str, Any] | None:
    r"""Choose the weight of the identity by cross-validation in four parts.

    The learner is fitted once without each part, with no mixing. The squared distance of a mixed
    metric is :math:`(1 - a) d_0^2 + a d_1^2`, where :math:`d_0` is the learned distance and
    :math:`d_1` that of a = 1, so all weights a are scored with the same fits. For labels, the score
    is the mean of :math:`\log \frac{m_i + 1}{k + C}` over held-out samples i, where :math:`m_i` of
    its k = 7 nearest neighbours are of its class, and C is the number of classes. This estimate of
    the log-likelihood is less noisy than the accuracy. For other targets, the score is the R2 of
    the mean of the neighbours. For pairs, it is the area under the ROC curve, and for triplets, the
    fraction of them that are satisfied. Of equally good weights, the largest is chosen, because it
    is the safest.

    The parts do not depend on the order of the rows, the names of classes and `random_state`. Equal
    samples are in the same part. A sample that is alone in its class is never held out.

    Returns
    -------
    metadata : dict or None
        The weight `identity_mix`, and the `identity_mix_scores` of the weights
        `identity_mix_grid`. None if nothing can be held out.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all samples gives the warnings that matter
        parts = list(_scored_parts(learner, X, supervision))
    if not parts:
        return None
    values, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    scores = np.average(values, axis=0, weights=weights)
    if isinstance(supervision, Targets):
        scores = 1 - scores / _variance(supervision)
    is_best = scores >= np.max(scores) - 1e-12  # rounding errors do not decide
    return {
        "identity_mix": GRID[int(np.flatnonzero(is_best)[-1])],
        "identity_mix_grid": list(GRID),
        "identity_mix_scores": scores.tolist(),
    }


def _scored_parts(learner: Any, X: Array, supervision: Supervision | None) -> Iterator[Scores]:
    """Yield the scores of each part, without parts that cannot be scored."""
    if isinstance(supervision, Labels | Targets):
        order = in_canonical_order(X, supervision, by_class=False)[2]
        X, supervision = take_rows(X, order), supervision.reordered(order)
        part_of = _parts_of_samples(X, supervision)
        for part in range(N_PARTS):
            held_out, others = np.flatnonzero(part_of == part), np.flatnonzero(part_of != part)
            given = supervision.reordered(others)
            maps = _maps(learner, take_rows(X, others), given, order[others])
            if len(held_out) and maps is not None:
                yield _neighbor_scores(maps, X, supervision, held_out, others)
    elif isinstance(supervision, Pairs | Triplets):
        X, constraints, order = in_canonical_order(X, supervision)
        for train, test in _splits(constraints):
            maps = _maps(learner, X, train, order)
            if maps is not None and (isinstance(test, Triplets) or 0 < sum(test.kinds) < len(test)):
                yield _constraint_scores(maps, X, test)


def _parts_of_samples(X: Array, supervision: Labels | Targets) -> np.ndarray:
    """Return the part of each sample in canonical order, or -1 if it is never held out.

    Distinct samples are shuffled, sorted by class or target, and dealt to the parts in turn, so all
    parts are alike.
    """
    part_of = np.full(X.shape[0], -1)
    rows = np.flatnonzero(supervision.is_labelled)
    if isinstance(supervision, Labels):  # in order of appearance, because names do not matter
        _, first, y = np.unique(supervision.codes[rows], return_index=True, return_inverse=True)
        y = np.argsort(np.argsort(first))[y]
    else:
        y = distinct_rows(supervision.values[rows].reshape(len(rows), -1).astype(np.float64))[1]
    distinct, group = distinct_rows(np.column_stack([to_host(X)[rows].astype(np.float64), y]))
    classes = distinct[:, -1].astype(np.int64)
    shuffled = np.random.default_rng(0).permutation(len(classes))
    part = np.empty(len(classes), dtype=np.int64)
    part[shuffled[np.argsort(classes[shuffled], kind="stable")]] = np.arange(len(part)) % N_PARTS
    if isinstance(supervision, Labels):
        part[np.bincount(classes)[classes] == 1] = -1
    part_of[rows] = part[group]
    return part_of


def _splits(constraints: Any) -> list[tuple[Any, Any]]:
    """Return training and test constraints, if possible without common samples."""
    for share_samples in (False, True):
        try:
            return list(constraints.split(N_PARTS, share_samples=share_samples, random_state=0))
        except ValueError:  # too few constraints
            continue
    return []


def _maps(
    learner: Any, X: Array, supervision: Supervision, rows: np.ndarray
) -> tuple[Array, Array] | None:
    """Return the map learned from some rows, and that of the identity on the same scale.

    Return None if the rows are too few for the learner.
    """
    copy = object.__new__(type(learner))
    kept = {name for name in vars(learner) if not name.endswith("_")}
    vars(copy).update({name: vars(learner)[name] for name in kept})
    for name in {"classes_", "n_features_in_"} & set(vars(learner)):
        setattr(copy, name, getattr(learner, name))
    for name, value in {"warm_start": False, "verbose": 0}.items():
        if hasattr(copy, name):
            setattr(copy, name, value)
    if hasattr(copy, "random_state"):  # the fits must not change a RandomState of the user
        copy.random_state = deepcopy(copy.random_state)
    copy._select_rows(rows)
    try:
        copy._fit(X, supervision, _NoProgress())
    except ValueError:
        return None
    L = copy.components_
    return L, mixed(L, 1.0, **learner._mix_options())


class _NoProgress(Progress):
    """Reports no progress, because callbacks follow the fit to all samples."""

    def __init__(self) -> None:
        pass

    def step(self, fitted_attributes: Any) -> bool:
        return False


def _mapped(maps: tuple[Array, Array], X: Array) -> list[np.ndarray]:
    """Return the samples under both maps as float64, with a common scale of about 1."""
    X = X - namespace(X).mean(X, axis=0)
    both = [to_host(X @ asarray_like(L, X).T).astype(np.float64) for L in maps]
    largest = max(float(np.max(np.abs(Z))) for Z in both) or 1.0
    return [Z / largest for Z in both]


def _neighbor_scores(
    maps: tuple[Array, Array],
    X: Array,
    supervision: Labels | Targets,
    held_out: np.ndarray,
    others: np.ndarray,
) -> Scores:
    """Return the log-likelihoods of held-out samples, or the squared errors of their targets."""
    held_out = held_out[:: -(-len(held_out) // MAX_HELD_OUT)]
    others = others[supervision.is_labelled[others]]
    k = min(N_NEIGHBORS, len(others))
    both = _mapped(maps, X)
    values = np.empty((len(held_out), len(GRID)))
    for block in row_blocks(len(held_out), max(1, BLOCK_ENTRIES // len(others))):
        rows = held_out[block]
        D0, D1 = (squared_distances(Z[rows], Z[others]) for Z in both)
        for j, a in enumerate(GRID):
            near = others[smallest_in_rows((1 - a) * D0 + a * D1, k)[1]]
            values[block, j] = _scores_by_neighbors(supervision, rows, near)
    weights = weights_of(supervision)
    return values, np.ones(len(held_out)) if weights is None else weights[held_out]


def _scores_by_neighbors(
    supervision: Labels | Targets, rows: np.ndarray, near: np.ndarray
) -> np.ndarray:
    """Return the log-likelihood or the squared error of each sample, given its neighbours."""
    if isinstance(supervision, Labels):
        same = supervision.codes[near] == supervision.codes[rows][:, None]
        return np.log((np.sum(same, axis=1) + 1) / (near.shape[1] + supervision.n_classes))
    y = supervision.values.reshape(len(supervision.values), -1)
    return np.sum((y[rows] - np.mean(y[near], axis=1)) ** 2, axis=1)


def _variance(supervision: Targets) -> float:
    """Return the total variance of the targets, or 1 if they are equal."""
    labelled = supervision.is_labelled
    y = supervision.values[labelled].reshape(np.sum(labelled), -1)
    weights = None if supervision.weights is None else supervision.weights[labelled]
    centred = y - np.average(y, axis=0, weights=weights)
    return float(np.average(np.sum(centred**2, axis=1), weights=weights)) or 1.0


def _constraint_scores(maps: tuple[Array, Array], X: Array, test: Pairs | Triplets) -> Scores:
    """Return the score of held-out pairs or triplets, which count as one unit."""
    rows, both = test.rows, _mapped(maps, X)
    near0, near1 = (squared_norms(Z[rows[:, 0]] - Z[rows[:, 1]]) for Z in both)
    values = []
    if isinstance(test, Pairs):
        for a in GRID:
            values.append(area_under_curve((1 - a) * near0 + a * near1, test.is_similar))
    else:
        far0, far1 = (squared_norms(Z[rows[:, 0]] - Z[rows[:, 2]]) for Z in both)
        for a in GRID:
            margin = (1 - a) * (far0 - near0) + a * (far1 - near1)
            values.append(float(np.mean((margin > 0) + (margin == 0) / 2)))
    return np.array([values]), np.array([float(len(test))])
