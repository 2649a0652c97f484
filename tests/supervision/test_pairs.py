"""Pairs: fields, constructors, and folds without leaks."""

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
    """Return the rows as a set of sorted pairs, and check that there are no duplicates."""
    found = {tuple(sorted(row)) for row in np.asarray(rows).tolist()}
    assert len(found) == len(rows)
    return found


# Fields, copies, slices and unions


def test_pairs_are_stored_in_ascending_order():
    pairs = Pairs([[1, 0], [2, 3]], [[3, 1]], 5)
    assert_array_equal(pairs.similar, [[0, 1], [2, 3]])
    assert_array_equal(pairs.dissimilar, [[1, 3]])
    assert_array_equal(pairs.rows, [[0, 1], [2, 3], [1, 3]])
    assert_array_equal(pairs.is_similar, [True, True, False])
    assert_array_equal(pairs.kinds, [0, 0, 1])
    assert len(pairs) == 3
    assert pairs.n_samples == 5


def test_pairs_are_immutable():
    similar = np.array([[0, 1]])
    pairs = Pairs(similar, [[1, 2]])
    with pytest.raises(AttributeError):
        pairs.similar = similar
    with pytest.raises(ValueError, match="read-only"):
        pairs.similar[0, 0] = 7
    similar[0, 0] = 5  # does not change the copy in `pairs`
    assert_array_equal(pairs.similar, [[0, 1]])


def test_equality_and_hash():
    pairs = Pairs([[0, 1]], [[1, 2]])
    again = Pairs([[1, 0]], [[2, 1]])
    assert pairs == again
    assert hash(pairs) == hash(again)
    for other in (Pairs([[1, 2]], [[0, 1]]), Pairs([[0, 1]], [[1, 2]], 3), pairs[:1], "pairs"):
        assert pairs != other
    for copied in (copy.deepcopy(pairs), pickle.loads(pickle.dumps(pairs))):
        assert copied == pairs


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pairs: pickle.loads(pickle.dumps(pairs))])
def test_copies_are_immutable(copied):
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
    assert pairs[:1].points is pairs.points  # not copied
    writable = X[:4].copy()
    Pairs([[0, 1]], points=writable)
    writable[0] = 7  # the array of the caller stays writable


def test_large_row_indices():
    pairs = Pairs([[0, 2**30], [2**30 + 5, 7]], [[1, 2**30 + 2], [3, 4]])
    for _, test in pairs.split(2, random_state=0):
        assert len(test) == 2
    for number in (2**31, 2**63):
        says = rf"similar\[0\] = \[0, {number}\] contains a row index outside 0 to"
        with pytest.raises(ValueError, match=says):
            Pairs(np.array([[0, number]], dtype=np.uint64))


def test_indexing():
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
    union = a | b
    expected = np.concatenate([a.points[a.similar], b.points[b.similar]])
    assert_array_equal(union.points[union.similar], expected)
    assert (a | a) == a
    with pytest.raises(ValueError, match="Pairs of vectors with Pairs of row indices"):
        a | Pairs([[0, 1]])


