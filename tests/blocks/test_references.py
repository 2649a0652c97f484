"""Tests of fits to references. All rows as references, and finite differences, are the oracles."""

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.datasets import make_classification

from dimetric import ANMM, DMLMJ, LDML, LMNN, LSI, MCML, NCA, DMLEig
from dimetric._arrays.squared_distances import squared_distances
from dimetric.blocks.dask_source import DaskSource
from dimetric.blocks.source import ArraySource, IterableSource
from dimetric.learners._fitting.references import allocation, sampled
from dimetric.learners.ldml import LDMLRule
from dimetric.learners.lsi import DistanceRule
from dimetric.learners.mcml import MCMLRule
from dimetric.learners.nca import NCARule
from dimetric.neighbors import ApproximateNeighbors
from dimetric.objectives.objective import on_maps, on_metrics
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.references.objective import ReferenceObjective
from dimetric.objectives.references.references import class_totals
from dimetric.objectives.references.sums import pair_sums

N, D = 90, 4
X, y = make_classification(
    N, D, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2, N)
L = np.random.default_rng(1).normal(size=(3, D)) / 2
RULES = {
    "nca": (NCARule(), []),
    "mcml": (MCMLRule(), []),
    "ldml": (LDMLRule(), [0.7]),
    "lsi": (DistanceRule(), [1e-9]),
    "ldml-b": (LDMLRule(2.0), []),
}
ITERATIVE = [NCA, MCML, LDML, LMNN, LSI, DMLEig]
LEARNERS = [*ITERATIVE, ANMM, DMLMJ]
by_rule = pytest.mark.parametrize("name", RULES)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def short_fit(learner, **options):
    """Return a learner that takes few iterations, if any."""
    return learner(**options | ({"max_iter": 8} if hasattr(learner(), "max_iter") else {}))


def objective_of(fitted):
    facts = fitted if isinstance(fitted, dict) else fitted.metadata()
    return facts.get("final_objective", facts.get("margin"))


def labels_of(source, m, learner=None):
    learner = NCA() if learner is None else learner
    totals = source.reduce(class_totals, None)
    return sampled(learner, source, totals, m, None)


def reference_objective(name, m, weights=None, projection=1.0, source=None, rows=slice(None)):
    """Return the objective of a rule over all rows and m references."""
    rule, theta = RULES[name]
    source = ArraySource(X[rows], y[rows], weights) if source is None else source
    points, labels = labels_of(source, m)
    order = np.argsort(labels.codes, kind="stable")
    P = projection if isinstance(projection, np.ndarray) else projection * np.eye(D)
    sample = PairwiseObjective(rule, points[order] @ P.T, labels.codes[order], theta)
    return ReferenceObjective(source, labels.references, sample, projection)


def all_pairs(name, weights=None, projection=1.0):
    """Return the objective of a rule over all pairs."""
    rule, theta = RULES[name]
    order = np.argsort(y, kind="stable")
    P = projection if isinstance(projection, np.ndarray) else projection * np.eye(D)
    w = None if weights is None else (weights / weights.mean())[order]
    return PairwiseObjective(rule, X[order] @ P.T, y[order], theta, weights=w)


@by_rule
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "projection",
    [1.0, 0.5, np.random.default_rng(2).normal(size=(3, D))],
    ids=["same", "scaled", "matrix"],
)
def test_with_all_rows_as_references_the_objective_is_that_of_all_pairs(name, weights, projection):
    ours, exact = (
        reference_objective(name, N, weights, projection),
        all_pairs(name, weights, projection),
    )
    A = L[:, :3] if isinstance(projection, np.ndarray) else L
    x = np.concatenate([A.ravel(), exact.theta])
    assert_allclose(ours.n_terms, exact.n_terms, rtol=1e-12)
    assert_allclose(ours.infimum, exact.infimum, rtol=1e-12)
    for value, expected in zip(on_maps(ours)(x), on_maps(exact)(x), strict=True):
        assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    M = (A.T @ A).ravel()
    x = np.concatenate([M, exact.theta])
    for value, expected in zip(on_metrics(ours)(x), on_metrics(exact)(x), strict=True):
        assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    for value, expected in zip(ours.value(A, ours.theta), exact.value(A, ours.theta), strict=True):
        assert_allclose(value, expected, rtol=1e-10, atol=1e-12)


@by_rule
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_tiles_are_those_of_the_engine(name, weights):
    rule, theta = RULES[name]
    source = ArraySource(X, y, weights)
    _, labels = labels_of(source, 20)
    references = labels.references
    sums = source.reduce(pair_sums, references, L, np.array(theta), rule, "map")
    rows = references.meet(next(source.blocks()))
    D2 = squared_distances(rows.X @ L.T, references.X @ L.T)
    loss, W, dtheta = rule.block(np, D2, rows.side, references.side, np.array(theta))
    differences = rows.X[:, None, :] - references.X
    gradient = L @ np.einsum("ij,ija,ijb->ab", W, differences, differences)
    assert_allclose(sums.loss, loss, rtol=1e-12)
    assert_allclose(sums.gradient, gradient, rtol=1e-9, atol=1e-10)
    assert_allclose(sums.dtheta, dtheta, rtol=1e-10, atol=1e-12)


