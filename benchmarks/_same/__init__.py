"""Parts of ``same_results.py``: data sets, cases, records and their comparison.

This package sets the numbers of threads before NumPy is imported, because NumPy reads them then.
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
os.environ.setdefault("SCIPY_ARRAY_API", "1")