WRONG = {
    "similar[1] = [2, 2] contains a sample twice": lambda: Pairs([[0, 1], [2, 2]]),
    "dissimilar[0] = [-1, 2] contains a row index outside 0 to": lambda: Pairs([], [[-1, 2]]),
    "similar[1] = [3, 1] contains a row index outside 0 to 2": lambda: Pairs(
        [[0, 1], [3, 1]], n_samples=3
    ),
    "similar has shape (2,) and dtype int64": lambda: Pairs([0, 1]),
    "similar has shape (1, 3) and dtype int64": lambda: Pairs([[0, 1, 2]]),
    "dissimilar has shape (1, 2) and dtype float64": lambda: Pairs([], [[0.0, 1.0]]),
    "similar has shape (1, 2) and dtype bool": lambda: Pairs([[True, False]]),
    "similar[1] and dissimilar[2] are the same pair [2, 3]": lambda: Pairs(
        [[0, 1], [3, 2]], [[0, 2], [0, 3], [2, 3]]
    ),
    "similar has shape (2, 4), but pairs of vectors must have shape": lambda: Pairs.from_arrays(
        X[:2], X[:2]
    ),
    "(1, 2, 4) and (1, 2, 3), but must contain": lambda: Pairs.from_arrays(
        X[None, :2], X[None, :2, :3]
    ),
    "the same number of features": lambda: Pairs.from_arrays([], []),
    "y has shape (2, 2), but labels must have shape": lambda: Pairs.from_labels([[0, 1], [0, 1]]),
    "n=-5 must not be negative": lambda: Pairs.from_similar([[0, 1]], 9, n=-5),
    "n=-6 must not be negative": lambda: Pairs.from_labels(y, -6),
    "n=-7 must not be negative": lambda: Pairs.from_labels(y, -7, balanced=False),
    "y contains NaN. Set unlabelled=np.nan": lambda: Pairs.from_labels([0.0, np.nan, 0.0]),
    "links[1, 2] is NaN": lambda: Pairs.from_graph(np.array([[0, 1, 0], [0, 0, np.nan], [0] * 3])),
    "inconsistent numbers of samples: [150, 120]": lambda: Pairs.from_neighbors(X, y[:120]),
    "Input X contains NaN": lambda: Pairs.from_neighbors(np.where(X > 7, np.nan, X), y),
    "links has shape (2, 3), but must be square": lambda: Pairs.from_graph(np.ones((2, 3))),
    "scores has shape (1,), but must have shape (2,), one score for each pair": (
        lambda: Pairs.from_scores([[0, 1], [1, 2]], [1.0], 0.5)
    ),
    "scores[1] is nan. Scores must be finite": (
        lambda: Pairs.from_scores([[0, 1], [1, 2]], [1.0, np.nan], 0.5)
    ),
    "scores[0] is inf. Scores must be finite": (
        lambda: Pairs.from_scores([[0, 1], [1, 2]], [np.inf, np.nan], 0.5)
    ),
    "below=3 must not be above threshold=2": lambda: Pairs.from_scores([[0, 1]], [1], 2, 3),
    "rows[0] = [4, 4] contains a sample twice": lambda: Pairs.from_scores([[4, 4]], [1], 2),
    "n_splits=1 must be between 2 and the number of constraints, 2": lambda: next(
        Pairs([[0, 1], [2, 3]]).split(1)
    ),
    "n_splits=3 must be between 2 and the number of constraints, 2": lambda: next(
        Pairs([[0, 1], [2, 3]]).split(3)
    ),
    "too many to list. Set n to draw": lambda: Pairs.from_labels(np.zeros(20_000)),
}


@pytest.mark.parametrize("says", WRONG)
def test_invalid_input_raises(says):
    with pytest.raises(ValueError, match=re.escape(says)):
        WRONG[says]()


# From labels


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=12))
@settings(deadline=None, max_examples=60)
def test_from_labels_returns_all_pairs(labels):
    pairs = Pairs.from_labels(labels, unlabelled=-1)
    all_pairs = [(i, j) for j in range(len(labels)) for i in range(j)]
    known = [(i, j) for i, j in all_pairs if -1 not in (labels[i], labels[j])]
    assert as_set(pairs.similar) == {(i, j) for i, j in known if labels[i] == labels[j]}
    assert as_set(pairs.dissimilar) == {(i, j) for i, j in known if labels[i] != labels[j]}
    assert pairs.n_samples == len(labels)


@pytest.mark.parametrize("n", [0, 1, 10, 501, 4000, 10**6])
@pytest.mark.parametrize("balanced", [True, False])
def test_from_labels_draws_n_distinct_pairs(n, balanced):
    labels = np.repeat(["a", "b", "c"], [10, 30, 60])
    pairs = Pairs.from_labels(labels, n, balanced=balanced, random_state=0)
    as_set(pairs.rows)  # checks that they are distinct
    assert np.all(labels[pairs.similar[:, 0]] == labels[pairs.similar[:, 1]])
    assert np.all(labels[pairs.dissimilar[:, 0]] != labels[pairs.dissimilar[:, 1]])
    assert len(pairs) == min(n, 4950)
    if balanced and n <= 4400:  # there are 2250 similar pairs
        assert abs(len(pairs.similar) - n / 2) <= 1
    assert pairs == Pairs.from_labels(labels, n, balanced=balanced, random_state=0)


def test_pairs_are_drawn_with_equal_probability():
    labels = np.repeat([0, 1], [4, 3])
    counts = np.zeros((7, 7))
    for seed in range(600):
        pairs = Pairs.from_labels(labels, 4, balanced=False, random_state=seed)
        np.add.at(counts, tuple(pairs.rows.T), 1)
    drawn, expected = counts[np.triu_indices(7, 1)], 600 * 4 / 21
    assert np.all(np.abs(drawn - expected) < 5 * expected**0.5)


