"""Solvers as functions. Their keywords are parameters of the constructor and of ``minimise``."""

from dataclasses import dataclass
from typing import Any

from dimetric.solvers import SGD, GradientDescent, ProjectedGradient

MINIMISE_KEYWORDS = ("max_iter", "tol", "infimum", "callback")


@dataclass
class Batches:
    """A function that can only be evaluated on mini-batches."""

    epoch: Any

    def __call__(self, x):
        raise AssertionError("SGD must only evaluate mini-batches")

    def epochs(self, batch_size):
        return self.epoch


@dataclass
class Constrained:
    """A function on a convex set."""

    function: Any
    project: Any

    def __call__(self, x):
        return self.function(x)


def minimised(solver, function, x0, **keywords):
    call = {name: keywords.pop(name) for name in MINIMISE_KEYWORDS if name in keywords}
    return solver(**keywords).minimise(function, x0, **call)


def gradient_descent(function, x0, **keywords):
    return minimised(GradientDescent, function, x0, **keywords)


def sgd(epoch, x0, **keywords):
    return minimised(SGD, Batches(epoch), x0, **keywords)


def projected_gradient(function, project, x0, **keywords):
    return minimised(ProjectedGradient, Constrained(function, project), x0, **keywords)
