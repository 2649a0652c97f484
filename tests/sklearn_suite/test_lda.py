"""scikit-learn's tests of the transformer in LinearDiscriminantAnalysis, on our LDA.

"numeric" tests are about transform, numbers or equivalence of the transformer; "other" ones about
messages, names, private helpers, or the classifier, which dimetric's LDA is not.
"""

from sklearn_suite.adapter import load, names_of, numeric_share

RUN = {
    "test_lda_transform": "numeric",
    "test_lda_solver_agreement": "numeric",
    "test_lda_explained_variance_ratio": "numeric",
    "test_lda_orthogonality": "numeric",
    "test_lda_shrinkage": "numeric",
    "test_lda_ledoitwolf": "numeric",
    "test_lda_dimension_warning": "other",
    "test_lda_dtype_match": "numeric",
    "test_lda_numeric_consistency_float32_float64": "numeric",
    "test_raises_value_error_on_same_number_of_classes_and_samples": "other",
    "test_get_feature_names_out": "other",
}

EXCLUDED = {
    "test_lda_predict": ("other", "the classifier's predict and predict_proba"),
    "test_lda_predict_proba": ("other", "the classifier's predict_proba"),
    "test_lda_priors": ("other", "the classifier's priors"),
    "test_lda_coefs": ("other", "the classifier's coef_"),
    "test_lda_scaling": ("other", "the classifier's score"),
    "test_lda_store_covariance": ("numeric", "S_w is not kept as an attribute"),
    "test_covariance": ("other", "about a private helper, not about the class"),
    "test_raises_value_error_on_one_sample_per_class": ("other", "about quadratic discriminants"),
}

# We have one solver: what scikit-learn compares between its solvers, and between its ways to give
# a covariance, is compared here between our class and theirs.
CHANGED = {
    # Their "lsqr" has no transform.
    "test_lda_transform": [
        ('clf = LinearDiscriminantAnalysis(solver="lsqr", n_components=1)', "return"),
    ],
    # Without the classifier's decision_function.
    "test_lda_solver_agreement": [
        ('LinearDiscriminantAnalysis(solver="eigen"', 'Theirs(solver="eigen"'),
        ("    decision_svd = clf.decision_function(X)\n", ""),
        ("    decision_eigen = clf.decision_function(X)\n", ""),
        ("    decision_lsqr = clf.decision_function(X)\n", ""),
        ("    assert_allclose(decision_svd, decision_eigen)\n", ""),
        ("    assert_allclose(decision_svd, decision_lsqr)\n", ""),
    ],
    "test_lda_explained_variance_ratio": [
        ('LinearDiscriminantAnalysis(solver="eigen"', 'Theirs(solver="eigen"'),
    ],
    # The covariance shows in the map; theirs has rows for transform to leave out.
    "test_lda_shrinkage": [
        ("c2 = LinearDiscriminantAnalysis", "c2 = Theirs"),
        ("store_covariance=True, shrinkage=0.5", "shrinkage=0.5"),
        ('solver="lsqr",\n', 'solver="eigen",\n'),
        ("c1.covariance_, c2.covariance_", "np.abs(c1.scalings_), np.abs(c2.scalings_[:, :2])"),
    ],
    "test_lda_ledoitwolf": [
        ("c2 = LinearDiscriminantAnalysis", "c2 = Theirs"),
        ('store_covariance=True, shrinkage="auto"', 'shrinkage="auto"'),
        ('solver="lsqr",\n', 'solver="eigen",\n'),
        ("c1.covariance_, c2.covariance_", "np.abs(c1.scalings_), np.abs(c2.scalings_[:, :2])"),
    ],
    # The wording is ours.
    "test_lda_dimension_warning": [
        ("n_components cannot be larger than ", "must be at most min"),
    ],
    # Where theirs looks at the classifier's coefficients, ours looks at the map.
    "test_lda_dtype_match": [("coef_", "scalings_")],
    "test_lda_numeric_consistency_float32_float64": [("coef_", "scalings_")],
}

theirs = load(
    "sklearn.tests.test_discriminant_analysis",
    (
        "from sklearn.discriminant_analysis import (\n    LinearDiscriminantAnalysis,\n",
        "from sklearn_suite.adapter import LinearDiscriminantAnalysis\n"
        "from sklearn.discriminant_analysis import (\n    LinearDiscriminantAnalysis as Theirs,\n",
    ),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})


def test_the_list_is_complete():
    quadratic = {name for name in names_of(theirs) if name.startswith("test_qda")}
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs) - quadratic
    assert not RUN.keys() & EXCLUDED.keys()


def test_enough_numeric_tests_run():
    assert numeric_share(RUN, EXCLUDED) >= 0.8
