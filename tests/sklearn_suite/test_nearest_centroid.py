"""scikit-learn's tests of NearestCentroid, run on dimetric's NCMClassifier.

"numeric" tests check predictions or centroids. "other" tests check messages. NCMClassifier has no
shrinkage, no priors and no Manhattan metric.
"""

from sklearn_suite.adapter import fraction, load, names_of, numeric_fraction

RUN = {
    "test_iris": "numeric",
    "test_pickle": "numeric",
    "test_predict_translated_data": "numeric",
}

NO_SHRINKAGE = "centroids are not shrunken"
EXCLUDED = {
    "test_classification_toy": (
        "numeric",
        "probabilities follow another model, and there are no priors",
    ),
    "test_iris_shrinkage": ("numeric", NO_SHRINKAGE),
    "test_shrinkage_correct": ("numeric", NO_SHRINKAGE),
    "test_shrinkage_threshold_decoded_y": ("numeric", NO_SHRINKAGE),
    "test_manhattan_metric": ("numeric", "centroids are means, not medians"),
    "test_warn_non_normalized_priors": ("numeric", "there are no priors"),
    "test_features_zero_var": ("other", NO_SHRINKAGE),
    "test_negative_priors_error": ("other", "there are no priors"),
    "test_method_not_available_with_manhattan": ("other", "there is no Manhattan metric"),
    "test_error_zero_variances": ("other", "samples without variance are accepted"),
}

CHANGED = {
    "test_iris": [('("euclidean", "manhattan")', '("euclidean",)')],
    # The test is about translations, which do not depend on shrinkage.
    "test_predict_translated_data": [("shrink_threshold=0.1", "")],
}

theirs = load(
    "sklearn.neighbors.tests.test_nearest_centroid",
    (
        "from sklearn.neighbors import NearestCentroid\n",
        "from sklearn_suite.neighbors import NearestCentroid\n",
    ),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})


def test_the_list_is_complete():
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs)
    assert not RUN.keys() & EXCLUDED.keys()


def test_fractions():
    """Of scikit-learn's tests, 3 of 13 run, and 3 of 9 numeric ones."""
    assert fraction(RUN, EXCLUDED) == (3, 13)
    assert numeric_fraction(RUN, EXCLUDED) == 3 / 9
