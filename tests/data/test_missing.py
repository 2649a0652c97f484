"""Detection of missing values in classes, numbers, other columns and KEEL files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dimetric.data._missing import (
    CLASS_MISSING_MARKERS,
    KEEL_MISSING_MARKERS,
    MISSING_MARKERS,
    NUMBER_MISSING_MARKERS,
    is_missing,
    is_missing_value,
    marks_missing,
)

MISSING = [None, float("nan"), np.float32("nan"), np.datetime64("NaT"), pd.NaT, pd.NA]
PRESENT = [0, 0.0, False, "", "NA", "nan", np.inf, pd.Timestamp(0), ["a"]]


def test_single_values():
    assert all(is_missing_value(each) for each in MISSING)
    assert not any(is_missing_value(each) for each in PRESENT)
    assert all(marks_missing(each) for each in MISSING)


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (np.array([1, 2]), [False, False]),
        (np.array([True, False]), [False, False]),
        (np.array([1, np.nan], dtype=np.float32), [False, True]),
        (np.array([[1, np.nan]]), [[False, True]]),
        (np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"), [False, True]),
        (np.array(["a", "nan"]), [False, False]),
        (np.array(["a", None, np.nan, pd.NA], dtype=object), [False, True, True, True]),
    ],
)
def test_arrays(values, missing):
    assert_array_equal(is_missing(values), missing)


def test_markers_depend_on_the_kind_of_column():
    assert CLASS_MISSING_MARKERS < MISSING_MARKERS < NUMBER_MISSING_MARKERS
    for text, classes, others, numbers, keel in [
        ("", True, True, True, True),
        (" ? ", True, True, True, True),
        ("NA", False, True, True, False),
        ("None", False, True, True, False),
        ("-", False, False, True, False),
        ("na", False, False, True, True),
        ("<null>", False, False, False, True),
        ("0", False, False, False, False),
    ]:
        assert marks_missing(text, CLASS_MISSING_MARKERS) == classes
        assert marks_missing(text) == others
        assert marks_missing(text, NUMBER_MISSING_MARKERS) == numbers
        assert marks_missing(text, KEEL_MISSING_MARKERS) == keel