@by_rule
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_gradient_is_that_of_finite_differences(name, weights):
    function = on_maps(reference_objective(name, 25, weights), ridge=0.1)
    x = np.concatenate([L.ravel(), RULES[name][1]])
    numeric = approx_fprime(x, lambda v: function(v)[0], 1e-6)
    free = L.size if name == "lsi" else x.size  # LSI does not learn its theta
    assert_allclose(function(x)[1][:free], numeric[:free], atol=5e-5)


@by_rule
def test_objective_does_not_depend_on_the_blocks(name):
    sources = [
        ArraySource(X, y),
        ArraySource(X, y, block_rows=7),
        IterableSource(lambda: ((X[i : i + 13], y[i : i + 13]) for i in range(0, N, 13))),
        DaskSource(da.from_array(X, chunks=(30, 2)), da.from_array(y, chunks=45)),
        DaskSource(da.from_array(X, chunks=((1, 80, 9), D)), da.from_array(y, chunks=11)),
    ]
    expected, *others = [
        on_maps(reference_objective(name, 25, source=source))(
            np.concatenate([L.ravel(), RULES[name][1]])
        )
        for source in sources
    ]
    for each in others:
        assert_allclose(each[0], expected[0], rtol=1e-13)
        assert_allclose(each[1], expected[1], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", ["nca", "mcml", "ldml"])  # LSI sums over different classes
def test_no_row_meets_itself(name):
    """A copy of a row is another row, so it is met, but the row itself is not."""
    ours = reference_objective(name, N)
    alone = on_maps(ours)(np.concatenate([L.ravel(), ours.theta]))[0]
    _, labels = labels_of(ArraySource(X, y), N)
    moved = labels.references.side.positions + N  # other rows, at the same places
    object.__setattr__(labels.references.side, "positions", moved)
    others = ReferenceObjective(ArraySource(X, y), labels.references, ours.sample, 1.0)
    value = on_maps(others)(np.concatenate([L.ravel(), ours.theta]))[0]
    assert abs(value - alone) > 1e-4


@pytest.mark.parametrize("learner", LEARNERS)
def test_fit_to_all_rows_as_references_is_the_fit_to_all_pairs(learner):
    ours, exact = learner(n_references=N).fit(X, y), learner().fit(X, y)
    assert_allclose(ours.components_, exact.components_, rtol=1e-5, atol=1e-6)
    assert ours.metadata()["n_references"] == ours.metadata()["n_samples"] == N
    assert "n_references" not in exact.metadata()


@pytest.mark.parametrize("learner", LEARNERS)
def test_fits_are_equal_for_all_kinds_of_input(learner, tmp_path):
    mapped = np.memmap(tmp_path / "X", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    names = np.array(["c", "a", "b"])[y]
    model = short_fit(learner, n_references=30)
    expected = model.fit(X, names)
    map_, facts = expected.components_, expected.metadata()
    assert (facts["n_samples"], facts["n_references"]) == (N, 30)
    assert list(expected.classes_) == ["a", "b", "c"]
    for samples, labels in (
        (da.from_array(X, chunks=(30, D)), da.from_array(names, chunks=30)),
        (da.from_array(X, chunks=(17, 1)), da.from_array(names, chunks=50)),
        (mapped, names),
        (lambda: ((X[i : i + 13], names[i : i + 13]) for i in range(0, N, 13)), None),
    ):
        other = model.fit(samples, labels)
        assert_allclose(other.components_, map_, rtol=1e-6, atol=1e-8)
        assert_allclose(objective_of(other), objective_of(facts), rtol=1e-10)
        assert other.metadata()["n_references"] == 30
        assert list(other.classes_) == ["a", "b", "c"]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0}])
def test_weights_and_unlabelled_rows_of_blocks_are_those_of_arrays(learner, class_weight):
    marked = np.where(np.arange(N) % 10 == 3, -1, y)
    w = np.where(np.arange(N) % 7 == 2, 0.0, WEIGHTS)
    model = short_fit(learner, n_references=30, class_weight=class_weight, unlabelled=-1)
    facts = model.fit(X, marked, sample_weight=w).metadata()
    arrays = [da.from_array(each, chunks=31) for each in (marked, w)]
    other = model.fit(da.from_array(X, chunks=(20, D)), arrays[0], sample_weight=arrays[1])
    assert_allclose(objective_of(other), objective_of(facts), rtol=1e-9)
    used = (marked >= 0) & (w > 0)
    assert other.metadata()["n_samples"] == facts["n_samples"] == np.sum(used)
    assert other.metadata()["n_unlabelled"] == facts["n_unlabelled"]


def test_many_blocks_use_the_default_number_of_references():
    from dimetric.learners._fitting.references import DEFAULT_REFERENCES

    n = DEFAULT_REFERENCES + 500
    Z = np.random.default_rng(0).normal(size=(n, 2))
    labels = (Z[:, 0] > 0).astype(int)
    lazy = da.from_array(Z, chunks=(999, 2)), da.from_array(labels, chunks=999)
    facts = NCA(max_iter=1, tol=0.5).fit(*lazy).metadata()
    assert (facts["n_samples"], facts["n_references"]) == (n, DEFAULT_REFERENCES)


