"""A rival in a Python of its own, for libraries that do not run beside today's scikit-learn.

An environment variable names that Python; where it is not set, the benchmark says so and goes on.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

SCRIPT = """
import sys, time, warnings
import numpy as np

warnings.simplefilter("ignore")
names = {{"np": np, **np.load(sys.argv[1])}}
exec({prepare!r}, names)
measured = compile({measured!r}, "measured", "exec")
started = time.perf_counter()
exec(measured, names)
seconds = time.perf_counter() - started
np.savez(sys.argv[2], seconds=seconds, result=eval({result!r}, names))
"""


def rival(
    variable: str, prepare: str, measured: str, result: str, *, limit: float = 120, **arrays: Any
) -> tuple[float, np.ndarray | None] | None:
    """Return the seconds that a statement takes in a rival's Python, and what came of it.

    Parameters
    ----------
    variable : str
        Environment variable with the path of that Python; the answer is None if it is not set.
    prepare : str
        Statements that come first: imports, the learner.
    measured : str
        Statements whose time is taken.
    result : str
        Expression for the array to return, such as the map.
    limit : float, default=120
        Seconds after which the rival is given up: (inf, None).
    **arrays
        Arrays that the statements see under these names.

    Examples
    --------
    >>> rival("DIMETRIC_PYDML", "import dml; m = dml.LDML()", "m.fit(X, y)", "m.L_", X=X, y=y)
    """
    python = os.environ.get(variable)
    if not python:
        print(f"  (no rival: set {variable} to a Python that has it)")
        return None
    with tempfile.TemporaryDirectory() as folder:
        data, answer = Path(folder, "data.npz"), Path(folder, "answer.npz")
        np.savez(data, **arrays)
        script = SCRIPT.format(prepare=prepare, measured=measured, result=result)
        try:
            subprocess.run(
                [python, "-c", script, str(data), str(answer)],
                env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
                stdout=subprocess.DEVNULL,
                timeout=limit,
                check=True,
            )
        except subprocess.TimeoutExpired:
            return float("inf"), None
        with np.load(answer) as found:
            return float(found["seconds"]), found["result"]
