"""The text that the verb compare prints, and its progress."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import dimetric
from dimetric.cli._comparison_text import dropped_line, print_results, progress_callback

TIME = "The time limit was reached."


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), np.repeat(["a", "b"], 30)
    X[:30] += 2
    found = dimetric.compare(X, y, learners=["LDA", "PCA"], budget=20, random_state=0)
    found.choice.dropped["LSI"] = TIME
    return found


def printed(comparison, tmp_path, **options):
    with open(tmp_path / "out.txt", "w+", encoding="utf-8") as file:
        console = Console(file=file, highlight=False, **options)
        files = {"report": tmp_path / "a.html", "model": tmp_path / "a.dimetric"}
        print_results(console, comparison, files, 3.0)
        file.seek(0)
        return file.read()


def test_order_of_the_text(comparison, tmp_path):
    text = printed(comparison, tmp_path)
    n_scores = len(comparison.scores["LDA"])
    parts = [
        "vs. Euclidean",
        f"Means over {n_scores} test folds of all 60 rows.",
        comparison.choice.verdict,
        "new folds",
        *(f"\n- {each}\n" for each in comparison.advice),
        "LSI (not enough time",
        str(tmp_path / "a.html"),
    ]
    places = [text.index(each) for each in parts]
    assert places == sorted(places)


def test_reference_and_training_rows(comparison, tmp_path):
    options = {"best_reference": "Random forest", "reference_scores": np.full(5, 0.912)}
    other = replace(comparison, choice=replace(comparison.choice, **options))
    vars(other)["_fitted"] = comparison._fitted._replace(n_rows=40)
    text = printed(other, tmp_path)
    assert "In the same folds, a random forest (reference) has accuracy 91.2 %." in text
    assert "trained on a random 40 of 60 rows. Use `dimetric fit` to train on all rows" in text
    assert "trained on" not in printed(comparison, tmp_path)


def test_the_table_shows_the_best_learners(comparison, tmp_path):
    names = [f"learner{i}" for i in range(12)]
    scores = {name: np.full(5, 0.99 - i / 100) for i, name in enumerate(names)}
    scores |= {"LDA": np.full(5, 0.5), "Euclidean": np.full(5, 0.4)}
    seconds = dict.fromkeys(scores, 0.1)
    choice = replace(comparison.choice, scores=scores, fit_seconds=seconds)
    text = printed(replace(comparison, choice=choice), tmp_path)
    table = text.partition("Means over")[0]
    shown = [name for name in scores if f" {name} " in table]
    assert shown[:8] == names[:8]
    assert "Euclidean" in shown
    assert "LDA" in shown or choice.chosen != "LDA"
    assert f"The report lists {14 - len(shown)} more learners." in text


def test_lines_fit_into_a_terminal(comparison, tmp_path):
    text = printed(comparison, tmp_path, force_terminal=True, width=60, color_system=None)
    lines = [each for each in text.splitlines() if str(tmp_path) not in each]  # paths stay whole
    assert max(map(len, lines)) <= 60
    advice = " ".join(" ".join(lines).split())
    assert all(each in advice for each in comparison.advice)


def test_dropped_learners():
    assert dropped_line({}) == ""
    two = dict.fromkeys(["LSI", "ITML"], TIME)
    line = dropped_line(two)
    assert line == "Dropped: LSI, ITML (not enough time; a larger --budget would include more)."
    lost = {
        "LDA": "On 200 rows, its accuracy was 0.750 (Euclidean: 0.840).",
        "NCA": "In 1 of 5 folds of 200 rows, its accuracy was 0.750 (Euclidean: 0.840).",
    }
    same = "It keeps all distances on this table, so it is the Euclidean distance."
    assert dropped_line({"PCA": same}) == "Dropped: PCA (same as Euclidean)."
    failed = {"PCA": "ValueError: X is odd.\nUse others. Or not."}
    assert dropped_line(two | lost | failed, 120.0) == (
        "Dropped: LSI, ITML (not enough time; --budget 120 would include all learners); "
        "LDA, NCA (after 200 rows); PCA (X is odd)."
    )


def test_progress_names_the_stage(comparison):
    shown = []

    def update(n_done, n_total, *, title):
        shown.append((n_done, n_total, title))

    callback = progress_callback("iris", update)
    callback("race", 2, 20)
    assert shown == [(2, 20, "iris: comparing learners")]
    comparison.compute(callback)
    titles = list(dict.fromkeys(title for *_, title in shown))
    assert titles == [
        f"iris: {each}"
        for each in (
            "comparing learners", "learning curve", "explaining the distance", "fitting the model",
        )
    ]  # fmt: skip
    assert (0, None, "iris: fitting the model") in shown
