"""Pairs: what they are, how they are made, and that folds do not leak."""

import copy
import pickle
import re

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from dimetric import Pairs, Triplets

X, y = load_iris(return_X_y=True)


def as_set(rows):
    """Return rows as a set, each pair ascending; repeats would be lost, so there are none."""
    found = {tuple(sorted(row)) for row in np.asarray(rows).tolist()}
    assert len(found) == len(rows)
    return found


# The value


def test_fields():
    pairs = Pairs([[1, 0], [2, 3]], [[3, 1]], 5)
    assert_array_equal(pairs.similar, [[0, 1], [2, 3]])
    assert_array_equal(pairs.dissimilar, [[1, 3]])
    assert_array_equal(pairs.rows, [[0, 1], [2, 3], [1, 3]])
    assert_array_equal(pairs.is_similar, [True, True, False])
    assert_array_equal(pairs.kinds, [0, 0, 1])
    assert len(pairs) == 3
    assert pairs.n_samples == 5


def test_frozen():
    given = np.array([[0, 1]])
    pairs = Pairs(given, [[1, 2]])
    with pytest.raises(AttributeError):
        pairs.similar = given
    with pytest.raises(ValueError, match="read-only"):
        pairs.similar[0, 0] = 7
    given[0, 0] = 5  # is not theirs
    assert_array_equal(pairs.similar, [[0, 1]])


