"""The regularised retrieval loss as a function of the maps."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric.learners._retrieval.vectors import unit_rows
from dimetric.objectives.retrieval import retrieval_loss
from dimetric.supervision.relevance import Relevance

Sides = Literal["query", "both", "two"]
SCALE_BOUNDS = (1.0, 100.0)  # of a learned scale


@dataclass(frozen=True)
class Maps:
    """The map of queries W and the map of documents V, of shape (k, d), and the scale s."""

    queries: np.ndarray
    documents: np.ndarray
    scale: float


def encode_scale(scale: float) -> float:
    """Return the unbounded parameter t of a learned scale. See :func:`decode_scale`."""
    low, high = np.log(SCALE_BOUNDS)
    share = (np.log(scale) - low) / (high - low)
    return float(np.log(share / (1 - share)))


def decode_scale(t: float) -> tuple[float, float]:
    r"""Return a learned scale and its derivative with respect to t.

    .. math:: \log s = \log a + \frac{\log b - \log a}{1 + e^{-t}},
              \qquad a = 1, \quad b = 100

    Examples
    --------
    >>> [round(decode_scale(t)[0], 2) for t in (-50.0, 0.0, 50.0)]
    [1.0, 10.0, 100.0]
    """
    low, high = np.log(SCALE_BOUNDS)
    share = 0.5 * (1 + np.tanh(t / 2))
    scale = float(np.exp(low + (high - low) * share))
    return scale, float(scale * (high - low) * share * (1 - share))


@dataclass(frozen=True)
class RetrievalFunction:
    r"""The mean loss of the queries, plus a ridge towards the initial maps.

    .. math:: f(W, V) = \frac{1}{n} \sum_i -\log \sum_j g_{ij} p_{ij}
              + reg\, (|W - W_0|_F^2 + |V - V_0|_F^2)

    The vector holds W, then V if ``sides="two"``, and then the parameter of a learned scale. With
    ``sides="both"``, V = W is one map, and its ridge counts once. Maps are divided by the square
    root of the number of features, so that the identity has norm 1 and a tolerance for the gradient
    means the same for any number of features.

    Attributes
    ----------
    queries, documents : array of shape (n, d) and (m, d)
        Unit vectors. Documents are those of the softmax. With ``sides="query"`` they are mapped
        already, and have k features.
    relevance : Relevance
        The relevant documents. Every query has at least one.
    weights : ndarray of shape (m,) or None
        Weights of the documents in the softmax.
    initial : Maps
        The initial maps :math:`W_0` and :math:`V_0`, and the scale.
    sides : {"query", "both", "two"}
        The maps that are learned.
    reg : float
        Weight of the ridge.
    learns_scale : bool
        Whether the scale is learned.
    """

    queries: Array
    documents: Array
    relevance: Relevance
    weights: np.ndarray | None
    initial: Maps
    sides: Sides
    reg: float
    learns_scale: bool = False

    @property
    def _unit(self) -> float:
        return float(self.initial.queries.shape[1] ** 0.5)

    def encode(self, maps: Maps) -> np.ndarray:
        """Return the vector of some maps."""
        parts = [maps.queries.ravel() / self._unit]
        if self.sides == "two":
            parts.append(maps.documents.ravel() / self._unit)
        if self.learns_scale:
            parts.append(np.array([encode_scale(maps.scale)]))
        return np.concatenate(parts).astype(np.float64)

    def decode(self, x: np.ndarray) -> Maps:
        """Return the maps of a vector."""
        shape, size = self.initial.queries.shape, self.initial.queries.size
        W, V = self._unit * x[:size].reshape(shape), self.initial.documents
        if self.sides != "query":
            V = self._unit * x[size : 2 * size].reshape(shape) if self.sides == "two" else W
        return Maps(W, V, decode_scale(x[-1])[0] if self.learns_scale else self.initial.scale)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at a vector."""
        maps, n = self.decode(x), self.queries.shape[0]
        U, query_norms = mapped(self.queries, maps.queries)
        V, document_norms = self.documents, None
        if self.sides != "query":
            V, document_norms = mapped(self.documents, maps.documents)
        loss = retrieval_loss(
            U,
            V,
            self.relevance,
            maps.scale,
            weights=self.weights,
            moves_documents=self.sides != "query",
        )
        gradients = [_map_gradient(loss.queries, U, query_norms, self.queries) / n]
        offsets = [maps.queries - self.initial.queries]
        if loss.documents is not None:
            by_map = _map_gradient(loss.documents, V, document_norms, self.documents) / n
            if self.sides == "two":
                gradients.append(by_map)
                offsets.append(maps.documents - self.initial.documents)
            else:
                gradients[0] = gradients[0] + by_map
        value = loss.value / n + self.reg * sum(float(np.vdot(each, each)) for each in offsets)
        parts = [
            self._unit * (gradient + 2 * self.reg * offset).ravel()
            for gradient, offset in zip(gradients, offsets, strict=True)
        ]
        if self.learns_scale:
            parts.append(np.array([loss.scale / n * decode_scale(x[-1])[1]]))
        return value, np.concatenate(parts)


def mapped(X: Array, L: np.ndarray) -> tuple[Array, Array]:
    """Return the mapped vectors, divided by their norms, and the norms, from unit vectors X."""
    if L.shape[0] == L.shape[1] and np.array_equal(L, np.eye(len(L))):
        return X, namespace(X).ones_like(X[:, :1])
    return unit_rows(X @ asarray_like(L, X).T)


def _map_gradient(by_vector: Array, U: Array, norms: Array, X: Array) -> np.ndarray:
    """Return the gradient with respect to a map L, where U are the unit vectors of L X.

    Only the part of a gradient that is orthogonal to the vector changes the unit vector.
    """
    xp = namespace(U)
    along = xp.sum(by_vector * U, axis=1, keepdims=True)
    return to_host(((by_vector - along * U) / norms).T @ X).astype(np.float64)
