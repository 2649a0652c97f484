"""scikit-learn's tests of MDS and ClassicalMDS, run on dimetric's MDS."""

import pytest
from sklearn_suite.adapter import load, names_of, numeric_fraction

RUN = {
    "test_smacof": "numeric",
    "test_nonmetric_lower_normalized_stress": "numeric",
    "test_nonmetric_mds_optimization": "numeric",
    "test_mds_recovers_true_data": "numeric",
    "test_smacof_error": "other",
    "test_MDS": "other",
    "test_normed_stress": "numeric",
    "test_isotonic_outofbounds": "other",
    "test_returned_stress": "numeric",
    "test_convergence_does_not_depend_on_scale": "numeric",
    "test_classical_mds_init_to_mds": "numeric",
    "test_correct_n_components": "numeric",
}

RUN_CLASSICAL = {
    "test_classical_mds_equivalent_to_pca": "numeric",
    "test_classical_mds_equivalent_on_data_and_distances": "numeric",
    "test_classical_mds_wrong_inputs": "other",
    "test_classical_mds_metric_params": "numeric",
}

EXCLUDED = {
    "test_normalized_stress_auto": ("other", "patches a private helper"),
    "test_future_warning_init_and_metric": ("other", "tests deprecated parameters"),
}

CHANGED = {
    # dimetric words the messages differently.
    "test_classical_mds_wrong_inputs": [
        ("Array must be symmetric", "must be (symmetric|0)"),
        ("array must be 2-dimensional and square", "must be a square matrix"),
    ],
}

theirs = load(
    "sklearn.manifold.tests.test_mds",
    ("from sklearn.manifold import _mds as mds\n", "from sklearn_suite import adapter as mds\n"),
    {},
)
classical = load(
    "sklearn.manifold.tests.test_classical_mds",
    (
        "from sklearn.manifold import ClassicalMDS\n",
        "from sklearn_suite.adapter import ClassicalMDS\n",
    ),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})
globals().update({name: getattr(classical, name) for name in RUN_CLASSICAL})

# dimetric warns if max_iter is reached, as in tests with one or two iterations.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_the_list_is_complete():
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs)
    assert RUN_CLASSICAL.keys() == names_of(classical)
    assert not RUN.keys() & EXCLUDED.keys()


def test_enough_numeric_tests_run():
    assert numeric_fraction(RUN | RUN_CLASSICAL, EXCLUDED) >= 0.9