def test_equal_by_value():
    pairs = Pairs([[0, 1]], [[1, 2]])
    again = Pairs([[1, 0]], [[2, 1]])
    assert pairs == again
    assert hash(pairs) == hash(again)
    for other in (Pairs([[1, 2]], [[0, 1]]), Pairs([[0, 1]], [[1, 2]], 3), pairs[:1], "pairs"):
        assert pairs != other
    for copied in (copy.deepcopy(pairs), pickle.loads(pickle.dumps(pairs))):
        assert copied == pairs


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pairs: pickle.loads(pickle.dumps(pairs))])
def test_copies_are_frozen_too(copied):
    vectors = X[:8].reshape(2, 2, 2, 4)
    pairs, triplets = Pairs.from_arrays(*vectors), Triplets.from_arrays(X[:3], X[3:6], X[6:9])
    for array in (
        pairs.points,
        copied(pairs).points,
        copied(pairs).similar,
        copied(triplets).points,
        copied(triplets).anchor,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    assert pairs[:1].points is pairs.points  # of which there is no need for two
    mine = X[:4].copy()
    Pairs([[0, 1]], points=mine)
    mine[0] = 7  # is no business of theirs


def test_huge_row_numbers():
    pairs = Pairs([[0, 2**30], [2**30 + 5, 7]], [[1, 2**30 + 2], [3, 4]])
    for _, test in pairs.split(2, random_state=0):
        assert len(test) == 2
    for number in (2**31, 2**63):
        says = rf"similar\[0\] = \[0, {number}\] contains a row number outside 0 to"
        with pytest.raises(ValueError, match=says):
            Pairs(np.array([[0, number]], dtype=np.uint64))


def test_slices():
    pairs = Pairs([[0, 1], [2, 3]], [[0, 2], [0, 3]], 4)
    assert pairs[1:3] == Pairs([[2, 3]], [[0, 2]], 4)
    assert pairs[[3, 0]] == Pairs([[0, 1]], [[0, 3]], 4)
    assert pairs[pairs.is_similar] == Pairs([[0, 1], [2, 3]], [], 4)
    assert pairs[-1] == Pairs([], [[0, 3]], 4)
    assert len(pairs[:0]) == 0
    with pytest.raises(IndexError):
        pairs[4]


def test_union():
    a, b = Pairs([[0, 1]], [[1, 2]]), Pairs([[3, 1], [0, 1]], [[2, 1]], 4)
    assert a | b == Pairs([[0, 1], [1, 3]], [[1, 2]], 4)
    assert a | a == a
    with pytest.raises(ValueError, match="are the same pair"):
        a | Pairs([[1, 2]])
    with pytest.raises(ValueError, match="Cannot combine Pairs of 4 samples with Pairs of 5"):
        b | Pairs([[0, 1]], n_samples=5)
    with pytest.raises(TypeError):
        a | Triplets([0], [1], [2])


def test_union_of_vectors():
    a = Pairs.from_arrays(X[:4].reshape(2, 2, 4), X[4:6].reshape(1, 2, 4))
    b = Pairs.from_arrays(X[6:8].reshape(1, 2, 4), X[8:10].reshape(1, 2, 4))
    both = a | b
    expected = np.concatenate([a.points[a.similar], b.points[b.similar]])
    assert_array_equal(both.points[both.similar], expected)
    assert (a | a) == a
    with pytest.raises(ValueError, match="Pairs of vectors with Pairs of row numbers"):
        a | Pairs([[0, 1]])


WRONG = {
    "similar[1] = [2, 2] contains a sample twice": lambda: Pairs([[0, 1], [2, 2]]),
    "dissimilar[0] = [-1, 2] contains a row number outside 0 to": lambda: Pairs([], [[-1, 2]]),
    "similar[1] = [3, 1] contains a row number outside 0 to 2": lambda: Pairs(
        [[0, 1], [3, 1]], n_samples=3
    ),
    "similar has shape (2,) and dtype int64": lambda: Pairs([0, 1]),
    "similar has shape (1, 3) and dtype int64": lambda: Pairs([[0, 1, 2]]),
    "dissimilar has shape (1, 2) and dtype float64": lambda: Pairs([], [[0.0, 1.0]]),
    "similar has shape (1, 2) and dtype bool": lambda: Pairs([[True, False]]),
    "similar[1] and dissimilar[2] are the same pair [2, 3]": lambda: Pairs(
        [[0, 1], [3, 2]], [[0, 2], [0, 3], [2, 3]]
    ),
    "similar has shape (2, 4), but must hold pairs": lambda: Pairs.from_arrays(X[:2], X[:2]),
    "(1, 2, 4) and (1, 2, 3), but must hold": lambda: Pairs.from_arrays(
        X[None, :2], X[None, :2, :3]
    ),
    "the same number of features": lambda: Pairs.from_arrays([], []),
    "y has shape (2, 2), but must hold labels": lambda: Pairs.from_labels([[0, 1], [0, 1]]),
    "n=-5 must not be negative": lambda: Pairs.from_similar([[0, 1]], 9, n=-5),
    "n=-6 must not be negative": lambda: Pairs.from_labels(y, -6),
    "n=-7 must not be negative": lambda: Pairs.from_labels(y, -7, balanced=False),
    "y contains NaN. Set unlabelled=np.nan": lambda: Pairs.from_labels([0.0, np.nan, 0.0]),
    "links[1, 2] is NaN": lambda: Pairs.from_graph(np.array([[0, 1, 0], [0, 0, np.nan], [0] * 3])),
    "inconsistent numbers of samples: [150, 120]": lambda: Pairs.from_neighbors(X, y[:120]),
    "Input X contains NaN": lambda: Pairs.from_neighbors(np.where(X > 7, np.nan, X), y),
    "links has shape (2, 3), but must be square": lambda: Pairs.from_graph(np.ones((2, 3))),
    "scores has shape (1,), but must hold a finite number for each of the 2": (
        lambda: Pairs.from_scores([[0, 1], [1, 2]], [1.0], 0.5)
    ),
    "scores has shape (2,)": lambda: Pairs.from_scores([[0, 1], [1, 2]], [1.0, np.nan], 0.5),
    "below=3 must not be above threshold=2": lambda: Pairs.from_scores([[0, 1]], [1], 2, 3),
    "rows[0] = [4, 4] contains a sample twice": lambda: Pairs.from_scores([[4, 4]], [1], 2),
    "n_splits=1 must be at least 2 and at most 2": lambda: next(Pairs([[0, 1], [2, 3]]).split(1)),
    "n_splits=3 must be at least 2 and at most 2": lambda: next(Pairs([[0, 1], [2, 3]]).split(3)),
    "too many to list. Set n to draw": lambda: Pairs.from_labels(np.zeros(20_000)),
}


@pytest.mark.parametrize("says", WRONG)
def test_wrong(says):
    with pytest.raises(ValueError, match=re.escape(says)):
        WRONG[says]()


# From labels


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12))
@settings(deadline=None, max_examples=60)
def test_all_pairs_of_labels(labels):
    pairs = Pairs.from_labels(labels, unlabelled=-1)
    every = [(i, j) for j in range(len(labels)) for i in range(j)]
    known = [(i, j) for i, j in every if -1 not in (labels[i], labels[j])]
    assert as_set(pairs.similar) == {(i, j) for i, j in known if labels[i] == labels[j]}
    assert as_set(pairs.dissimilar) == {(i, j) for i, j in known if labels[i] != labels[j]}
    assert pairs.n_samples == len(labels)


