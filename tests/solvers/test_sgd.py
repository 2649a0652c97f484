"""Tests of stochastic gradient descent: epochs, learning rates and failures."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from sklearn.datasets import load_digits
from solving import Batches, gradient_descent, sgd

from dimetric.learners.nca import NCARule
from dimetric.learners.pca import PCA
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.solvers import SGD, GradientDescent


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def regression(seed=0, n=600, d=5, batch=20, height=1.0, unit=1.0):
    """Return the objective, epochs, optimum and start of a noisy linear regression."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, d))
    b = A @ rng.normal(size=d) + rng.normal(size=n)

    def squares(rows):
        def value_and_grad(x):
            r = A[rows] @ (x / unit) - b[rows]
            return height * float(r @ r) / len(r), 2 * height / unit * A[rows].T @ r / len(r)

        return value_and_grad

    def epoch(k):
        for rows in np.random.default_rng(k).permutation(n).reshape(-1, batch):
            yield squares(rows)

    best = unit * np.linalg.lstsq(A, b)[0]
    return squares(np.arange(n)), epoch, best, np.full(d, 3.0) * unit


def test_one_batch_per_epoch_matches_gradient_descent():
    """The value of an epoch is the value at its start, so it is one step behind."""
    x0, kwargs = np.zeros(4), {"learning_rate": "constant", "eta0": 1e-3, "max_iter": 20}
    batch = gradient_descent(rosenbrock, x0, **kwargs)
    result = sgd(lambda k: [rosenbrock], x0, **kwargs)
    assert result.history[1:] == batch.history[:-1]


@pytest.mark.parametrize("rate", ["constant", "adaptive"])
@pytest.mark.parametrize(("height", "unit"), [(1.0, 1.0), (1e-4, 1.0), (1e9, 1.0), (1.0, 1e-6)])
def test_mini_batches_reach_the_optimum(rate, height, unit):
    f, epoch, best, x0 = regression(height=height, unit=unit)
    result = sgd(epoch, x0, learning_rate=rate, tol=1e-7 * height, max_iter=60)
    initial_gap = f(x0)[0] - f(best)[0]
    gap = f(result.x)[0] - f(best)[0]
    assert gap < {"constant": 2e-2, "adaptive": 1e-3}[rate] * initial_gap
    assert result.value == pytest.approx(f(best)[0], rel=0.15)


def test_mean_iterate_is_better_than_the_last_iterate():
    f, epoch, best, x0 = regression()
    result = sgd(epoch, x0, learning_rate="constant", eta0=0.1, max_iter=20, tol=0.0)
    x = x0
    for k in range(1, 21):
        for batch in epoch(k):
            x = x - 0.1 * batch(x)[1]
    assert f(result.x)[0] - f(best)[0] < 0.3 * (f(x)[0] - f(best)[0])


def test_results_are_reproducible():
    _, epoch, _, x0 = regression()
    np.testing.assert_array_equal(sgd(epoch, x0, max_iter=5).x, sgd(epoch, x0, max_iter=5).x)


def test_values_are_means_over_batches():
    _, epoch, _, x0 = regression()
    first = [batch(x0)[0] for batch in epoch(0)][:10]
    x, values = x0, []
    for batch in epoch(1):
        value, gradient = batch(x)
        values.append(value)
        x = x - 0.01 * gradient
    result = sgd(epoch, x0, eta0=0.01, max_iter=1)
    np.testing.assert_allclose(result.history, [np.mean(first), np.mean(values)], rtol=1e-12)


def test_adaptive_rate_depends_on_the_value_of_the_last_epoch():
    """The gradient is -1, so each epoch moves x by its rate."""
    values = [5.0, 4.0, 3.0, 3.5, 3.5, 1.0, 0.5]
    points = []

    def epoch(k):
        def value_and_grad(x):
            points.append(float(x[0]))
            return values[k], -np.ones(1)

        return [value_and_grad]

    sgd(epoch, np.zeros(1), eta0=1.0, increase=2.0, decrease=0.25, max_iter=6)
    # The values 4 and 3 are lower than before, the two values 3.5 are not, and 1 is.
    assert np.diff(points[1:]).tolist() == [1, 2, 4, 1, 0.25]


def scripted(values, noise=0.0):
    """Return epochs of two batches with given mean values. Each epoch moves x by 1 at rate 1."""

    def epoch(k):
        for sign in (-1, 1):
            yield lambda x, s=sign: (values[k] + s * noise, np.full(1, -0.5))

    return epoch


def test_best_epoch_is_returned():
    values = [9.0, 5.0, 3.0, 4.0, 4.1]
    kwargs = {"learning_rate": "constant", "eta0": 1.0, "max_iter": 4}
    result = sgd(scripted(values), np.zeros(1), **kwargs)
    assert (result.value, result.x) == (3, 1.25)  # the mean iterate of the second epoch: 1 and 1.5
    assert list(result.history) == values
    # If batches differ by 4, a difference of 1 is within a standard error: the last is returned.
    result = sgd(scripted(values, noise=2.0), np.zeros(1), **kwargs)
    assert (result.value, result.x) == (4.1, 3.25)


