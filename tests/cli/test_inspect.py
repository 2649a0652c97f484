"""The verb ``inspect``."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from dimetric._names import joined_names
from dimetric.advice import _inspect
from dimetric.cli._options import split_names

RNG = np.random.default_rng(0)
N = 120


@pytest.fixture
def customers(tmp_path):
    frame = pd.DataFrame(
        {
            "customer_id": np.arange(1000, 1000 + N),
            "signup": (np.datetime64("2020-01-01") + RNG.integers(0, 700, N)).astype(str),
            "discount": [f"{each:.1f} %" for each in RNG.uniform(0, 30, N)],
            "zip": [f"{each:05}" for each in RNG.choice([1067, 4109, 80331], N)],
            "age": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(40, 9, N)),
            "churn": np.where(RNG.random(N) < 0.5, "no", "yes"),
        }
    )
    path = tmp_path / "customers.csv"
    frame.to_csv(path, index=False)
    return path


def test_customers(run, customers, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run("inspect", customers)
    lines = done.stdout.splitlines()
    assert all(len(each) <= 80 for each in lines if str(customers) not in each)
    text = " ".join(done.stdout.split())
    assert "customers: 120 rows, 6 columns" in text
    assert "left out: it looks like a row identifier" in text
    assert "year, month, day, weekday, elapsed days" in text
    assert "zip categories 0 3 3 values, e.g. " in text
    assert "Target churn: 2 classes: " in text
    assert "Rows used: 120 of 120. Features: 12." in text
    assert lines[-1].split() == ["dimetric", "compare", str(customers), "--target", "churn"]


def test_json_and_problems(run, customers):
    frame = pd.read_csv(customers, dtype=str)
    frame["price"] = ["3 EUR", "4 USD"] * (N // 2)
    frame.to_csv(customers, index=False)
    found = json.loads(run("inspect", customers, "--target", "churn", "--json").stdout)
    columns = {each["name"]: each for each in found["columns"]}
    assert columns["discount"]["kind"] == "percentages"
    assert columns["discount"]["n_features"] == 1
    assert found["rows"] == found["rows_kept"] == N
    assert found["problems"] == ["Column 'price': it holds numbers of different units (EUR, USD)."]
    assert found["command"].endswith("--target churn --drop price")
    text = run("inspect", customers, "--target", "churn").stdout
    assert "cannot be used (see below)" in text
    assert "This command deals with them:" in text


def test_many_columns_share_a_line(run, tmp_path):
    frame = pd.DataFrame({f"c{i}": RNG.random(9) for i in range(200)} | {"y": list("ababababa")})
    frame.to_csv(tmp_path / "wide.csv", index=False)
    lines = run("inspect", tmp_path / "wide.csv").stdout.splitlines()
    assert len(lines) < 12
    assert any(each.startswith("c0 ... c199 (200) numbers") for each in lines)


def test_only_the_first_rows_of_a_large_file_are_read(run, customers, monkeypatch):
    monkeypatch.setattr(_inspect, "MAX_BYTES", 100)
    monkeypatch.setattr(_inspect, "MAX_CELLS", 60)
    text = run("inspect", customers, "--target", "churn").stdout
    assert "customers: first 10 rows, 6 columns" in text
    assert "later rows were not read" in text


def test_a_target_that_cannot_be_predicted_is_a_problem(run, customers):
    text = run("inspect", customers, "--target", "signup").stdout
    assert "Column 'signup' has " in " ".join(text.split())
    assert "dimetric compare" not in text


def test_auto_accepts_what_inspect_proposes(run, customers, tmp_path):
    frame = pd.read_csv(customers, dtype=str)
    frame["price"] = ["3 EUR", "4 USD"] * (N // 2)
    frame.to_csv(customers, index=False)
    out = tmp_path / "m.dimetric"
    stopped = run("fit", customers, "--target", "churn", "--out", out)
    assert stopped.exit_code == 1
    assert "add --drop price (or --auto, which does the same)" in str(stopped.exception)
    done = run("fit", customers, "--target", "churn", "--out", out, "--auto", "--json")
    assert done.exit_code == 0
    assert any("'price': it holds" in each for each in json.loads(done.stdout)["notes"])
    again = run("predict", out, customers, "--json", "--out", tmp_path / "p.csv")
    assert again.exit_code == 0
    assert pd.read_csv(tmp_path / "p.csv")["prediction"].notna().all()


def test_names_with_commas_and_quotes_can_be_given(run, tmp_path):
    path = tmp_path / "odd.csv"
    rng, n = np.random.default_rng(0), 60
    odd = [f"{i % 20} {'EUR' if i % 2 else 'USD'}" for i in range(n)]
    names = ["it's, odd", 'a "b"', "-neg"]
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x", "z, w"])
    frame = frame.assign(**dict.fromkeys(names, odd), kind=["u", "v"] * (n // 2))
    frame.to_csv(path, index=False)
    found = json.loads(run("inspect", path, "--json").stdout)
    words = shlex.split(found["command"])
    assert split_names(words[words.index("--drop") + 1]) == names
    again = json.loads(run("inspect", *words[2:], "--json").stdout)
    assert (again["problems"], again["features"]) == ([], 2)
    message = str(run("fit", path, "--out", tmp_path / "a.dimetric").exception)
    option = shlex.split(message.partition("or add ")[2].partition(" (or --auto")[0])
    done = run("fit", path, "--out", tmp_path / "a.dimetric", *option)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"a, b",c', ["a, b", "c"]),
        (' x , "y ""z""" ,', ["x", 'y "z"']),
        ("it's,5\" pipe", ["it's", '5" pipe']),
        ("", None),
        (" , ", None),
    ],
)
def test_split_names(text, names):
    assert split_names(text) == names
    if names is not None:
        assert split_names(joined_names(names)) == names


