"""Error messages about y: labels of several types, sparse matrices, matrices, and no numbers."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from estimators import samples
from numpy.testing import assert_array_equal
from scipy import sparse

from dimetric import (
    KDA,
    LDA,
    LMNN,
    MLKR,
    NCA,
    KNNClassifier,
    KNNRegressor,
    MultiMetricKNNClassifier,
    NCMClassifier,
    Pairs,
)
from dimetric.quality import embedding_quality

X, y = samples(n=40)
J = (X[:, :3] > 0).astype(int)


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


MIXED = objects(["a"] * 20 + [1] * 20)


@pytest.mark.parametrize(
    "call",
    [
        *(model().fit for model in (LDA, NCA, LMNN, KDA, KNNClassifier, NCMClassifier)),
        lambda X, y: KNNClassifier().fit(X, np.stack([y, y], axis=1)),
        lambda X, y: Pairs.from_labels(y),
        lambda X, y: embedding_quality(X, X[:, :2], y=y),
    ],
)
def test_labels_of_several_types(call):
    message = "y contains labels of several types, such as 'a' and 1. Convert all labels to one"
    with pytest.raises(TypeError, match=message):
        call(X, MIXED)


def test_labels_of_several_types_names_those_without_an_order():
    with pytest.raises(TypeError, match=r"such as 1 and 'b'\."):
        Pairs.from_labels(objects([1, 2.5, "b"]))
    with pytest.raises(TypeError, match="labels of type dict, which have no order"):
        Pairs.from_labels(objects([{}, {}]))


@pytest.mark.parametrize(
    "target",
    [
        pd.Series(list("ab") * 20, dtype="category"),
        objects([{i % 3} for i in range(40)]),
        [{i % 3} for i in range(40)],
        objects([date(2020, 1, 1)] * 40),
        np.full(40, "2020-01-01", dtype="M8[D]"),
        np.full(40, 3, dtype="m8[D]"),
        pd.Series(pd.date_range("2020", periods=40)),
    ],
    ids=["category", "set", "list", "date", "datetime64", "timedelta64", "series"],
)
def test_regressor_requires_numbers(target):
    with pytest.raises((TypeError, ValueError), match="y must contain numbers, but it has dtype"):
        KNNRegressor().fit(X, target)


def test_regressor_converts_numbers_of_any_type():
    numbers = [i % 5 for i in range(40)]
    expected = KNNRegressor().fit(X, numbers).predict(X)
    decimals = [Decimal(i) for i in numbers]
    for target in (decimals, objects(decimals), pd.Series(numbers, dtype="category")):
        assert_array_equal(KNNRegressor().fit(X, target).predict(X), expected)


@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize(
    "model",
    [
        KNNClassifier(learner=NCA(cost="jaccard")),
        KNNClassifier(),
        KNNRegressor(),
        MultiMetricKNNClassifier(),
        NCMClassifier(),
        NCA(cost="jaccard"),
        LDA(),
        MLKR(),
    ],
    ids=str,
)
def test_sparse_y(model, convert):
    message = r"y is sparse, but it must be dense\. Pass y\.toarray\(\)\."
    with pytest.raises(TypeError, match=message):
        model.fit(X, convert(J))


@pytest.mark.parametrize("model", [KNNClassifier(), KNNRegressor()], ids=str)
def test_score_with_sparse_y(model):
    with pytest.raises(TypeError, match="y is sparse, but it must be dense"):
        model.fit(X, J).score(X, sparse.csr_array(J))


@pytest.mark.parametrize("model", [NCA(), LDA(), LMNN(), NCMClassifier()], ids=str)
def test_several_columns_of_y(model):
    with pytest.raises(ValueError, match=r'shape \(40, 3\) instead\. .* NCA\(cost="jaccard"\)'):
        model.fit(X, J)
    with pytest.raises(ValueError, match=r'shape \(40, 4\) instead\. .* NCA\(cost="squared"\)'):
        model.fit(X, X)
