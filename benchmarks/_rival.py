"""Run a rival library that does not support current scikit-learn in another Python interpreter.

An environment variable contains the path of the interpreter. If it is not set, the benchmark prints
a note and continues without the rival.
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
    """Run statements in another Python interpreter. Return their time in seconds and a result.

    Parameters
    ----------
    variable : str
        Environment variable with the path of the interpreter. If it is not set, None is returned.
    prepare : str
        Statements that run first: imports, creation of the learner.
    measured : str
        Statements that are timed.
    result : str
        Expression for the array to return, such as the learned map.
    limit : float, default=120
        Time limit in seconds. If it is exceeded, (inf, None) is returned.
    **arrays
        Arrays that the statements can use under these names.

    Examples
    --------
    >>> rival("DIMETRIC_PYDML", "import dml; m = dml.LDML()", "m.fit(X, y)", "m.L_", X=X, y=y)
    """
    python = os.environ.get(variable)
    if not python:
        print(f"  (rival skipped: set {variable} to a Python interpreter that has the library)")
        return None
    with tempfile.TemporaryDirectory() as folder:
        data, answer = Path(folder, "data.npz"), Path(folder, "answer.npz")
        np.savez(data, **arrays)
        script = SCRIPT.format(prepare=prepare, measured=measured, result=result)
        try:
            subprocess.run(
                # With -I, the modules of the current folder and of PYTHONPATH are not imported.
                [python, "-I", "-c", script, str(data), str(answer)],
                stdout=subprocess.DEVNULL,
                timeout=limit,
                check=True,
            )
        except subprocess.TimeoutExpired:
            return float("inf"), None
        with np.load(answer) as found:
            return float(found["seconds"]), found["result"]
