"""Folds that keep groups and copies of samples together, and the detection of copies."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import coo_array, csr_matrix
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
)

from dimetric import PCA, KNNClassifier, KNNRegressor
from dimetric.selection import (
    _splits,
    choose_dimension,
    cross_validate,
    metadata_cross_validate,
    tune,
    tune_knn,
)
from dimetric.selection._equal_rows import equal_rows
from dimetric.selection._splits import splits

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
y = np.arange(60) % 3
GROUPS = RNG.permutation(np.repeat(np.arange(15), 4))


def folds_of(*args, **kwargs):
    return splits(*args, **kwargs)[0]


def no_group_is_split(folds, groups):
    return all(not set(groups[train]) & set(groups[test]) for train, test in folds)


def plain_folds(n, labels, cv, seed):
    """Return scikit-learn's stratified folds for the seed of a call of splits."""
    seed = np.random.RandomState(seed).randint(np.iinfo(np.int32).max)
    return list(RepeatedStratifiedKFold(n_splits=cv, n_repeats=1, random_state=seed)
                .split(np.zeros(n), labels))  # fmt: skip


def assert_same_folds(one, two):
    for (train, test), (other_train, other_test) in zip(one, two, strict=True):
        assert_array_equal(train, other_train)
        assert_array_equal(test, other_test)


# Groups


def test_no_group_is_in_training_and_test():
    folds = folds_of(X, y, 5, 3, random_state=0, groups=GROUPS)
    assert len(folds) == 15
    assert no_group_is_split(folds, GROUPS)
    for repeat in range(3):
        tests = [test for _, test in folds[5 * repeat : 5 * repeat + 5]]
        assert_array_equal(np.sort(np.concatenate(tests)), np.arange(60))
    assert not np.array_equal(folds[0][1], folds[5][1])
    assert_same_folds(folds, folds_of(X, y, 5, 3, random_state=0, groups=GROUPS))


@pytest.mark.parametrize("has_labels", [True, False])
def test_many_samples_with_few_groups(has_labels):
    groups = np.r_[np.arange(5000), [7, 7, 8, 9]]
    labels = np.arange(len(groups)) % 3 if has_labels else None
    folds = folds_of(np.zeros((5004, 1)), labels, 5, 2, random_state=0, groups=groups)
    assert no_group_is_split(folds, groups)
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds[:5]])), np.arange(5004))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(5004))
        assert abs(len(test) - 1001) <= 3
        if has_labels:
            assert np.ptp(np.bincount(labels[test])) <= 3


def test_group_folds_are_stratified():
    groups, labels = np.repeat(np.arange(30), 4), np.repeat(np.arange(30) % 3, 4)
    for _, test in folds_of(np.zeros((120, 1)), labels, 5, random_state=0, groups=groups):
        assert_array_equal(np.bincount(labels[test]), [8, 8, 8])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(6, 50), cv=st.integers(2, 5))
def test_random_groups_are_never_split(data, n, cv):
    groups = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    labels = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    groups, labels = np.array(groups), np.array(labels)
    for target in (labels, None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                folds = folds_of(np.zeros((n, 1)), target, cv, 2, random_state=0, groups=groups)
            except ValueError as error:
                message = str(error)
                folds = None
        if folds is None:
            assert (
                "fewer than the number" in message or "each class is in one group only" in message
            )
            continue
        assert no_group_is_split(folds, groups)
        assert all(len(train) and len(test) for train, test in folds)
        per_repeat = len(folds) // 2
        rows = np.concatenate([test for _, test in folds[:per_repeat]])
        assert_array_equal(np.sort(rows), np.arange(n))


def test_groups_of_single_samples_change_nothing():
    expected = folds_of(X, y, 5, 2, random_state=3)
    assert_same_folds(folds_of(X, y, 5, 2, random_state=3, groups=np.arange(60)), expected)
    names = [f"sample {i}" for i in range(60)]
    assert_same_folds(folds_of(X, y, 5, 2, random_state=3, groups=names), expected)


@pytest.mark.parametrize("splitter", [
    GroupKFold(5), LeaveOneGroupOut(), GroupShuffleSplit(3, random_state=0),
])  # fmt: skip
def test_splitters_receive_the_groups(splitter):
    expected = list(splitter.split(X, y, GROUPS))
    assert_same_folds(folds_of(X, y, splitter, groups=GROUPS), expected)
    result = cross_validate(KNNClassifier(), X, y, cv=splitter, groups=pd.Series(GROUPS))
    assert len(result.test_score) == len(expected)


@pytest.mark.parametrize(("groups", "message"), [
    (GROUPS[:59], r"groups has shape \(59,\), but must have shape \(60,\)"),
    (np.zeros((60, 2)), r"groups has shape \(60, 2\)"),
    (np.repeat([1, 2, 3], 20), "groups has 3 distinct values, fewer than the number of folds, 5"),
    (np.zeros(60), "groups has 1 distinct value, fewer"),
    (np.where(GROUPS == 2, np.nan, GROUPS), "groups has missing values in 4 of 60 samples"),
    ([None, "a", *["b"] * 58], "missing values in 1 of 60 samples"),
    (pd.array([None, *range(59)], dtype="Int64"), "missing values in 1 of 60 samples"),
])  # fmt: skip
def test_wrong_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        folds_of(X, y, 5, groups=groups)


def test_classes_in_a_single_group():
    groups = np.where(y == 2, 99, GROUPS)
    with pytest.warns(UserWarning, match="Class '2' is in one group only") as caught:
        cross_validate(KNNClassifier(), X, y, groups=groups, random_state=0)
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="groups: each class is in one group only"):
        folds_of(X, y, 3, groups=y)


