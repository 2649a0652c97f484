"""Bayesian tests compared with baycomp, exact probabilities and plain loops."""

import baycomp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad

from dimetric.stats import _bayes as bayes

TESTS = [bayes.sign_test, bayes.signed_rank_test, bayes.correlated_t_test]


def scores(n, shift=0.01, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.6, 0.95, n)
    return a, a + rng.normal(shift, 0.03, n)


def probabilities(posterior):
    return posterior.left, posterior.rope, posterior.right


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rope", [0.005, 0.01, 0.03])
def test_sign_test_matches_baycomp(seed, rope):
    a, b = scores(34, seed=seed)
    ours = bayes.sign_test(a, b, rope, random_state=1)
    theirs = baycomp.SignTest(a, b, rope, random_state=2)
    assert_allclose(probabilities(ours), theirs.probs(), atol=0.012)
    assert_allclose(ours.samples.mean(axis=0), theirs.sample.mean(axis=0), atol=2e-3)
    assert_allclose(ours.samples.std(axis=0), theirs.sample.std(axis=0), atol=2e-3)


def exact_sign_test(alpha):
    """Return the probability that each component of a Dirichlet variable is the largest.

    The components are gamma variables divided by their sum, so each probability is an integral.
    """
    result = []
    for i in range(3):
        others = [stats.gamma(alpha[j]) for j in range(3) if j != i]
        component = stats.gamma(alpha[i])
        result.append(
            quad(
                lambda x, component=component, others=others: (
                    component.pdf(x) * np.prod([o.cdf(x) for o in others])
                ),
                0,
                200,
                points=[alpha[i]],
                limit=400,
            )[0]
        )
    return result


@pytest.mark.parametrize(("z0", "counts"), [(0.0, (9, 8, 5)), (0.5, (9, 6, 7)), (-0.5, (11, 6, 5))])
def test_sign_test_matches_exact_probabilities(z0, counts):
    z = np.repeat([-0.1, 0.0, 0.1], [9, 6, 5])
    result = bayes.sign_test(np.zeros(20), z, random_state=0, s=2.0, z0=z0, n_samples=200_000)
    assert_allclose(probabilities(result), exact_sign_test(counts), atol=0.005)


@pytest.mark.parametrize(("z0", "counts"), [(0.0, (9, 5)), (0.5, (9, 7)), (-0.5, (11, 5))])
@pytest.mark.parametrize("n_zeros", [0, 6])
def test_sign_test_without_rope_matches_exact_probabilities(z0, counts, n_zeros):
    """Differences of 0 count half on each side, so only the other signs decide."""
    z = np.repeat([-0.1, 0.0, 0.1], [9, n_zeros, 5])
    a = np.full(len(z), 0.3)
    result = bayes.sign_test(a, a + z, 0, random_state=0, s=2.0, z0=z0, n_samples=200_000)
    left = stats.beta(*counts).sf(0.5)
    assert_allclose(probabilities(result), (left, 0, 1 - left), atol=0.005)
    assert_array_equal(result.samples[:, 1], 0)
    assert_allclose(result.samples.sum(axis=1), 1)
    total = sum(counts) + n_zeros + 2 * (z0 == 0)
    middle = (counts[0] + (n_zeros + 2 * (z0 == 0)) / 2) / total
    assert_allclose(result.samples[:, 0].mean(), middle, atol=0.002)


@pytest.mark.parametrize("test", TESTS)
def test_rope_of_0_has_probability_0(test):
    a, b = scores(9)
    assert test(a, b, 0, random_state=0).rope == 0
    assert probabilities(test(a, a, 0.0, random_state=0)) == (0.5, 0, 0.5)
    assert probabilities(test(a, a + 1e-17, 0.0, random_state=0)) == (0.5, 0, 0.5)


def test_region_without_differences_has_fraction_0():
    result = bayes.sign_test([0.5, 0.5], [0.9, 0.9], random_state=0)
    assert_array_equal(result.samples[:, 0], 0)
    assert result.left == 0
    result = bayes.sign_test([0.5], [0.9], random_state=0, s=0)
    assert probabilities(result) == (0, 0, 1)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rope", [0.005, 0.02])
def test_signed_rank_test_matches_baycomp(seed, rope):
    a, b = scores(20, seed=seed)
    ours = bayes.signed_rank_test(a, b, rope, random_state=1, n_samples=5000)
    # Same generator and same order of random numbers, so the samples are equal.
    theirs = baycomp.SignedRankTest(a, b, rope, random_state=1, nsamples=5000)
    assert_allclose(ours.samples, theirs.sample, atol=1e-12)
    assert_allclose(probabilities(ours), theirs.probs())


@pytest.mark.parametrize("n", [1, 2, 20])
def test_signed_rank_test_without_rope_matches_baycomp(n):
    a, b = scores(n)
    ours = bayes.signed_rank_test(a, b, 0.0, random_state=1, n_samples=5000)
    theirs = baycomp.SignedRankTest(a, b, 0, random_state=1, nsamples=5000)
    assert_allclose(ours.samples, theirs.sample, atol=1e-12)
    assert ours.rope == 0
    equal = bayes.signed_rank_test(a, a, 0.0, random_state=1)
    assert probabilities(equal) == (0.5, 0, 0.5)


