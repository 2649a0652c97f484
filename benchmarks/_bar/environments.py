"""The Python environments of the libraries: pinned, and built once under ``.bench/``."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from _bar.process import SideFailed

FOLDER = Path(__file__).parents[2] / ".bench"
BUILD_SECONDS = 900  # pyDML is compiled
STAMP = ".built"
ERROR_CHARACTERS = 160


@dataclass(frozen=True)
class Pins:
    """The versions with which a library works.

    Parameters
    ----------
    variable : str
        Environment variable with the path of a Python interpreter to use instead.
    python : str
        Version of Python, such as "3.11", or "" for any.
    installs : tuple of tuple of str
        Arguments of each ``pip install``, in order.
    module : str
        Module to import, as a test of the installation.
    """

    variable: str
    python: str
    installs: tuple[tuple[str, ...], ...]
    module: str


PINS = {
    "metric_learn": Pins(
        "DIMETRIC_METRIC_LEARN",
        "",
        # Its fits fail on scikit-learn 1.8 and later.
        (("metric-learn==0.7.0", "scikit-learn==1.5.2", "numpy<2.3"),),
        "metric_learn",
    ),
    "pydml": Pins(
        "DIMETRIC_PYDML",
        "3.11",
        # The source of pyDML is compiled with these versions only.
        (
            (
                *("setuptools<66", "wheel", "cython<3", "numpy==1.23.5", "scipy==1.10.1"),
                *("scikit-learn==1.1.3", "pandas==1.5.3", "matplotlib<3.8", "six"),
            ),
            ("--no-build-isolation", "--no-deps", "pyDML==0.1.0"),
        ),
        "dml",
    ),
}


class Environments:
    """Find or build the environment of each library when it is first needed.

    Parameters
    ----------
    folder : Path
        Where the environments are built.
    pins : dict of Pins
        The libraries that need an environment of their own. All others use this Python.
    """

    def __init__(self, folder: Path = FOLDER, pins: dict[str, Pins] = PINS) -> None:
        self._folder, self._pins = folder, pins
        self._found: dict[str, list[str] | str] = {}  # the command, or why there is none

    def python(self, library: str) -> list[str]:
        """Return the Python command of a library, or raise ``SideFailed`` if it is missing."""
        if library not in self._pins:
            # -P: the folder of the worker must not be searched for modules
            return [sys.executable, "-P"]
        if library not in self._found:
            try:
                self._found[library] = [str(self._interpreter(library)), "-I"]
            except SideFailed as error:
                self._found[library] = str(error)
        found = self._found[library]
        if isinstance(found, str):
            raise SideFailed(found)
        return found

    def _interpreter(self, library: str) -> Path:
        pins = self._pins[library]
        if given := os.environ.get(pins.variable):
            return Path(given)
        folder = self._folder / library.replace("_", "-")
        interpreter = folder / "bin" / "python"
        if not (folder / STAMP).exists():
            print(f"building {folder} (once, a few minutes)", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            _run([_base_python(pins.python), "-m", "venv", str(folder)], library)
            for arguments in pins.installs:
                _run([str(interpreter), "-m", "pip", "install", "-q", *arguments], library)
            _run([str(interpreter), "-I", "-W", "ignore", "-c", f"import {pins.module}"], library)
            (folder / STAMP).touch()
        return interpreter


def _base_python(version: str) -> str:
    """Return a Python interpreter of a version."""
    if not version or version == ".".join(map(str, sys.version_info[:2])):
        return sys.executable
    if found := shutil.which(f"python{version}"):
        return found
    raise SideFailed(f"not installed: needs Python {version}")


def _run(command: list[str], library: str) -> None:
    """Run a step of the installation."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SideFailed(f"not installed: {error}"[:ERROR_CHARACTERS]) from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["pip failed"]
        print("\n".join(lines), file=sys.stderr)
        raise SideFailed(f"not installed: {lines[-1]}"[:ERROR_CHARACTERS])