def test_groups_of_any_type_are_accepted():
    expected = folds_of(X, y, 5, random_state=0, groups=GROUPS)
    names = np.array([f"{i:02}" for i in range(15)])[GROUPS]
    for groups in (names, names.astype(object), pd.Series(names), pl.Series(GROUPS), names.tolist(),
                   pd.Categorical(names), GROUPS[:, None], GROUPS.astype(float)):  # fmt: skip
        found = folds_of(X, y, 5, random_state=0, groups=groups)
        assert_same_folds(found, expected)


@pytest.mark.parametrize("call", [
    lambda **options: cross_validate(KNNClassifier(), X, y, **options),
    lambda **options: cross_validate(KNNRegressor(), X, X[:, 0], **options),
    lambda **options: metadata_cross_validate(PCA(), X, y, **options),
    lambda **options: tune(PCA(), X, y, {"n_components": [1, 2]}, **options),
    lambda **options: tune(KNNClassifier(), X, y, {"n_neighbors": [1, 2]}, n_iter=1, **options),
    lambda **options: tune_knn(PCA(2), X, y, n_neighbors=[1, 3], **options),
    lambda **options: choose_dimension(PCA(), X, y, dimensions=[1, 2], **options),
])  # fmt: skip
def test_every_function_keeps_groups_together(call, monkeypatch):
    made = []
    original = _splits._repeated_folds
    monkeypatch.setattr(
        _splits, "_repeated_folds", lambda *args: made.append(original(*args)) or made[-1]
    )
    call(groups=GROUPS, cv=3, n_repeats=2, random_state=0)
    assert len(made) == 1
    assert len(made[0]) == 6
    assert no_group_is_split(made[0], GROUPS)


# Equal rows


def doubled(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    samples, labels = rng.standard_normal((n, d)), rng.integers(2, size=n)
    order = rng.permutation(2 * n)
    return (
        np.tile(samples, (2, 1))[order],
        np.tile(labels, 2)[order],
        np.tile(np.arange(n), 2)[order],
    )


@pytest.mark.parametrize("d", [1, 2, 10])
def test_copies_of_noise_are_found(d):
    samples, labels, original = doubled(d=d)
    found = equal_rows(samples, labels)
    assert (found.n_repeated, found.n_copies, found.n_conflicting) == (120, 120, 0)
    assert_array_equal(found.groups[:, None] == found.groups, original[:, None] == original)
    for factor in (1e-8, 1e8):
        assert equal_rows(factor * samples, labels).n_copies == 120
    once = np.concatenate([samples[np.unique(original, return_index=True)[1]], samples[:3]])
    assert equal_rows(once).n_copies == 6


def test_copies_stay_in_one_fold_with_a_warning():
    samples, labels, original = doubled()
    for X_, y_ in ((samples, labels), (samples, None), (samples.tolist(), labels),
                   (pd.DataFrame(samples).add_prefix("x"), labels),
                   (csr_matrix(samples), labels), (coo_array(samples), labels)):  # fmt: skip
        with pytest.warns(
            UserWarning, match="120 of 120 samples are probably copies of each other"
        ):
            assert no_group_is_split(folds_of(X_, y_, 5, random_state=0), original)
    with pytest.warns(UserWarning, match="copies") as caught:
        cross_validate(KNNClassifier(), samples, labels, random_state=0)
    assert caught[0].filename == __file__


def test_copies_may_be_split_if_groups_or_folds_are_given():
    samples, labels, _ = doubled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = folds_of(samples, labels, 5, random_state=0, groups=np.arange(120))
        assert_same_folds(folds, plain_folds(120, labels, 5, 0))
        assert_same_folds(folds_of(samples, labels, folds), folds)


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut(), GroupShuffleSplit(2)])
def test_a_splitter_by_groups_requires_groups(cv):
    with pytest.raises(ValueError, match=r"splits by groups, but groups is None\. Pass the group"):
        folds_of(np.eye(6), None, cv)
    assert len(folds_of(np.eye(6), None, cv, groups=[0, 0, 1, 1, 2, 2])) in (2, 3)


