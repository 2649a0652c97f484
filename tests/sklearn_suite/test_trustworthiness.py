"""scikit-learn's tests of trustworthiness, run on dimetric's function.

They are part of the tests of t-SNE. Only the tests that call trustworthiness run here.
"""

import inspect

from sklearn.manifold.tests import test_t_sne as original
from sklearn_suite.adapter import load, names_of, numeric_fraction

RUN = {
    "test_trustworthiness_n_neighbors_error": "other",
    "test_preserve_trustworthiness_approximately": "numeric",
    "test_fit_transform_csr_matrix": "numeric",
    "test_preserve_trustworthiness_approximately_with_precomputed_distances": "numeric",
    "test_trustworthiness_not_euclidean_metric": "numeric",
}

EXCLUDED = {
    "test_trustworthiness": ("numeric", "its samples have tied neighbours, which share ranks"),
}

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
    expected = {name for name in names_of(theirs) if "trustworthiness(" in body_of(name)}
    assert RUN.keys() | EXCLUDED.keys() == expected


def body_of(name):
    """Return the source of a test after its signature."""
    return inspect.getsource(getattr(original, name)).partition("):\n")[2]


def test_enough_numeric_tests_run():
    assert numeric_fraction(RUN, EXCLUDED) >= 0.8
