"""The verb compare, its report and its model."""

import json
import os
import re
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dimetric
from dimetric.cli.main import run as command

# Enough time for all folds on a busy machine, so that results do not depend on the time.
FAST = ("--learners", "LDA,PCA", "--budget", "120", "--folds", "3", "--jobs", "1")


class Page(HTMLParser):
    """The tags and attributes of a page. `open` lists the tags that are not closed."""

    def __init__(self, content):
        super().__init__()
        self.open, self.attributes, self.tags = [], [], set()
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in ("meta", "img", "br", "source"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_compare(run, wine):
    out = wine.parent / "out"
    done = run("compare", wine, "--target", "kind", "--out", out, *FAST)
    assert done.exit_code == 0, done.output
    assert "wine: 178 rows, 7 features, 3 classes in column kind" in done.stdout
    assert "grignolino (71), barolo (59), barbera (48)" in done.stdout
    assert "Dropped column 'id': it looks like a row identifier" in done.stderr
    assert re.search(r"(LDA|PCA) .*Euclidean.* \(\d+ %( probability)?\)\.", done.stdout)
    assert {each.name for each in out.iterdir()} == {"wine.html", "wine.dimetric"}
    model = dimetric.load(out / "wine.dimetric")
    frame = pd.read_csv(wine)
    assert np.mean(model.predict(frame) == frame["kind"]) > 0.9
    assert "verdict" in dimetric.describe(out / "wine.dimetric")["about"]


@pytest.mark.slow
def test_report_is_self_contained(run, wine):
    out = wine.parent / "out"
    run("compare", wine, "--target", "kind", "--out", out, *FAST)
    content = (out / "wine.html").read_text(encoding="utf-8")
    page = Page(content)
    assert not page.open
    assert "script" not in page.tags
    assert not re.search(r"https?:", content)
    sources = [value for _, name, value in page.attributes if name in ("src", "href")]
    assert len(sources) >= 3
    assert all(value.startswith("data:image/png;base64,") for value in sources)
    for words in ("comparison of distances", "Euclidean", "LDA", "Scores",
                  "Changed predictions", "Feature importance", "dimetric.load", "dimetric predict",
                  "prefers-color-scheme: dark", "width=device-width"):  # fmt: skip
        assert words in content


@pytest.mark.slow
def test_names_are_escaped(run, wine):
    frame = pd.read_csv(wine).drop(columns="id")
    evil = "<script>alert('x')</script>"
    frame = frame.rename(columns={"alcohol": evil, "kind": f"{evil} & [red]"})
    frame.iloc[:, -1] = frame.iloc[:, -1].map(lambda each: f'{each}"><img src=x onerror=y> $\\a$')
    path = wine.parent / "a'b & <c>.csv"
    frame.to_csv(path, index=False)
    out = wine.parent / "out"
    done = run("compare", path, "--target", "-1", "--out", out, *FAST)
    assert done.exit_code == 0, done.output
    assert "[red]" in done.stdout
    page = Page((out / "a'b & <c>.html").read_text(encoding="utf-8"))
    assert not page.tags & {"script", "c"}
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


@pytest.mark.slow
def test_json(run, wine):
    done = run("compare", wine, "--target", "kind", "--out", wine.parent / "out", "--json", *FAST)
    found = json.loads(done.stdout)["results"][0]
    assert done.stderr == ""
    assert {row["learner"] for row in found["table"]} == {"Euclidean", "LDA"}
    assert "PCA" in found["dropped"]  # it keeps all components, so it is the Euclidean distance
    scores = [row["score"] for row in found["table"]]
    assert scores == sorted(scores, reverse=True)
    assert found["classes"] == {"grignolino": 71, "barolo": 59, "barbera": 48}
    verdict = found["verdict"]
    assert verdict["better"] + verdict["equivalent"] + verdict["worse"] == pytest.approx(1)
    assert verdict["judged_on_unseen_rows"] is False


@pytest.mark.slow
def test_bundled_data(run, tmp_path, monkeypatch):
    monkeypatch.setattr("dimetric.cli.compare.BUNDLED_BUDGET_SECONDS", 1.0)
    done = run("compare", "--out", tmp_path / "out", "--learners", "PCA", "--jobs", 1)
    assert done.exit_code == 0, done.output
    names = {each.name for each in (tmp_path / "out").iterdir()}
    assert names == {"wine.html", "wine.dimetric", "digits.html", "digits.dimetric"}


@pytest.mark.slow
def test_model_is_euclidean_if_that_is_better(run, tmp_path):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    radius = np.repeat([1, 2], 100) + 0.1 * rng.standard_normal(200)
    frame = pd.DataFrame({"a": radius * np.cos(angle), "b": radius * np.sin(angle)})
    frame["class"] = np.repeat(["in", "out"], 100)
    frame.to_csv(tmp_path / "rings.csv", index=False)
    done = run("compare", tmp_path / "rings.csv", "--out", tmp_path / "out", "--learners", "LDA",
                 "--json")  # fmt: skip
    found = json.loads(done.stdout)["results"][0]
    assert found["verdict"]["worse"] > 0.9
    assert "the Euclidean distance" in found["model"]
    assert dimetric.load(tmp_path / "out/rings.dimetric")[-1].learner_ is None


@pytest.mark.slow
def test_rare_classes_are_dropped_with_a_note(run, wine):
    frame = pd.read_csv(wine)
    frame.loc[0, "kind"] = "alone"
    frame.loc[1:3, "kind"] = "three"
    frame.to_csv(wine, index=False)
    done = run("compare", wine, "--target", "kind", "--out", wine.parent / "out", *FAST)
    assert done.exit_code == 0, done.output
    assert "Class 'alone' has fewer than 3 members: 1 row was dropped" in done.stderr
    assert "4 classes" in done.stdout


@pytest.mark.slow
def test_missing_values_are_dropped_or_imputed(run, wine):
    frame = pd.read_csv(wine)
    frame.loc[3:9, "ash"] = np.nan
    frame.to_csv(wine, index=False)
    words = ("compare", wine, "--target", "kind", "--out", wine.parent / "out", "--json", *FAST)
    dropped, imputed = (json.loads(run(*words, *more).stdout)["results"][0]
                        for more in ((), ("--missing", "impute")))  # fmt: skip
    assert dropped["rows"] == 171
    assert imputed["rows"] == 178


@pytest.mark.slow
def test_wide_and_tiny_tables(run, tmp_path):
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.standard_normal((24, 60))).assign(label=np.arange(24) % 2)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    done = run("compare", tmp_path / "wide.csv", "--out", tmp_path, "--budget", 2, "--json")
    assert done.exit_code == 0, done.output
    tiny = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6], "label": list("xxxyyy")})
    tiny.to_csv(tmp_path / "tiny.csv", index=False)
    done = run("compare", tmp_path / "tiny.csv", "--out", tmp_path, "--k", 1, *FAST)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("change", "words", "sentence"),
    [
        (
            {},
            ["--target", "alcohol", "--target-kind", "classes"],
            "'alcohol' has 126 distinct numbers in 178 rows",
        ),
        ({"kind": "one"}, [], "'kind' has only one class, 'one'"),
        ({"kind": [f"k{i}" for i in range(178)]}, [], "178 distinct strings in 178 rows, so"),
        ({"kind": ["a"] * 177 + ["b"]}, [], "Fewer than two classes in column 'kind'"),
        ({"price": ["3 EUR", "4 USD"] * 89}, [], "--drop price (or --auto, which does"),
        ({}, ["--learners", "LDAA"], "There is no learner 'LDAA'. Did you mean LDA"),
        ({}, ["--learners", "Euclidean"], "learners contains only Euclidean"),
        ({}, ["--k", "118"], "--k must be at most 117, not 118, because only 118 rows"),
    ],
)
def test_error_messages(wine, monkeypatch, change, words, sentence):
    pd.read_csv(wine).assign(**change).to_csv(wine, index=False)
    target = [] if "--target" in words else ["--target", "kind"]
    out = wine.parent / "out"
    words = ["dimetric", "compare", wine, "--out", out, *FAST[2:], *target, *words]
    monkeypatch.setattr(sys, "argv", [str(each) for each in words])
    with pytest.raises(SystemExit) as raised:
        command()
    assert sentence in str(raised.value)
    assert not out.exists() or not list(out.iterdir())