def test_copies_of_a_text_table_are_found():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"colour": rng.choice(["red", "blue", None], 80), "size": rng.random(80)})
    frame = pd.concat([frame, frame[:20]], ignore_index=True)
    original = np.r_[np.arange(80), np.arange(20)]
    with pytest.warns(UserWarning, match="40 of 100 samples are probably copies"):
        assert no_group_is_split(folds_of(frame, np.arange(100) % 2, 5, random_state=0), original)


def titanic_like(seed=0):
    """Return 2201 rows with three categories, and classes that depend on them."""
    rng = np.random.default_rng(seed)
    columns = [rng.choice(4, 2201, p=[0.4, 0.15, 0.13, 0.32]), rng.random(2201) < 0.05,
               rng.random(2201) < 0.21]  # fmt: skip
    samples = np.column_stack(columns).astype(float)
    return samples, (rng.random(2201) < 0.2 + 0.5 * samples[:, 2]).astype(int)


def test_tables_of_few_distinct_rows_have_no_copies():
    samples, labels = titanic_like()
    found = equal_rows(samples, labels)
    assert found.n_repeated > 2190
    assert found.n_copies == 0
    assert found.n_conflicting > 2000
    assert_same_folds(folds_of(samples, labels, 5, random_state=0), plain_folds(2201, labels, 5, 0))


@pytest.mark.parametrize("make", [
    lambda rng: rng.integers(91, size=(1000, 1)),  # one column of integers
    lambda rng: np.column_stack([rng.integers(91, size=1000), rng.integers(2, size=1000)]),
    lambda rng: (rng.integers(91, size=(1000, 1)) - 45) / 26.3,  # integers, standardised
    lambda rng: rng.integers(2, size=(1000, 8)),
    lambda rng: rng.random((1000, 40)) < 0.02,  # mostly rows of zeros
    lambda rng: np.round(rng.standard_normal((1000, 2)), 1),
    lambda rng: rng.standard_normal((20, 5))[rng.integers(20, size=1000)],
])  # fmt: skip
def test_probable_coincidences_are_not_copies(make):
    rng = np.random.default_rng(0)
    found = equal_rows(np.asarray(make(rng), dtype=float), rng.integers(2, size=1000))
    assert found.n_repeated > 100
    assert found.n_copies == 0


DISCRETE = {
    "four digits": lambda rng, n: rng.integers(10, size=(n, 4)),
    "six columns of five values": lambda rng, n: rng.integers(5, size=(n, 6)),
    "12 binary columns": lambda rng, n: rng.integers(2, size=(n, 12)),
    "one column of four digits": lambda rng, n: rng.integers(10_000, size=(n, 1)),
    # each column equals the first one in 70 % of the rows
    "dependent columns": lambda rng, n: (
        (rng.integers(3, size=(n, 1)) + (rng.random((n, 8)) < 0.3)) % 3
    ),
}


@pytest.mark.parametrize("n", [100, 400, 1000])
@pytest.mark.parametrize("name", DISCRETE)
def test_doubled_tables_of_few_values_are_copies(name, n):
    rng = np.random.default_rng(n)
    samples, labels = DISCRETE[name](rng, n).astype(float), rng.integers(2, size=n)
    assert equal_rows(samples, labels).n_copies == 0
    for factor in (2, 3):
        found = equal_rows(np.tile(samples, (factor, 1)), np.tile(labels, factor))
        assert found.n_repeated == found.n_copies == factor * n


