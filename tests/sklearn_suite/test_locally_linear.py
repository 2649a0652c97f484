"""scikit-learn's tests of LocallyLinearEmbedding, run on dimetric's LLE.

"numeric" tests check numbers. "other" tests check messages and names.
"""

import pytest
from sklearn_suite.adapter import load, names_of, numeric_fraction

RUN = {
    "test_barycenter_kneighbors_graph": "numeric",
    "test_lle_simple_grid": "numeric",
    "test_lle_manifold": "numeric",
    "test_pipeline": "numeric",
    "test_singular_matrix": "other",
    "test_integer_input": "other",
    "test_get_feature_names_out": "other",
}

EXCLUDED = {}

CHANGED = {
    # dimetric words the message differently.
    "test_singular_matrix": [
        ("Error in determining null-space with ARPACK", "All samples are equal"),
    ],
}

theirs = load(
    "sklearn.manifold.tests.test_locally_linear",
    (
        "from sklearn import manifold, neighbors\n"
        "from sklearn.datasets import make_blobs\n"
        "from sklearn.manifold._locally_linear import barycenter_kneighbors_graph\n",
        "from sklearn import neighbors\n"
        "from sklearn.datasets import make_blobs\n"
        "from sklearn_suite import adapter as manifold\n"
        "from sklearn_suite.adapter import barycenter_kneighbors_graph\n",
    ),
    CHANGED,
)
globals().update({name: getattr(theirs, name) for name in RUN})

# The blobs are not connected. scikit-learn does not warn about this.
pytestmark = pytest.mark.filterwarnings("ignore:The neighbour graph has:UserWarning")


def test_the_list_is_complete():
    assert RUN.keys() | EXCLUDED.keys() == names_of(theirs)
    assert not RUN.keys() & EXCLUDED.keys()


def test_enough_numeric_tests_run():
    assert numeric_fraction(RUN, EXCLUDED) >= 0.8