def test_signed_rank_test_matches_loop(monkeypatch):
    monkeypatch.setattr(bayes, "BLOCK_VALUES", 64)  # several blocks
    a, b = scores(6)
    result = bayes.signed_rank_test(a, b, 0.01, random_state=3, s=2.0, z0=0.05, n_samples=20)
    z = [0.05, *(b - a)]
    weights = np.random.RandomState(3).dirichlet([2.0] + 6 * [1.0], 20)
    for w, fractions in zip(weights, result.samples, strict=True):
        left = sum(w[i] * w[j] for i in range(7) for j in range(7) if z[i] + z[j] < -0.02)
        right = sum(w[i] * w[j] for i in range(7) for j in range(7) if z[i] + z[j] > 0.02)
        assert_allclose(fractions, [left, 1 - left - right, right])


@pytest.mark.parametrize("runs", [1, 2, 5])
@pytest.mark.parametrize("rope", [0.01, 0.03])
def test_correlated_t_test_matches_baycomp(runs, rope):
    a, b = scores(20, seed=runs)
    ours = bayes.correlated_t_test(a, b, rope, random_state=0, n_repeats=runs)
    theirs = baycomp.CorrelatedTTest(a, b, rope, runs)
    assert_allclose(probabilities(ours), theirs.probs(), atol=1e-12)
    fractions = [np.mean(ours.samples < -rope), np.mean(ours.samples > rope)]
    assert_allclose(fractions, [ours.left, ours.right], atol=0.01)


def test_equal_difference_in_all_folds():
    a = np.array([0.8, 0.7, 0.9])
    for shift, expected in [(0.1, (0, 0, 1)), (-0.1, (1, 0, 0)), (0.01, (0, 1, 0))]:
        result = bayes.correlated_t_test(a, a + shift)
        assert probabilities(result) == expected
        assert_allclose(result.samples, shift)


@pytest.mark.parametrize("test", TESTS)
def test_size_sum_seed_and_symmetry(test):
    a, b = scores(12)
    result = test(a, b, random_state=5, n_samples=1000)
    assert len(result.samples) == 1000
    assert_allclose(sum(probabilities(result)), 1)
    again = test(list(a), tuple(b), random_state=5, n_samples=1000)
    assert_array_equal(result.samples, again.samples)
    assert probabilities(result) == probabilities(again)
    assert not np.array_equal(result.samples, test(a, b, random_state=6, n_samples=1000).samples)
    swapped = test(b, a, random_state=5, n_samples=50_000)
    assert_allclose(probabilities(swapped)[::-1], probabilities(result), atol=0.06)
    assert repr(result).startswith("Posterior(left=0.")


@pytest.mark.parametrize("test", TESTS)
def test_left_is_the_probability_of_the_first_learner(test):
    a, b = scores(20, shift=-0.1)
    assert test(a, b, random_state=0).left > 0.99
    assert test(b, a, random_state=0).right > 0.99
    assert test(a, a + 1e-3 * np.sign(b - a), random_state=0).rope > 0.99


def test_edge_of_the_rope_counts_as_equivalent():
    assert 0.85 - 0.84 > 0.01
    edge = [0.84] * 9, [0.85] * 9
    assert bayes.sign_test(*edge, random_state=0).rope == 1
    assert bayes.signed_rank_test(*edge, random_state=0).rope == 1
    beyond = [0.84] * 9, [0.8501] * 9
    assert bayes.sign_test(*beyond, random_state=0).rope < 0.01


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(
    ("a", "b", "options", "sentence"),
    [
        ([0.1, 0.2], [0.1], {}, "a has 2 scores and b has 1"),
        ([[0.1, 0.2]], [[0.1, 0.3]], {}, "must be one-dimensional: one score for each data set"),
        ([0.1, np.nan], [0.1, 0.2], {}, "Input a contains NaN"),
        ([], [], {}, "minimum of 1 is required"),
        (["x", "y"], [0.1, 0.2], {}, "could not convert"),
        ([0.1, 0.2], [0.1, 0.3], {"rope": -0.1}, "rope=-0.1 must be a finite number of at least 0"),
        ([0.1, 0.2], [0.1, 0.3], {"rope": "1"}, "rope='1' must be"),
        ([0.1, 0.2], [0.1, 0.3], {"n_samples": 0}, "n_samples=0 must be an int of at least 1"),
    ],
)
def test_bad_input(test, a, b, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        test(a, b, **options)


@pytest.mark.parametrize(
    ("test", "options", "sentence"),
    [
        (bayes.sign_test, {"s": -1}, "s=-1 must be a finite number of at least 0"),
        (bayes.sign_test, {"z0": np.inf}, "z0=inf must be a finite number"),
        (bayes.signed_rank_test, {"s": 0}, "s=0 must be positive"),
        (
            bayes.correlated_t_test,
            {"n_repeats": 3},
            "must divide the 4 scores into equal parts",
        ),
        (
            bayes.correlated_t_test,
            {"n_repeats": 4},
            "=4 must divide .* of at least 2 folds",
        ),
        (bayes.correlated_t_test, {"n_repeats": 1.0}, "n_repeats=1.0 must be an int"),
    ],
)
def test_bad_options(test, options, sentence):
    a, b = scores(4)
    with pytest.raises(ValueError, match=sentence):
        test(a, b, **options)
