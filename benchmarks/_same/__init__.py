"""Parts of ``same_results.py``: the data, the cases, how they are recorded and compared.

Thread counts are read when NumPy is first imported: this package sets them before it imports it.
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")
