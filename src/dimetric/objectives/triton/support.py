"""Whether the kernels can be used for an array."""

from functools import cache
from importlib.util import find_spec

import array_api_compat as compat

from dimetric._arrays.namespaces import Array

# Whether kernels also run on the host, in Triton's interpreter. It is slow, so only tests use it.
# The environment variable TRITON_INTERPRET=1 must then be set before Triton is imported.
INTERPRETED = False
MAX_OFFSET = 2**31  # offsets into an array are 32-bit integers
# For wider maps, the engine is faster: kernels compute each distance once for every chunk of
# columns of the product.
MAX_WIDTH = 512
PADDING = 128  # rows and columns are padded to a multiple of this number


def runs_kernels(Z: Array, *, single: bool = False) -> bool:
    """Return whether the kernels can be used for mapped samples.

    They need CUDA tensors of torch in float32, and Triton.

    Parameters
    ----------
    Z : array of shape (n, k)
        Mapped samples.
    single : bool, default=False
        Whether the kernels may be used for float64, because the samples were given in float32.
    """
    if not compat.is_torch_array(Z) or not _has_triton():
        return False
    import torch

    on_device = Z.is_cuda or INTERPRETED
    is_single = Z.dtype == torch.float32 or (single and Z.dtype == torch.float64)
    fits = (Z.shape[0] + PADDING) * (Z.shape[1] + PADDING) < MAX_OFFSET
    return on_device and is_single and fits and 0 < Z.shape[1] <= MAX_WIDTH


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