def test_nan_can_mark_unlabelled_samples():
    labels = [0.0, np.nan, 0.0, 1.0]
    assert Pairs.from_labels(labels, unlabelled=np.nan) == Pairs([[0, 2]], [[0, 3], [2, 3]], 4)
    assert len(Triplets.from_labels(labels, unlabelled=np.nan)) == 2


def test_one_labelled_sample_gives_no_pairs():
    assert len(Pairs.from_labels([1])) == 0
    assert len(Pairs.from_labels([1, 1], unlabelled=1)) == 0


def test_missing_similar_pairs_are_replaced_by_dissimilar_ones():
    pairs = Pairs.from_labels([0, 0, 1, 2, 3, 4], 8, random_state=0)
    assert len(pairs.similar) == 1
    assert len(pairs.dissimilar) == 7


# From similar pairs, neighbours, graphs and scores


@pytest.mark.parametrize("n", [None, 0, 3, 17, 1000])
def test_from_similar_draws_dissimilar_pairs_from_all_others(n):
    similar = [[0, 1], [5, 2], [7, 8], [3, 4], [1, 9]]
    pairs = Pairs.from_similar(similar, 10, n, random_state=0)
    assert as_set(pairs.similar) == as_set(similar)
    assert not as_set(pairs.similar) & as_set(pairs.dissimilar)
    assert len(pairs.dissimilar) == min(5 if n is None else n, 40)


def test_from_similar_with_many_samples():
    pairs = Pairs.from_similar([[0, 99_999]], 100_000, 1000, random_state=0)
    assert len(pairs.dissimilar) == 1000
    assert pairs.dissimilar.max() > 90_000
    assert np.all(pairs.dissimilar[:, 0] < pairs.dissimilar[:, 1])


def test_from_neighbors_without_labels():
    pairs = Pairs.from_neighbors(X, n_neighbors=2, random_state=0)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    radius = np.sort(D, axis=1)[:, 1]
    i, j = pairs.similar.T
    assert np.all((D[i, j] <= radius[i]) | (D[i, j] <= radius[j]))
    assert len(pairs.dissimilar) == len(pairs.similar) >= 150


@pytest.mark.parametrize("namespace", [np, array_api_strict])
def test_from_neighbors_with_labels(namespace):
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
def test_from_graph(form):
    links = np.zeros((5, 5))
    links[0, 1] = links[1, 0] = links[3, 2] = 0.5
    links[4, 4] = 9  # a loop, which is ignored
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
def test_from_boolean_graph(form):
    links = np.zeros((4, 4), dtype=bool)
    links[0, 1] = links[1, 0] = links[3, 2] = True
    pairs = Pairs.from_graph(form(links), n=1, random_state=0)
    assert as_set(pairs.similar) == {(0, 1), (2, 3)}
    assert len(pairs.dissimilar) == 1


def test_from_neighbors_rejects_sparse_samples():
    for kind in (Pairs, Triplets):
        with pytest.raises(TypeError, match="Sparse data was passed for X"):
            kind.from_neighbors(sparse.csr_array(X), y)


def test_from_scores():
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
def test_training_and_test_pairs_share_no_samples(n_splits):
    pairs = Pairs.from_labels(y, 3000, random_state=0)
    tested = []
    for train, test in pairs.split(n_splits, random_state=0):
        assert not set(train.rows.ravel()) & set(test.rows.ravel())
        assert len(train) > len(test) > 0 or n_splits == 2
        tested += test.rows.tolist()
    as_set(tested)  # checks that no pair is in two folds


def test_small_groups_of_linked_samples_stay_together():
    pairs = linked_pairs(12)
    tests = [test for _, test in pairs.split(4, random_state=0)]
    assert [len(test) for test in tests] == [6, 6, 6, 6]
    for train, test in pairs.split(4, random_state=0):
        assert len(train) + len(test) == len(pairs)
        assert not set(train.rows.ravel()) & set(test.rows.ravel())


def test_folds_that_share_samples_contain_all_pairs():
    pairs = Pairs.from_labels(y, 1000, random_state=0)
    folds = list(pairs.split(5, share_samples=True, random_state=0))
    assert as_set(np.concatenate([test.rows for _, test in folds])) == as_set(pairs.rows)
    for train, test in folds:
        assert len(test) == 200
        assert len(test.similar) == 100
        assert as_set((train | test).rows) == as_set(pairs.rows)


