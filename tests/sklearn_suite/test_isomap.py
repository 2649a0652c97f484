"""scikit-learn's tests of Isomap, run on dimetric's Isomap."""

import pytest
from sklearn_suite.adapter import load, names_of, numeric_fraction

RUN = {
    "test_isomap_simple_grid": "numeric",
    "test_isomap_reconstruction_error": "numeric",
    "test_transform": "numeric",
    "test_pipeline": "numeric",
    "test_pipeline_with_nearest_neighbors_transformer": "numeric",
    "test_different_metric": "numeric",
    "test_sparse_input": "numeric",
    "test_isomap_fit_precomputed_radius_graph": "numeric",
    "test_isomap_fitted_attributes_dtype": "numeric",
    "test_isomap_dtype_equivalence": "numeric",
    "test_isomap_raise_error_when_neighbor_and_radius_both_set": "other",
    "test_multiple_connected_components": "other",
    "test_multiple_connected_components_metric_precomputed": "other",
    "test_get_feature_names_out": "other",
}

EXCLUDED = {
    "test_isomap_clone_bug": (
        "other",
        "tests the inner neighbours estimator, which dimetric does not have",
    ),
}

CHANGED = {
    # dimetric words the messages differently, and raises ValueError for a disconnected graph.
    "test_multiple_connected_components": [
        ("number of connected components", "has 2 connected components"),
    ],
    "test_multiple_connected_components_metric_precomputed": [
        ('UserWarning, match="number of', 'UserWarning, match="has 2'),
        ('RuntimeError, match="number of', 'ValueError, match="2'),
    ],
}

theirs = load(
    "sklearn.manifold.tests.test_isomap",
    (
        "from sklearn import clone, datasets, manifold, neighbors, pipeline, preprocessing\n",
        "from sklearn import clone, datasets, neighbors, pipeline, preprocessing\n"
        "from sklearn_suite import adapter as manifold\n",
    ),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})

pytestmark = pytest.mark.filterwarnings("ignore:The neighbour graph has:UserWarning")


def test_the_list_is_complete():
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs)
    assert not RUN.keys() & EXCLUDED.keys()


def test_enough_numeric_tests_run():
    assert numeric_fraction(RUN, EXCLUDED) >= 0.9
