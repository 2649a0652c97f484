"""Methods on Dask collections are lazy, and only small results come back."""

import cloudpickle
import numpy as np
import pytest
from block_sources import as_dask, made_blocks

from dimetric import KPCA, LDA, NCMML, PCA, Isomap
from dimetric.classify import KNNClassifier, KNNRegressor, NCMClassifier

dask = pytest.importorskip("dask", reason="Dask is not installed")
X, y = made_blocks()


class CountingScheduler:
    """A scheduler that counts the bytes of all results that are returned."""

    def __init__(self):
        self.largest = self.calls = 0

    def __call__(self, graph, keys, **kwargs):
        from dask.local import get_sync

        result = get_sync(graph, keys, **kwargs)
        self.calls += 1
        self.largest = max(self.largest, len(cloudpickle.dumps(result)))
        return result


@pytest.mark.parametrize("learner", [PCA(), LDA(), NCMML(max_iter=3), NCMClassifier(LDA())])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_return_only_small_results(learner, monkeypatch):
    monkeypatch.setattr("dimetric.blocks.order.SAMPLE_BYTES", 4000)
    monkeypatch.setattr("dimetric.blocks.order.COLLECTED_BYTES", 4000)
    monkeypatch.setattr("dimetric.learners._fitting.coordinates.N_SAMPLES_FOR_SCALE", 100)
    monkeypatch.setattr("dimetric.learners._fitting.start.MAX_SAMPLES_FOR_RESCALING", 50)
    monkeypatch.setattr("dimetric.learners._centroid_blocks.MAX_SAMPLES_FOR_RESCALING", 50)
    samples, labels = np.tile(X, (40, 1)) + np.arange(24_000)[:, None], np.tile(y, 40)
    scheduler = CountingScheduler()
    with dask.config.set(scheduler=scheduler):
        learner.fit(as_dask("dask", samples, 500), as_dask("dask", labels, 500))
        if hasattr(learner, "score"):
            learner.score(as_dask("dask", samples, 500), as_dask("dask", labels, 500))
    assert scheduler.calls > 0
    assert scheduler.largest < samples.nbytes / 6


@pytest.mark.parametrize("kind", ["dask", "unknown", "frame"])
@pytest.mark.parametrize("method", ["transform", "inverse_transform", "score_samples"])
def test_maps_are_lazy_and_equal_to_those_of_the_array(kind, method):
    learner = PCA(2).fit(as_dask(kind, X, 97))
    given = as_dask(kind, X, 97).compute()
    if method == "inverse_transform":
        given = learner.transform(given)
    scheduler = CountingScheduler()
    with dask.config.set(scheduler=scheduler):
        lazy = getattr(learner, method)(as_dask(kind, given, 97))
        assert scheduler.calls == 0
    expected = getattr(learner, method)(given)
    assert type(lazy.compute()) is type(expected)
    np.testing.assert_allclose(lazy.compute(), expected, rtol=1e-12, atol=1e-12)
    if hasattr(lazy, "chunks") and kind == "dask":
        assert lazy.chunks[0] == (97,) * 6 + (18,)
    if kind == "unknown":
        assert np.isnan(lazy.shape[0])


def test_output_container_is_chosen_by_set_output():
    learner = PCA(2).fit(X).set_output(transform="pandas")
    lazy = learner.transform(as_dask("dask", X, 97))
    np.testing.assert_allclose(lazy.compute(), learner.transform(X))
    assert list(lazy.columns) == ["pca0", "pca1"]


def test_score_is_the_mean_over_all_blocks():
    learner = PCA(2).fit(X)
    assert learner.score(as_dask("dask", X, 97)) == pytest.approx(learner.score(X), rel=1e-12)


@pytest.mark.parametrize("model", [KNNClassifier(3), KNNRegressor(3), NCMClassifier(LDA())])
@pytest.mark.parametrize("kind", ["dask", "frame"])
def test_predictions_are_lazy(model, kind):
    samples = as_dask(kind, X, 97)
    model.fit(samples.compute(), y)
    scheduler = CountingScheduler()
    with dask.config.set(scheduler=scheduler):
        lazy = model.predict(samples)
        assert scheduler.calls == 0
    np.testing.assert_array_equal(lazy.compute(), model.predict(samples.compute()))
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(samples.compute())
        np.testing.assert_allclose(model.predict_proba(samples).compute(), expected)


def test_kernel_maps_are_lazy():
    learner = KPCA(2).fit(X[:60])
    lazy = learner.transform(as_dask("dask", X, 97))
    np.testing.assert_allclose(lazy.compute(), learner.transform(X), rtol=1e-10, atol=1e-12)


def test_errors_are_raised_at_once():
    samples = as_dask("dask", X, 97)
    with pytest.raises(ValueError, match="5 features"):
        PCA(2).fit(X[:, :2]).transform(samples)
    with pytest.raises(AttributeError, match="not fitted"):
        PCA(2).transform(samples)
    with pytest.raises(TypeError, match=r"needs all samples|Dask collection"):
        Isomap().fit(samples, as_dask("dask", y, 97))
