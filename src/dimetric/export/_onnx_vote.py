"""ONNX nodes for the vote of the nearest points."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric.classify._votes import VOTE_TOLERANCE
from dimetric.export._map_chain import TieTolerance, Vote
from dimetric.neighbors.queries import COORDINATE_ROUNDINGS, RELATIVE_TOLERANCE

# Squared distances are rounded to multiples of this unit, which is relative to squared lengths and
# far above rounding errors.
RELATIVE_ROUNDING_UNIT = 2.0**-42
SMALLEST_ROUNDING_UNIT = 1e-300  # avoids a division by 0 for samples at the centre of the points
# Candidates in addition to the k nearest points. Exact distances decide among all candidates.
EXTRA_CANDIDATES = 10


@dataclass(frozen=True)
class Candidates:
    """Names of the tensors that describe the nearest points of n samples, in float64."""

    points: str  # (n, c) row numbers, nearest first
    distances: str  # (n, c) exact distances
    squares: str  # (n, m) squared distances to all points, with rounding errors
    unit: str  # (n, 1) bound on these errors
    count: int  # c
    z: str  # (n, p) the samples


def vote_fractions(graph: Any, z: str, vote: Vote) -> str:
    """Add nodes that compute the class probabilities (fractions of the votes) in float64.

    Points nearer than the k-th distance vote with their own weights. Points tied at the k-th
    distance share the remaining weight.
    """
    near = _candidates(graph, graph.cast(z, np.float64), vote)
    is_class = _votes_of_points(graph, near.points, vote)
    distances = _columns(graph, near.distances, 0, vote.k)
    if vote.tolerance is None:
        votes = _weighted_votes(
            graph, _columns(graph, is_class, 0, vote.k), _ones(graph, distances)
        )
        return _fractions(graph, votes)
    kth = _columns(graph, near.distances, vote.k - 1, vote.k)
    tolerance = _tolerance(graph, near.z, kth, vote.tolerance)
    low, high = graph.node("Sub", kth, tolerance), graph.node("Add", kth, tolerance)
    weights = _ones(graph, distances)
    if vote.by_distance:
        weights = _inverse_distances(graph, distances, near.z, vote.tolerance)
    is_nearer = graph.cast(graph.node("Less", distances, low), np.float64)
    nearer = _weighted_votes(
        graph, _columns(graph, is_class, 0, vote.k), graph.node("Mul", weights, is_nearer)
    )
    others = graph.node("Mul", weights, graph.node("Sub", np.asarray(1.0), is_nearer))
    remaining = graph.node("ReduceSum", others, np.array([1]), keepdims=1)
    tied = _tied_classes(graph, near, is_class, low, high, vote)
    if vote.weights is None:
        n_tied = graph.node("ReduceSum", tied, np.array([1]), keepdims=1)
    else:
        n_classes = len(vote.classes)
        n_tied = _columns(graph, tied, n_classes, n_classes + 1)
        nearer, tied = (_columns(graph, each, 0, n_classes) for each in (nearer, tied))
    shared = graph.node("Mul", graph.node("Div", remaining, n_tied), tied)
    return _fractions(graph, graph.node("Add", nearer, shared))


def most_voted(graph: Any, fractions: str, vote: Vote) -> str:
    """Add nodes that return 1 for the classes with the most votes, up to rounding, and else 0."""
    relative = 0.0 if vote.tolerance is None else _in_dtype(graph, vote.tolerance).relative
    most = graph.node("ReduceMax", fractions, axes=[1], keepdims=1)
    enough = graph.node("Mul", most, np.asarray(1 - VOTE_TOLERANCE * relative))
    return graph.cast(graph.node("GreaterOrEqual", fractions, enough), np.float64)


def _candidates(graph: Any, z: str, vote: Vote) -> Candidates:
    """Add nodes that find the nearest points, and compute their exact distances.

    The candidates are the points with the smallest squared distances. A matrix product computes
    these distances, and they are rounded, because rounding errors would make equal distances
    differ. The candidates are sorted by row index, so that TopK returns the first of several
    points at the same exact distance.
    """
    points, count = vote.points, min(len(vote.points), vote.k + EXTRA_CANDIDATES)
    centre = points.mean(axis=0)
    moved = graph.node("Sub", z, centre)
    D = graph.squared_distances(moved, points - centre)
    kth = graph.node("ReduceMax", _smallest(graph, D, vote.k)[0], axes=[1], keepdims=1)
    squared_length = graph.node(
        "Add", graph.node("ReduceSumSquare", moved, axes=[1], keepdims=1), kth
    )
    unit = graph.node(
        "Max",
        graph.node("Mul", squared_length, np.asarray(RELATIVE_ROUNDING_UNIT)),
        np.asarray(SMALLEST_ROUNDING_UNIT),
    )
    near = _smallest(graph, graph.node("Round", graph.node("Div", D, unit)), count)[1]
    near = _smallest(graph, near, count)[0]
    apart = graph.node(
        "Sub", graph.node("Unsqueeze", z, np.array([1])), graph.node("Gather", points, near)
    )
    exact = graph.node("ReduceL2", apart, axes=[2], keepdims=0)
    distances, positions = _smallest(graph, exact, count)
    near = graph.node("GatherElements", near, positions, axis=1)
    return Candidates(near, distances, D, unit, count, z)


def _tied_classes(
    graph: Any, near: Candidates, is_class: str, low: str, high: str, vote: Vote
) -> str:
    """Add nodes that sum the votes of the points whose distance is between `low` and `high`.

    If all points in this range are candidates, their exact distances are compared. Otherwise the
    squared distances of all points are compared.
    """
    table = _vote_table(vote)
    among_candidates = _weighted_votes(graph, is_class, _between(graph, near.distances, low, high))
    if near.count == len(vote.points):
        return among_candidates
    last = _columns(graph, near.distances, near.count - 1, near.count)
    is_complete = graph.node("Less", high, last)

    def among_all() -> str:
        zero = np.asarray(0.0)
        bounds = [graph.node("Mul", each, each) for each in (graph.node("Max", low, zero), high)]
        is_tied = _between(
            graph,
            near.squares,
            graph.node("Sub", bounds[0], near.unit),
            graph.node("Add", bounds[1], near.unit),
        )
        counts = graph.node("MatMul", is_tied, table)
        return graph.node("Where", is_complete, among_candidates, counts)

    shape = ["n", table.shape[1]]
    is_incomplete = graph.cast(graph.node("Not", is_complete), np.float64)
    n_incomplete = graph.node("ReduceSum", is_incomplete, keepdims=0)
    return graph.node(
        "If",
        graph.node("Greater", n_incomplete, np.asarray(0.0)),
        then_branch=graph.branch(among_all, shape),
        else_branch=graph.branch(lambda: graph.node("Identity", among_candidates), shape),
    )


def _between(graph: Any, x: str, low: str, high: str) -> str:
    """Add nodes that return 1 for numbers between two bounds, and else 0."""
    inside = graph.node(
        "And", graph.node("GreaterOrEqual", x, low), graph.node("LessOrEqual", x, high)
    )
    return graph.cast(inside, np.float64)


def _tolerance(graph: Any, z: str, distances: Any, tolerance: TieTolerance) -> str:
    """Add nodes that compute the tolerance of distances, of shape (n, 1)."""
    tolerance = _in_dtype(graph, tolerance)
    size = graph.node("ReduceL2", graph.node("Mul", z, tolerance.varies), axes=[1], keepdims=1)
    of_size = graph.node("Mul", size, np.asarray(tolerance.per_size))
    fixed = graph.node("Add", of_size, np.asarray(tolerance.constant))
    return graph.node("Add", graph.node("Mul", distances, np.asarray(tolerance.relative)), fixed)


def _in_dtype(graph: Any, tolerance: TieTolerance) -> TieTolerance:
    """Return a tolerance that includes the errors of maps in the dtype of the graph."""
    relative = max(tolerance.relative, RELATIVE_TOLERANCE[str(graph.dtype)])
    return TieTolerance(
        relative,
        tolerance.constant * relative / tolerance.relative,
        max(tolerance.per_size, COORDINATE_ROUNDINGS * float(np.finfo(graph.dtype).eps)),
        tolerance.varies,
    )


def _inverse_distances(graph: Any, distances: str, z: str, tolerance: TieTolerance) -> str:
    """Add nodes that compute the weights 1 / distance.

    If a distance is 0 up to rounding, its weight is 1, and the weights of other distances are 0.
    """
    zero = np.zeros((1, 1))
    is_zero = graph.node("LessOrEqual", distances, _tolerance(graph, z, zero, tolerance))
    inverse = graph.node("Div", np.asarray(1.0), graph.node("Where", is_zero, zero, distances))
    at_zero = graph.cast(graph.node("IsInf", inverse), np.float64)
    any_zero = graph.node("ReduceMax", at_zero, axes=[1], keepdims=1)
    return graph.node("Where", graph.cast(any_zero, bool), at_zero, inverse)


def _vote_table(vote: Vote) -> np.ndarray:
    """Return the vote of each point for each class.

    Weighted votes have one more column of ones, which counts the points.
    """
    table = np.eye(len(vote.classes))[vote.codes]
    if vote.weights is None:
        return table
    return np.column_stack([table * vote.weights[:, None], np.ones(len(table))])


def _votes_of_points(graph: Any, points: str, vote: Vote) -> str:
    """Add nodes that look up the votes of points, of shape (n, c, n_classes).

    Weighted votes have one more column of ones, which counts the points.
    """
    if vote.weights is not None:
        return graph.node("Gather", _vote_table(vote), points, axis=0)
    codes = graph.node("Gather", vote.codes.astype(np.int64), points, axis=0)
    classes = np.arange(len(vote.classes))[None, None, :]
    marked = graph.node("Equal", graph.node("Unsqueeze", codes, np.array([2])), classes)
    return graph.cast(marked, np.float64)


def _weighted_votes(graph: Any, is_class: str, weights: str) -> str:
    """Add nodes that sum weights by class, of shape (n, n_classes)."""
    votes = graph.node("Mul", is_class, graph.node("Unsqueeze", weights, np.array([2])))
    return graph.node("ReduceSum", votes, np.array([1]), keepdims=0)


def _fractions(graph: Any, votes: str) -> str:
    total = graph.node("ReduceSum", votes, np.array([1]), keepdims=1)
    return graph.node("Div", votes, total)


def _ones(graph: Any, x: str) -> str:
    """Add nodes that compute ones of the shape of a tensor."""
    return graph.cast(graph.node("Equal", x, x), np.float64)


def _columns(graph: Any, x: str, start: int, stop: int) -> str:
    """Add a node that selects columns, along the second axis."""
    return graph.node("Slice", x, np.array([start]), np.array([stop]), np.array([1]))


def _smallest(graph: Any, x: str, k: int) -> tuple[str, str]:
    """Add a node that finds the k smallest numbers of each row, in ascending order.

    Return the names of the numbers and of their positions.
    """
    outputs = [graph.new_name("smallest"), graph.new_name("at")]
    graph.node("TopK", x, np.array([k]), outputs=outputs, largest=0)
    return outputs[0], outputs[1]
