r"""Operands of the kernels, and how their work is divided among programs.

Tensor cores multiply half-precision numbers. An operand is therefore stored as the sum of two of
them, :math:`a = u (a_{high} + a_{low})` with a unit u, which has the precision of float32 up to two
bits. A product of two operands is the sum of three products, without that of the two low parts. It
takes half the time of three products in TF32, and its operands need no conversion in the kernel.

Rows are padded with zeros to a multiple of the tile size, and columns to a power of two or to a
multiple of a chunk. Padded columns of a tile have an infinite squared norm, so they are infinitely
far away.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import triton

from dimetric.objectives.pairwise import MAX_FLOAT32_ERROR
from dimetric.objectives.triton.support import PADDING

EPS = torch.finfo(torch.float32).eps
EXACT_BITS = 11  # integers of at most 2**11 have squared norms of at most 2**22
LOG2_E = 1.4426950408889634
LARGEST_EXPONENT = 14  # operands are scaled to at most 2**14, weights to about 2**13
WEIGHT_SCALE = 2.0**13
MAX_NARROW = 128  # wider operands are processed in chunks of columns
CHUNK = 64
MAX_PRODUCT_CHUNK = 128  # columns of the product that a program computes
MIN_WIDTH = 16  # the smallest width of a matrix product in Triton
MIN_PROGRAMS_PER_PROCESSOR = 16  # programs on each multiprocessor, so that all are busy to the end
MIN_TILES_PER_PROGRAM = 8


@dataclass(frozen=True)
class Operand:
    """A matrix as the sum of two half-precision matrices, times a unit.

    Attributes
    ----------
    high, low : tensors of shape (n_padded, width)
        The two matrices.
    unit : tensor of shape ()
        The unit, a power of two.
    chunk : int
        Number of columns that are multiplied at a time.
    """

    high: torch.Tensor
    low: torch.Tensor
    unit: torch.Tensor
    chunk: int

    @classmethod
    def of(cls, A: torch.Tensor, max_chunk: int = MAX_NARROW) -> "Operand":
        """Return a matrix as an operand. Wide matrices are divided into chunks of columns."""
        n, k = A.shape
        chunk = max(MIN_WIDTH, triton.next_power_of_2(k))
        if chunk > max_chunk:
            chunk = CHUNK if max_chunk == MAX_NARROW else max_chunk
        width = -(-k // chunk) * chunk
        largest = A.abs().amax().clamp_min(torch.finfo(torch.float32).tiny)
        unit = torch.exp2(torch.ceil(torch.log2(largest)) - LARGEST_EXPONENT)
        scaled = A / unit
        shape = padded_rows(n), width
        high, low = (torch.zeros(shape, dtype=torch.float16, device=A.device) for _ in range(2))
        high[:n, :k] = scaled
        low[:n, :k] = scaled - high[:n, :k]
        return cls(high, low, unit.to(torch.float32), chunk)

    @property
    def width(self) -> int:
        """Number of columns with padding."""
        return int(self.high.shape[1])


@dataclass(frozen=True)
class Pairs:
    """All pairs of points, for kernels with squared distances and a product.

    Attributes
    ----------
    n, n_padded : int
        Number of points without and with padding.
    Z : Operand
        The points.
    norms : tensor of shape (n_padded,)
        Squared norms of the points times a factor. They are inf in the padding.
    cross : tensor of shape ()
        The squared distance of two points, times the factor, is the sum of their norms minus
        `cross` times their product in units of Z.
    parts : tensor of shape (3, n_padded, width), or None
        See :func:`_exact_parts`. If given, the norms have two rows, and `cross` is the square of
        the unit.
    """

    n: int
    n_padded: int
    Z: Operand
    norms: torch.Tensor
    cross: torch.Tensor
    parts: torch.Tensor | None

    @classmethod
    def of(cls, Z: torch.Tensor, factor: float = 1.0) -> "Pairs":
        """Return the pairs of mapped points. Squared distances are multiplied by a factor."""
        operand, squares = Operand.of(Z), torch.sum(Z * Z, dim=1)
        largest = float(torch.amax(squares))
        if factor * largest * EPS > MAX_FLOAT32_ERROR:
            unit = 2.0 ** math.ceil(math.log2(largest) / 2 - EXACT_BITS)
            parts, norms = _exact_parts(Z, unit, operand.width)
            cross = torch.full((), factor * unit**2, device=Z.device)
            return cls(len(Z), padded_rows(len(Z)), operand, norms, cross, parts)
        norms = padded(factor * squares, torch.inf)
        cross = 2 * factor * operand.unit * operand.unit
        return cls(len(Z), len(norms), operand, norms, cross, None)

    def launch(self) -> dict[str, Any]:
        """Return the arguments of the distances that every kernel gets."""
        return {
            "ZH": self.Z.high,
            "ZL": self.Z.low,
            "PARTS": self.Z.high if self.parts is None else self.parts,
            "NORMS": self.norms,
            "CROSS": self.cross,
            "n": self.n,
            "n_padded": self.n_padded,
            "K": self.Z.width,
            "BK": self.Z.chunk,
            "WIDE": self.Z.width > self.Z.chunk,
            "EXACT": self.parts is not None,
        }

    def tiling(self, n_chunks: int = 1) -> "Tiling":
        """Return the tiles of a kernel whose product has a number of chunks of columns."""
        return Tiling.of(self, n_chunks)


def _exact_parts(Z: torch.Tensor, unit: float, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Return parts of the points for squared distances whose errors are far below the norms.

    :math:`z = u (h + r + s)`, where h are integers and r and s are half-precision numbers of at
    most 1/2 and about :math:`2^{-13}`. The unit u is so large that
    :math:`|h_i|^2 + |h_j|^2 - 2 h_i \cdot h_j` is an integer below :math:`2^{24}`, which float32
    holds without error. All other terms are smaller by a factor of about :math:`2^{-11}`, and so
    are their errors.

    Returns
    -------
    parts : tensor of shape (3, n_padded, width)
        h, r and s.
    norms : tensor of shape (2, n_padded)
        :math:`|h|^2`, inf in the padding, and :math:`2 h \cdot (r + s) + |r + s|^2`.
    """
    n, k = Z.shape
    scaled = Z.to(torch.float64) / unit
    h = torch.round(scaled)
    rest = scaled - h
    parts = torch.zeros((3, padded_rows(n), width), dtype=torch.float16, device=Z.device)
    parts[0, :n, :k] = h
    parts[1, :n, :k] = rest
    parts[2, :n, :k] = rest - parts[1, :n, :k]
    norms = torch.sum(h * h, dim=1), torch.sum(2 * h * rest + rest * rest, dim=1)
    return parts, torch.stack([padded(norms[0], torch.inf), padded(norms[1], 0.0)])


