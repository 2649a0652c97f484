"""Classifiers on samples in blocks."""

import numpy as np
import pytest
from block_sources import as_dask, as_source, made_blocks
from sklearn.preprocessing import StandardScaler

from dimetric import LDA, NCMML, PCA
from dimetric.classify import EnergyClassifier, KNNClassifier, NCMCClassifier, NCMClassifier

X, y = made_blocks()
NAMES = np.array(["a", "bb", "ccc"])[y]
WEIGHTS = np.random.default_rng(1).uniform(0, 2, len(X))
WEIGHTS[:50] = 0
MODELS = {
    "means": NCMClassifier(),
    "means under LDA": NCMClassifier(LDA()),
    "means under NCMML": NCMClassifier(NCMML(max_iter=5)),
    "unlabelled": NCMClassifier(LDA(unlabelled="bb")),
    "several centroids": NCMCClassifier(2, random_state=0),
    "several centroids under PCA": NCMCClassifier(2, learner=PCA(2), random_state=0),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["", "weighted"])
@pytest.mark.parametrize("kind", ["dask", "frame", "factory"])
def test_centroids_are_those_of_the_array(name, weights, kind):
    model = MODELS[name]
    model.fit(X, NAMES, sample_weight=weights)
    centroids, classes = model.centroids_, model.centroid_classes_
    predicted = model.predict(X)
    model.fit(**as_source(kind, X, NAMES, weights, chunk=97))
    np.testing.assert_array_equal(model.centroid_classes_, classes)
    np.testing.assert_allclose(model.centroids_, centroids, rtol=1e-8, atol=1e-8)
    given = X if kind == "factory" else as_dask(kind, X, 97)
    found = model.predict(given)
    np.testing.assert_array_equal(found if kind == "factory" else found.compute(), predicted)


@pytest.mark.parametrize("kind", ["dask", "frame", "unknown"])
def test_scores_are_those_of_the_array(kind):
    for model in (KNNClassifier(3), NCMClassifier(LDA())):
        samples, labels = as_dask(kind, X, 97), as_dask(kind, NAMES, 97)
        given = samples.compute() if kind == "frame" else X
        model.fit(given, NAMES)
        assert model.score(samples, labels) == pytest.approx(model.score(given, NAMES))
        weights = as_dask(kind, WEIGHTS, 97)
        expected = model.score(given, NAMES, sample_weight=WEIGHTS)
        assert model.score(samples, labels, sample_weight=weights) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (EnergyClassifier(), "EnergyClassifier keeps its training samples"),
        (NCMClassifier(StandardScaler()), "with a learner of dimetric only"),
        (NCMClassifier(class_weight="balanced"), "class_weight of NCMClassifier needs all labels"),
    ],
)
def test_messages(model, message):
    with pytest.raises(TypeError, match=message):
        model.fit(**as_source("dask", X, y, chunk=100))


def test_an_iterator_is_read_only_once():
    with pytest.raises(ValueError, match="NCMClassifier reads the samples several times"):
        NCMClassifier().fit(**as_source("iterator", X, y, chunk=100))