def test_tables_without_repeated_labelled_rows_have_no_copies():
    grid = np.stack(np.meshgrid(*4 * [np.arange(5.0)]), axis=-1).reshape(-1, 4)
    both = np.tile(grid[:200], (2, 1))  # once in each class
    assert equal_rows(grid, np.arange(625) % 3)[:2] == (0, 0)
    assert equal_rows(both, np.repeat([0, 1], 200))[:3] == (400, 0, 400)


def test_some_copies_among_discrete_rows_are_found():
    rng = np.random.default_rng(0)
    samples, labels = rng.integers(10, size=(500, 4)).astype(float), rng.integers(2, size=500)
    found = equal_rows(np.r_[samples, samples[:150]], np.r_[labels, labels[:150]])
    assert found.n_copies == found.n_repeated >= 300
    continuous = samples + rng.random((500, 4))
    assert equal_rows(np.r_[continuous, continuous[:50]]).n_copies == 100


def test_sparse_rows_are_compared_by_value():
    samples, labels, _ = doubled()
    samples[np.abs(samples) < 0.5] = 0
    assert equal_rows(csr_matrix(samples), labels).n_copies == 120
    assert equal_rows(csr_matrix(samples), labels)[:3] == equal_rows(samples, labels)[:3]
    # The first two rows are equal, but the second is unsorted and stores a zero.
    explicit = csr_matrix(([1.0, 2.0, 2.0, 1.0, 0.0, 0.5, 0.5], [0, 1, 1, 0, 2, 3, 3],
                           [0, 2, 5, 7]), shape=(3, 4))  # fmt: skip
    assert equal_rows(explicit).n_repeated == 2
    rng = np.random.default_rng(0)
    words = csr_matrix(rng.random((1000, 40)) < 0.02)  # mostly rows of zeros
    assert equal_rows(words).n_copies == 0


def test_copies_are_found_beside_a_single_continuous_column():
    rng = np.random.default_rng(0)
    few = np.column_stack([rng.integers(3, size=500), rng.integers(2, size=500)])
    prices = np.round(500 * rng.random(500), 2)  # on a grid, but coincidences are rare
    for column in (rng.random(500), prices):
        samples = np.tile(np.column_stack([few, column]), (2, 1))
        assert equal_rows(samples, rng.integers(2, size=1000)).n_copies > 950
        assert equal_rows(samples[:500], np.arange(500) % 2).n_copies == 0


def test_iris_keeps_its_folds():
    samples, labels = load_iris(return_X_y=True)
    assert equal_rows(samples, labels)[:3] == (2, 0, 0)
    assert_same_folds(folds_of(samples, labels, 5, random_state=0), plain_folds(150, labels, 5, 0))


def test_copies_with_other_classes_are_counted():
    samples, labels, _ = doubled()
    equal = np.flatnonzero(samples[:, 0] == samples[0, 0])
    for label in (1 - labels[0], 2):  # a row that is the only one of its class changes nothing
        labels[equal[0]] = label
        found = equal_rows(samples, labels, 2)
        assert (found.n_copies, found.n_conflicting) == (120, 2)
        assert found.groups[equal[0]] == found.groups[equal[1]]


def test_frequent_rows_are_not_copies():
    rng = np.random.default_rng(0)
    samples, labels = rng.standard_normal((200, 3)), np.arange(200) % 2
    samples[:50] = 0  # more rows than a fold has
    assert equal_rows(samples, labels, 5)[:2] == (50, 0)
    samples, labels = rng.standard_normal((200, 3)), np.arange(200) % 2
    samples[:20], labels[:20] = 0, 2  # a class of equal rows
    assert equal_rows(samples, labels, 5)[:2] == (20, 0)


def test_missing_values_equal_each_other():
    samples, labels, _ = doubled()
    samples[:, 1][samples[:, 0] < 0] = np.nan
    assert equal_rows(samples, labels).n_copies == 120


def knn_gain(seed, **options):
    """Return the accuracy of 1-NN on doubled noise, minus that of guessing."""
    samples, labels, _ = doubled(n=100, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = cross_validate(KNNClassifier(1), samples, labels, random_state=seed, **options)
    return result.test_score.mean() - 0.5


def test_doubled_noise_gains_nothing():
    gains = [knn_gain(seed) for seed in range(20)]
    leaking = [knn_gain(seed, groups=np.arange(200)) for seed in range(20)]
    assert abs(np.mean(gains)) < 3 * np.std(gains) / 20**0.5
    assert np.mean(leaking) > 0.3