def test_budget_must_be_positive_and_finite(run, wine):
    assert run("compare", wine, "--budget", 0).exit_code == 2
    assert run("compare", wine, "--budget", "inf").exit_code == 2


def test_unwritable_report_fails_before_the_comparison(wine, run, monkeypatch):
    monkeypatch.setattr("dimetric.advice._compare.choose", lambda *a, **b: pytest.fail("compared"))
    (wine.parent / "out/wine.html").mkdir(parents=True)
    done = run("compare", wine, "--target", "kind", "--out", wine.parent / "out", *FAST)
    assert isinstance(done.exception, IsADirectoryError)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["Isomap", "MDS", "LLE"])
def test_embeddings_can_be_compared(run, wine, learner):
    out = wine.parent / "out"
    words = ("--learners", learner, "--budget", 2, "--jobs", 1, "--out", out, "--target", "kind")
    done = run("compare", wine, *words)
    assert done.exit_code == 0, done.output
    assert learner in (out / "wine.html").read_text()


@pytest.mark.slow
def test_interrupt_prints_one_line_and_leaves_no_files(tmp_path):
    code = "from dimetric.cli import main; main()"
    path = os.pathsep.join([str(Path(dimetric.__file__).parents[1]), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", code, "compare", "--out", tmp_path / "out"], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    process.stdout.readline()  # wait until the comparison has started
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 130
    assert stderr == "Interrupted.\n"
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.slow
def test_report_of_a_kernel_learner_and_many_classes(run, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(14), 8)
    frame = pd.DataFrame(6 * rng.standard_normal((14, 3))[y] + rng.standard_normal((112, 3)))
    names = np.array([f"a class with a long name, number {i} of them all" for i in range(14)])
    frame["label"] = names[y]
    frame.to_csv(tmp_path / "many.csv", index=False)
    words = ("--learners", "KDA", "--budget", 2, "--out", tmp_path)
    done = run("compare", tmp_path / "many.csv", *words)
    assert done.exit_code == 0, done.output
    content = (tmp_path / "many.html").read_text(encoding="utf-8")
    assert "KDA is nonlinear, so importance is the drop in accuracy" in content
    assert "Colours and markers show the classes listed below." in content


@pytest.fixture
def patients(tmp_path):
    """Write six rows of each of 12 patients, and a copy of each row, to a CSV file."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(12), 6)
    frame = pd.DataFrame(rng.standard_normal((72, 3)), columns=["a", "b", "c"])
    frame = frame.assign(patient=patient, ill=np.where(patient % 2, "yes", "no"))
    pd.concat([frame, frame]).to_csv(tmp_path / "patients.csv", index=False)
    return tmp_path / "patients.csv"


@pytest.mark.slow
def test_groups_and_equal_rows_are_reported(run, patients):
    out = patients.parent / "out"
    options = ("--target", "ill", "--out", out, "--learners", "PCA", "--folds", "3", "--jobs", "1")
    done = run("compare", patients, *options, "--groups", "patient", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)["results"][0]
    assert result["groups"] == 12
    assert result["equal_rows"] == {"repeated": 144, "copies": 144, "conflicting": 0}
    notes = [
        "144 of 144 rows equal another row.",
        "The 12 groups in column 'patient' are not split between training and test rows.",
    ]
    assert result["notes"] == notes
    assert dimetric.load(out / "patients.dimetric").feature_names_in_.tolist() == ["a", "b", "c"]
    report = (out / "patients.html").read_text(encoding="utf-8")
    assert all(each.replace("'", "&#39;") in report for each in notes)
    done = run("compare", patients, *options, "--drop", "patient")
    assert "These are probably copies, so copies of a row stay in one fold." in done.stderr
    assert "144 rows, 3 features" in done.stdout


@pytest.mark.parametrize(("options", "message"), [
    (("--groups", "nobody"), "--groups: there is no column 'nobody'. Choose from a, b, c"),
    (("--groups", "ill", "--target", "ill"), "--groups: column 'ill' is also the target."),
    (("--groups", "patient", "--folds", "20"), "--groups has 12 distinct values, fewer than the"),
])  # fmt: skip
def test_wrong_groups(run, patients, options, message):
    done = run("compare", patients, "--out", patients.parent / "out", *options)
    assert done.exit_code == 1
    assert message in done.stderr + str(done.exception)


def test_groups_require_a_table(run, tmp_path):
    done = run("compare", "--groups", "patient", "--out", tmp_path)
    assert done.exit_code == 2
    assert "--groups requires DATA" in done.stderr


@pytest.mark.parametrize("verb", ["compare", "reproduce"])
def test_out_must_be_a_directory(run, wine, verb):
    done = run(verb, *([wine] if verb == "compare" else []), "--out", "/dev/null")
    assert str(done.exception) == "/dev/null is not a directory. Give the path of a directory."
