"""TableEncoder: numeric and categorical columns of training and new data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from dimetric.data import TableEncoder, read_table

TRAIN = {
    "size": [1.0, 2.0, 5.0, 4.0],
    "colour": ["red", "blue", "green", "red"],
    "new": [True, False, True, True],
    "mark": ["x", "o", "o", "o"],
}
NAMES = ["size", "colour=blue", "colour=green", "colour=red", "new", "mark=x"]
X = [[1, 0, 0, 1, 1, 1], [2, 1, 0, 0, 0, 0], [5, 0, 1, 0, 1, 0], [4, 0, 0, 1, 1, 0]]


@pytest.mark.parametrize("library", [pd, pl])
def test_new_rows_are_encoded_like_training_rows(library):
    frame = library.DataFrame(TRAIN)
    encoder = TableEncoder().fit(frame)
    assert_array_equal(encoder.transform(frame), X)
    assert list(encoder.get_feature_names_out()) == NAMES
    reordered = library.DataFrame(
        {name: TRAIN[name][::-1] for name in reversed(TRAIN)} | {"z": [0] * 4}
    )
    assert_array_equal(encoder.transform(reordered), X[::-1])
    one = library.DataFrame({name: values[:1] for name, values in TRAIN.items()})
    assert_array_equal(encoder.transform(one), X[:1])


def test_read_table_encodes_as_the_encoder_does():
    frame = pd.DataFrame(TRAIN | {"class": [0, 1, 1, 0]})
    data = read_table(frame, "class")
    encoder = TableEncoder().fit(frame.drop(columns="class"))
    assert_array_equal(data.X, encoder.transform(frame))
    assert list(data.notes) == encoder.notes_


def test_unknown_categories_are_equidistant_from_known_ones():
    encoder = TableEncoder().fit(pd.DataFrame(TRAIN))
    frame = pd.DataFrame({"size": [1.0], "colour": ["pink"], "new": [True], "mark": ["?!"]})
    with pytest.warns(UserWarning, match="Found unknown categories") as caught:
        row = encoder.transform(frame)
    assert_array_equal(row, [[1, 0, 0, 0, 1, 0.5]])
    assert [str(each.message) for each in caught] == [
        f"Found unknown categories in column {name!r} (number of values: 1)."
        for name in ("colour", "mark")
    ]
    assert encoder.encode(frame)[1] == {"colour": 1, "mark": 1}


def test_missing_values():
    incomplete = pd.DataFrame({"size": [None, 3.0], "colour": ["red", None], "new": [True, False],
                         "mark": [None, "x"]})  # fmt: skip
    train = pd.DataFrame(TRAIN)
    assert_array_equal(
        TableEncoder(missing="impute").fit(train).transform(incomplete),
        [[3, 0, 0, 1, 1, 0], [3, 0, 0, 1, 0, 1]],
    )
    nan = np.nan
    assert_array_equal(
        TableEncoder(missing="keep").fit(train).transform(incomplete),
        [[nan, 0, 0, 1, 1, nan], [3, nan, nan, nan, 0, 1]],
    )
    with pytest.raises(ValueError, match=r"Missing values in 2 of 2 rows.*in column 'size'"):
        TableEncoder().fit(train).transform(incomplete)
    with pytest.raises(ValueError, match="Missing values"):
        TableEncoder().fit(incomplete)


def test_numeric_values_match_string_categories():
    encoder = TableEncoder().fit(pd.DataFrame({"kind": ["1", "2", "x"]}))
    assert_array_equal(encoder.transform(pd.DataFrame({"kind": [2, 1]})), [[0, 1, 0], [1, 0, 0]])
    incomplete = pd.DataFrame({"kind": [2.0, np.nan]})  # a missing value turns integers into floats
    assert_array_equal(encoder.encode(incomplete)[0], [[0, 1, 0], [np.nan] * 3])


def test_given_categories_override_numeric_strings():
    columns = {"kind": np.array(["1", "2", "1"], dtype=object), "size": np.array([1.0, 2.0, 3.0])}
    encoder = TableEncoder(categories={"kind": ["1", "2", "3"]})
    assert_array_equal(encoder.fit_transform(columns), [[1, 0, 0, 1], [0, 1, 0, 2], [1, 0, 0, 3]])
    names = ["kind=1", "kind=2", "kind=3", "size"]
    assert encoder.get_feature_names_out().tolist() == names


def test_boolean_columns_accept_strings():
    encoder = TableEncoder().fit(pd.DataFrame({"new": [True, False, True]}))
    frame = pd.DataFrame({"new": ["True", "false", "TRUE"]})
    assert_array_equal(encoder.transform(frame), [[1], [0], [1]])
    with pytest.raises(ValueError, match="'new' was numeric during fit, but 1 of 2 values"):
        encoder.transform(pd.DataFrame({"new": ["True", "maybe"]}))


@pytest.mark.parametrize(("missing", "expected"), [("impute", 2.0), ("keep", np.nan)])
def test_texts_in_a_numeric_column_are_missing(missing, expected):
    encoder = TableEncoder(missing=missing).fit(pd.DataFrame({"age": [1.0, 2.0, 9.0]}))
    frame = pd.DataFrame({"age": ["3", "old", "1,500", "-"]}, dtype=object)
    with pytest.warns(UserWarning, match="'age' that cannot be read as numbers.*values: 1"):
        found = encoder.transform(frame)
    assert_array_equal(found, [[3], [expected], [1500], [expected]])


def test_arrays_pass_through():
    A = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]], dtype=np.float32)
    encoder = TableEncoder(missing="impute").fit(A)
    found = encoder.transform(A)
    assert found.dtype == np.float32
    assert_array_equal(found, [[1, 2], [3, 4], [5, 6]])
    assert list(encoder.get_feature_names_out()) == ["x0", "x1"]
    assert not hasattr(encoder, "feature_names_in_")
    frame = pd.DataFrame({"a": [7], "b": [8]})
    assert_array_equal(encoder.transform(frame), [[7, 8]])
    with pytest.raises(
        ValueError, match="has 3 columns without names, but there were 2 columns without"
    ):
        encoder.transform(np.ones((1, 3)))
    with pytest.raises(ValueError, match="has 1 columns, but there were 2 columns without names"):
        encoder.transform(frame[["a"]])
    named = TableEncoder().fit(pd.DataFrame(TRAIN))
    with pytest.raises(ValueError, match="there were 4 columns with names"):
        named.transform(np.ones((1, 4)))


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        ({"sise": [1.0], "colour": ["red"], "new": [True], "mark": ["x"]},
         "no column 'size'. Did you mean sise"),
        ({"mark": ["x"]}, "no column 'size' \\(2 more"),
        (TRAIN | {"size": [1, "large", 2, 3]}, "'size' was numeric during fit"),
        (TRAIN | {"size": [1, np.inf, 2, 3]}, "'size' holds infinite values"),
    ],
)  # fmt: skip
def test_incompatible_new_data_raises(frame, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder().fit(pd.DataFrame(TRAIN)).transform(pd.DataFrame(frame))


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        ({"price": ["3 EUR", "4 USD"]}, r"'price' .*different units \(EUR, USD\)"),
        ({"a": [None, None]}, "All values of column 'a' are missing"),
        ({}, "The table is empty"),
    ],
)
def test_unusable_columns_raise(frame, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableEncoder().fit(pd.DataFrame(frame))


def test_clone_refit_and_parameter_validation():
    encoder = TableEncoder(missing="impute", categories={"mark": ["o", "x", "y"]})
    again = clone(encoder).fit(pd.DataFrame(TRAIN))
    assert again.get_feature_names_out()[-3:].tolist() == ["mark=o", "mark=x", "mark=y"]
    assert again.fit(np.ones((2, 2))).transform(np.ones((1, 2))).shape == (1, 2)
    with pytest.raises(ValueError, match="'missing' parameter"):
        TableEncoder(missing="drop").fit(pd.DataFrame(TRAIN))


def test_fitted_attributes_are_plain_python():
    encoder = TableEncoder().fit(pd.DataFrame(TRAIN))
    assert encoder.categories_ == [None, ["blue", "green", "red"], None, ["o", "x"]]
    assert encoder.fills_ == [3.0, "red", 1.0, "o"]


@pytest.mark.parametrize("library", [pd, pl])
def test_numeric_looking_categories_are_kept_as_written(library):
    encoder = TableEncoder().fit(library.DataFrame({"code": ["01", "1.50", "-", "A"]}))
    for i, name in enumerate(("-", "01", "1.50", "A")):
        alone = encoder.transform(library.DataFrame({"code": [name]}))
        assert_array_equal(alone, np.eye(4)[[i]])
