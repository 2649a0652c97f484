"""The sentence that states the result of a Bayesian test."""

import numpy as np
import pytest

from dimetric.stats import Posterior, correlated_t_test, sign_test, verdict


@pytest.mark.parametrize(
    ("probabilities", "sentence"),
    [
        ((0.96, 0.02, 0.02), "NCA is worse than PCA (96 % probability)."),
        ((0.0, 1.0, 0.0), "NCA and PCA are equivalent (100 % probability)."),
        (
            (0.2, 0.45, 0.35),
            "Undecided: NCA may be worse than PCA (20 %), equivalent (45 %) or better (35 %).",
        ),
        ((0.0, 0.2, 0.8), "Inconclusive: NCA is probably better than PCA (80 %)."),
    ],
)
def test_verdicts(probabilities, sentence):
    assert verdict("PCA", "NCA", Posterior(*probabilities, np.empty((0, 3)))) == sentence


@pytest.mark.parametrize("probability", [0.945, 0.9499, np.nextafter(0.95, 0)])
def test_inconclusive_percentage_stays_below_95(probability):
    posterior = Posterior(0.0, 1 - probability, probability, np.empty((0, 3)))
    expected = "Inconclusive: NCA is probably better than PCA (94 %)."
    assert verdict("PCA", "NCA", posterior) == expected
    confident = Posterior(0.0, 0.05, 0.95, np.empty((0, 3)))
    assert verdict("PCA", "NCA", confident) == "NCA is better than PCA (95 % probability)."


@pytest.mark.parametrize("seed", range(5))
def test_tied_outcomes_are_all_named(seed):
    a, b = np.zeros(20), np.repeat([-0.1, 0.1], 10)
    result = sign_test(a, b, random_state=seed)
    assert result.left != result.right  # because the samples are random
    assert verdict("PCA", "NCA", result).startswith(
        "Inconclusive: it is about equally likely that NCA is worse than PCA and that NCA is "
        "better than PCA ("
    )
    exact = correlated_t_test(a, b)
    assert verdict("PCA", "NCA", exact).startswith("Inconclusive: ")
    more = sign_test(np.zeros(21), np.append(b, 0.1), random_state=seed)
    assert verdict("PCA", "NCA", more).startswith("Inconclusive: NCA is probably better than PCA")
