"""scikit-learn's tests of LinearDiscriminantAnalysis as a transformer, run on dimetric's LDA.

"numeric" tests check transforms, numbers or equivalences. "other" tests check messages, names,
private helpers, or the classifier. dimetric's LDA is not a classifier.
"""

from sklearn_suite.adapter import load, names_of, numeric_fraction

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
    "test_covariance": ("other", "tests a private helper, not the class"),
    "test_raises_value_error_on_one_sample_per_class": (
        "other",
        "tests quadratic discriminant analysis",
    ),
}

# dimetric's LDA has one solver. Tests that compare scikit-learn's solvers or covariance estimators
# with each other compare dimetric's class with scikit-learn's here.
CHANGED = {
    # scikit-learn's "lsqr" has no transform.
    "test_lda_transform": [
        ('clf = LinearDiscriminantAnalysis(solver="lsqr", n_components=1)', "return"),
    ],
    # Remove the classifier's decision_function.
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
    # Compare the maps instead of covariance_. Only two columns of scalings_ are used by transform.
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
    # dimetric words the message differently.
    "test_lda_dimension_warning": [
        ("n_components cannot be larger than ", "must be at most min"),
    ],
    # Check the map instead of the classifier's coefficients.
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
    assert numeric_fraction(RUN, EXCLUDED) >= 0.8
