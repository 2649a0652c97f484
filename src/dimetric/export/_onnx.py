"""Export models as ONNX graphs, which run on servers, in browsers and on phones."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dimetric._arguments import check_types
from dimetric._files import atomic_write
from dimetric.export._map_chain import KernelMap, Linear, Vote, map_chain
from dimetric.export._onnx_vote import most_voted, vote_fractions
from dimetric.export._retrieval.sides import checked_side, is_adapter, side_matrix

__all__ = ["to_onnx"]

OPSET, IR_VERSION = 17, 8  # released in 2022, so runtimes in use support them


@check_types
def to_onnx(
    model: BaseEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float32",
    side: str | None = None,
) -> Any:
    """Export a model as an ONNX graph.

    Parameters
    ----------
    model : estimator
        A fitted linear or kernel learner, a nearest-neighbour or centroid classifier, or a Pipeline
        of scalers and one of these. Or a fitted RetrievalAdapter.
    path : path, optional
        Path of the file to write.
    dtype : {"float32", "float64"}, default="float32"
        Dtype of the input ``X`` and of the outputs ``Z`` and ``probabilities``. Kernels and
        distances are always computed in float64.
    side : {"query", "document"}, optional
        Which map of a RetrievalAdapter to export. The default is "query". Its output ``Z`` has unit
        rows, so that documents are ranked by inner products.

    Returns
    -------
    graph : onnx.ModelProto
        A graph with the input ``X`` of shape (n, n_features), for any n. The output of a learner is
        ``Z``. The outputs of a classifier are ``label`` and ``probabilities``, or only ``label`` if
        it uses one neighbour without weights.

    Notes
    -----
    For a kernel learner or a classifier with m reference points, a batch of n samples needs memory
    for n * m numbers, or n * m * n_features with the laplacian kernel.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_iris
    >>> graph = to_onnx(LDA(1).fit(*load_iris(return_X_y=True)))
    >>> [node.op_type for node in graph.graph.node]
    ['Sub', 'MatMul', 'Add']
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64', not {dtype!r}.")
    side, graph, Z = checked_side(model, side), Graph(dtype), "X"
    if is_adapter(model):
        W = side_matrix(model, side)
        Z = graph.unit_rows(graph.node("MatMul", Z, W.T.astype(dtype)))
        exported = graph.to_model(Z, None, W.shape[1], f"{type(model).__name__}_{side}")
    else:
        chain = map_chain(model)
        for each in chain.maps:
            Z = graph.linear_map(Z, each) if isinstance(each, Linear) else graph.kernel_map(Z, each)
        exported = graph.to_model(Z, chain.vote, len(chain.features), type(model).__name__)
    if path is not None:
        with atomic_write(path) as temporary:
            temporary.write_bytes(exported.SerializeToString())
    return exported


