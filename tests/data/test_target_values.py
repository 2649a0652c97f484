"""Targets with units, with some values that are not numbers, and guessed targets."""

import numpy as np
import pandas as pd
import pytest

from dimetric.advice._inspect import inspect_table
from dimetric.data._tables import open_table

RNG = np.random.default_rng(0)
N = 200
X = RNG.normal(size=N)
AMOUNTS = RNG.integers(1000, 10**6, N)


def table(y, **others):
    return pd.DataFrame({"x": X, **others, "y": y})


@pytest.mark.parametrize(
    ("values", "marker", "content"),
    [
        ([f"${each:,}" for each in AMOUNTS], "N/A", "amounts in USD"),
        ([f"${each:,}" for each in AMOUNTS], "unknown", "amounts in USD"),
        ([f"{each / 7:.2f}" for each in AMOUNTS], "unknown", "numbers"),
        ([f"{each} days" for each in AMOUNTS % 500], "n/a", "numbers in days"),
    ],
)
def test_a_numeric_target_with_markers(values, marker, content):
    values = np.array(values, dtype=object)
    expected = pd.Series(values).str.replace(r"[$,a-z ]", "", regex=True).astype(float).to_numpy()
    values[::20] = marker
    found = open_table(table(values))
    assert np.isnan(found.columns["y"][::20]).all()
    kept = np.arange(N) % 20 > 0
    np.testing.assert_array_equal(found.columns["y"][kept], expected[kept])
    assert f"Column 'y' is read as {content}." in found.notes[0]
    assert ("10 values cannot be read" in found.notes[0]) == (marker == "unknown")
    inspection = inspect_table(table(values))
    assert inspection.problems == []
    assert (inspection.n_kept, inspection.reading[:18]) == (190, "continuous numbers")


def test_durations_become_hours():
    y = pd.to_timedelta(np.arange(N) * 30, unit="min")
    np.testing.assert_allclose(open_table(table(y)).columns["y"], np.arange(N) / 2)


@pytest.mark.parametrize("values", [RNG.integers(1, 13, N).astype(str), RNG.choice(["a", "b"], N)])
def test_classes_stay_classes(values):
    values = values.astype(object)
    values[0] = "other"
    assert open_table(table(values)).columns["y"].tolist() == values.tolist()


@pytest.mark.parametrize("kind", [None, "continuous"])
def test_a_target_of_different_units(kind):
    values = [f"{each} {'EUR' if i % 2 else 'USD'}" for i, each in enumerate(AMOUNTS)]
    found = inspect_table(table(values), target_kind=kind)
    assert found.problems == [
        "Column 'y' holds numbers of different units (EUR, USD). Convert them to one unit, or "
        "choose another target."
    ]


CLASSES = RNG.choice(["no", "yes"], N)


@pytest.mark.parametrize(
    "last",
    [
        {"id": np.arange(1000, 1000 + N)},
        {"rare": [1.0] + [np.nan] * (N - 1)},
        {"same": [3] * N},
        {"tags": [["a", "b"]] * N},
        {"tags": [["a", "b"]] * N, "id": np.arange(N)},
    ],
)
def test_the_guessed_target_can_be_predicted(last):
    found = open_table(pd.DataFrame({"x": X, "churn": CLASSES, **last}), auto=True)
    assert found.target == "churn"
    assert (
        open_table(pd.DataFrame({"x": X, "churn": CLASSES, **last}), "x", auto=True).target == "x"
    )


def test_the_guessed_target_of_a_file(tmp_path):
    frame = pd.DataFrame({"x": X, "churn": RNG.choice(["NA", "no", "yes"], N), "id": np.arange(N)})
    frame.to_csv(tmp_path / "table.csv", index=False)
    found = open_table(tmp_path / "table.csv")
    assert found.target == "churn"
    assert found.columns["churn"].tolist() == frame["churn"].tolist()  # "NA" stays a class
    with pytest.raises(ValueError, match=r"no columns that can be features\. Left out: 'id'"):
        open_table(tmp_path / "table.csv", drop=["churn"])  # the only other column is the target


def test_a_guess_without_a_better_column():
    frame = pd.DataFrame({"id": np.arange(N), "number": np.arange(N)})
    assert open_table(frame, extra=["id"], auto=True).target == "number"


@pytest.mark.parametrize(
    "price",
    [
        [f"{i}.5" for i in range(N - 1)] + ["unknown"],
        [f"{each} {'EUR' if i % 2 else 'USD'}" for i, each in enumerate(AMOUNTS)],
    ],
)
def test_the_guessed_target_may_hold_texts(price):
    assert open_table(pd.DataFrame({"x": X, "price": price})).target == "price"


def test_the_guessed_target_of_a_nested_file(tmp_path):
    frame = pd.DataFrame({"x": X, "churn": CLASSES, "st": [{"a": 1}] * N})
    frame.to_parquet(tmp_path / "table.parquet")
    assert open_table(tmp_path / "table.parquet", auto=True).target == "churn"


def test_the_range_of_a_target():
    found = inspect_table(table([f"${each:,}" for each in np.arange(N) * 500 + 1]))
    assert found.reading == "continuous numbers, from 1 to 99501"