def test_standard_errors_do_not_add_up():
    values = [9.0, 5.0, 6.0, 7.0, 8.0]  # neighbours differ by less than a standard error, 1.4
    result = sgd(
        scripted(values, noise=2.0), np.zeros(1), learning_rate="constant", eta0=1.0, max_iter=4
    )
    assert result.value == 6


def test_solver_stops_after_ten_epochs_without_progress():
    values = [9.0, 5.0, *np.linspace(6, 7, 40)]
    result = sgd(scripted(values), np.zeros(1), max_iter=40)
    assert (result.n_iter, result.reason) == (11, "objective no longer decreases")
    assert result.converged


def test_batches_without_an_objective_are_skipped():
    _, epoch, _, x0 = regression()

    def with_gaps(k):
        for batch in epoch(k):
            yield None
            yield batch

    found, expected = sgd(with_gaps, x0, max_iter=3), sgd(epoch, x0, max_iter=3)
    np.testing.assert_array_equal(found.x, expected.x)
    assert found.history == expected.history


def test_flat_batch_does_not_influence_the_rate():
    _, epoch, _, x0 = regression()

    def flat(x):
        return 1.0, np.zeros_like(x)

    found = sgd(lambda k: epoch(k) if k else [flat, *epoch(0)][:10], x0, max_iter=3)
    expected = sgd(lambda k: epoch(k) if k else list(epoch(0))[:9], x0, max_iter=3)
    np.testing.assert_array_equal(found.x, expected.x)


def test_solver_stops_if_no_batch_has_an_objective():
    reason = "no mini-batch has an objective; each may contain one class only"
    for batches in ([], [None, None]):
        result = sgd(lambda k, batches=batches: batches, np.ones(2))
        assert (result.n_iter, result.converged, result.reason) == (0, False, reason)
        np.testing.assert_array_equal(result.x, 1)
    result = sgd(lambda k: [rosenbrock] if k < 3 else [None], np.zeros(2))
    assert (result.n_iter, result.converged, result.reason) == (2, False, reason)


@pytest.mark.parametrize("eta0", [10.0, 1e300])
def test_large_rate_diverges_unless_it_is_adaptive(eta0):
    f, epoch, best, x0 = regression()
    result = sgd(epoch, x0, learning_rate="constant", eta0=eta0)
    assert (result.n_iter, result.converged) == (1, False)
    assert result.reason.startswith("diverged: the objective rose from ")
    np.testing.assert_array_equal(result.x, x0)
    result = sgd(epoch, x0, eta0=min(eta0, 1e10), decrease=0.1)
    assert np.isfinite(result.history).all()
    assert f(result.x)[0] < f(best)[0] + 1e-3


def test_diverged_epoch_is_repeated_from_the_best_point():
    """The last mini-batch of the first epoch moves x so far that no rate would help."""

    def f(x):
        return 0.5 * float(x @ x), x

    def epoch(k):
        yield from [f] * 3
        if k == 1:
            yield lambda x: (f(x)[0], np.full(1, 1e6))

    result = sgd(epoch, np.ones(1), eta0=0.5)
    assert result.converged
    assert abs(result.x) < 1e-2


def test_solver_stops_if_an_epoch_diverges_at_any_rate():
    def epoch(k):
        yield lambda x: (1.0 if k == 0 else np.inf, np.ones(1))

    result = sgd(epoch, np.zeros(1))
    assert (result.n_iter, result.converged) == (0, False)
    assert result.reason == "the step size became too small"


def test_nca_with_mini_batches_improves_on_pca():
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    X, y = (X[order] - X.mean(axis=0)) / 16, y[order]

    def epoch(k):
        for rows in np.random.default_rng(k).permutation(len(X))[:1700].reshape(-1, 100):
            rows = np.sort(rows)
            yield on_maps(PairwiseObjective(NCARule(), X[rows], y[rows]))

    f = on_maps(PairwiseObjective(NCARule(), X, y))
    start = PCA(n_components=2).fit(X).components_.ravel()
    result = sgd(epoch, start, max_iter=20)
    assert f(start)[0] > -0.3
    assert f(result.x)[0] < -0.65


@pytest.mark.parametrize("solver", [GradientDescent, SGD])
def test_error_for_invalid_rates(solver):
    function = Batches(lambda k: [rosenbrock])
    for (name, value), message in {
        ("learning_rate", "fast"): r"must be a str among",
        ("eta0", 0.0): r"must be a float in the range \(0",
        ("increase", 0.9): r"must be a float in the range \[1",
        ("decrease", 1.0): r"must be a float in the range \(0.*, 1.*\)",
    }.items():
        with pytest.raises(ValueError, match=rf"'{name}' parameter of {solver.__name__} {message}"):
            solver(**{name: value}).minimise(function, np.ones(2))


def test_error_for_a_function_without_mini_batches():
    with pytest.raises(
        TypeError, match=r"SGD needs a function with a method epochs\(batch_size\), but got"
    ):
        SGD().minimise(rosenbrock, np.ones(2))
    with pytest.raises(ValueError, match=r"'batch_size' parameter of SGD must be an int in"):
        SGD(batch_size=1).minimise(Batches(lambda k: [rosenbrock]), np.ones(2))