def test_rows_that_vary_where_references_do_not_are_learned_from():
    """With fewer references than features, the map is not restricted to the references."""
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(200, 30)), np.arange(200) % 2
    Z[:, 3] += 3 * labels
    learned = NCA(2, n_references=10, init="random", random_state=0, max_iter=5).fit(Z, labels)
    start = np.random.RandomState(0).normal(size=(2, 30))
    ratio = learned.components_ / start
    assert np.all(np.std(ratio, axis=0) > 1e-6)  # all features have moved


def test_float32_is_close_to_float64():
    single = NCA(n_references=30, max_iter=10).fit(X.astype(np.float32), y)
    double = NCA(n_references=30, max_iter=10).fit(X, y)
    assert single.components_.dtype == np.float32
    values = [each.metadata()["final_objective"] for each in (single, double)]
    assert_allclose(*values, atol=1e-3)


def test_a_class_with_one_reference_is_named_in_a_warning():
    labels = np.where(np.arange(N) == 5, 3, y)
    with pytest.warns(UserWarning, match=r"1 of 4 classes have a single reference: \[3\]"):
        model = NCA(n_references=30, max_iter=3).fit(X, labels)
    assert np.all(np.isfinite(model.components_))


def test_more_references_than_rows_are_all_rows():
    assert NCA(n_references=10 * N, max_iter=2).fit(X, y).metadata()["n_references"] == N


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_references": 2}, "y has 3 classes, but n_references=2. Every class needs"),
        ({"solver": "sgd"}, "solver='sgd' evaluates mini-batches of all pairs"),
        ({"unlabelled_reg": 0.5}, "unlabelled_reg=0.5 needs the neighbours of all samples"),
        ({"cost": "squared"}, "learns from other targets"),
    ],
)
def test_options_that_need_all_pairs_are_refused(options, message):
    model = NCA(**{"n_references": 20} | options)
    lazy = da.from_array(X, chunks=(30, D)), da.from_array(y, chunks=30)
    with pytest.raises(ValueError, match=message):
        model.fit(*lazy)
    if "cost" not in options:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)


@pytest.mark.parametrize("learner", [ANMM, DMLMJ, LMNN])
def test_approximate_search_is_refused(learner):
    model = learner(n_references=30, search=ApproximateNeighbors())
    with pytest.raises(ValueError, match="references are few and are searched exactly"):
        model.fit(X, y)


def test_warm_start_and_mixing_work_with_blocks():
    lazy = da.from_array(X, chunks=(30, D)), da.from_array(y, chunks=30)
    model = NCA(n_references=30, warm_start=True, identity_mix=0.1).fit(*lazy)
    first = model.metadata()
    assert model.fit(*lazy).metadata()["initial_objective"] >= first["final_objective"] - 1e-9
    chosen = NCA(n_references=30, identity_mix="auto").fit(*lazy).metadata()
    assert 0 <= chosen["identity_mix"] <= 1


@pytest.mark.parametrize("counts", [[900, 90, 8, 2], [5, 5, 5], [10**6, 1, 1, 10], [37, 41, 22]])
@pytest.mark.parametrize("m", [4, 10, 60, 99])
def test_every_class_has_references_in_proportion(counts, m):
    counts = np.array(counts)
    if m < len(counts):
        return
    sizes = allocation(counts, m)
    assert np.sum(sizes) == min(m, np.sum(counts))
    assert np.all((sizes >= 1) & (sizes <= counts))
    share = counts * min(1.0, m / np.sum(counts))
    big = share > 8
    assert np.all(sizes[big] >= np.floor(share[big]) - 4 * np.sum(~big) - 1)


@pytest.mark.parametrize("learner", [ANMM, DMLMJ])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}])
def test_closed_forms_with_weights_are_those_of_all_samples(learner, options):
    ours = learner(n_references=N, **options).fit(X, y, sample_weight=3 * WEIGHTS)
    exact = learner(**options).fit(X, y, sample_weight=3 * WEIGHTS)
    assert_allclose(objective_of(ours), objective_of(exact), rtol=1e-10)
    assert_allclose(ours.components_, exact.components_, rtol=1e-7, atol=1e-8)


def test_roots_of_covariances_add_up():
    lazy = da.from_array(X, chunks=(17, D)), da.from_array(y, chunks=17)
    ours, exact = DMLMJ(alpha=0.0, n_references=N).fit(*lazy), DMLMJ(alpha=0.0).fit(X, y)
    assert_allclose(ours.components_, exact.components_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("learner", [ANMM, DMLMJ])
def test_a_class_with_few_references_is_named_in_a_warning(learner):
    labels = np.where(np.arange(N) < 2, 3, y)
    with pytest.warns(UserWarning, match="2 of 90 samples have fewer than 3 friends"):
        model = learner(n_references=40).fit(X, labels)
    assert np.all(np.isfinite(model.components_))
