"""The records of columns, and the problems of a table."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dimetric
from dimetric.advice._table import read_samples
from dimetric.data import read_table
from dimetric.data._records import record_of
from dimetric.data._tables import open_table


def column(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


RNG = np.random.default_rng(0)
N = 200
CUSTOMERS = pd.DataFrame(
    {
        "customer_id": np.arange(1000, 1000 + N),
        "signup": (np.datetime64("2020-01-01") + RNG.integers(0, 700, N)).astype(str),
        "discount": [f"{each:.1f} %" for each in RNG.uniform(0, 30, N)],
        "plan": RNG.choice(["basic", "pro", "team"], N),
        "age": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(40, 9, N)),
        "fax": [None] * N,
        "country": "DE",
        "churn": RNG.choice(["no", "yes"], N),
    }
)


@pytest.mark.parametrize(
    ("values", "kind", "n_missing", "span", "treatment"),
    [
        (np.array([1.5, np.nan, 4.0]), "numbers", 1, "1.5 to 4", "1 feature"),
        (column(["a", "b", "c"]), "categories", 0, "3 values", "3 features, one-hot"),
        (column(["a", "b", None]), "categories", 1, "2 values", "1 feature"),
        (np.array([True, False, True]), "true/false", 0, "", "1 feature"),
        (
            column(["2021-03-05", "2021-04-10"]),
            "dates",
            0,
            "2021-03-05 to 2021-04-10",
            "6 features: month, day, weekday, elapsed days",
        ),
        (column(["3 %", "5%"]), "percentages", 0, "3 to 5 %", "1 feature"),
        (column(["$3", "$1,200"]), "amounts in USD", 0, "3 to 1200 USD", "1 feature"),
        (column(["8:30", "23:15"]), "times of day", 0, "8:30 to 23:15", "2 features: hour"),
        (column([None, None]), "empty", 2, "", "left out: all values are missing"),
        (column(["x", "x"]), "categories", 0, "1 value", "left out: it holds a single value"),
        (np.array([3, 3]), "numbers", 0, "3 to 3", "left out: it holds a single value"),
        (
            np.array([1.0, 2.0] + [np.nan] * 98),
            "numbers",
            98,
            "1 to 2",
            "left out: 98 % of its values are missing",
        ),
        (
            column([f"town {i % 60}" for i in range(200)]),
            "texts",
            0,
            "60 texts",
            "1 feature: how often each text occurs",
        ),
    ],
)  # fmt: skip
def test_records(values, kind, n_missing, span, treatment):
    record, _ = record_of("v", values)
    assert (record.kind, record.n_missing, record.range) == (kind, n_missing, span)
    assert record.treatment == treatment
    assert record.is_left_out == treatment.startswith("left out")


def test_values_that_cannot_be_read_are_missing():
    record, values = record_of("v", column([*map(str, range(0, 180, 3)), "unknown"]))
    assert (
        record.note
        == "Column 'v': 1 value cannot be read as numbers and is treated as missing: 'unknown'."
    )
    assert np.isnan(values[-1])
    record, values = record_of("v", np.array([*range(0, 180, 3), np.inf]))
    assert (record.n_missing, record.note) == (
        1,
        "Column 'v': 1 infinite value is treated as missing.",
    )
    assert np.isnan(values[-1])


def test_a_frequent_word_among_numbers_is_missing():
    record, values = record_of("v", column(["unknown"] * 50 + [f"{i}.5" for i in range(100)]))
    assert (record.kind, record.n_missing) == ("numbers", 50)
    assert np.isnan(values[:50]).all()


def test_groups_are_suggested():
    frame = CUSTOMERS.assign(patient_id=RNG.integers(0, 8, N), visit_id=RNG.integers(0, 50, N))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read_samples(frame, "churn")
    assert "patient_id" in table.columns
    assert "visit_id" not in table.columns
    notes = " ".join(table.notes)
    for name in ("patient_id", "visit_id"):
        assert f"If the rows of a group belong together, use --groups '{name}'" in notes


def test_one_table_of_customers():
    table = read_samples(CUSTOMERS, "churn", missing="auto")
    treatments = {each.name: each.treatment for each in table.records}
    assert list(treatments) == list(CUSTOMERS)[:-1]
    assert list(table.columns) == ["signup", "discount", "plan", "age"]
    assert treatments["customer_id"] == "left out: it looks like a row identifier"
    assert len(table.rows) == N  # more than 10 % of the rows lack the age
    assert any("most of all 'age' (" in each for each in table.notes)


def test_auto_drops_rows_only_if_they_are_few():
    frame = CUSTOMERS.copy()
    frame.loc[10:, "age"] = 30.0 + np.arange(N - 10)
    n_missing = int(frame["age"].isna().sum())
    assert 0 < n_missing < N / 10
    with pytest.warns(UserWarning, match=f"Dropped {n_missing} of 200 rows"):
        assert len(read_samples(frame, "churn", missing="auto").rows) == N - n_missing


def test_the_column_that_costs_most_rows_is_named():
    bonus = np.where(np.arange(10) < 2, np.arange(10.0), np.nan)
    frame = pd.DataFrame({"a": np.arange(10.0) ** 2, "bonus": bonus, "y": [0, 1] * 5})
    frame.loc[0, "a"] = np.nan
    with pytest.warns(
        UserWarning, match=r"Dropped 9 of 10 rows.* In 8 of them, column 'bonus' has no "
    ):
        read_table(frame, "y")
    frame.loc[1, "a"] = np.nan
    with pytest.raises(
        ValueError, match=r"No rows remain.*missing='impute'.*column 'bonus' has no v"
    ):
        read_table(frame, "y")


def test_too_few_rows_without_missing_values():
    frame = CUSTOMERS.head(60).copy()
    frame["age"] = np.where(np.arange(60) < 6, np.arange(60.0) ** 2, np.nan)
    remedy = r"Only \d rows? remain.* use --drop 'age' or --missing impute"
    with pytest.warns(UserWarning, match="Dropped"), pytest.raises(ValueError, match=remedy):
        read_samples(frame, "churn")
    assert len(read_samples(frame, "churn", missing="auto").rows) == 60


PROBLEMS = CUSTOMERS.assign(
    price=["3 EUR", "4 USD"] * (N // 2), mass=1e200 * RNG.random(N), weight=["1 kg", "2 cm"] * 100
)


def test_all_problems_are_listed_at_once():
    with pytest.raises(ValueError, match="EUR, USD") as error:
        read_table(PROBLEMS, "churn", missing="impute")
    message = str(error.value)
    for part in ("'price'", "'mass'", "'weight'", "drop=['price', 'mass', 'weight'] or auto=True"):
        assert part in message
    names = {"drop": "--drop"}
    with pytest.raises(ValueError, match=r"add --drop price,mass,weight \(or --auto"):
        open_table(PROBLEMS, "churn", option_names=names)
    data = read_table(PROBLEMS, "churn", missing="impute", auto=True)
    assert "price" not in data.feature_names
    assert sum(each.endswith("so it is dropped.") for each in data.notes) == 3


def test_many_columns_that_are_alike_share_a_note():
    frame = pd.DataFrame({f"c{i}": [1, 1, 1] for i in range(9)} | {"x": [1.0, 2.0, 4.0]})
    notes = read_table(frame.assign(y=[0, 1, 0]), "y").notes
    assert [each for each in notes if each.startswith("Dropped")] == [
        "Dropped 9 columns, each because it holds a single value: 'c0', 'c1', 'c2' and 6 more."
    ]


def test_no_features_remain():
    with pytest.raises(
        ValueError, match=r"no columns that can be features.* 'c' \(it holds a single"
    ):
        read_table(pd.DataFrame({"c": [1, 1], "y": [0, 1]}), "y")


def test_the_limit_on_categories_is_that_of_the_whole_table():
    towns = np.repeat([f"t{i}" for i in range(60)], 5)
    frame = pd.DataFrame({"town": towns, "x": RNG.random(300), "y": np.arange(300) % 2})
    frame.loc[100:, "x"] = np.nan  # the other rows have 20 towns
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read_samples(frame, "y")
    encoder = dimetric.data.TableEncoder().fit(table.columns)
    assert encoder.get_feature_names_out().tolist() == ["town frequency", "x"]
    part = encoder.fit(table.take(np.arange(10)))
    assert part.get_feature_names_out().tolist() == ["town frequency", "x"]


def test_targets_with_a_unit_are_numbers():
    frame = pd.DataFrame({"x": RNG.random(30), "price": [f"${i},000" for i in range(1, 31)]})
    data = read_table(frame, "price")
    assert data.y.tolist() == [1000.0 * i for i in range(1, 31)]
    assert "Column 'price' is read as amounts in USD." in data.notes


def test_amounts_of_different_currencies_are_a_problem_even_if_all_differ():
    values = column([f"{'$€£'[i % 3]}{100 + 7 * i}" for i in range(300)])
    record = record_of("price", values)[0]
    assert record.problem == (
        "Column 'price': it holds numbers of different units (EUR, GBP, USD)."
    )


def test_a_few_amounts_of_another_currency_are_missing():
    values = column([f"${100 + i}" for i in range(600)] + ["5 EUR"] * 5)
    record = record_of("price", values)[0]
    assert (record.problem, record.n_missing, record.kind) == ("", 5, "amounts in USD")
    assert "5 values cannot be read as amounts in USD" in record.note


def test_range_has_no_negative_zero():
    assert record_of("x", np.array([-1.0, -0.0]))[0].range == "-1 to 0"