def test_too_few_rows_of_a_class_are_a_problem(run, tmp_path):
    path = tmp_path / "rare.csv"
    frame = pd.DataFrame({"x": RNG.normal(size=60), "kind": ["a"] * 59 + ["b"]})
    frame.to_csv(path, index=False)
    done = run("inspect", path)
    assert done.exit_code == 0, done.output
    message = "Fewer than two classes in column 'kind' have at least 3 rows. Add rows, or merge"
    assert message in done.stdout
    assert "dimetric compare" not in done.stdout
    assert message in str(run("compare", path, "--out", tmp_path / "out").exception)
    frame["kind"] = ["a"] * 29 + ["b"] * 30 + ["c"]
    frame.to_csv(path, index=False)
    found = json.loads(run("inspect", path, "--json").stdout)
    assert (found["rows_kept"], found["problems"]) == (59, [])
    assert "Class 'c' has fewer than 3 members: 1 row was dropped." in found["notes"]


def test_columns_are_shown_even_if_none_is_a_feature(run, tmp_path):
    path = tmp_path / "people.csv"
    names = {"customer_id": np.arange(N), "name": [f"N{i}" for i in range(N)]}
    pd.DataFrame(names | {"kind": ["a", "b"] * (N // 2)}).to_csv(path, index=False)
    done = run("inspect", path)
    assert done.exit_code == 0, done.output
    assert "customer_id ids" in done.stdout
    assert "it looks like a row identifier" in done.stdout
    assert "people has no columns that can be features. Left out: 'customer_id'" in done.stdout
    assert "dimetric compare" not in done.stdout
    found = json.loads(run("inspect", path, "--json").stdout)
    assert [each["name"] for each in found["columns"]] == ["customer_id", "name"]
    assert (found["features"], found["rows_kept"], found["command"]) == (0, 0, "")
    message = str(run("fit", path, "--out", tmp_path / "a.dimetric").exception)
    assert message == found["problems"][0]
