"""scikit-learn's tests of trustworthiness, on ours.

They stand among those of t-SNE, which takes no part here: all that mention trustworthiness run.
"""

import inspect

from sklearn.manifold.tests import test_t_sne as original
from sklearn_suite.adapter import load, names_of, numeric_share

RUN = {
    "test_trustworthiness": "numeric",
    "test_trustworthiness_n_neighbors_error": "other",
    "test_preserve_trustworthiness_approximately": "numeric",
    "test_fit_transform_csr_matrix": "numeric",
    "test_preserve_trustworthiness_approximately_with_precomputed_distances": "numeric",
    "test_trustworthiness_not_euclidean_metric": "numeric",
}

EXCLUDED = {}  # none of those about trustworthiness

theirs = load(
    "sklearn.manifold.tests.test_t_sne",
    (
        "    trustworthiness,\n)\n",
        ")\nfrom dimetric.quality import trustworthiness\n",
    ),
    {},
)
globals().update({name: getattr(theirs, name) for name in RUN})


def test_the_list_is_complete():
    about = {name for name in names_of(theirs) if "trustworthiness(" in source(name)}
    assert RUN.keys() | EXCLUDED.keys() == about


def source(name):
    """Return what a test does, without the names of others."""
    return inspect.getsource(getattr(original, name)).partition("):\n")[2]


def test_enough_numeric_tests_run():
    assert numeric_share(RUN, EXCLUDED) >= 0.8
