"""Invalid blocks: clear errors, and a learner that stays unfitted."""

import numpy as np
import pytest
from block_sources import as_dask, as_source, made_blocks
from sklearn.exceptions import NotFittedError

from dimetric import LDA, NCA, NCMML, PCA
from dimetric.blocks.open import source_of

X, y = made_blocks(n=300)


def assert_raises(learner, error, message, *args, **kwargs):
    with pytest.raises(error, match=message):
        learner.fit(*args, **kwargs)
    with pytest.raises(NotFittedError):
        learner.transform(X)


def blocks_with(change, *, number=2):
    """Return a function that yields blocks, of which one is changed."""

    def factory():
        parts = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 300, 50)]
        parts[number] = change(*parts[number])
        return iter(parts)

    return factory


def with_value(value):
    def change(A, b):
        A = A.copy()
        A[3, 1] = value
        return A, b

    return change


INVALID = {
    "NaN": (
        with_value(np.nan),
        "Block 2, which starts at sample 100, has samples that contain NaN",
    ),
    "infinity": (with_value(np.inf), "Block 2, .* contain NaN or infinity"),
    "columns": (lambda A, b: (A[:, :3], b), r"Block 2, .* has the shape \(50, 3\).* 5 columns"),
    "one dimension": (lambda A, b: (A[0], b), "Block 2, .* has the shape"),
    "fewer labels": (lambda A, b: (A, b[:9]), "Block 2, .* has 50 samples, but 9 labels"),
    "no labels": (lambda A, b: (A, None), "Block 2 has other parts than the first block"),
    "strings": (lambda A, b: (np.full((50, 5), "a"), b), "Block 2, .* not numbers"),
    "complex": (lambda A, b: (A + 1j, b), "Block 2, .* complex"),
    "labels of another type": (lambda A, b: (A, b.astype(str)), "must have the same type"),
    "NaN label": (
        lambda A, b: (A, np.where(b, np.nan, 1.0)),
        "Block 2, .* labels that contain NaN",
    ),
    "fractions": (lambda A, b: (A, b + 0.5), "Unknown label type"),
}


@pytest.mark.parametrize("case", INVALID)
@pytest.mark.parametrize("learner", [LDA(), NCMML()], ids=["LDA", "NCMML"])
def test_error_names_the_block(case, learner):
    change, message = INVALID[case]
    assert_raises(learner, ValueError, message, blocks_with(change))


def test_a_fitted_learner_is_not_fitted_after_an_error():
    learner = LDA().fit(X, y)
    assert_raises(learner, ValueError, "Block 2", blocks_with(with_value(np.nan)))


def test_wider_dtype_in_a_later_block():
    single, message = X.astype(np.float32), "Block 1, .* of dtype float64, .* of dtype float32"
    assert_raises(PCA(), ValueError, message, lambda: iter([single, X]))
    PCA().fit(lambda: iter([X, single]))  # float64 can hold both


