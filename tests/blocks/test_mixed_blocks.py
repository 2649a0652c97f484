"""Blocks that do not fit together: other columns, other labels, other rows in the next pass."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from dimetric import ITML, LDA, LMNN, NCA, NCMML, PCA, NCMClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = np.repeat([0, 1, 2], 40)[RNG.permutation(120)]
HALVES = (slice(0, 60), slice(60, 120))
NAMES = list("abcd")


def blocks(*parts):
    """Return a function that yields the parts in each pass."""
    return lambda: iter(parts)


@pytest.mark.parametrize("learner", [LDA(), NCA(), NCMML(), NCMClassifier()], ids=str)
@pytest.mark.parametrize("names", [NAMES[::-1], ["a", "b", "c", "x"]])
def test_other_columns_are_an_error(learner, names):
    frames = [pd.DataFrame(X[rows], columns=NAMES) for rows in HALVES]
    other = frames[1].set_axis(names, axis=1)
    with pytest.raises(ValueError, match=r"Block 1.* has the columns .*, in this order"):
        learner.fit(blocks((frames[0], Y[:60]), (other, Y[60:])))


@pytest.mark.parametrize("learner", [LDA(), NCA(), LMNN(), NCMML(), NCMClassifier()], ids=str)
def test_labels_of_two_types_are_an_error(learner):
    with pytest.raises(ValueError, match="All labels must have the same type"):
        learner.fit(blocks((X[:60], Y[:60]), (X[60:], Y[60:].astype(str))))


@pytest.mark.parametrize("learner", [LDA(), NCA()], ids=str)
def test_integers_may_be_objects(learner):
    expected = learner.fit(blocks((X[:60], Y[:60]), (X[60:], Y[60:]))).components_
    mixed = learner.fit(blocks((X[:60], Y[:60]), (X[60:], Y[60:].astype(object)))).components_
    np.testing.assert_array_equal(mixed, expected)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_an_error_that_names_the_block(missing):
    y = np.array(list("ab") * 30, dtype=object)
    other = y.copy()
    other[3] = missing
    with pytest.raises(ValueError, match=r"Block 1.* has missing labels"):
        LDA().fit(blocks((X[:60], y), (X[60:], other)))


def test_a_function_must_return_a_new_iterator():
    opened = iter([(X[:60], Y[:60]), (X[60:], Y[60:])])
    with pytest.raises(ValueError, match="a new iterator each time"):
        LDA().fit(lambda: opened)


def test_a_function_must_yield_as_many_rows_in_each_pass():
    sizes = iter(range(100, 120))

    def fewer():
        n = next(sizes)
        yield X[:n], Y[:n]

    with pytest.raises(ValueError, match="It must yield the same blocks each time"):
        NCA(n_references=50).fit(fewer)


@pytest.mark.parametrize("block", [X.tolist(), [X, Y]], ids=["list of rows", "list of X and y"])
def test_a_block_must_be_an_array(block):
    with pytest.raises(TypeError, match="A block is of type list"):
        PCA().fit(blocks(block))


def test_a_function_must_return_an_iterator():
    with pytest.raises(TypeError, match="The function returned NoneType"):
        PCA().fit(lambda: None)


def test_sparse_blocks_are_refused():
    with pytest.raises(ValueError, match="are sparse"):
        PCA().fit(blocks(sparse.csr_array(X)))


def test_a_classifier_is_unfitted_after_an_error():
    model, wrong = NCMClassifier().fit(X, Y), X[:60, :3].copy()
    wrong[5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(blocks((wrong, Y[:60])))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_transform_of_a_function_says_what_to_do():
    model = PCA().fit(blocks(X))
    with pytest.raises(TypeError, match="Call transform for each of its blocks"):
        model.transform(blocks(X))


def test_a_large_memory_map_that_is_read_as_an_array_warns(tmp_path, monkeypatch):
    monkeypatch.setattr("dimetric.learners._block_fit.MIN_BYTES_OF_BLOCKS", 1000)
    mapped = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    with pytest.warns(UserWarning, match=r"memory map of 0.0 GiB is read as an array. ITML needs"):
        ITML(random_state=0).fit(mapped, Y)
