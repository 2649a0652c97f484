"""Columns that identify rows or groups of rows are not features."""

import numpy as np
import pytest

from dimetric.data._kinds._ids import find_ids

RNG = np.random.default_rng(0)
N = 300


def texts(values):
    return np.array(list(values), dtype=object)


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("customer_id", RNG.permutation(10**6)[:N], "row identifier"),
        ("CustomerID", RNG.permutation(10**6)[:N], "row identifier"),
        ("userid", RNG.permutation(10**6)[:N], "row identifier"),
        ("uuid", texts(f"x{i * 7}y" for i in range(N)), "row identifier"),
        ("x", np.arange(1000, 1000 + N), "numbers the rows from 1000 to 1299"),
        ("x", np.arange(N)[::-1] + 5.0, "numbers the rows from 5 to 304"),
        ("row_no", RNG.permutation(N) + 5.0, "numbers the rows from 5 to 304"),
        ("Unnamed: 0", RNG.permutation(N), "row identifier"),
        ("url", texts(f"x.org/{i}" for i in range(N)), "web addresses"),
        ("x", np.delete(np.arange(N), slice(0, N, 9)), "numbers the rows"),
        ("invoice no", np.cumsum(RNG.integers(1, 99, N)), "row identifier"),
        ("x", texts(f"A-{i:04}" for i in range(N)), "different code"),
        ("x", texts(f"{i:032x}a1" for i in range(N)), "hashes"),
        ("x", texts(f"{i:08x}-0a0b-4c0d-8e0f-{i:012x}" for i in range(N)), "unique identifiers"),
        ("x", texts(f"p{i}@mail.org" for i in range(N)), "email addresses"),
        ("x", texts(f"https://x.org/{i}" for i in range(N)), "web addresses"),
        ("x", texts(f"+49 30 {i + 10**6}" for i in range(N)), "phone numbers"),
        ("phone", RNG.permutation(10**5)[:N] * 9973, "contact data"),
        ("x", texts(f"Ann{chr(97 + i % 26)} Lee{'o' * (i // 26)}" for i in range(N)), "a name"),
    ],
)
def test_ids_of_rows(name, values, reason):
    found = find_ids(name, values)
    assert found is not None
    assert reason in found.reason
    assert not found.is_group


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", RNG.permutation(10**6)[:N]),
        ("size", RNG.random(N)),
        ("grid", RNG.integers(0, 100, N)),
        ("valid", RNG.integers(0, 100, N)),
        ("key", RNG.integers(0, 12, N)),
        ("year", np.arange(1900, 1900 + N)),
        ("rank", RNG.permutation(N)),
        ("number of rooms", RNG.integers(1, 9, N)),
        ("region_id", RNG.integers(0, 4, N)),
        ("town", texts(f"town {i % 60}" for i in range(N))),
        ("comment", texts(f"the parcel number {i} came too late" for i in range(N))),
        ("x", np.arange(10)),  # too few rows to tell
        ("width", np.arange(0, 3 * N, 3)),
        ("size", np.array([-1.7e308, 1.7e308] * 10 + [0.0])),
        ("size", np.r_[-1.7e308, 1.7e308, np.arange(30.0)]),
        # Distinct measurements in random order do not number the rows.
        ("score", RNG.permutation(N) + 5.0),
        ("heart_rate", RNG.permutation(N)),
        ("mail", texts("abc"[i % 3] for i in range(N))),
        ("tel", texts(["yes", "no", "maybe"][i % 3] for i in range(N))),
        ("num_visits", np.cumsum(RNG.integers(1, 99, N))),
        ("row_height", np.cumsum(RNG.integers(1, 99, N))),
        ("index_value", np.cumsum(RNG.integers(1, 99, N))),
    ],
)
def test_measurements_are_not_ids(name, values):
    assert find_ids(name, values) is None


def test_ids_of_groups():
    found = find_ids("patient_id", RNG.integers(0, 40, N))
    assert found is not None
    assert found.is_group
    assert found.reason == "it names 40 groups of rows"
    assert not found.is_kept
    assert find_ids("patient_id", RNG.integers(0, 8, N)).is_kept  # may be categories
    assert find_ids("mail", texts(f"p{i % 30}@mail.org" for i in range(N))).is_group


def test_ids_that_rarely_repeat_are_not_measurements():
    found = find_ids("some_id", RNG.permutation(np.r_[np.arange(150), np.arange(50)]))
    assert found is not None
    assert found.is_group
    assert not found.is_kept
    assert found.reason == "it names 150 groups of rows"
