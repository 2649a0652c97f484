"""The sentence that a Bayesian test comes to."""

import numpy as np
import pytest

from dimetric.stats import Posterior, correlated_t_test, sign_test, verdict


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((0.96, 0.02, 0.02), "NCA is worse than PCA (96 % probability)."),
        ((0.0, 1.0, 0.0), "NCA and PCA are equivalent (100 % probability)."),
        ((0.2, 0.45, 0.35), "Inconclusive: NCA and PCA are most likely equivalent (45 %)."),
        ((0.0, 0.2, 0.8), "Inconclusive: NCA is probably better than PCA (80 %)."),
    ],
)
def test_verdicts(shares, words):
    assert verdict("PCA", "NCA", Posterior(*shares, np.empty((0, 3)))) == words


@pytest.mark.parametrize("seed", range(5))
def test_a_tie_takes_no_side(seed):
    a, b = np.zeros(20), np.repeat([-0.1, 0.1], 10)
    found = sign_test(a, b, random_state=seed)
    assert found.left != found.right  # by chance
    assert verdict("PCA", "NCA", found).startswith(
        "Inconclusive: it is about equally likely that NCA is worse than PCA and that NCA is "
        "better than PCA ("
    )
    exact = correlated_t_test(a, b)
    assert verdict("PCA", "NCA", exact).startswith("Inconclusive: ")
    more = sign_test(np.zeros(21), np.append(b, 0.1), random_state=seed)
    assert verdict("PCA", "NCA", more).startswith("Inconclusive: NCA is probably better than PCA")
