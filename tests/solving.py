"""Solvers called as functions: parameters of the solver and of the call in one list of keywords."""

from dataclasses import dataclass
from typing import Any

from dimetric.solvers import SGD, GradientDescent, ProjectedGradient

OF_THE_CALL = ("max_iter", "tol", "infimum", "callback")


@dataclass
class Batches:
    """A function that is known by its mini-batches alone."""

    epoch: Any

    def __call__(self, x):
        raise AssertionError("a solver by mini-batches evaluates nothing else")

    def epochs(self, batch_size):
        return self.epoch


@dataclass
class OnSet:
    """A function on a convex set."""

    function: Any
    project: Any

    def __call__(self, x):
        return self.function(x)


def minimised(solver, function, x0, **keywords):
    call = {name: keywords.pop(name) for name in OF_THE_CALL if name in keywords}
    return solver(**keywords).minimise(function, x0, **call)


def gradient_descent(function, x0, **keywords):
    return minimised(GradientDescent, function, x0, **keywords)


def sgd(epoch, x0, **keywords):
    return minimised(SGD, Batches(epoch), x0, **keywords)


def projected_gradient(function, project, x0, **keywords):
    return minimised(ProjectedGradient, OnSet(function, project), x0, **keywords)