class Graph:
    """A graph under construction. Its methods add nodes and return the name of their output."""

    def __init__(self, dtype: str) -> None:
        self.onnx, self.dtype = _onnx(), np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._n_names = 0

    def node(
        self, operation: str, *inputs: str | np.ndarray, outputs: Any = None, **attributes: Any
    ) -> str:
        """Add a node and return the name of its first output. Array inputs become constants."""
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        outputs = outputs or [self.new_name(operation.lower())]
        self.nodes.append(self.onnx.helper.make_node(operation, names, outputs, **attributes))
        return outputs[0]

    def new_name(self, start: str) -> str:
        """Return a name that no other node has."""
        self._n_names += 1
        return f"{start}{self._n_names}"

    def branch(self, build: Callable[[], str], shape: list[Any]) -> Any:
        """Return the nodes that a function adds, as a graph with one output in float64."""
        outer, self.nodes = self.nodes, []
        output = build()
        nodes, self.nodes = self.nodes, outer
        double = self.onnx.TensorProto.DOUBLE
        described = self.onnx.helper.make_tensor_value_info(output, double, shape)
        return self.onnx.helper.make_graph(nodes, self.new_name("branch"), [], [described])

    def _constant(self, array: np.ndarray) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def cast(self, x: str, dtype: Any) -> str:
        """Add a node that converts a tensor to a dtype."""
        wanted = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", x, to=wanted)

    def linear_map(self, x: str, linear: Linear) -> str:
        r"""Add nodes that compute :math:`W (x - o) + b`."""
        W, o, b = (a.astype(self.dtype) for a in (linear.W, linear.o, linear.b))
        moved = self.node("Sub", x, o)
        scaled = self.node("Mul", moved, W) if W.ndim == 1 else self.node("MatMul", moved, W.T)
        return self.node("Add", scaled, b)

    def kernel_map(self, x: str, kernel_map: KernelMap) -> str:
        r"""Add nodes that compute :math:`A (k(S, x) - o)`, in float64.

        Lower precision would not suffice, because the terms nearly cancel.
        """
        K = self._kernel(self.cast(x, np.float64), kernel_map)
        moved = self.node("Sub", K, kernel_map.o)
        return self.cast(self.node("MatMul", moved, kernel_map.A.T), self.dtype)

    def _kernel(self, x: str, kernel_map: KernelMap) -> str:
        kernel, S = kernel_map.kernel, kernel_map.S
        gamma, coef0, degree = (np.float64(a) for a in (kernel.gamma, kernel.coef0, kernel.degree))
        if kernel.centre is not None:
            x, S = self.node("Sub", x, kernel.centre), S - kernel.centre
        if kernel.name == "laplacian":
            return self.node("Exp", self.node("Mul", self._manhattan(x, S), np.asarray(-gamma)))
        if kernel.name == "rbf":
            return self.node(
                "Exp", self.node("Mul", self.squared_distances(x, S), np.asarray(-gamma))
            )
        if kernel.name == "cosine":
            length = np.linalg.norm(S, axis=1, keepdims=True)
            x, S = self.unit_rows(x, np.float64), S / np.where(length > 0, length, 1)
        if kernel.name in ("linear", "cosine"):
            return self.node("MatMul", x, S.T)
        # Multiply S by gamma. If the product were multiplied instead, onnxruntime would round gamma
        # to float32.
        inner = self.node("Add", self.node("MatMul", x, gamma * S.T), np.asarray(coef0))
        if kernel.name == "sigmoid":
            return self.node("Tanh", inner)
        return self.node("Pow", inner, np.asarray(degree))

    def squared_distances(self, x: str, S: np.ndarray) -> str:
        """Add nodes that compute the squared distances, of shape (n, m), by a matrix product."""
        rows = self.node("ReduceSumSquare", x, axes=[1], keepdims=1)
        products = self.node("MatMul", x, -2 * S.T)
        D = self.node("Add", self.node("Add", products, rows), np.sum(S * S, axis=1)[None, :])
        return self.node("Max", D, np.asarray(0.0))

    def _manhattan(self, x: str, S: np.ndarray) -> str:
        apart = self.node("Sub", self.node("Unsqueeze", x, np.array([1])), S[None, :, :])
        return self.node("ReduceSum", self.node("Abs", apart), np.array([2]), keepdims=0)

    def unit_rows(self, x: str, dtype: Any = None) -> str:
        """Add nodes that divide rows, of a given dtype, by their lengths, unless these are 0."""
        zero, one = (np.asarray(each, dtype=dtype or self.dtype) for each in (0, 1))
        length = self.node("ReduceL2", x, axes=[1], keepdims=1)
        is_zero = self.node("Equal", length, zero)
        return self.node("Div", x, self.node("Where", is_zero, one, length))

    def to_model(self, z: str, vote: Vote | None, n_features: int, name: str) -> Any:
        """Name the outputs, and return the graph as a model, after checking it with onnx."""
        helper = self.onnx.helper
        element_type = helper.np_dtype_to_tensor_dtype(self.dtype)
        tensor = helper.make_tensor_value_info
        if vote is None:
            self.nodes[-1].output[0] = "Z"
            outputs = [tensor("Z", element_type, ["n", None])]
        else:
            outputs = [self._labels(vote_fractions(self, z, vote), vote)]
            if vote.k > 1 or vote.by_distance:
                outputs.append(tensor("probabilities", element_type, ["n", len(vote.classes)]))
        graph = helper.make_graph(
            self.nodes,
            name,
            [tensor("X", element_type, ["n", n_features])],
            outputs,
            self.constants,
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(
            graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="dimetric"
        )
        self.onnx.checker.check_model(model, full_check=True)
        return model

    def _labels(self, probabilities: str, vote: Vote) -> Any:
        """Add nodes that compute the outputs of a classifier. Return the description of ``label``.

        The label is that of the most probable class. Up to rounding, ties go to the first class.
        """
        best = self.node("ArgMax", most_voted(self, probabilities, vote), axis=1, keepdims=0)
        classes = vote.classes
        classes = classes.astype(np.int64) if classes.dtype.kind in "iub" else classes
        if classes.dtype.kind not in "if":
            classes = classes.astype(str).astype(object)
        self.node("Gather", classes, best, outputs=["label"], axis=0)
        self.node(
            "Cast",
            probabilities,
            outputs=["probabilities"],
            to=self.onnx.helper.np_dtype_to_tensor_dtype(self.dtype),
        )
        element_type = (
            self.onnx.TensorProto.STRING
            if classes.dtype == object
            else self.onnx.helper.np_dtype_to_tensor_dtype(classes.dtype)
        )
        return self.onnx.helper.make_tensor_value_info("label", element_type, ["n"])


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:  # pragma: no cover - installed in the tests
        raise ImportError("Export to ONNX requires onnx: pip install 'dimetric[export]'.") from None
    return onnx
