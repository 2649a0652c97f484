"""The encoder that is fitted to the training rows of a fold."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dimetric.data import TableEncoder
from dimetric.data._fold_encoder import coded_table

COLUMNS = {
    "size": np.array([1.0, np.nan, 5.0, 7.0, 100.0]),
    "colour": np.array(["red", "blue", None, "green", "red"], dtype=object),
    "kind": np.array(["x", "x", "y", "x", None], dtype=object),
    "flag": np.array([True, False, True, True, False]),
}


def take(rows):
    return {name: values[rows] for name, values in COLUMNS.items()}


def test_features_of_all_rows_equal_those_of_the_table_encoder():
    encoder = TableEncoder(missing="impute").fit(COLUMNS)
    codes, fold_encoder = coded_table(encoder, COLUMNS)
    assert fold_encoder.n_features == len(encoder.get_feature_names_out()) == 6
    assert_array_equal(fold_encoder.fit_transform(codes), encoder.transform(COLUMNS))


def test_only_the_rows_of_fit_are_used():
    codes, fold_encoder = coded_table(TableEncoder(missing="impute").fit(COLUMNS), COLUMNS)
    train, test = np.array([0, 1, 2]), np.array([3, 4])
    found = fold_encoder.fit(codes[train]).transform(codes[test])
    # "green" is unknown, so the two known colours have one feature. The most frequent kind is "x".
    assert_array_equal(found, [[7, 0.5, 0, 1], [100, 1, 0, 0]])
    assert fold_encoder.fills_.tolist() == [3.0, 0.0, 0.0, 1.0]
    with pytest.warns(UserWarning, match="unknown categories in column 'colour'"):
        same = TableEncoder(missing="impute").fit(take(train)).transform(take(test))
    assert_array_equal(same, found)


def test_categories_of_other_rows_change_nothing():
    rng = np.random.default_rng(0)
    columns = {"kind": rng.choice(["p", "q"], 40), "colour": rng.choice(list("xyz"), 40)}
    train = np.arange(30)
    features = []
    for others in ([], ["a"], ["r", "a", "y"]):  # before, between and after the known categories
        table = {name: values.copy() for name, values in columns.items()}
        for values in table.values():
            values[30 : 30 + len(others)] = others
        codes, encoder = coded_table(TableEncoder().fit(table), table)
        features.append(encoder.fit(codes[train]).transform(codes[train]))
        assert encoder.transform(codes).shape == (40, 4)
    for each in features[1:]:
        assert_array_equal(each, features[0])


def test_one_of_two_categories_is_unknown():
    columns = {"kind": np.array(["x", "x", "y"], dtype=object)}
    codes, encoder = coded_table(TableEncoder().fit(columns), columns)
    assert_array_equal(encoder.fit(codes[:2]).transform(codes), [[1], [1], [0.5]])


def test_numbers_without_missing_values_need_no_encoder():
    X = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    codes, encoder = coded_table(TableEncoder().fit(X), X)
    assert encoder is None
    assert codes is X
    X = X.copy()
    X[0, 0] = np.nan
    codes, encoder = coded_table(TableEncoder(missing="impute").fit(X), X)
    assert encoder.fit_transform(codes).dtype == np.float32
    assert_array_equal(encoder.fit(codes[:2]).transform(codes[:1]), [[2, 1]])


def test_a_column_without_values_in_a_fold():
    X = np.array([[np.nan, 1.0], [np.nan, 2.0], [3.0, 4.0]])
    codes, encoder = coded_table(TableEncoder(missing="impute").fit(X), X)
    assert_array_equal(encoder.fit(codes[:2]).transform(codes), [[0, 1], [0, 2], [3, 4]])