def test_equal_vectors_count_as_one_sample():
    rng = np.random.default_rng(0)
    query, others = np.broadcast_to(rng.normal(size=(1, 3)), (8, 3)), rng.normal(size=(8, 3))
    vectors = np.stack([query, others], axis=1)
    one_query = Pairs.from_arrays(vectors[:4], vectors[4:])
    with pytest.raises(
        ValueError, match=r"Fold 1 of 2 has no test constraints.*share_samples=True"
    ):
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
def test_repeated_pair_is_in_one_fold(of_vectors):
    pairs = Pairs.from_labels(y, 20, random_state=0)
    pairs = pairs[np.tile(np.arange(20), 3)]
    if of_vectors:
        vectors = np.random.default_rng(0).normal(size=(150, 2))[pairs.rows]
        vectors[20:] = vectors[20:, ::-1]  # in either order
        pairs = Pairs.from_arrays(vectors[:30], vectors[30:])
    for train, test in pairs.split(5, share_samples=True, random_state=0):
        assert len(test) == 12
        met = [
            {tuple(sorted(map(tuple, pair))) for pair in samples_of(part)} for part in (train, test)
        ]
        assert not met[0] & met[1]


def samples_of(pairs):
    """Return the two samples of each pair: their vectors, or else their row indices."""
    return pairs.rows[:, :, None] if pairs.points is None else pairs.points[pairs.rows]


def test_unlinked_pairs_are_stratified_by_kind():
    vectors = np.random.default_rng(0).normal(size=(24, 2, 3))
    pairs = Pairs.from_arrays(vectors[:8], vectors[8:])
    for seed in range(5):
        for _, test in pairs.split(4, random_state=seed):
            assert (len(test.similar), len(test.dissimilar)) == (2, 4)


def test_empty_folds_raise():
    pairs = Pairs.from_labels([0, 0, 1, 1])
    with pytest.raises(
        ValueError,
        match=r"no test constraints.*too many constraints share samples.*share_samples=True",
    ):
        next(pairs.split(4, random_state=0))
    repeated = Pairs([[0, 1]] * 3, [[1, 2]])
    with pytest.raises(ValueError, match=r"Fold 3 of 3 has no test constraints.*fewer folds\.$"):
        next(repeated.split(3, share_samples=True))


def test_few_test_constraints_warn():
    triplets = Triplets.from_labels(y, 1000, random_state=0)
    with pytest.warns(
        UserWarning, match=r"Only \d\d of 1000 constraints are used.*share_samples=True"
    ):
        next(triplets.split(5, random_state=0))


def test_folds_depend_on_the_random_state():
    pairs = linked_pairs(12)
    first, again, other = (
        [test for _, test in pairs.split(4, random_state=seed)] for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_reordered_renumbers_and_sorts():
    pairs = Pairs.from_labels(y, 500, random_state=0)
    order = np.random.default_rng(0).permutation(150)
    reordered = pairs.reordered(order)
    assert as_set(order[reordered.similar]) == as_set(pairs.similar)
    shuffled = pairs[np.random.default_rng(1).permutation(len(pairs))]
    assert shuffled.reordered(order) == reordered


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 4))
def test_training_and_test_constraints_share_no_group(seed, n_splits):
    rng = np.random.default_rng(seed)
    groups = rng.integers(12, size=60)
    names = np.array([f"patient {i}" for i in range(12)])[groups]
    near = np.argsort(groups, kind="stable").reshape(-1, 2)  # mostly pairs within a group
    similar = {frozenset(pair) for pair in near.tolist()}
    far = [each for each in rng.permutation(60).reshape(-1, 2) if frozenset(each) not in similar]
    pairs = Pairs(near, far)
    triplets = Triplets.from_rows(rng.permutation(60).reshape(-1, 3))
    for constraints in (pairs, triplets):
        try:
            folds = list(constraints.split(n_splits, groups=names, random_state=seed))
        except ValueError as error:
            folds, message = [], str(error)
            assert re.match(r"Fold \d of \d has no (test|training) constraints", message)
        for train, test in folds:
            assert not set(groups[train.rows].ravel()) & set(groups[test.rows].ravel())


def test_groups_of_pairs_are_checked():
    pairs = Pairs([[0, 1], [2, 3]], [[0, 2]], n_samples=4)
    with pytest.raises(ValueError, match=r"groups has shape \(3,\), but must have shape \(4,\)"):
        next(pairs.split(2, groups=[0, 1, 2]))
    with pytest.raises(ValueError, match="share_samples=True lets samples of one group occur"):
        next(pairs.split(2, groups=[0, 0, 1, 1], share_samples=True))
    with pytest.raises(ValueError, match=r"contains a row index outside X, which has 3 samples"):
        next(Pairs([[0, 1], [2, 3]]).split(2, groups=[0, 1, 2]))