@dataclass(frozen=True)
class Tiling:
    """The size of the tiles, and how the columns are divided among programs."""

    rows: int
    columns: int
    n_warps: int
    n_stages: int
    n_splits: int
    n_blocks: int

    @classmethod
    def of(cls, pairs: Pairs, n_chunks: int) -> "Tiling":
        """Choose the tiles by the width of the points. The numbers were chosen by experiment."""
        rows, columns, warps, stages = tile_shape(pairs.Z.width)
        n_blocks, n_tiles = pairs.n_padded // rows, pairs.n_padded // columns
        wanted = MIN_PROGRAMS_PER_PROCESSOR * processors(pairs.norms.device)
        most = max(1, n_tiles // MIN_TILES_PER_PROGRAM)
        n_splits = min(most, -(-wanted // (n_blocks * n_chunks)))
        return cls(rows, columns, warps, stages, n_splits, n_blocks)

    def launch(self) -> dict[str, int]:
        """Return the arguments of the tiles that every kernel gets."""
        return {
            "n_splits": self.n_splits,
            "BM": self.rows,
            "BN": self.columns,
            "num_warps": self.n_warps,
            "num_stages": self.n_stages,
        }


def tile_shape(width: int) -> tuple[int, int, int, int]:
    """Return the rows and columns of a tile, and the numbers of warps and stages."""
    if width <= 32:
        return 64, 128, 4, 3
    if width <= 64:
        return 64, 64, 4, 3
    return 64, 64, 4, 2


def processors(device: torch.device) -> int:
    """Return the number of multiprocessors of a device."""
    if device.type != "cuda":
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def padded_rows(n: int) -> int:
    """Return the number of rows after padding."""
    return -(-n // PADDING) * PADDING


def padded(a: torch.Tensor, fill: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return an array with padded rows in a dtype."""
    shape = padded_rows(a.shape[0]), *a.shape[1:]
    result = torch.full(shape, fill, dtype=dtype, device=a.device)
    result[: a.shape[0]] = a
    return result


@dataclass(frozen=True)
class Product:
    """The product of a symmetric matrix of weights with V, and their row sums.

    A kernel writes a part for each split of the columns, because atomic additions would make the
    order of the sum random.
    """

    V: torch.Tensor
    operand: Operand
    parts: torch.Tensor
    degrees: torch.Tensor
    is_points: bool

    @classmethod
    def of(cls, pairs: Pairs, V: torch.Tensor, Z: torch.Tensor, scale: Any) -> "Product":
        """Return memory for the product. The kernel multiplies all weights by `scale`."""
        is_points = V is Z and pairs.Z.width == pairs.Z.chunk
        operand = pairs.Z if is_points else Operand.of(V, MAX_PRODUCT_CHUNK)
        tiling = pairs.tiling(operand.width // operand.chunk)
        parts = torch.empty(
            (tiling.n_splits, pairs.n_padded, operand.width), device=V.device, dtype=torch.float32
        )
        degrees = torch.empty(
            (tiling.n_splits, pairs.n_padded), device=V.device, dtype=torch.float32
        )
        operand = Operand(operand.high, operand.low, operand.unit / scale, operand.chunk)
        return cls(V, operand, parts, degrees, is_points)

    @property
    def n_chunks(self) -> int:
        """Number of chunks of columns."""
        return self.operand.width // self.operand.chunk

    def launch(self) -> dict[str, Any]:
        """Return the arguments of the product that a kernel gets."""
        return {
            "VH": self.operand.high,
            "VL": self.operand.low,
            "UNIT": self.operand.unit,
            "OUT": self.parts,
            "DEGREES": self.degrees,
            "Q": self.operand.width,
            "BQ": self.operand.chunk,
            "SAME": self.is_points,
        }

    def row_sums(self, scale: Any) -> torch.Tensor:
        """Return the row sums of the weights, in float64."""
        n = self.V.shape[0]
        return torch.sum(self.degrees, dim=0, dtype=torch.float64)[:n] / scale

    def laplacian(self, scale: Any) -> torch.Tensor:
        """Return the Laplacian of the weights times V."""
        n, q = self.V.shape
        degrees = self.row_sums(scale).to(self.V.dtype)
        return degrees[:, None] * self.V - torch.sum(self.parts, dim=0)[:n, :q].to(self.V.dtype)
