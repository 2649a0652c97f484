"""The sentence that a Bayesian test comes to."""

import numpy as np
import pytest

from dimetric.stats import Posterior, correlated_t_test, sign_test, verdict


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ((0.96, 0.02, 0.02), "NCA is worse than PCA with probability 0.96."),
        ((0.0, 1.0, 0.0), "NCA does as well as PCA with probability 1.00."),
        ((0.0, 0.2, 0.8), "Undecided; most likely NCA is better than PCA, with probability 0.80."),
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
        "Undecided; equally likely within the error of the draws: NCA is worse than PCA, NCA is "
        "better than PCA; with probability 0."
    )
    exact = correlated_t_test(a, b)
    assert verdict("PCA", "NCA", exact).startswith("Undecided; ")
    more = sign_test(np.zeros(21), np.append(b, 0.1), random_state=seed)
    assert verdict("PCA", "NCA", more).startswith("Undecided; most likely NCA is better than PCA")