@pytest.mark.parametrize("n", [0, 1, 10, 501, 4000, 10**6])
@pytest.mark.parametrize("balanced", [True, False])
def test_some_pairs_of_labels(n, balanced):
    labels = np.repeat(["a", "b", "c"], [10, 30, 60])
    pairs = Pairs.from_labels(labels, n, balanced=balanced, random_state=0)
    as_set(pairs.rows)  # each once
    assert np.all(labels[pairs.similar[:, 0]] == labels[pairs.similar[:, 1]])
    assert np.all(labels[pairs.dissimilar[:, 0]] != labels[pairs.dissimilar[:, 1]])
    assert len(pairs) == min(n, 4950)
    if balanced and n <= 4400:  # there are 2250 similar pairs
        assert abs(len(pairs.similar) - n / 2) <= 1
    assert pairs == Pairs.from_labels(labels, n, balanced=balanced, random_state=0)


def test_draws_are_fair():
    labels = np.repeat([0, 1], [4, 3])
    counts = np.zeros((7, 7))
    for seed in range(600):
        pairs = Pairs.from_labels(labels, 4, balanced=False, random_state=seed)
        np.add.at(counts, tuple(pairs.rows.T), 1)
    often = counts[np.triu_indices(7, 1)]
    assert np.all(np.abs(often - 600 * 4 / 21) < 5 * (600 * 4 / 21) ** 0.5)


def test_nan_may_stand_for_no_label():
    labels = [0.0, np.nan, 0.0, 1.0]
    assert Pairs.from_labels(labels, unlabelled=np.nan) == Pairs([[0, 2]], [[0, 3], [2, 3]], 4)
    assert len(Triplets.from_labels(labels, unlabelled=np.nan)) == 2


def test_labels_of_one_sample():
    assert len(Pairs.from_labels([1])) == 0
    assert len(Pairs.from_labels([1, 1], unlabelled=1)) == 0


def test_balance_gives_way_to_number():
    """Where there are not enough pairs of one kind, more of the other come."""
    pairs = Pairs.from_labels([0, 0, 1, 2, 3, 4], 8, random_state=0)
    assert len(pairs.similar) == 1
    assert len(pairs.dissimilar) == 7


# From other things


@pytest.mark.parametrize("n", [None, 0, 3, 17, 1000])
def test_complement(n):
    similar = [[0, 1], [5, 2], [7, 8], [3, 4], [1, 9]]
    pairs = Pairs.from_similar(similar, 10, n, random_state=0)
    assert as_set(pairs.similar) == as_set(similar)
    assert not as_set(pairs.similar) & as_set(pairs.dissimilar)
    assert len(pairs.dissimilar) == min(5 if n is None else n, 40)


def test_complement_of_many_samples():
    pairs = Pairs.from_similar([[0, 99_999]], 100_000, 1000, random_state=0)
    assert len(pairs.dissimilar) == 1000
    assert pairs.dissimilar.max() > 90_000
    assert np.all(pairs.dissimilar[:, 0] < pairs.dissimilar[:, 1])


