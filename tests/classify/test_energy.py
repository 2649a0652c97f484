"""The energy classifier compared with loops over the three terms of its energy."""

import numpy as np
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from dimetric import LMNN, PCA, EnergyClassifier
from dimetric.classify import energy as module

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*samples have fewer than:UserWarning",
    "ignore:.*classes have a single sample:UserWarning",
)
X, y = samples(n=50)
NEW = samples(n=12, seed=3)[0]


def by_loops(model, Z, labels, new, k, mu):
    """Return the energies, computed term by term."""

    def d2(a, b):
        return float(np.sum((a - b) ** 2))

    result = np.zeros((len(new), len(model.classes_)))
    for t, x in enumerate(new):
        for number, c in enumerate(model.classes_):
            targets = sorted(d2(x, z) for z, label in zip(Z, labels, strict=True) if label == c)[:k]
            near = sum(targets)
            impostors = sum(
                max(0.0, 1 + target - d2(x, z))
                for target in targets
                for z, label in zip(Z, labels, strict=True)
                if label != c
            )
            violated_by_x = sum(
                max(0.0, 1 + d2(Z[i], Z[j]) - d2(Z[i], x))
                for i in range(len(Z))
                if labels[i] != c
                for j in model.targets_[i]
                if j >= 0
            )
            scale = k / len(targets)
            result[t, number] = scale * ((1 - mu) * near + mu * impostors) + mu * violated_by_x
    return result


@pytest.mark.parametrize("block", [1, 2**21])
@pytest.mark.parametrize(
    "model",
    [
        EnergyClassifier(),
        EnergyClassifier(n_neighbors=2, mu=0.3),
        EnergyClassifier(LMNN(n_neighbors=4, mu=0.7)),
        EnergyClassifier(PCA(2), n_neighbors=3, mu=0.2),
    ],
    ids=str,
)
def test_energy_is_the_sum_of_its_terms(model, block, monkeypatch):
    row_blocks = module.row_blocks
    monkeypatch.setattr(module, "row_blocks", lambda n, size: row_blocks(n, min(size, block)))
    labels = np.where(np.arange(50) < 2, 3, y)  # class 3 has two samples
    labels[7] = 4  # class 4 has one sample
    model.fit(X, labels)
    k = {None: getattr(model.learner, "n_neighbors", 3)}.get(model.n_neighbors, model.n_neighbors)
    mu = {None: getattr(model.learner, "mu", 0.5)}.get(model.mu, model.mu)
    Z, new = model.learner_.transform(X), model.learner_.transform(NEW)
    expected = by_loops(model, Z, labels, new, k, mu)
    assert_allclose(model.energy(NEW), expected, rtol=1e-9, atol=1e-9)
    assert_array_equal(model.predict(NEW), model.classes_[expected.argmin(axis=1)])


def test_targets_match_those_of_the_learner():
    model = EnergyClassifier().fit(X, y)
    assert isinstance(model.learner_, LMNN)
    assert_array_equal(model.targets_, model.learner_.targets_)
    order = np.argsort(-X[:, 0])
    again = EnergyClassifier(PCA()).fit(X[order], y[order]).targets_
    assert_array_equal(order[again], EnergyClassifier(PCA()).fit(X, y).targets_[order])


def test_parameters_are_passed_to_the_default_learner():
    model = EnergyClassifier(n_neighbors=2, mu=0.25).fit(X, y)
    assert (model.learner_.n_neighbors, model.learner_.mu) == (2, 0.25)
    assert EnergyClassifier(LMNN(n_neighbors=5)).fit(X, y).targets_.shape == (50, 5)


def test_accuracy_on_iris():
    X, y = load_iris(return_X_y=True)
    assert EnergyClassifier().fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.94


def test_bad_parameters():
    with pytest.raises(ValueError, match="'mu' parameter"):
        EnergyClassifier(mu=1.0).fit(X, y)
