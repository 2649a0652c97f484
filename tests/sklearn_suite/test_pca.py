"""scikit-learn's tests of PCA, run on dimetric's PCA.

"numeric" tests check transforms, inverses, numbers or equivalences. "other" tests check messages,
names, or scikit-learn's private helpers.
"""

import pytest
from sklearn_suite.adapter import load, names_of, numeric_fraction

RUN = {
    "test_pca": "numeric",
    "test_pca_sparse": "numeric",
    "test_pca_sparse_fit_transform": "numeric",
    "test_sparse_pca_solver_error": "other",
    "test_sparse_pca_auto_arpack_singular_values_consistency": "numeric",
    "test_no_empty_slice_warning": "numeric",
    "test_whitening": "numeric",
    "test_pca_solver_equivalence": "numeric",
    "test_pca_explained_variance_empirical": "numeric",
    "test_pca_singular_values_consistency": "numeric",
    "test_pca_singular_values": "numeric",
    "test_pca_check_projection": "numeric",
    "test_pca_check_projection_list": "numeric",
    "test_pca_inverse": "numeric",
    "test_pca_validation": "other",
    "test_n_components_none": "numeric",
    "test_infer_dim_1": "numeric",
    "test_infer_dim_2": "numeric",
    "test_infer_dim_3": "numeric",
    "test_infer_dim_by_explained_variance": "numeric",
    "test_pca_score": "numeric",
    "test_pca_score3": "numeric",
    "test_pca_sanity_noise_variance": "numeric",
    "test_pca_score_consistency_solvers": "numeric",
    "test_pca_zero_noise_variance_edge_cases": "numeric",
    "test_pca_svd_solver_auto": "numeric",
    "test_pca_deterministic_output": "numeric",
    "test_pca_dtype_preservation": "numeric",
    "test_pca_n_components_mostly_explained_variance_ratio": "numeric",
    "test_pca_randomized_svd_n_oversamples": "numeric",
    "test_feature_names_out": "other",
    "test_variance_correctness": "numeric",
    "test_pca_array_api_compliance": "numeric",
    "test_n_components_mle": "numeric",
    "test_n_components_mle_error": "other",
    "test_pca_dim": "numeric",
    "test_mle_redundant_data": "numeric",
    "test_fit_mle_too_few_samples": "other",
    "test_mle_simple_case": "numeric",
    "test_pca_mle_array_api_compliance": "numeric",
}

PRIVATE = "tests a private helper of 'mle', not the class"

EXCLUDED = {
    "test_assess_dimension_bad_rank": ("other", PRIVATE),
    "test_small_eigenvalues_mle": ("other", PRIVATE),
    "test_assess_dimension_rank_one": ("other", PRIVATE),
    "test_array_api_error_and_warnings_on_unsupported_params": (
        "other",
        "expects errors for arpack and power_iteration_normalizer, which dimetric does not raise",
    ),
}

NAMESPACES = """[
    ("numpy", None, None),
    ("array_api_strict", "CPU_DEVICE", "float64"),
    ("array_api_strict", "device1", "float32"),
    ("torch", "cpu", "float64"),
    ("torch", "cpu", "float32"),
]"""

CHANGED = {
    # dimetric's "randomized" supports sparse samples. It words the message differently.
    "test_sparse_pca_solver_error": [
        ('["randomized", "full"]', '["full"]'),
        ("match=error_msg_pattern", 'match="needs dense samples"'),
    ],
    # dimetric words the messages differently.
    "test_pca_validation": [
        (r"must be between 1 and min\(n_samples, n_features\)", r"an int in the range \[1, inf\)"),
        ("must be between 0 and min", "must be at most min"),
    ],
    # Whitening does not change the likelihood of samples. It does in scikit-learn, because
    # get_covariance() of a whitened PCA is not the covariance.
    "test_pca_score": [
        ("    ll2 = pca.score(X)\n    assert ll1 > ll2", "    assert_allclose(pca.score(X), ll1)"),
    ],
    # dimetric requires at least one component.
    "test_pca_score3": [
        ("np.zeros(p)", "np.full(p, -np.inf)"),
        ("range(p)", "range(1, p)"),
    ],
    # scikit-learn keeps more than a fraction t of the variance; dimetric keeps at least t.
    "test_pca_n_components_mostly_explained_variance_ratio": [
        ("n_components=n_components", "n_components=np.nextafter(n_components, 1)"),
    ],
    # dimetric words the message differently.
    "test_n_components_mle_error": [
        ("cannot be a string with", "needs all eigenvalues, which"),
    ],
    # Only namespaces and devices that do not require an accelerator.
    "test_pca_array_api_compliance": [
        ("yield_namespace_device_dtype_combinations()", NAMESPACES),
    ],
    "test_pca_mle_array_api_compliance": [
        ("yield_namespace_device_dtype_combinations()", NAMESPACES),
    ],
}

theirs = load(
    "sklearn.decomposition.tests.test_pca",
    ("from sklearn.decomposition import PCA\n", "from sklearn_suite.adapter import PCA\n"),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})
pytest.mark.slow(theirs.test_pca_sparse)  # crosses five parameters

# scikit-learn whitens directions that contain only rounding errors without a warning.
pytestmark = pytest.mark.filterwarnings("ignore:.* components have no variance:UserWarning")


def test_the_list_is_complete():
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs)
    assert not RUN.keys() & EXCLUDED.keys()


def test_enough_numeric_tests_run():
    assert numeric_fraction(RUN, EXCLUDED) == 1
