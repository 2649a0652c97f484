"""scikit-learn's tests of NeighborhoodComponentsAnalysis, run on dimetric's NCA.

"numeric" tests check transforms, numbers or equivalences. "other" tests check messages, names and
calls.
"""

import pytest
from sklearn_suite.adapter import load, names_of, numeric_fraction

RUN = {
    "test_simple_example": "numeric",
    "test_toy_example_collapse_points": "numeric",
    "test_finite_differences": "numeric",
    "test_params_validation": "other",
    "test_transformation_dimensions": "other",
    "test_n_components": "other",
    "test_init_transformation": "other",
    "test_auto_init": "numeric",
    "test_warm_start_validation": "other",
    "test_warm_start_effectiveness": "numeric",
    "test_no_verbose": "other",
    "test_singleton_class": "numeric",
    "test_one_class": "numeric",
    "test_callback": "other",
    "test_expected_transformation_shape": "numeric",
    "test_convergence_warning": "other",
    "test_parameters_valid_types": "other",
    "test_nca_feature_names_out": "other",
}

EXCLUDED = {
    "test_verbose": ("other", "checks the wording of the output of verbose=1"),
}

OWN_WORDING = [("(ValueError, match=re.escape(msg))", "(ValueError)")]

CHANGED = {
    # dimetric rescales named starts, but not arrays.
    "test_simple_example": [('init="identity"', "init=np.eye(2)")],
    "test_singleton_class": [
        ('init="identity"', "init=np.eye(X.shape[1])"),
        (
            "assert_array_equal(X, nca.transform(X))",
            "assert_array_almost_equal(X, nca.transform(X))",
        ),
    ],
    # tol refers to a sum over samples in scikit-learn, and to the mean in dimetric.
    "test_toy_example_collapse_points": [
        ("random_state=42, callback", "init=np.eye(X.shape[1]), tol=1e-5 / 3, callback")
    ],
    "test_params_validation": OWN_WORDING,
    "test_n_components": OWN_WORDING,
    "test_init_transformation": OWN_WORDING,
    "test_warm_start_validation": OWN_WORDING,
    "test_convergence_warning": [("[{}] NCA did not converge", "{} did not converge")],
}

theirs = load(
    "sklearn.neighbors.tests.test_nca",
    ("from sklearn.neighbors import", "from sklearn_suite.adapter import"),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})

pytestmark = [
    # scikit-learn gives these warnings only if verbose, or not at all.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.* classes have a single sample:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* LDA returns . components:UserWarning"),
    pytest.mark.filterwarnings("ignore:y has only one class:UserWarning"),
]


def test_the_list_is_complete():
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs)
    assert not RUN.keys() & EXCLUDED.keys()


def test_enough_numeric_tests_run():
    assert numeric_fraction(RUN, EXCLUDED) >= 0.8
