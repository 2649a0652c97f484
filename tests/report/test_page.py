"""Reports are self-contained pages in which all values are escaped."""

import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from pages import EVIL, NAMES, Page

from dimetric import LDA
from dimetric.quality._neighborhood import ExplainedNeighbor
from dimetric.report import (
    ChangedNeighbors,
    Choice,
    ExplainedChange,
    Insight,
    PredictedNumbers,
    ReportRecord,
    Task,
    _picture,
    _pictures,
    render_report,
)
from dimetric.report._text import cut_end, cut_middle, score_meaning
from dimetric.stats import Posterior


@pytest.fixture
def drawn():
    """Draw the pictures of the pages."""


@pytest.fixture(autouse=True)
def fast_pictures(request, monkeypatch):
    """Replace the pictures, which take most of the time, in tests without the fixture drawn."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr(_picture, "_image", lambda *_: "data:image/png;base64,AAAA")


@pytest.fixture
def record():
    """Return a report whose names contain markup."""
    rng = np.random.default_rng(0)
    y = np.array(NAMES[:3])[np.arange(60) % 3]
    best = "LDA <b>"
    scores = {"Euclidean": np.array([0.5, 0.6]), best: np.array([0.8, 0.9])}
    choice = Choice(
        best=best, learner=LDA(), params={}, scores=scores,
        fit_seconds={"Euclidean": 0.001, best: 0.02}, dropped={"slow <i>": "<u>no time</u>"},
        final_scores=scores, n_repeats=1, judged_on_unseen_rows=False,
        n_race_rows=40, n_final_rows=60, posterior=Posterior(0.01, 0.02, 0.97, np.empty(0)),
        majority=1 / 3,
    )  # fmt: skip
    near = np.array([1, 3])
    insight = Insight(
        n_train=40, n_test=20, corrected_errors=[ChangedNeighbors(0, near, near + 2)] * 5,
        new_errors=[], importance=dict(zip(NAMES, [6, 5, 4, 3, 2, 1.0], strict=True)),
        from_metric=True, metric=np.diag([6, 5, 4, 3, 2, 1.0]), rows=np.arange(60),
        shows_unseen_rows=False, before=rng.standard_normal((60, 2)),
        after=rng.standard_normal((60, 2)),
    )  # fmt: skip
    return ReportRecord(
        name=f"table {EVIL}", source=f"{EVIL}.csv", target=f"{EVIL} & [red]", y=y,
        rows=np.arange(100, 160), feature_names=NAMES, classes=dict.fromkeys(NAMES[:3], 20),
        notes=[f"Column {EVIL!r} was dropped."], n_neighbors=3, n_folds=2, rope=0.02,
        random_state=7, choice=choice, insight=insight, model_file=f"it's {EVIL}.dimetric",
        model_description=f"It holds {EVIL}.", seconds=12.4, versions={"Python": "<3>"},
    )  # fmt: skip


def test_all_values_are_escaped(drawn, record):
    content = render_report(record)
    page = Page(content)
    assert page.tags == {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "b", "div", "i", "span",
        "table", "tr", "th", "td", "ul", "li", "figure", "picture", "source", "img", "figcaption",
        "pre", "dl", "dt", "dd",
    }  # fmt: skip
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "href"]
    assert not re.search(r"https?:", content)
    for words in (
        f"table {EVIL}: comparison of distances", f"classes in column {EVIL} & [red].", "a & b",
        "LDA <b> is better than Euclidean (97 % probability).", "Dropped: slow <i>. <u>no",
        "{{ 7 * 7 }} {% for %}", "$x^2$ \\alpha", "עברית",
        f"Data {EVIL}.csv: 60 rows, 6 features, 3 classes", "12 s. Random seed: 7.",
        f"dimetric predict {shlex.quote(record.model_file)} new.csv", "Python <3>",
    ):  # fmt: skip
        assert words in page.words, words


def test_page_contains_the_results(record):
    words = Page(render_report(record)).words
    for sentence in (
        "Probabilities: Euclidean is better 1 %, equivalent (within 0.02) 2 %, LDA <b> is better "
        "97 %.",
        "with default parameters, classified 85.0 % of test rows correctly. The Euclidean distance "
        "classified 55.0 % correctly.",
        "were tested in 2 new folds (2-fold cross-validation of 60 rows).",
        "Accuracy is the fraction of test rows that are classified correctly.",
        "The learner was chosen on the same rows, but in other folds",
        "Values of accuracy that differ by at most 0.02 count as equivalent.",
        "60 rows, 6 features, 3 classes in column",
        "Baseline: always predicting the largest class is 33.3 % accurate.",
        "averaged over 2 test sets (stratified folds). The learners were compared on a stratified "
        "random sample of 40 of 60 rows.",
        "learner accuracy (mean ± std) vs. Euclidean fit time (s) LDA <b> 0.850 ± 0.071 +0.300 "
        "0.020 Euclidean 0.550 ± 0.071 0.001",
        "On 20 held-out rows, it corrected 5 Euclidean errors and introduced 0 new ones.",
        f"✗ 101 (a & b), ✓ 103 ({cut_middle(EVIL, 24)})",
        "All 60 rows, including the training rows, before learning",
    ):  # fmt: skip
        assert sentence in words, sentence
    # Three examples, each with two neighbours under both distances, and the legend.
    assert words.count("✓") + words.count("✗") == 4 * 3 + 1


@pytest.fixture
def record_of_numbers(record):
    """Return a report on a target of numbers."""
    rng = np.random.default_rng(0)
    y = 1000 * rng.standard_normal(60)
    test = np.arange(20)
    predictions = PredictedNumbers(test, y[test], np.zeros(20), 0.9 * y[test])
    choice = replace(
        record.choice, task=Task("continuous", "mae"),
        references={"Ridge": np.array([0.3, 0.4])}, reference_seconds={"Ridge": 0.01},
    )  # fmt: skip
    return replace(
        record, y=y, classes={}, choice=choice, rope=8.0, reading=f"Column {EVIL!r} is read.",
        insight=replace(record.insight, predictions=predictions),
    )  # fmt: skip


def test_page_of_numbers(record_of_numbers):
    content = render_report(record_of_numbers)
    page = Page(content)
    assert "script" not in page.tags
    assert len(re.findall(r'src="data:image/png;base64,', content)) == 6
    assert len(re.findall(r'srcset="data:image/png;base64,', content)) == 6
    y = record_of_numbers.y
    error = np.mean(np.abs(y[:20]))
    for words in (
        f"Column {EVIL!r} is read. Distribution of {EVIL} & [red]: smallest ",
        "is 0.85 for 3-NN under LDA <b>, and 0.55 under the Euclidean distance",
        "Ridge (reference) 0.35 ± 0.07071 -0.2 0.010",
        f"{EVIL} & [red] of a test row is predicted as the mean over its 3 nearest neighbours",
        f"MAE is the mean absolute error, in units of {EVIL} & [red].",
        "equivalent (within 8)",
        f"(mean absolute error {error:.1f})",
        f"(mean absolute error {error / 10:.2f})",
        "so expect a slightly higher MAE on new data",
        "the error of 5 is smaller than under the Euclidean distance, and the error of 0 is larger",
    ):  # fmt: skip
        assert words in page.words, words
    assert "ccurac" not in page.text
    assert "class" not in page.text.replace(EVIL, "").lower()


def test_both_plots_of_predictions_have_the_same_axes(record_of_numbers, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        _pictures, "draw_picture", lambda height, display, **_: drawn.append(display)
    )
    predictions = record_of_numbers.insight.predictions
    _pictures._prediction_plots(predictions, "price", ("Euclidean", "LDA"))
    before, after = drawn
    assert before.limits == after.limits
    low, high = before.limits
    assert low < predictions.true.min() < predictions.true.max() < high


def test_page_reports_unfinished_folds(record):
    from dataclasses import replace

    words = Page(render_report(replace(record, n_folds=5))).words
    assert "averaged over 2 of 5 stratified folds, because the time limit was reached." in words


def test_pictures_are_part_of_the_page(record):
    content = render_report(record)
    sources = [value for name, value in Page(content).attributes if name == "src"]
    assert len(sources) == 4
    assert all(each.startswith("data:image/png;base64,") for each in sources)


def test_report_of_a_nonlinear_learner(record):
    from dataclasses import replace

    kernel = replace(record.insight, metric=None, from_metric=False)
    page = Page(render_report(replace(record, insight=kernel)))
    assert "is nonlinear, so importance is the drop in accuracy" in page.words
    assert len([name for name, _ in page.attributes if name == "src"]) == 3
    nothing = replace(kernel, importance={})
    assert "Feature importance" not in render_report(replace(record, insight=nothing))


@pytest.fixture
def explained(record):
    """Return a report that explains the changed neighbours of one row."""
    removed = ExplainedNeighbor(1, False, np.array([3.0, 0.5, 0.25, -0.25, 0.0, 1.0]))
    added = ExplainedNeighbor(3, True, np.array([0.0, 0.25, 0.0, 0.0, 0.0, 0.0]))
    changes = [ExplainedChange(0, removed, added)]
    return replace(record, insight=replace(record.insight, explained_changes=changes))


def test_page_explains_changed_neighbors(explained, record):
    page = Page(render_report(explained))
    for words in (
        "Why neighbours changed",
        "The squared LDA <b> distance of two rows is a sum of parts, one for each feature",
        "Features are scaled to [0, 1].",
        "Row 100: under LDA <b>, row 103 replaces row 101 as a neighbour. The largest part of the "
        f"distance to row 101 comes from {EVIL}.",
    ):
        assert words in page.words, words
    assert "script" not in page.tags
    assert len([name for name, _ in page.attributes if name == "src"]) == 5
    assert "Why neighbours changed" not in render_report(record)


@pytest.mark.parametrize(("worse", "better", "ships"), [
    (0.31, 0.23, False), (0.4, 0.4, False), (0.1, 0.5, False), (0.0, 0.0, False),
    (0.1, 0.51, True), (0.01, 0.97, True),
])  # fmt: skip
def test_the_learner_is_chosen_if_it_is_probably_better(record, worse, better, ships):
    posterior = Posterior(worse, 1 - worse - better, better, np.empty(0))
    choice = replace(record.choice, best="LDA", posterior=posterior)
    assert choice.chosen == ("LDA" if ships else "Euclidean")
    sentence = "No learner beat Euclidean, so the model uses the Euclidean distance."
    assert choice.verdict.endswith(sentence) != ships


@pytest.mark.parametrize(("right", "guess", "words"), [
    (0.97, 0.02, "LDA is better than Euclidean (97 % probability), but not better than always "
     "predicting the largest class. No learner is better than both, so the model uses the "
     "Euclidean distance."),
    (0.8, 0.3, "Inconclusive: LDA is probably better than Euclidean (80 %), but probably not "
     "better than always predicting the largest class. No learner is better than both, so the "
     "model uses the Euclidean distance."),
    (0.97, 0.7, "LDA is better than Euclidean (97 % probability), and probably better than always "
     "predicting the largest class (70 %)."),
    (0.97, 0.99, "LDA is better than Euclidean (97 % probability)."),
])  # fmt: skip
def test_a_learner_below_the_guess_is_not_called_equivalent(record, right, guess, words):
    posterior = Posterior(0.01, 0.99 - right, min(right, guess), np.empty(0))
    best = record.choice.best
    choice = replace(record.choice, posterior=posterior, better_than_guess=guess)
    assert choice.verdict == words.replace("LDA", best)
    assert choice.only_better_than_baseline == pytest.approx(max(0, right - guess))
    page = Page(render_report(replace(record, choice=choice)))
    equivalent = f"equivalent (within {record.rope:g}) {100 * (0.99 - right):.0f} %"
    assert equivalent in " ".join(page.words.replace("\N{NO-BREAK SPACE}", " ").split())
    assert (f"{best} is better than Euclidean, but not than" in page.words) == (right > guess)


def test_page_names_the_largest_class(record):
    baseline = "Baseline: always predicting the largest class is 30.0 % accurate."
    record = replace(record, choice=replace(record.choice, majority=0.3))
    words = Page(render_report(record)).words
    assert baseline in words
    assert "worse than this baseline" not in words
    choice = replace(record.choice, better_than_guess=0.4)
    words = Page(render_report(replace(record, choice=choice))).words
    assert f"{baseline} LDA <b> is probably no better." in words
    scores = {"Euclidean": np.array([0.1, 0.2]), record.choice.best: np.array([0.5, 0.3])}
    choice = replace(record.choice, final_scores=scores)
    words = Page(render_report(replace(record, choice=choice))).words
    assert f"{baseline} Euclidean is worse than this baseline." in words


@pytest.mark.parametrize(
    ("name", "better", "phrase", "distance"),
    [
        ("Random forest", 0.9, "a random forest", "learned"),
        ("RBF SVM", 0.2, "an RBF SVM", "Euclidean"),
        ("Gradient boosting", 0.9, "gradient boosting", "learned"),
    ],
)
def test_verdict_recommends_a_reference_that_is_clearly_better(
    record, name, better, phrase, distance
):
    posterior = Posterior(0.0, 1 - better, better, np.empty(0))
    choice = replace(record.choice, posterior=posterior, best_reference=name)
    unclear = replace(choice, reference_posterior=Posterior(0.0, 0.06, 0.94, np.empty(0)))
    assert choice.better_reference is unclear.better_reference is None
    assert "for prediction" not in unclear.verdict
    clear = replace(choice, reference_posterior=Posterior(0.0, 0.04, 0.96, np.empty(0)))
    assert clear.better_reference == name
    assert clear.verdict == unclear.verdict + (
        f" Use {phrase} for prediction; the {distance} distance is still the best one for search "
        "and pictures."
    )


def test_page_says_that_the_learner_is_not_used(record):
    not_used = "The model does not use LDA <b>. The sections below show what"
    assert not_used not in Page(render_report(record)).words
    choice = replace(record.choice, posterior=Posterior(0.3, 0.5, 0.2, np.empty(0)))
    content = render_report(replace(record, choice=choice))
    assert not_used in Page(content).words
    assert "No learner beat Euclidean" in Page(content).words
    (row,) = re.findall('<tr class="best">.*?</tr>', content, re.DOTALL)
    assert ">Euclidean</td>" in row


def test_changed_neighbors_are_not_explained_if_the_model_is_euclidean(explained):
    choice = replace(explained.choice, posterior=Posterior(0.5, 0.2, 0.3, np.empty(0)))
    assert "Why neighbours" not in render_report(replace(explained, choice=choice))


def test_both_explained_distances_have_the_same_axis(explained):
    from matplotlib.figure import Figure

    (change,) = explained.insight.explained_changes
    neighbors, titles = (change.removed, change.added), ("first", "second")
    figure = Figure()
    _pictures._PartsOfDistances(neighbors, titles, NAMES).plot(figure.add_subplot())
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim()
    assert first.get_xlim()[1] >= 3
    assert [each.get_title() for each in figure.axes] == ["first", "second"]


def test_undefined_template_values_raise(record, monkeypatch):
    from dataclasses import replace

    from jinja2 import UndefinedError

    choice = replace(record.choice, final_scores={})
    with pytest.raises(UndefinedError):
        render_report(replace(record, choice=choice))


def test_long_names_are_shortened():
    assert cut_end("a" * 100, 10) == "a" * 9 + "…"
    assert cut_end("short") == "short"
    assert cut_middle("0123456789abc", 7) == "012…abc"
    assert len(cut_middle("x" * 99, 24)) == 24


def test_templates_are_part_of_the_package():
    from importlib.resources import files

    names = {each.name for each in files("dimetric.report").joinpath("templates").iterdir()}
    assert names >= {"report.html", "summary.html", "macros.html", "style.css"}


def test_advice_follows_the_verdict(record):
    assert '<ul class="advice">' not in render_report(record)
    page = Page(render_report(replace(record, advice=[f"Use {EVIL}.", "Expect 85 %."])))
    assert f"33.3 % accurate. Use {EVIL}. Expect 85 %. Probabilities" in page.words
    assert "script" not in page.tags


def test_each_picture_has_a_light_and_a_dark_version_and_a_text(drawn, record, record_of_numbers):
    from base64 import b64decode
    from io import BytesIO

    from PIL import Image

    for each in (record, record_of_numbers):
        content = render_report(each)
        tags = re.findall(r"<picture>(.*?)</picture>", content, re.DOTALL)
        assert tags
        for tag in tags:
            assert 'media="screen and (prefers-color-scheme: dark)"' in tag
            assert re.search(r'alt="[^"]{20,}"', tag)
            dark, light = re.findall(r"base64,([^\"]*)", tag)
            brightness = []
            for image in (dark, light):
                with Image.open(BytesIO(b64decode(image))) as opened:
                    brightness.append(np.median(np.asarray(opened.convert("L"))))
            assert brightness[0] < 40 < 220 < brightness[1]


def test_size_of_a_page_with_many_points(drawn, record):
    n, rng = 1500, np.random.default_rng(0)
    names = np.array([f"a class with a long name, number {i}" for i in range(30)])
    insight = replace(
        record.insight, rows=np.arange(n), before=rng.standard_normal((n, 2)),
        after=rng.standard_normal((n, 2)),
    )  # fmt: skip
    y = names[rng.integers(30, size=n)]
    many = replace(
        record, insight=insight, y=y, rows=np.arange(n), classes=dict.fromkeys(names, 50)
    )
    assert len(render_report(many)) < 1_000_000


@pytest.mark.parametrize("score", ["accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"])
def test_each_score_is_explained(score):
    assert score_meaning(score, "{x}").endswith(".")
    assert ("{x}" in score_meaning(score, "{x}")) == (score in ("r2", "mae"))


def test_long_class_names_stay_distinct(record):
    names = [f"population number {i} of the north-western coast" for i in range(14)]
    record = replace(record, y=np.array(names)[np.arange(60) % 14], classes=dict.fromkeys(names, 4))
    content = render_report(record)
    words = Page(content).words
    assert "✗ 101 (population number 1 of …), ✗ 103 (population number 3 of …)" in words
    legend = re.search('<ul class="legend">(.*?)</ul>', content, re.DOTALL)[1]
    assert legend.count("<li>") == 14
    assert re.search(
        r"--light:#0072B2;--dark:#2F8FD8\">●</i> population number 0[^<]*</li>", legend
    )


def test_learners_dropped_for_one_reason_share_a_note(record):
    choice = replace(
        record.choice, dropped={"A": "It is slow.", "B": "It failed.", "C": "It is slow."}
    )
    words = Page(render_report(replace(record, choice=choice))).words
    assert "Dropped: A, C. It is slow. Dropped: B. It failed." in words


@pytest.mark.parametrize(("chosen", "sentence"), [
    (("n_neighbors", "scale"), "The number of neighbours and the scaling of features were chosen"),
    (("n_neighbors",), "The number of neighbours was chosen in each fold, from its training rows."),
    (("scale",), "The scaling of features was chosen in each fold, from its training rows."),
])  # fmt: skip
def test_page_says_what_was_chosen_in_each_fold(record, chosen, sentence):
    assert "classified by its 3 nearest neighbours" in Page(render_report(record)).words
    choice = replace(record.choice)
    object.__setattr__(choice, "chosen_in_folds", chosen)
    words = Page(render_report(replace(record, choice=choice))).words
    assert sentence in words
    assert ("classified by its nearest neighbours" in words) == ("n_neighbors" in chosen)


def test_one_neighbor(record):
    words = Page(render_report(replace(record, n_neighbors=1))).words
    assert "classified by its nearest neighbour under" in words


def test_page_has_the_final_score_of_the_reference(record):
    options = {"best_reference": "Random forest", "reference_scores": np.full(2, 0.7)}
    page = render_report(replace(record, choice=replace(record.choice, **options)))
    assert "In the same folds, a random forest (reference) has accuracy 70.0 %." in Page(page).words