def test_dask_partitions_of_different_dtypes():
    da = pytest.importorskip("dask.array")
    single = da.from_array(X.astype(np.float32), chunks=(100, -1))

    def widened(block, block_info=None):
        return block.astype(np.float64) if block_info[0]["chunk-location"][0] == 1 else block

    wrong = single.map_blocks(widened, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    assert_raises(PCA(), ValueError, "Block 1, .* of dtype float64", wrong)


def test_object_columns_of_a_data_frame():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(town=["Rome", "Oslo"] * 150)
    given = dd.from_pandas(frame, npartitions=3)
    assert_raises(PCA(), ValueError, r"Columns without numbers: \['town'\]", given)


@pytest.mark.parametrize("kind", ["dask", "unknown", "frame"])
def test_nan_in_one_partition(kind):
    pytest.importorskip("dask")
    wrong = X.copy()
    wrong[150, 0] = np.nan
    assert_raises(PCA(), ValueError, "Block 1", as_dask(kind, wrong, 100))


def test_labels_of_another_length_or_chunking():
    pytest.importorskip("dask")
    samples = as_dask("dask", X, 100)
    assert_raises(LDA(), ValueError, "X has 300 samples, but y has 299", samples, _dask(y[:-1]))
    LDA().fit(samples, _dask(y, 77))  # chunks of known size are aligned
    unknown = as_dask("unknown", X, 100)
    assert_raises(LDA(), ValueError, "3 partitions, but y has 4", unknown, _dask(y, 77))
    labels = _dask(y[3:], ((97, 100, 100),))
    assert_raises(LDA(), ValueError, "Block 0 has 100 samples, but 97 labels", unknown, labels)
    assert_raises(LDA(), TypeError, "y must be one, too, but it is of type ndarray", samples, y)
    assert_raises(LDA(), ValueError, "LDA requires labels", samples)


def _dask(values, chunk=100):
    return as_dask("dask", values, chunk)


def test_empty_partitions_are_left_out():
    da = pytest.importorskip("dask.array")
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    expected = PCA().fit(X).components_
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=6)
    chosen = frame[frame[0] > np.median(X[:, 0])]
    kept = X[X[:, 0] > np.median(X[:, 0])]
    np.testing.assert_allclose(PCA().fit(chosen).components_, PCA().fit(kept).components_)
    parts = [da.from_array(each, chunks=(100, 5)) for each in (X[:0], X[:200], X[:0], X[200:])]
    learner = PCA().fit(da.concatenate(parts))
    np.testing.assert_allclose(learner.components_, expected, rtol=1e-10)
    Z = learner.transform(da.concatenate(parts))
    np.testing.assert_allclose(Z.compute(), learner.transform(X), rtol=1e-12)
    empty = frame[frame[0] > X.max() + 1]
    assert_raises(PCA(), ValueError, "X has no samples", empty)


def test_one_shot_iterators():
    LDA().fit(**as_source("iterator", X, y, chunk=50))  # one pass
    for learner in (NCMML(), LDA(class_weight="balanced")):
        given = as_source("iterator", X, y, chunk=50)
        assert_raises(learner, ValueError, "can be read only once.*Pass a function", **given)


def test_iterators_contain_the_labels():
    with pytest.raises(TypeError, match=r"yield \(X, y\)"):
        source_of(lambda: iter([X]), y)
    assert_raises(PCA(), ValueError, "yields no block", lambda: iter([]))
    assert_raises(PCA(), ValueError, "tuple of 4 items", lambda: iter([(X, y, y, y)]))


def test_learners_that_need_all_samples_say_so():
    for learner in (NCA(), PCA(svd_solver="arpack", n_components=2), LDA(shrinkage="auto")):
        name = type(learner).__name__
        if name == "NCA" and learner._learns_from_blocks:
            continue
        given = as_source("factory", X, y, chunk=50)
        assert_raises(learner, TypeError, f"{name}.* needs all samples at once", **given)


def test_weights():
    negative = np.where(np.arange(300) == 120, -1.0, 1.0)
    given = as_source("factory", X, y, negative, chunk=50)
    assert_raises(LDA(), ValueError, "Block 2, .* negative sample weight", **given)
    given = as_source("factory", X, y, np.zeros(300), chunk=50)
    assert_raises(LDA(), ValueError, "no sample of positive weight", **given)


def test_class_weight_of_an_unknown_class():
    given = as_source("factory", X, y, chunk=50)
    assert_raises(
        LDA(class_weight={7: 2.0}), ValueError, "contains 7, which is not a class", **given
    )


def test_too_few_samples_and_classes():
    assert_raises(PCA(), ValueError, "1 sample", lambda: iter([X[:1]]))
    assert_raises(PCA(9), ValueError, "n_components=9 must be at most", lambda: iter([X]))
    given = as_source("factory", X, 0 * y, chunk=50)
    assert_raises(LDA(), ValueError, "at least 2 classes", **given)