def test_neighbors():
    pairs = Pairs.from_neighbors(X, n_neighbors=2, random_state=0)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    reach = np.sort(D, axis=1)[:, 1]
    i, j = pairs.similar.T
    assert np.all((D[i, j] <= reach[i]) | (D[i, j] <= reach[j]))
    assert len(pairs.dissimilar) == len(pairs.similar) >= 150


@pytest.mark.parametrize("namespace", [np, array_api_strict])
def test_neighbors_by_label(namespace):
    order = np.random.default_rng(0).permutation(150)
    samples, labels = X[order], y[order]
    pairs = Pairs.from_neighbors(namespace.asarray(samples), labels, n_neighbors=1)
    D = cdist(samples, samples)
    np.fill_diagonal(D, np.inf)
    same = labels[:, None] == labels
    for rows, hidden in ((pairs.similar, ~same), (pairs.dissimilar, same)):
        nearest = np.where(hidden, np.inf, D).min(axis=1)
        i, j = rows.T
        assert not hidden[i, j].any()
        np.testing.assert_allclose(D[i, j], np.minimum(D[i, j], np.maximum(nearest[i], nearest[j])))
        assert set(rows.ravel()) == set(range(150))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_graph(form):
    links = np.zeros((5, 5))
    links[0, 1] = links[1, 0] = links[3, 2] = 0.5
    links[4, 4] = 9  # to itself
    pairs = Pairs.from_graph(form(links), random_state=0)
    assert as_set(pairs.similar) == {(0, 1), (2, 3)}
    assert len(pairs.dissimilar) == 2
    assert pairs.n_samples == 5
    links[0, 4] = -1
    assert Pairs.from_graph(form(links)) == Pairs([[0, 1], [2, 3]], [[0, 4]], 5)
    links[4, 0] = 1
    with pytest.raises(ValueError, match="are the same pair"):
        Pairs.from_graph(form(links))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_graph_of_truth_values(form):
    links = np.zeros((4, 4), dtype=bool)
    links[0, 1] = links[1, 0] = links[3, 2] = True
    pairs = Pairs.from_graph(form(links), n=1, random_state=0)
    assert as_set(pairs.similar) == {(0, 1), (2, 3)}
    assert len(pairs.dissimilar) == 1


def test_neighbors_of_sparse_samples_are_refused():
    for kind in (Pairs, Triplets):
        with pytest.raises(TypeError, match="Sparse data was passed for X"):
            kind.from_neighbors(sparse.csr_array(X), y)


def test_scores():
    rows = [[0, 1], [1, 0], [1, 2], [2, 3], [0, 3]]
    pairs = Pairs.from_scores(rows, [1.0, 0.0, 0.9, 0.1, 0.5], 0.5, n_samples=4)
    assert as_set(pairs.similar) == {(0, 1), (1, 2), (0, 3)}
    assert as_set(pairs.dissimilar) == {(2, 3)}
    assert as_set(Pairs.from_scores(rows, [1.0, 0.0, 0.9, 0.1, 0.5], 0.8, 0.2).rows) == {
        (1, 2),
        (2, 3),
    }


# Folds


def linked_pairs(n_groups, seed=0):
    """Return pairs within groups of 4 samples."""
    rng = np.random.default_rng(seed)
    first = 4 * rng.permutation(n_groups)[:, None]
    return Pairs(first + np.array([0, 1]), first + np.array([1, 3]))


@pytest.mark.parametrize("n_splits", [2, 3, 5])
def test_folds_do_not_leak(n_splits):
    pairs = Pairs.from_labels(y, 3000, random_state=0)
    met = []
    for train, test in pairs.split(n_splits, random_state=0):
        assert not set(train.rows.ravel()) & set(test.rows.ravel())
        assert len(train) > len(test) > 0 or n_splits == 2
        met += test.rows.tolist()
    as_set(met)  # no pair is in two folds


def test_groups_stay_together():
    """Where pairs link few samples each, none is left out."""
    pairs = linked_pairs(12)
    tests = [test for _, test in pairs.split(4, random_state=0)]
    assert [len(test) for test in tests] == [6, 6, 6, 6]
    for train, test in pairs.split(4, random_state=0):
        assert len(train) + len(test) == len(pairs)
        assert not set(train.rows.ravel()) & set(test.rows.ravel())


