"""Recalls and confusion matrices: against scikit-learn, and on the page."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, recall_score

import dimetric
from dimetric import LDA, benchmark
from dimetric.report._confusion import Confusion, confusion_of, rare_class_note
from dimetric.report._page import environment
from dimetric.selection._splits import splits

RNG = np.random.default_rng(0)
y = np.array(["<b>big"] * 60 + ["middle"] * 30 + ["small"] * 10)
X = RNG.standard_normal((100, 4)) + [1, 0, 0, 0] * (y == "middle")[:, None] * 2
X[:, 3] *= 8
X[y == "small", 1] += 3


def page(confusion, best="LDA", n_folds=4):
    choice = SimpleNamespace(confusion=confusion, best=best)
    record = SimpleNamespace(choice=choice, n_folds=n_folds)
    return environment().get_template("classes.html").render(record=record, class_names={})


@pytest.fixture(scope="module")
def found():
    models = {"Euclidean": None, "LDA": LDA()}
    groups = {"data": np.arange(100)}
    cells = benchmark.run(models, {"data": (X, y)}, cv=4, n_repeats=2, groups=groups).cells
    return confusion_of(cells, "Euclidean", "LDA")


def test_matrices_and_recalls_match_scikit_learn(found):
    folds, _ = splits(X, y, 4, random_state=0, groups=np.arange(100))
    guesses = {"before": y.copy(), "after": y.copy()}
    for train, test in folds:
        low, high = X[train].min(0), X[train].max(0)
        Z = (X - low) / (high - low)
        for name, learner in (("before", None), ("after", LDA())):
            model = dimetric.KNNClassifier(learner=learner).fit(Z[train], y[train])
            guesses[name][test] = model.predict(Z[test])
    assert found.classes == ("<b>big", "middle", "small")
    for name, guess in guesses.items():
        expected = confusion_matrix(y, guess, labels=found.classes)
        np.testing.assert_array_equal(getattr(found, name), expected)
        recalls = [getattr(each, name) for each in found.recalls]
        np.testing.assert_allclose(
            recalls, recall_score(y, guess, labels=found.classes, average=None)
        )
    assert [each.n_rows for each in found.recalls] == [60, 30, 10]


def test_numbers_have_no_confusion():
    model = {"a": dimetric.KNNRegressor(), "b": dimetric.KNNRegressor(5)}
    cells = benchmark.run(model, {"data": (X, X[:, 0])}, cv=3, score="r2").cells
    assert confusion_of(cells, "a", "b") is None
    assert page(None).strip() == ""
    assert rare_class_note(None, "NCA") == ""


def many_classes(n):
    before = np.diag(np.full(n, 8)) + 2 * np.roll(np.eye(n, dtype=int), 1, axis=1)
    after = before.copy()
    for i in range(0, 12):  # the later classes change more
        after[n - 1 - i, n - 1 - i] += 2 if i < 6 else -1
        after[n - 1 - i, (n - i) % n] -= 2 if i < 6 else -1
    return Confusion(tuple(f"class {i}" for i in range(n)), before, after)


def test_the_most_changed_of_many_classes_are_shown():
    all_classes = many_classes(40)
    shown = all_classes.largest_changes()
    assert len(shown.classes) == 10
    assert set(shown.classes) >= {f"class {i}" for i in range(34, 40)}
    assert shown.before.shape == shown.after.shape == (10, 11)
    kept = [all_classes.classes.index(each) for each in shown.classes]
    np.testing.assert_array_equal(shown.before.sum(axis=1), all_classes.before[kept].sum(axis=1))
    by_name = {each.name: each for each in all_classes.recalls}
    assert all(each == by_name[each.name] for each in shown.recalls)
    assert many_classes(12).largest_changes(12).classes == many_classes(12).classes
    html = page(all_classes)
    assert "The tables show the 10 of 40 classes whose recalls change most." in html
    assert html.count("<th>rest</th>") == 2


def test_short_names_of_classes_are_not_numbered():
    counts = np.diag(np.arange(20, 30))
    for names, is_numbered in ((range(10), False), ((f"class {i}" for i in range(10)), True)):
        html = page(Confusion(tuple(map(str, names)), counts, counts))
        assert ("Columns are numbered like the rows." in html) == is_numbered
        assert html.count(">0.0</td>") == 10  # no recall changes


def test_the_page_shows_recalls_and_matrices(found):
    html = page(found, best="<i>LDA")
    assert "&lt;b&gt;big" in html
    assert "<b>big" not in html
    assert "Predictions under &lt;i&gt;LDA" in html
    words = " ".join(re.sub(r"<style.*?</style>|<[^>]*>", " ", html, flags=re.S).split())
    assert "Each of the 100 rows was a test row once, in 4 folds." in words
    for each in found.recalls:
        assert f"{each.n_rows} {100 * each.before:.1f} % {100 * each.after:.1f} %" in words
    counts = [int(n) for n in re.findall(r'class="(?:own|other|zero)"[^>]*>(\d+)<', html)]
    assert counts == [*found.before.ravel(), *found.after.ravel()]


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (18, "NCA finds more of the rare class small: 90 % of its 20 test rows, against 50 % "),
        (6, "NCA misses more of the rare class small: 30 % of its 20 test rows, against 50 % "),
        (11, ""),  # one row is luck
    ],
)
def test_a_rare_class_that_gains_or_loses_is_named(after, sentence):
    before = np.array([[290, 10], [10, 10]])
    matrix = np.array([[200, 100], [20 - after, after]])
    note = rare_class_note(Confusion(("large", "small"), before, matrix), "NCA")
    assert note == (sentence and f"{sentence}under the Euclidean distance.")
