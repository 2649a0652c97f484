"""scikit-learn's tests of KernelPCA, run on dimetric's KPCA.

"numeric" tests check transforms, inverses, numbers or equivalences. "other" tests check messages,
names and calls.
"""

import pytest
from sklearn_suite.adapter import load, names_of, numeric_fraction

RUN = {
    "test_kernel_pca": "numeric",
    "test_kernel_pca_invalid_parameters": "other",
    "test_kernel_pca_consistent_transform": "numeric",
    "test_kernel_pca_deterministic_output": "numeric",
    "test_kernel_pca_linear_kernel": "numeric",
    "test_kernel_pca_n_components": "numeric",
    "test_leave_zero_eig": "numeric",
    "test_kernel_pca_precomputed": "numeric",
    "test_gridsearch_pipeline": "numeric",
    "test_gridsearch_pipeline_precomputed": "numeric",
    "test_nested_circles": "numeric",
    "test_kernel_conditioning": "numeric",
    "test_precomputed_kernel_not_psd": "numeric",
    "test_kernel_pca_solvers_equivalence": "numeric",
    "test_kernel_pca_inverse_transform_reconstruction": "numeric",
    "test_kernel_pca_raise_not_fitted_error": "other",
    "test_32_64_decomposition_shape": "numeric",
    "test_kernel_pca_feature_names_out": "other",
    "test_kernel_pca_inverse_correct_gamma": "numeric",
    "test_kernel_pca_pandas_output": "other",
    "test_kernel_pca_sparse": "numeric",
}

EXCLUDED = {
    "test_remove_zero_eig": ("other", "samples that are identical under the kernel raise an error"),
    "test_kernel_pca_precomputed_non_symmetric": ("other", "a kernel must be symmetric"),
}

CHANGED = {
    # dimetric calls a kernel function with two matrices, not with two samples.
    "test_kernel_pca": [
        ("return np.minimum(x, y).sum()", "return np.minimum(x[:, None], y[None]).sum(axis=2)"),
    ],
    "test_kernel_pca_invalid_parameters": [
        (
            "Cannot fit_inverse_transform with a precomputed kernel",
            "does not support a precomputed kernel",
        ),
    ],
    # scikit-learn raises; dimetric warns and uses the positive eigenvalues, with any solver.
    "test_precomputed_kernel_not_psd": [
        (
            'with pytest.raises(ValueError, match="There are significant negative eigenvalues"):\n'
            "        kpca.fit(K)\n",
            'with pytest.warns(UserWarning, match="The kernel is indefinite"):\n'
            "        kpca.fit(K)\n"
            "    assert ((kpca.eigenvalues_[4:] >= 0) & (kpca.eigenvalues_[4:] < 0.1)).all()\n",
        ),
        ('if solver == "randomized":', "if False:"),
    ],
    "test_kernel_pca_raise_not_fitted_error": [("NotFittedError", "AttributeError")],
    "test_kernel_pca_sparse": [("NotFittedError", "AttributeError")],
}

theirs = load(
    "sklearn.decomposition.tests.test_kernel_pca",
    (
        "from sklearn.decomposition import PCA, KernelPCA\n",
        "from sklearn.decomposition import PCA\nfrom sklearn_suite.adapter import KernelPCA\n",
    ),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})

pytestmark = [
    # From the Perceptron at the end of some pipelines.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.* components have no variance:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel is indefinite:UserWarning"),
]


def test_the_list_is_complete():
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs)
    assert not RUN.keys() & EXCLUDED.keys()


def test_enough_numeric_tests_run():
    assert numeric_fraction(RUN, EXCLUDED) >= 0.8