def test_folds_that_share_samples():
    pairs = Pairs.from_labels(y, 1000, random_state=0)
    folds = list(pairs.split(5, shared=True, random_state=0))
    assert as_set(np.concatenate([test.rows for _, test in folds])) == as_set(pairs.rows)
    for train, test in folds:
        assert len(test) == 200
        assert len(test.similar) == 100
        assert as_set((train | test).rows) == as_set(pairs.rows)


def test_equal_vectors_are_one_sample():
    rng = np.random.default_rng(0)
    query, others = np.broadcast_to(rng.normal(size=(1, 3)), (8, 3)), rng.normal(size=(8, 3))
    vectors = np.stack([query, others], axis=1)
    one_query = Pairs.from_arrays(vectors[:4], vectors[4:])
    with pytest.raises(ValueError, match=r"Fold 1 of 2 has no test constraints.*shared=True"):
        next(one_query.split(2, random_state=0))
    vectors = X[Pairs.from_labels(y, 400, random_state=0).rows]
    pairs = Pairs.from_arrays(vectors[:200], vectors[200:])
    for train, test in pairs.split(2, random_state=0):
        met = [
            {tuple(point) for point in part.points[part.rows].reshape(-1, 4)}
            for part in (train, test)
        ]
        assert not met[0] & met[1]


@pytest.mark.parametrize("of_vectors", [False, True])
def test_a_repeated_pair_is_in_one_fold(of_vectors):
    pairs = Pairs.from_labels(y, 20, random_state=0)
    pairs = pairs[np.tile(np.arange(20), 3)]
    if of_vectors:
        vectors = np.random.default_rng(0).normal(size=(150, 2))[pairs.rows]
        vectors[20:] = vectors[20:, ::-1]  # whichever comes first
        pairs = Pairs.from_arrays(vectors[:30], vectors[30:])
    for train, test in pairs.split(5, shared=True, random_state=0):
        assert len(test) == 12
        met = [
            {tuple(sorted(map(tuple, pair))) for pair in _contents(part)} for part in (train, test)
        ]
        assert not met[0] & met[1]


def _contents(pairs):
    """Return what pairs are of: vectors, or row numbers in a column."""
    return pairs.rows[:, :, None] if pairs.points is None else pairs.points[pairs.rows]


def test_folds_have_both_kinds():
    """Pairs of vectors, which nothing links, have a choice of folds."""
    vectors = np.random.default_rng(0).normal(size=(24, 2, 3))
    pairs = Pairs.from_arrays(vectors[:8], vectors[8:])
    for seed in range(5):
        for _, test in pairs.split(4, random_state=seed):
            assert (len(test.similar), len(test.dissimilar)) == (2, 4)


def test_empty_folds_are_refused():
    pairs = Pairs.from_labels([0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"no test constraints.*too strongly linked.*shared=True"):
        next(pairs.split(4, random_state=0))
    repeated = Pairs([[0, 1]] * 3, [[1, 2]])
    with pytest.raises(ValueError, match=r"Fold 3 of 3 has no test constraints.*fewer folds\.$"):
        next(repeated.split(3, shared=True))


def test_folds_of_little_are_told_of():
    triplets = Triplets.from_labels(y, 1000, random_state=0)
    with pytest.warns(UserWarning, match=r"Only \d\d of 1000 constraints are used.*shared=True"):
        next(triplets.split(5, random_state=0))


def test_folds_are_drawn():
    pairs = linked_pairs(12)
    first, again, other = (
        [test for _, test in pairs.split(4, random_state=seed)] for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_reordered():
    pairs = Pairs.from_labels(y, 500, random_state=0)
    order = np.random.default_rng(0).permutation(150)
    moved = pairs.reordered(order)
    assert as_set(order[moved.similar]) == as_set(pairs.similar)
    shuffled = pairs[np.random.default_rng(1).permutation(len(pairs))]
    assert shuffled.reordered(order) == moved
