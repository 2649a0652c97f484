"""The problem of learners that minimise a mean loss over maps, in given coordinates."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from dimetric._arrays.namespaces import asarray_like
from dimetric.learners._fitting.coordinates import Coordinates
from dimetric.learners._fitting.problem import Problem
from dimetric.learners._fitting.start import fitted_scale, fitted_theta
from dimetric.objectives.objective import Objective, ridge_matrix

LossT = TypeVar("LossT", bound=Objective)


def problem_in(
    learner: Any,
    coordinates: Coordinates,
    build_objective: Callable[[], LossT],
    *,
    reg: float,
    graph: np.ndarray | None = None,
    factor: float = 1.0,
    is_rescaled: bool,
) -> Problem[LossT]:
    """Return the problem of a learner in coordinates.

    Parameters
    ----------
    learner : MeanLossMetric
        The learner.
    coordinates : Coordinates
        The coordinates, with the start.
    build_objective : callable
        Returns the objective of the samples in these coordinates.
    reg : float
        Weight of the ridge penalty.
    graph : ndarray of shape (d, d), optional
        The matrix G of the penalty of unlabelled samples.
    factor : float, default=1.0
        Factor of the samples before they were converted to coordinates.
    is_rescaled : bool
        Whether the start is rescaled to minimise the objective.
    """
    X, d = coordinates.samples, len(coordinates.variances)
    # The ratio is 1, unless X contains coordinates of sparse samples with more features.
    weight = (d / learner.n_features_in_) ** 2 / d
    by_feature = learner.reg is None and not learner._same_unit
    ridge, dropped_penalty = coordinates.ridge(reg * weight, by_feature=by_feature)
    if graph is not None:
        unit = learner.unlabelled_reg * weight * coordinates.mean_variance
        ridge = ridge_matrix(ridge, d) + unit * graph
    objective = build_objective()
    if objective.is_constant:  # the ridge alone would lead to a map of 0
        ridge = 0.0
    if is_rescaled:
        search = learner._searches_start_scale
        scale, theta = fitted_scale(objective, coordinates.start, ridge, search=search)
        coordinates = coordinates.with_start_times(scale)
    else:
        theta = fitted_theta(objective, coordinates.start)
    return Problem(
        objective=objective,
        start=coordinates.start,
        restore=lambda L: asarray_like(coordinates.map_of_samples(L) * factor, X),
        ridge=ridge,
        reg=reg,
        ridge_outside=dropped_penalty,
        sample_scale=coordinates.sample_scale * factor,
        theta=theta,
        preconditioner=coordinates.feature_scaling(same_unit=learner._same_unit),
        reported_objective=learner._reported_objective(objective),
        diagonal=learner.diagonal,
    )
