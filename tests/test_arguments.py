"""Tests of the type checks of arguments."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dimetric import load
from dimetric._arguments import check_types


@check_types
def count(
    n: int | None,
    *more: int,
    names: Sequence[str] = (),
    path: "str | os.PathLike[str]" = "",
    scale: float = 1.0,
    grid: Mapping[str, Any] | Iterable[int] = (),
    weights: str | Callable[..., float] = "",
    anything: Any = None,
    **options: str,
) -> int:
    """Return the number of names."""
    return len(names)


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": np.int8(3)},
        {"n": True},
        {"n": None, "scale": 2},
        {"n": 1, "scale": np.float32(2)},
        {"n": 1, "path": Path()},
        {"n": 1, "names": np.array(["a"])},
        {"n": 1, "names": pd.Index(["a"])},
        {"n": 1, "grid": {"a": 1}},
        {"n": 1, "grid": range(3)},
        {"n": 1, "weights": print},
        {"n": 1, "anything": object(), "option": 3},
    ],
)
def test_matching_types_pass(arguments):
    assert count(**arguments) == len(arguments.get("names", ()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 1.0}, "n=1.0 must be an int or None, not a float"),
        ({"n": "1"}, "n='1' must be an int or None, not a str"),
        ({"n": 1, "path": 1}, "path=1 must be a str or a PathLike, not an int"),
        ({"n": 1, "names": 1}, "names=1 must be a Sequence, not an int"),
        ({"n": 1, "scale": None}, "scale=None must be a float, not None"),
        ({"n": 1, "grid": 2}, "grid=2 must be a Mapping or an Iterable, not an int"),
    ],
)
@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_wrong_type_raises(arguments, message, error):
    with pytest.raises(error, match=message):
        count(**arguments)


def test_errors_of_python_and_other_arguments_pass_through():
    with pytest.raises(TypeError, match=r"count\(\) missing 1 required positional argument: 'n'"):
        count()
    assert count(1, "not checked") == 0


def test_long_values_are_cut():
    with pytest.raises(TypeError) as caught:
        count("x" * 10_000)
    assert len(str(caught.value)) < 300


def test_an_int_is_not_a_file_descriptor():
    """``open(1)`` would read from standard output and close it."""
    with pytest.raises(TypeError, match="path=1 must be a str or a PathLike"):
        load(1)
    os.fstat(1)
