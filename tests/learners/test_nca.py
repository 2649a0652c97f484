"""Tests specific to NCA: its objective, its starts and separable data."""

import logging
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from oracles import ridge_weight
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info

from dimetric import LDA, NCA, PCA
from dimetric.learners.nca import NCARule
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective

X, y = load_iris(return_X_y=True)


def naive(L, X, y):
    """Return the mean probability that a sample picks a neighbour of its class, with loops."""
    total = 0.0
    for i in range(len(X)):
        weights = [0.0 if j == i else np.exp(-sum((L @ (X[i] - X[j])) ** 2)) for j in range(len(X))]
        total += sum(w for w, label in zip(weights, y, strict=True) if label == y[i]) / sum(weights)
    return total / len(X)


def test_objective_matches_a_loop(rng):
    A, labels, L = (
        rng.normal(size=(17, 3)),
        np.sort(rng.integers(0, 3, 17)),
        rng.normal(size=(2, 3)),
    )
    f = on_maps(PairwiseObjective(NCARule(), A - A.mean(0), labels))
    np.testing.assert_allclose(-f(L.ravel())[0], naive(L, A, labels), rtol=1e-12)
    numeric = approx_fprime(L.ravel(), lambda x: -naive(x.reshape(2, 3), A, labels))
    np.testing.assert_allclose(f(L.ravel())[1], numeric, atol=1e-6)


def test_reported_objectives_on_iris():
    nca = NCA(init=np.eye(4), reg=0.0, tol=1e-5).fit(X, y)
    facts = nca.metadata()
    assert round(facts["initial_objective"], 3) == 0.838
    assert facts["final_objective"] >= 0.985
    np.testing.assert_allclose(naive(np.eye(4), X, y), facts["initial_objective"])
    np.testing.assert_allclose(naive(nca.components_, X, y), facts["final_objective"])


def test_no_worse_than_scikit_learn():
    theirs = NeighborhoodComponentsAnalysis(init="identity", max_iter=200, tol=1e-8).fit(X, y)
    ours = NCA(init="identity", reg=0.0, max_iter=200, tol=1e-8).fit(X, y)
    assert naive(ours.components_, X, y) >= naive(theirs.components_, X, y) - 1e-6


@pytest.mark.parametrize(
    ("n_components", "n_classes", "expected"),
    [(2, 3, "lda"), (3, 3, "pca"), (None, 3, "identity"), (1, 2, "lda")],
)
def test_auto_start_chooses_lda_pca_or_identity(n_components, n_classes, expected):
    is_used = y < n_classes
    auto, named = (
        NCA(n_components, init=init).fit(X[is_used], y[is_used]) for init in ("auto", expected)
    )
    np.testing.assert_array_equal(auto.components_, named.components_)


@pytest.mark.parametrize(
    ("init", "L0"),
    [
        ("identity", np.eye(2, 4)),
        ("pca", PCA(2).fit(X).components_),
        ("lda", LDA(2).fit(X, y).components_),
        (np.ones((2, 4)), np.ones((2, 4))),
    ],
)
def test_starts_in_the_unit_of_the_samples_are_rescaled(init, L0):
    """Maps by LDA do not depend on the unit, and given maps are not changed."""
    if isinstance(init, str) and init != "lda":
        # The typical squared distance between samples is 16, and that to the centre is 8.
        Z = (X - np.median(X, axis=0)) @ L0.T
        L0 = L0 * (8 / np.median(np.sum((Z - np.median(Z, axis=0)) ** 2, axis=1))) ** 0.5
    facts = NCA(2, init=init, reg=0.0, max_iter=200).fit(X, y).metadata()
    np.testing.assert_allclose(facts["initial_objective"], naive(L0, X, y))


