"""The code that a report prints runs on the table of the comparison, whatever the table is like."""

import html
import re

import numpy as np
import pandas as pd
import pytest

import dimetric

RNG = np.random.default_rng(0)
KIND = np.repeat(["yes", "no"], 60)


def customers():
    frame = pd.DataFrame(
        {
            "size": RNG.standard_normal(120) + 2 * (KIND == "yes"),
            "age": RNG.integers(20, 70, 120).astype(object),
            "colour": RNG.choice(["red", "blue", "green"], 120),
            "income": [f"{value:,.2f}" for value in RNG.uniform(2000, 9000, 120)],
            "kind": KIND,
        }
    )
    frame.loc[::12, "size"] = np.nan
    frame.loc[3, "age"] = "?"
    frame.loc[5, "colour"] = None
    return frame


def printed_code(page):
    """Return the Python code in a report."""
    blocks = [html.unescape(each) for each in re.findall(r"<pre>(.*?)</pre>", page, re.S)]
    return next(each for each in blocks if "import dimetric" in each)


def run_code(code, capsys):
    capsys.readouterr()
    names = {}
    exec(code, names)
    return capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:Dropped")
@pytest.mark.parametrize(
    ("format", "missing"),
    [
        ({}, "drop"),
        pytest.param({}, "impute", marks=pytest.mark.slow),
        pytest.param({"sep": ";", "decimal": ","}, "drop", marks=pytest.mark.slow),
        pytest.param({"header": False}, "drop", marks=pytest.mark.slow),
    ],
)
def test_printed_code_runs(tmp_path, capsys, monkeypatch, format, missing):
    monkeypatch.chdir(tmp_path)
    frame = customers()
    if "decimal" in format:
        frame = frame.drop(columns="income")
    frame.to_csv("the customers.csv", index=False, **format)
    found = dimetric.compare(
        "the customers.csv", target=-1, learners=["LDA"], budget=2, missing=missing, random_state=0
    )
    found.report("a.html", model_file="a.dimetric")
    found.save("a.dimetric")
    code = printed_code((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert "'the customers.csv'" in code
    printed = run_code(code, capsys)
    assert printed.count("'yes'") + printed.count("'no'") == (120 if missing == "impute" else 108)
    assert printed.count("None") == (0 if missing == "impute" else 12)


@pytest.mark.slow
def test_printed_code_of_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = customers().drop(columns="kind").rename(columns={"size": "target"})
    frame.to_csv("a.csv", index=False)
    with pytest.warns(UserWarning, match="Dropped"):
        found = dimetric.compare("a.csv", learners=["PCA"], target="target", budget=2)
    found.report("a.html", model_file="a.dimetric")
    found.save("a.dimetric")
    code = printed_code((tmp_path / "a.html").read_text(encoding="utf-8"))
    assert "nan" in run_code(code, capsys)


def test_arrays_have_no_file(tmp_path):
    X = RNG.standard_normal((60, 2))
    found = dimetric.compare(X, KIND[30:90], learners=["PCA"], budget=5)
    found.report(tmp_path / "a.html", model_file="a.dimetric")
    assert "'new.csv'" in printed_code((tmp_path / "a.html").read_text(encoding="utf-8"))
    found.report(tmp_path / "b.html")
    assert "comparison.learner.predict" in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_predict_table_needs_a_target(tmp_path):
    (tmp_path / "a.csv").write_text("x0\n1\n")
    with pytest.raises(ValueError, match="PCA has no method predict"):
        dimetric.predict_table(dimetric.PCA().fit([[1.0], [2.0]]), tmp_path / "a.csv")
