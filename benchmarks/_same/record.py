"""Run cases, record their results as entries, and save all entries in one file."""

import contextlib
import dataclasses
import io
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

MEASURED = ("time", "seconds", "memory", "fit_time", "bytes")  # not reproducible, so not recorded


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Something to compute.

    Attributes
    ----------
    name : str
        Unique name of the entry.
    kind : {"closed", "iterative"}
        The kind of computation, which determines the tolerances.
    run : callable
        Returns the results as a dictionary, which may be nested.
    single : bool
        Whether it computes in float32.
    """

    name: str
    kind: str
    run: Callable[[], dict[str, Any]]
    single: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """Results of a case: arrays, and facts that JSON can represent."""

    kind: str
    single: bool
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


def run(case: Case) -> Entry:
    """Run a case and return its entry. An error is recorded as a fact."""
    arrays: dict[str, np.ndarray] = {}
    facts: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            _flatten("", case.run(), arrays, facts)
        except Exception as error:  # the other version must raise the same error
            facts["error"] = type(error).__name__
            facts["error message"] = str(error)
    facts["warnings"] = sorted({each.category.__name__ for each in caught})
    return Entry(case.kind, case.single, arrays, facts)


def record(cases: Iterable[Case], *, show: Callable[[str], None]) -> dict[str, Entry]:
    """Run all cases one by one."""
    logging.getLogger("dimetric").setLevel(logging.ERROR)
    entries: dict[str, Entry] = {}
    for case in cases:
        if case.name in entries:
            raise ValueError(f"Two cases are called {case.name!r}.")
        started = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            entries[case.name] = run(case)
        took = time.perf_counter() - started
        if took > 2:
            show(f"{took:5.1f} s  {case.name}")
    return entries


def _flatten(name: str, value: Any, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """Add a value to an entry. The parts of a container get dotted names."""
    last = name.rpartition(".")[2]
    if last in MEASURED or last.endswith("_time") or hasattr(value, "get_params"):
        return
    parts = _parts(value)
    if parts is not None:
        for key, part in parts.items():
            _flatten(f"{name}.{key}" if name else str(key), part, arrays, facts)
    elif value is None or isinstance(value, bool | int | str):
        facts[name] = value
    elif isinstance(value, float):
        arrays[name] = np.float64(value)
    else:
        array = to_host(value)
        if array.dtype.kind in "OUST":
            facts[name] = [str(each) for each in array.ravel()]
        else:
            arrays[name] = array


def _parts(value: Any) -> dict[Any, Any] | None:
    """Return the parts of a mapping, record or sequence, or None for other values."""
    if isinstance(value, dict):
        return value
    if hasattr(value, "_asdict"):
        return value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, list | tuple) and not all(isinstance(each, int | float) for each in value):
        return dict(enumerate(value))
    return None


def to_host(a: Any) -> np.ndarray:
    """Convert an array of any library to NumPy."""
    if hasattr(a, "detach"):
        a = a.detach().cpu().numpy()
    elif hasattr(a, "__array_namespace__") and not isinstance(a, np.ndarray):
        a = np.from_dlpack(a)
    return np.asarray(a)


def save(entries: dict[str, Entry], about: dict[str, Any], path: Path) -> None:
    """Save a record as an NPZ file that contains the arrays and one JSON string."""
    numbers = {name: i for i, name in enumerate(entries)}
    manifest = {
        name: {"kind": entry.kind, "single": entry.single, "facts": entry.facts}
        for name, entry in entries.items()
    }
    arrays = {
        f"{numbers[name]}|{key}": value
        for name, entry in entries.items()
        for key, value in entry.arrays.items()
    }
    text = json.dumps({"about": about, "entries": manifest})
    with path.open("wb") as file:
        np.savez_compressed(file, manifest=np.array(text), **arrays)


def load(path: Path) -> tuple[dict[str, Entry], dict[str, Any]]:
    """Return the entries of a record and the information about it."""
    with np.load(path) as file:
        manifest = json.loads(str(file["manifest"]))
        arrays: dict[str, dict[str, np.ndarray]] = {}
        for key in file.files:
            number, _, name = key.partition("|")
            if name:
                arrays.setdefault(number, {})[name] = file[key]
    entries = {
        name: Entry(each["kind"], each["single"], arrays.get(str(i), {}), each["facts"])
        for i, (name, each) in enumerate(manifest["entries"].items())
    }
    return entries, manifest["about"]
