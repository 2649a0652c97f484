"""Weights of samples and of classes that cannot be used."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dimetric import (
    ANMM,
    DMLMJ,
    ITML,
    KDA,
    LDA,
    LDML,
    LMNN,
    LSI,
    NCMC,
    PCA,
    Covariance,
    DMLEig,
    KNNClassifier,
    Pairs,
    Triplets,
)
from dimetric.supervision._weights import checked_sample_weight

N = 30
Y = np.arange(N) % 3
X = np.random.default_rng(0).normal(size=(N, 4)) + np.eye(4)[Y]
LEARNERS = [PCA(2), LDA(), Covariance(), KDA(), ANMM(2), DMLMJ(2), NCMC(), KNNClassifier()]

BAD = {
    "sum overflows": (np.full(N, 1e308), "sum of the sample weights is inf, which is too large"),
    "large sum": (np.full(N, 1e200), r"sum of the sample weights is 3e\+201, which is too large"),
    "small sum": (np.full(N, 1e-310), "sum of the sample weights is 3e-309, which is too small"),
    "text": (["1"] * N, "sample_weight must contain numbers, but it has dtype <U1"),
    "bytes": ([b"1"] * N, "sample_weight must contain numbers, but it has dtype"),
    "complex": (np.full(N, 1j), "sample_weight must contain numbers, but it has dtype complex128"),
    "date": (
        np.full(N, np.datetime64("2020-01-01")),
        "sample_weight must contain numbers, but it has dtype datetime64",
    ),
    "time": (
        np.full(N, np.timedelta64(1, "s")),
        "must contain numbers, but it has dtype timedelta",
    ),
    "text in a list of objects": (
        np.array([1, *["2"] * (N - 1)], dtype=object),
        r"sample_weight must contain numbers, but sample_weight\[1\] is '2'",
    ),
    "None": ([1.0, None] * (N // 2), r"must contain numbers, but sample_weight\[1\] is None"),
    "masked": (
        np.ma.masked_array(np.ones(N), mask=np.arange(N) == 4),
        r"sample_weight\[4\] is masked",
    ),
    "ragged": ([[1], [1, 2]] * (N // 2), "sample_weight must contain a number for each sample"),
}


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("name", BAD)
def test_bad_sample_weights(learner, name):
    weights, sentence = BAD[name]
    with pytest.raises(ValueError, match=sentence):
        learner.fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("learner", LEARNERS[1:2] + LEARNERS[3:], ids=str)
@pytest.mark.parametrize("weight", [1e-299, 1e197])
def test_weights_close_to_the_limits(learner, weight):
    learner.fit(X, Y, sample_weight=weight * (1 + np.arange(N) % 2))
    if hasattr(learner, "components_"):
        assert np.all(np.isfinite(learner.components_))


@pytest.mark.parametrize(
    "given",
    [
        np.array([True, False]),
        np.array([1, 0], dtype=np.uint8),
        np.array([Fraction(1), np.float32(0)], dtype=object),
        np.array([np.True_, 0], dtype=object),
        np.ma.masked_array([1.0, 0.0], mask=[False, False]),
    ],
    ids=repr,
)
def test_numbers_of_other_types(given):
    assert_array_equal(checked_sample_weight(given, 2), [1.0, 0.0])


BAD_CLASS_WEIGHTS = [
    ({0: -1.0}, r"class_weight\[0\] is -1.0, but weights must not be negative"),
    ({1: np.nan}, r"class_weight\[1\] is nan, but weights must be finite"),
    ({1: np.inf}, r"class_weight\[1\] is inf, but weights must be finite"),
    (
        {0: 0, 1: 0, 2: 0},
        "All sample weights are zero, because class_weight={0: 0, 1: 0, 2: 0} gives",
    ),
    ({0: [1, 2]}, r"class_weight\[0\] is \[1, 2\], but the weight of a class must be a number"),
    ({0: "1"}, r"class_weight\[0\] is '1', but the weight of a class must be a number"),
    ({0: None}, r"class_weight\[0\] is None, but the weight of a class must be a number"),
    ({0: Decimal(1)}, r"class_weight\[0\] is Decimal"),
    ({0: 1e308}, r"sum of the sample weights times class_weight is .*too large"),
]


@pytest.mark.parametrize("learner", [LDA(), ANMM(2), KNNClassifier()], ids=str)
@pytest.mark.parametrize(("class_weight", "sentence"), BAD_CLASS_WEIGHTS)
def test_bad_class_weights(learner, class_weight, sentence):
    learner.set_params(class_weight=class_weight)
    with pytest.raises(ValueError, match=sentence):
        learner.fit(X, Y)


def test_messages_name_the_class():
    names = np.array(["a", "b", "c"])[Y]
    with pytest.raises(ValueError, match=r"class_weight\['b'\] is -2.0, but"):
        LDA(class_weight={"b": -2.0}).fit(X, names)


@pytest.mark.parametrize("learner", [ITML(), LDML(), LSI(), DMLEig()], ids=str)
def test_class_weights_of_pairs(learner):
    learner.set_params(class_weight={0: 2.0})
    pairs = Pairs([[0, 3], [1, 4]], [[0, 1], [1, 2]])
    with pytest.raises(ValueError, match=r"class_weight is the weight of classes.*given pairs"):
        learner.fit(X, pairs=pairs)


def test_class_weights_of_triplets():
    learner = LMNN(class_weight="balanced")
    with pytest.raises(ValueError, match=r"class_weight is the weight of classes.*given triplets"):
        learner.fit(X, triplets=Triplets([0, 1], [3, 4], [1, 2]))
