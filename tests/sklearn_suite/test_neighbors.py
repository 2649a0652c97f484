"""scikit-learn's tests of KNeighborsClassifier and KNeighborsRegressor, run on dimetric's classes.

"numeric" tests check predictions, neighbours or equivalences. "other" tests check messages, names
and parameters.
"""

import inspect
from importlib import import_module

import pytest
from sklearn_suite.adapter import fraction, load, names_of, numeric_fraction

RUN = {
    "test_neigh_predictions_algorithm_agnosticity": "numeric",
    "test_precomputed_dense": "numeric",
    "test_precomputed_cross_validation": "numeric",
    "test_kneighbors_classifier": "numeric",
    "test_kneighbors_classifier_float_labels": "numeric",
    "test_kneighbors_classifier_predict_proba": "numeric",
    "test_kneighbors_classifier_sparse": "numeric",
    "test_neighbors_regressors_zero_distance": "numeric",
    "test_KNeighborsClassifier_multioutput": "numeric",
    "test_kneighbors_regressor": "numeric",
    "test_KNeighborsRegressor_multioutput_uniform_weight": "numeric",
    "test_kneighbors_regressor_multioutput": "numeric",
    "test_neighbors_iris": "numeric",
    "test_neighbors_digits": "numeric",
    "test_neighbors_validate_parameters": "other",
    "test_same_knn_parallel": "numeric",
    "test_knn_forcing_backend": "numeric",
    "test_dtype_convert": "numeric",
    "test_regressor_predict_on_arraylikes": "numeric",
    "test_predict_dataframe": "numeric",
    "test_KNeighborsClassifier_raise_on_all_zero_weights": "other",
    "test_neighbor_classifiers_loocv": "numeric",
    "test_neighbor_regressors_loocv": "numeric",
    "test_neighbors_classifier_with_string_labels": "numeric",
}

SPARSE_GRAPH = "a precomputed sparse graph of neighbours is not supported"
EXCLUDED = {
    "test_precomputed_sparse_knn": ("numeric", SPARSE_GRAPH),
    "test_pipeline_with_nearest_neighbors_transformer": ("numeric", SPARSE_GRAPH),
    "test_kneighbors_regressor_sparse": ("numeric", SPARSE_GRAPH),
    "test_unsupervised_inputs": ("numeric", "fit does not take a tree or a NearestNeighbors"),
    "test_nan_euclidean_support": ("numeric", "missing values are not supported"),
    "test_neighbors_minkowski_semimetric_algo_warn": (
        "other",
        "there is no parameter algorithm, and no warning about p < 1",
    ),
    "test_neighbors_minkowski_semimetric_algo_error": ("other", "there is no parameter algorithm"),
    "test_metric_params_interface": ("other", "p is a metric parameter, so it does not warn"),
    "test_predict_sparse_ball_kd_tree": (
        "other",
        "sparse samples are accepted after a fit to dense samples, where scikit-learn raises",
    ),
}

RADIUS = "neighbors.RadiusNeighbors"
ONLY_OURS = [
    (f"        {RADIUS}Classifier,\n", ""),
    (f"        {RADIUS}Regressor,\n", ""),
]
# The estimators by radius are scikit-learn's, so tests of them are removed.
CHANGED = {
    "test_neigh_predictions_algorithm_agnosticity": [
        *ONLY_OURS,
        # A metric object of scikit-learn is not a metric of dimetric.
        ('if "Classifier" in NeighborsMixinSubclass', 'if "KNeighbors" in NeighborsMixinSubclass'),
        (
            "issubclass(NeighborsMixinSubclass, KNeighborsMixin)",
            '"KNeighbors" in NeighborsMixinSubclass.__name__',
        ),
    ],
    "test_neighbor_classifiers_loocv": [(f"        {RADIUS}Classifier(),\n", "")],
    "test_neighbor_regressors_loocv": [(f"        {RADIUS}Regressor(),\n", "")],
    "test_neighbors_classifier_with_string_labels": [(f", {RADIUS}Classifier]", "]")],
    "test_precomputed_dense": ONLY_OURS,
    "test_precomputed_cross_validation": ONLY_OURS,
    "test_neighbors_validate_parameters": [
        *ONLY_OURS,
        # dimetric words the message differently.
        ("Metric 'haversine' not valid for sparse input.", "'haversine' does not support sparse"),
    ],
    # dimetric has no graph of neighbours.
    "test_same_knn_parallel": [
        ('    graph = clf.kneighbors_graph(X_test, mode="distance").toarray()\n', ""),
        ('    graph_parallel = clf.kneighbors_graph(X_test, mode="distance").toarray()\n', ""),
        ("    assert_allclose(graph, graph_parallel)\n", ""),
    ],
    "test_knn_forcing_backend": [
        ('        clf.kneighbors_graph(X_test, mode="distance")\n', ""),
    ],
    "test_KNeighborsClassifier_raise_on_all_zero_weights": [
        (
            '        "All neighbors of some sample is getting zero weights. "\n'
            "        \"Please modify 'weights' to avoid this case if you are \"\n"
            '        "using a user-defined function."\n',
            '        "All neighbours of a sample have weight 0."\n',
        ),
    ],
}

theirs = load(
    "sklearn.neighbors.tests.test_neighbors",
    [
        (
            "    metrics,\n    neighbors,\n)\n",
            "    metrics,\n)\nfrom sklearn_suite import neighbors\n",
        ),
        (
            "from sklearn.neighbors import (\n"
            "    VALID_METRICS_SPARSE,\n    KNeighborsRegressor,\n)\n",
            "from sklearn.neighbors import VALID_METRICS_SPARSE\n"
            "from sklearn_suite.neighbors import KNeighborsRegressor\n",
        ),
    ],
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})

# Many combinations of metrics, dtypes, sizes and sparse formats.
for name in ("test_neigh_predictions_algorithm_agnosticity", "test_kneighbors_classifier_sparse"):
    globals()[name] = pytest.mark.slow(getattr(theirs, name))


def test_the_list_is_complete():
    original = import_module(theirs.__name__)
    ours = {
        name
        for name in names_of(theirs)
        if "KNeighborsClassifier" in inspect.getsource(getattr(original, name))
        or "KNeighborsRegressor" in inspect.getsource(getattr(original, name))
    }
    ours -= {
        "test_precomputed_sparse_radius"
    }  # names the classes only to say it does not test them
    assert RUN.keys() | EXCLUDED.keys() == ours
    assert not RUN.keys() & EXCLUDED.keys()


def test_fractions():
    """Of scikit-learn's tests of these two classes, 24 of 33 run, and 22 of 27 numeric ones."""
    assert fraction(RUN, EXCLUDED) == (24, 33)
    assert numeric_fraction(RUN, EXCLUDED) == 22 / 27
