"""A process that runs one side of a comparison."""

import json
import selectors
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

WORKER = Path(__file__).with_name("worker.py")
SIDES = Path(__file__).with_name("sides")


class TimeLimitReached(Exception):
    """The side did not answer within its time limit."""


class SideFailed(Exception):
    """The side raised an error, or its process ended."""


@dataclass(frozen=True)
class Side:
    """A function in one of the files of ``sides/``, and its options.

    Parameters
    ----------
    library : str
        Name of the file without suffix, which is also the name of the library's environment.
    function : str
        ``function(arrays, **options)`` prepares the work, and returns the call to measure. The
        call returns a dict of arrays.
    options : dict
        Options of the function, as JSON.
    """

    library: str
    function: str
    options: dict[str, Any] = field(default_factory=dict)


class SideProcess:
    """A side in a process of its own, so that its memory and its threads are its own.

    Parameters
    ----------
    python : list of str
        Command of the Python interpreter.
    side : Side
        What to run.
    arrays : dict of ndarray
        The data.
    folder : Path, optional
        Folder with the file of the side.
    """

    def __init__(
        self, python: list[str], side: Side, arrays: dict[str, Any], folder: Path = SIDES
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bar-")
        data, self._answer = (Path(self._folder.name, name) for name in ("data.npz", "answer.npz"))
        np.savez(data, **arrays)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [*python, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,  # so that selectors see every line
        )
        self._send(
            {
                "file": str(folder / f"{side.library}.py"),
                "function": side.function,
                "options": side.options,
                "data": str(data),
                "answer": str(self._answer),
            }
        )

    def wait_until_ready(self, limit: float) -> None:
        """Wait until the side is prepared, for at most `limit` seconds."""
        self._receive(limit)

    def run(self, limit: float) -> tuple[float, float, dict[str, np.ndarray]]:
        """Run the side once. Return its seconds, the megabytes that it added, and its results."""
        self._send({})
        answer = self._receive(limit)
        with np.load(self._answer) as file:
            return answer["seconds"], answer["megabytes"], dict(file)

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            stream.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, content: dict[str, Any]) -> None:
        try:
            self._process.stdin.write(json.dumps(content).encode() + b"\n")
        except BrokenPipeError:
            raise SideFailed(self._last_error()) from None

    def _receive(self, limit: float) -> dict[str, Any]:
        stop = time.monotonic() + limit
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, stop - time.monotonic())):
                    raise TimeLimitReached
                part = self._process.stdout.read(65536)
                if not part:
                    raise SideFailed(self._last_error())
                line += part
        answer = json.loads(line)
        if "error" in answer:
            raise SideFailed(answer["error"])
        return answer

    def _last_error(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the process ended with status {self._process.returncode}"