def test_random_start_follows_random_state():
    a, b, c = (NCA(init="random", random_state=s).fit(X, y).components_ for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-3


def test_ridge_is_part_of_the_objective():
    nca = NCA(reg=0.5).fit(X, y)
    L = nca.components_
    expected = naive(L, X, y) - ridge_weight(X, 0.5) * (L**2).sum()
    np.testing.assert_allclose(nca.metadata()["final_objective"], expected)
    assert (L**2).sum() < (NCA().fit(X, y).components_ ** 2).sum()


def test_tolerance_does_not_depend_on_the_unit():
    for unit in (2.0**-20, 2.0**20):
        nca = NCA(init=np.eye(4) / unit).fit(X * unit, y)
        np.testing.assert_array_equal(
            nca.components_ * unit, NCA(init=np.eye(4)).fit(X, y).components_
        )


def test_fewer_samples_than_features(rng):
    A, labels = make_blobs(20, 60, centers=3, cluster_std=8, random_state=0)
    L0 = rng.normal(size=(2, 60)) / 30
    nca = NCA(2, init=L0, reg=0.0, tol=1e-9, max_iter=500).fit(A, labels)
    np.testing.assert_allclose(nca.metadata()["initial_objective"], naive(L0, A, labels))
    np.testing.assert_allclose(
        nca.metadata()["final_objective"], naive(nca.components_, A, labels), rtol=1e-9
    )
    # The map does not change in directions without variance.
    Q = np.linalg.svd(A - A.mean(0))[2][19:]
    np.testing.assert_allclose(nca.components_ @ Q.T, L0 @ Q.T, atol=1e-9)
    ridged = NCA(2, init=L0, reg=0.1, tol=1e-10).fit(A, labels)
    np.testing.assert_allclose(ridged.components_ @ Q.T, 0, atol=1e-5)


def test_separable_data_converge():
    A, labels = make_blobs(60, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
    facts = NCA(init=np.eye(3) / 5, reg=0.0, tol=1e-5).fit(A, labels).metadata()
    assert facts["reason"] == "within tol of the infimum"
    assert facts["converged"]
    assert facts["final_objective"] > 0.9999


def test_warm_start_continues_from_the_previous_map():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        nca = NCA(max_iter=3, warm_start=True).fit(X, y)
    first = nca.metadata()["final_objective"]
    nca.set_params(max_iter=100).fit(X, y)
    np.testing.assert_allclose(nca.metadata()["initial_objective"], first)
    with pytest.raises(ValueError, match=r"the map of the previous fit has shape \(4, 4\)"):
        nca.fit(X[:, :3], y)


def test_not_converging_warns_with_a_remedy():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 reached\. Increase max_iter"):
        assert not NCA(max_iter=1).fit(X, y).metadata()["converged"]


@pytest.mark.parametrize("shape", [(3, 3), (5, 4)])
def test_a_start_of_the_wrong_shape_raises(shape):
    with pytest.raises(ValueError, match=r"init has shape .* 1 to 4 rows and n_features=4"):
        NCA(init=np.ones(shape)).fit(X, y)
    with pytest.raises(ValueError, match="n_components=2 rows"):
        NCA(2, init=np.eye(4)).fit(X, y)


def test_verbose_logs_each_iteration(caplog):
    with caplog.at_level(logging.INFO, logger="dimetric"):
        nca = NCA(verbose=1).fit(X, y)
    assert len(caplog.records) == nca.n_iter_
    assert "[NCA] iteration 1: objective 0." in caplog.messages[0]


def test_classes_with_a_single_sample_warn():
    labels = y.copy()
    labels[0] = 7
    with pytest.warns(UserWarning, match=r"1 of 4 classes have a single sample.*\[7\]"):
        NCA().fit(X, labels)


def test_order_of_samples_does_not_matter(rng):
    p = rng.permutation(150)
    np.testing.assert_array_equal(NCA().fit(X[p], y[p]).components_, NCA().fit(X, y).components_)


@pytest.mark.parametrize("solver", ["lbfgs", "bgd", "sgd"])
@pytest.mark.parametrize(("unit", "size"), [(0, "small"), (1e-7, "small"), (1e4, "large")])
def test_a_flat_start_is_not_an_optimum(unit, size, solver, rng):
    A, labels = rng.normal(size=(30, 3)), np.arange(30) % 2
    reason = f"the objective is flat at the initial map, because distances are too {size}"
    with pytest.warns(ConvergenceWarning, match=f"NCA did not converge: {reason}"):
        facts = NCA(init=unit * np.eye(3), solver=solver, reg=1e-12).fit(A, labels).metadata()
    assert (facts["n_iter"], facts["converged"]) == (0, False)
    assert facts["reason"].startswith(reason)


def test_a_start_at_an_optimum_converges_at_once():
    nca = NCA(reg=0.5, max_iter=500, tol=1e-8, warm_start=True).fit(X, y).set_params(tol=1e-4)
    facts = nca.fit(X, y).metadata()
    assert (facts["n_iter"], facts["reason"]) == (0, "gradient below tol")
    assert facts["converged"]
    nca = NCA(reg=1e4, warm_start=True, max_iter=200).fit(X, y)
    assert np.abs(nca.components_).max() < 1e-3  # because of the ridge, the best map is 0
    assert nca.fit(X, y).metadata()["converged"]


def test_ridge_and_its_gradient_follow_the_unit_of_the_samples():
    A, reg = 64 * X, 0.5
    nca = NCA(init=np.eye(4) / 64, reg=reg, tol=1e-9, max_iter=300).fit(A, y)

    def objective(flat):
        return naive(flat.reshape(4, 4), A, y) - ridge_weight(A, reg) * (flat**2).sum()

    L = nca.components_.ravel()
    np.testing.assert_allclose(nca.metadata()["final_objective"], objective(L))
    np.testing.assert_allclose(approx_fprime(L, objective) / 64, 0, atol=1e-5)


def test_initial_objective_includes_the_dropped_part_of_the_start(rng):
    A, labels = rng.normal(size=(12, 30)), np.arange(12) % 2
    facts = NCA(init=np.eye(30), reg=0.3).fit(A, labels).metadata()
    expected = naive(np.eye(30), A, labels) - 30 * ridge_weight(A, 0.3)
    np.testing.assert_allclose(facts["initial_objective"], expected)


def test_infimum_accounts_for_classes_with_a_single_sample():
    A, labels = make_blobs(60, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
    A[0], labels[0] = -99, 2  # far from all others
    with pytest.warns(UserWarning, match="single sample"):
        facts = NCA(init=np.eye(3), reg=0.0).fit(A, labels).metadata()
    assert facts["reason"] == "within tol of the infimum"
    assert 59 / 60 - 1e-5 <= facts["final_objective"] <= 59 / 60


@pytest.mark.parametrize("far", [1e6, 1e12])
def test_an_outlier_does_not_reduce_the_accuracy(far):
    A, labels = np.vstack([X, np.full((1, 4), far)]), np.append(y, 0)
    # The outlier adds a probability between 0 and 1 and does not affect the other samples.
    others = 150 / 151 * naive(np.eye(4), X, y)
    unregularized = NCA(init=np.eye(4), reg=0.0, tol=1e-5)
    facts = unregularized.fit(A, labels).metadata()
    assert others - 1e-9 <= facts["initial_objective"] <= others + 1 / 151 + 1e-9
    assert facts["final_objective"] > 0.97
    expected = NCA().fit(X, y).metadata()["final_objective"]
    assert NCA().fit(A, labels).metadata()["final_objective"] > expected - 0.03
    A[:150], A[150] = X, [far, 5, 3, 1]  # an outlier in a single feature
    assert unregularized.fit(A, labels).metadata()["final_objective"] > 0.97
    assert NCA().fit(A, labels).metadata()["final_objective"] > expected - 0.03


def test_sign_of_zero_does_not_matter():
    A = np.round(X)
    A[A == 1] = 0
    np.testing.assert_array_equal(
        NCA().fit(A, y).components_, NCA().fit(np.where(A == 0, -0.0, A), y).components_
    )


@pytest.mark.parametrize("options", [{"init": 1e200 * np.eye(4)}, {"reg": 1e300}])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_at_the_start_raises(options):
    with pytest.raises(ValueError, match=r"The objective is .* at the start"):
        NCA(**options).fit(X, y)


def test_concurrent_fits_restore_the_blas_threads():
    A, labels = make_blobs(1200, 10, centers=4, cluster_std=9, random_state=0)
    before = [lib["num_threads"] for lib in threadpool_info()]
    with ThreadPoolExecutor(3) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maps = list(pool.map(lambda _: NCA(max_iter=5).fit(A, labels).components_, range(6)))
    assert [lib["num_threads"] for lib in threadpool_info()] == before
    assert all(np.array_equal(maps[0], L) for L in maps)


def test_ridge_does_not_lead_to_a_map_of_0(rng):
    """With almost as many features as samples, the initial map by LDA is very large."""
    labels = np.arange(90) % 3
    A = rng.normal(size=(90, 86)) + 2 * (labels[:, None] == np.arange(86))
    nca = NCA(2, reg=0.1, max_iter=200).fit(A, labels)
    assert nca.metadata()["final_objective"] > 0.8


def test_a_tiny_reg_changes_little():
    """The accuracy is a continuous function of `reg`, also if classes are separable."""
    A, labels = load_wine(return_X_y=True)
    A = StandardScaler().fit_transform(A)
    train, test = np.arange(178) % 2 == 0, np.arange(178) % 2 == 1

    def accuracy(reg, **params):
        nca = NCA(reg=reg, **params).fit(A[train], labels[train])
        knn = KNeighborsClassifier(5).fit(nca.transform(A[train]), labels[train])
        return knn.score(nca.transform(A[test]), labels[test])

    for params in ({}, {"tol": 1e-5}, {"n_components": 2}, {"init": "pca"}):
        scores = [accuracy(reg, **params) for reg in (0.0, 1e-12, 1e-8, 1e-5)]
        assert np.ptp(scores) <= 0.03, (params, scores)


def test_default_stops_early():
    nca = NCA().fit(X, y)
    facts = nca.metadata()
    assert facts["reason"] == "stopped early, because the last iteration gained little"
    assert facts["converged"]
    assert facts["reg"] == 0
    gains = np.diff(nca.history_)
    assert gains[-1] <= 0.003
    assert np.all(gains[1:-1] > 0.003)
    optimal = NCA(tol=1e-5).fit(X, y).metadata()
    assert optimal["n_iter"] > facts["n_iter"]
    assert optimal["final_objective"] > facts["final_objective"]


@pytest.mark.parametrize("solver", ["bgd", "sgd"])
def test_other_solvers_do_not_stop_early(solver):
    params = {"solver": solver, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        default, exact = (NCA(tol=tol, **params).fit(X, y) for tol in (None, 1e-5))
    np.testing.assert_array_equal(default.components_, exact.components_)


def test_advice_for_a_flat_default_start():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="Decrease tol, or choose another init, such as"):
        NCA(2, tol=10.0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Choose another init, such as init='auto'"):
        NCA(init=1e4 * np.eye(4), reg=0.0).fit(X, y)
