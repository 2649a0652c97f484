"""LLE: the four matrices compared with loops, unrolled sheets, and disconnected graphs."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.spatial.distance import pdist
from sklearn import manifold
from sklearn.datasets import load_iris
from sklearn.manifold import trustworthiness

from dimetric import LLE, PCA
from dimetric.data import make_s_curve, make_swiss_roll
from dimetric.manifold import _patches
from dimetric.manifold._patches import alignment_matrix, reconstruction_weights
from dimetric.neighbors.metric_search import metric_neighbors

METHODS = ["standard", "modified", "hessian", "ltsa"]


# The matrices, computed sample by sample as the papers define them


def weights_by_loops(x, neighbours, reg):
    C = x - neighbours
    G = C @ C.T
    w = linalg.solve(G + reg * np.trace(G) * np.eye(len(G)), np.ones(len(G)))
    return w / w.sum()


def standard_by_loops(X, neighbors, n_components, reg):
    W = np.zeros((len(X), len(X)))
    for i, near in enumerate(neighbors):
        W[i, near] = weights_by_loops(X[i], X[near], reg)
    R = np.eye(len(X)) - W
    return R.T @ R


def patches(X, neighbors):
    for i, near in enumerate(neighbors):
        yield np.array([i, *near]), X[i], X[near]


def ltsa_by_loops(X, neighbors, n_components, reg):
    M = np.zeros((len(X), len(X)))
    for members, x, near in patches(X, neighbors):
        P = np.vstack([x, near])
        U = linalg.svd(P - P.mean(axis=0))[0][:, :n_components]
        B = np.hstack([np.full((len(P), 1), len(P) ** -0.5), U])
        M[np.ix_(members, members)] += np.eye(len(P)) - B @ B.T
    return M


def hessian_by_loops(X, neighbors, n_components, reg):
    M = np.zeros((len(X), len(X)))
    for members, x, near in patches(X, neighbors):
        if members[0] in neighbors:
            members, P = members[1:], near
        else:  # the sample would be in no patch
            P = np.vstack([x, near])
        U = linalg.svd(P - P.mean(axis=0))[0][:, :n_components]
        forms = [np.ones(len(P)), *U.T]
        forms += [U[:, a] * U[:, b] for a in range(n_components) for b in range(a, n_components)]
        basis = []  # Gram-Schmidt
        for form in forms:
            for q in basis:
                form = form - (q @ form) * q
            basis.append(form / np.linalg.norm(form))
        H = np.array(basis[n_components + 1 :])
        M[np.ix_(members, members)] += H.T @ H
    return M


def modified_by_loops(X, neighbors, n_components, reg):
    """Compute the weight vectors explicitly, with a Householder matrix."""
    n, k = neighbors.shape
    local = [linalg.svd(X[near] - X[i]) for i, near in enumerate(neighbors)]
    spread = [s**2 for _, s, _ in local]
    eta = np.median([s[n_components:].sum() / s[:n_components].sum() for s in spread])
    M = np.zeros((n, n))
    for i, near in enumerate(neighbors):
        lam = np.concatenate([spread[i], np.zeros(k - len(spread[i]))])
        sizes = [
            s
            for s in range(1, k - n_components + 1)
            if lam[k - s :].sum() < eta * lam[: k - s].sum()
        ]
        s = max(sizes, default=1)
        V = local[i][0][:, k - s :]
        alpha = np.linalg.norm(V.sum(axis=0)) / s**0.5
        h = alpha - V.sum(axis=0)
        if np.linalg.norm(h) > 1e-12:
            h /= np.linalg.norm(h)
        H = np.eye(s) - 2 * np.outer(h, h)
        weights = V @ H + (1 - alpha) * weights_by_loops(X[i], X[near], reg)[:, None]
        assert_allclose(weights.sum(axis=0), 1)
        R = np.vstack([-np.ones(s), weights])
        members = np.array([i, *near])
        M[np.ix_(members, members)] += R @ R.T
    return M


LOOPS = {
    "standard": standard_by_loops,
    "modified": modified_by_loops,
    "hessian": hessian_by_loops,
    "ltsa": ltsa_by_loops,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("d", [3, 20], ids=["few features", "many features"])
@pytest.mark.parametrize("block", [1, 2**20], ids=["one by one", "at once"])
def test_matrix_matches_the_definition_of_the_paper(method, d, block, rng, monkeypatch):
    monkeypatch.setattr(_patches, "_blocks", lambda n, *_: _patches.row_blocks(n, min(block, n)))
    sheet = rng.normal(size=(60, 2)) @ rng.normal(size=(2, d))
    X = sheet + 0.1 * rng.normal(size=(60, d))
    neighbors = metric_neighbors(X, 7)[1]
    M = alignment_matrix(X, neighbors, 2, method=method, reg=1e-3)
    assert_allclose(M.toarray(), LOOPS[method](X, neighbors, 2, 1e-3), rtol=1e-8, atol=1e-9)
    assert_allclose(M @ np.ones(60), 0, atol=1e-10)


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("k", [1, 3])
def test_modified_method_with_as_many_neighbours_as_components(d, k, rng):
    X = rng.normal(size=(60, d))
    neighbors = metric_neighbors(X, k)[1]
    M = alignment_matrix(X, neighbors, k, method="modified", reg=1e-3)
    assert_allclose(M.toarray(), modified_by_loops(X, neighbors, k, 1e-3), rtol=1e-8, atol=1e-9)


def test_embedding_of_the_modified_method_with_as_many_neighbours_as_components(rng):
    # scikit-learn accepts these parameters, but its matrix is 0 and its embedding is arbitrary.
    X = rng.uniform(size=(300, 6))
    options = {"n_components": 6, "n_neighbors": 6, "method": "modified", "eigen_solver": "dense"}
    with np.errstate(all="ignore"):
        assert manifold.LocallyLinearEmbedding(**options).fit(X).reconstruction_error_ == 0
    Z = LLE(**options).fit_transform(X)
    assert_allclose(Z.T @ Z, np.eye(6), atol=1e-9)
    standard = LLE(**{**options, "method": "standard"}).fit_transform(X)
    scores = [trustworthiness(X, embedding) for embedding in (standard, Z)]
    assert scores[1] > max(0.8, scores[0] - 0.05)


@pytest.mark.parametrize("method", ["standard", "modified"])
@pytest.mark.parametrize("eigen_solver", ["dense", "arpack"])
def test_embedding_matches_scikit_learn(method, eigen_solver):
    # The other two methods differ: for LTSA, scikit-learn's patches omit the sample; for Hessians,
    # it uses all directions orthogonal to the coordinates, not only the products of coordinates.
    X = make_swiss_roll(400, random_state=0).X
    options = {"n_neighbors": 10, "method": method, "eigen_solver": eigen_solver}
    theirs = manifold.LocallyLinearEmbedding(**options, tol=1e-12, random_state=0).fit(X)
    ours = LLE(**options).fit(X)
    signs = np.sign(np.sum(theirs.embedding_ * ours.embedding_, axis=0))
    assert_allclose(ours.embedding_, theirs.embedding_ * signs, atol=1e-6)
    assert_allclose(ours.reconstruction_error_, theirs.reconstruction_error_, rtol=1e-3)


# Weights


@pytest.mark.parametrize("d", [4, 9])
def test_weights_match_scikit_learn(d, rng):
    X, points = rng.normal(size=(30, d)), rng.normal(size=(40, d))
    neighbors = metric_neighbors(X, 6, points)[1]
    expected = manifold._locally_linear.barycenter_weights(X, points, neighbors, reg=1e-3)
    assert_allclose(reconstruction_weights(X, points, neighbors, 1e-3), expected, rtol=1e-9)


def test_weights_without_a_ridge_reconstruct_exactly(rng):
    points = rng.normal(size=(30, 3))
    X = rng.normal(size=(9, 3))
    neighbors = metric_neighbors(X, 6, points)[1]
    weights = reconstruction_weights(X, points, neighbors, 0.0)
    assert_allclose(np.einsum("ij,ijk->ik", weights, points[neighbors]), X, atol=1e-6)
    assert_allclose(weights.sum(axis=1), 1)


# Sheets


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sheet", [make_swiss_roll, make_s_curve])
@pytest.mark.parametrize("k", [10, 12])
def test_sheet_is_unrolled(sheet, method, k):
    X, t, _ = sheet(3000, random_state=0)
    Z = LLE(n_neighbors=k, method=method).fit_transform(X)
    assert max(np.abs(np.corrcoef(z, t)[0, 1]) for z in Z.T) > 0.98


@pytest.mark.parametrize("method", ["modified", "hessian", "ltsa"])
@pytest.mark.parametrize("sheet", [make_swiss_roll, make_s_curve])
def test_coordinates_of_the_sheet_are_recovered_up_to_a_linear_map(sheet, method):
    X, _, truth = sheet(3000, random_state=0)
    Z = LLE(n_neighbors=12, method=method).fit_transform(X)
    design = np.column_stack([Z, np.ones(3000)])
    residual = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    assert (residual.var(axis=0) < 5e-4 * truth.var(axis=0)).all()


@pytest.mark.parametrize("method", METHODS)
def test_embedding_is_orthonormal_and_centred(method):
    X = make_swiss_roll(500, random_state=0).X
    lle = LLE(3, n_neighbors=10, method=method).fit(X)
    assert_allclose(lle.embedding_.T @ lle.embedding_, np.eye(3), atol=1e-9)
    assert_allclose(lle.embedding_.sum(axis=0), 0, atol=1e-9)
    largest = np.abs(lle.embedding_).argmax(axis=0)
    assert (lle.embedding_[largest, np.arange(3)] > 0).all()
    assert lle.metadata()["final_objective"] == lle.reconstruction_error_ >= 0


@pytest.mark.parametrize("method", METHODS)
def test_eigen_solvers_agree(method):
    X = make_s_curve(500, random_state=0).X
    first, second = (
        LLE(n_neighbors=10, method=method, eigen_solver=solver).fit_transform(X)
        for solver in ("dense", "arpack")
    )
    assert_allclose(first, second, atol=1e-6)


# New samples


@pytest.mark.parametrize("method", METHODS)
def test_new_samples_of_a_sheet_are_placed_on_the_sheet(method):
    X, t, _ = make_s_curve(2000, random_state=0)
    lle = LLE(n_neighbors=12, method=method).fit(X[:1500])
    axis = np.abs(np.corrcoef(lle.embedding_.T, t[:1500])[-1, :2]).argmax()
    slope, start = np.polyfit(lle.embedding_[:, axis], t[:1500], 1)
    placed = slope * lle.transform(X[1500:])[:, axis] + start
    assert np.sqrt(np.mean((placed - t[1500:]) ** 2)) < 0.05 * np.ptp(t)


def test_transform_of_training_samples_matches_embedding():
    X = make_s_curve(300, random_state=0).X
    lle = LLE(n_neighbors=10).fit(X)
    assert_array_equal(lle.transform(X), lle.embedding_)


@pytest.mark.parametrize("d", [2, 30])
def test_new_samples_are_means_of_their_neighbours(d, rng):
    X = rng.normal(size=(400, d)).astype(np.float32)
    lle = LLE(n_neighbors=7).fit(X[:300])
    for n in (1, 100):
        samples = X[300 : 300 + n].astype(float)
        points, Y = lle._points.astype(float), lle._coordinates
        neighbors = metric_neighbors(samples, 7, points)[1]
        weights = reconstruction_weights(samples, points, neighbors, lle.reg)
        expected = np.einsum("ij,ijk->ik", weights, Y[neighbors])
        assert_allclose(lle.transform(X[300 : 300 + n]), expected, rtol=1e-4, atol=1e-6)


def test_the_search_is_kept_but_not_pickled(rng):
    X = rng.normal(size=(500, 3))
    lle = LLE().fit(X[:400])
    before, index = lle.transform(X[400:]), lle._index
    assert lle._index is index
    copy = pickle.loads(pickle.dumps(lle))
    assert "_search_index" not in lle.__getstate__()
    assert_array_equal(copy.transform(X[400:]), before)
    lle.fit(X[100:])
    assert lle._index is not index
    assert_array_equal(lle.transform(X[100:]), lle.embedding_)


# Duplicate samples and disconnected graphs


@pytest.mark.parametrize("method", METHODS)
def test_duplicate_samples_count_once(method, rng):
    X = make_s_curve(200, random_state=0).X
    rows = np.concatenate([np.arange(200), rng.integers(0, 200, 150), np.full(30, 7)])
    rng.shuffle(rows)
    expected = LLE(n_neighbors=10, method=method).fit(X)
    repeated = LLE(n_neighbors=10, method=method).fit(X[rows])
    assert_allclose(repeated.embedding_, expected.embedding_[rows], atol=1e-9)
    assert_allclose(repeated.transform(X[:5] + 0.01), expected.transform(X[:5] + 0.01), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_connected_components_are_embedded_separately(method):
    first, second = make_s_curve(300, random_state=0).X, make_swiss_roll(400, random_state=1).X
    X = np.concatenate([first, second + 100])
    with pytest.warns(UserWarning, match="neighbour graph has 2 connected components.*n_neighbors"):
        lle = LLE(n_neighbors=10, method=method).fit(X)
    Z = lle.embedding_
    # One scale for both components: the norm of the embedding is that of orthonormal columns.
    size = np.linalg.norm(Z[:300].mean(axis=0) - Z[300:].mean(axis=0)) / np.linalg.norm(
        PCA(2).fit_transform(X)[:300].mean(axis=0) - PCA(2).fit_transform(X)[300:].mean(axis=0)
    )
    for rows, alone in ((slice(300), first), (slice(300, None), second)):
        # The linear map of the coordinates that predicts the samples best, by the normal equations.
        E = LLE(n_neighbors=10, method=method).fit_transform(alone)
        slopes = np.linalg.solve(E.T @ E, E.T @ (alone - alone.mean(axis=0)))
        assert_allclose(pdist(Z[rows]) / size, pdist(E @ slopes), atol=1e-6 * np.ptp(alone))
    # The components do not overlap, and the larger one stays larger.
    gap = np.linalg.norm(Z[:300].mean(axis=0) - Z[300:].mean(axis=0))
    radii = [np.linalg.norm(z - z.mean(axis=0), axis=1).max() for z in (Z[:300], Z[300:])]
    assert sum(radii) < gap
    assert radii[0] < radii[1]
    assert_allclose(np.linalg.norm(Z), 2**0.5)
    placed = lle.transform(X + 1e-6)
    assert np.median(np.linalg.norm(placed - Z, axis=1)) < 0.02 * radii[0]


def test_iris_does_not_collapse():
    # scikit-learn maps one connected component of iris to a single point.
    X = load_iris().data
    for method in METHODS:
        with pytest.warns(UserWarning, match="connected components"):
            Z = LLE(n_neighbors=8, method=method).fit_transform(X)
        assert len(np.unique(Z.round(6), axis=0)) > 100


@pytest.mark.parametrize("n_components", [1, 3])
def test_many_small_components(n_components, rng):
    # Components of two or three samples have fewer eigenvectors than n_components.
    X = rng.normal(size=(40, 3))
    with pytest.warns(UserWarning, match=r"\d+ connected components"):
        lle = LLE(n_components, n_neighbors=1).fit(X)
    assert np.isfinite(lle.embedding_).all()
    assert len(np.unique(lle.embedding_, axis=0)) == 40


def test_closed_groups_warn(rng):
    # Two distant groups, and a sample between them that has neighbours in both.
    groups = [rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 30]
    X = np.concatenate([*groups, [[15.0, 15.0]]])
    with pytest.warns(UserWarning, match="2 groups of samples have no neighbour outside"):
        LLE(n_neighbors=8).fit(X)
    for method in METHODS[1:]:
        Z = LLE(n_neighbors=8, method=method).fit_transform(X)
        assert len(np.unique(Z.round(4), axis=0)) == 61


# Invalid parameters and special samples


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"n_neighbors": 30}, "n_neighbors=30 must be at most n_samples - 1 = 29"),
        ({"n_neighbors": 2**70}, "n_neighbors=.* must be at most n_samples - 1 = 29"),
        ({"n_components": 4}, "n_components=4 must be at most n_features = 3"),
        ({"method": "hessian", "n_neighbors": 4}, "n_neighbors=4 must be at least 6 with method"),
        ({"method": "ltsa", "n_neighbors": 2}, "n_neighbors=2 must be at least 3 with method"),
        ({"method": "modified", "n_neighbors": 1}, "n_neighbors=1 must be at least 2 with.*reduce"),
    ],
)
def test_bad_parameters(params, says, rng):
    with pytest.raises(ValueError, match=says):
        LLE(**params).fit(rng.normal(size=(30, 3)))


def test_smallest_and_largest_n_neighbors(rng):
    X = rng.normal(size=(30, 3))
    for method, smallest in (("standard", 1), ("modified", 2), ("hessian", 6), ("ltsa", 3)):
        for k in (smallest, 29):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The neighbour graph has|.*groups of samples")
                Z = LLE(n_neighbors=k, method=method).fit_transform(X)
            assert np.isfinite(Z).all()


@pytest.mark.parametrize("method", METHODS)
def test_samples_on_a_line_and_on_a_grid(method):
    # Patches of the line have one dimension. Distances on the grid are tied.
    line = np.linspace(0, 1, 50)[:, None] * [1, 2, 3]
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    for X in (line, grid):
        Z = LLE(n_neighbors=6, method=method).fit_transform(X)
        assert np.isfinite(Z).all()
        assert_allclose(Z.T @ Z, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("k", [6, 12])
def test_hessian_method_on_a_curve(k):
    # At the ends of the curve, samples have the same neighbours.
    t = np.linspace(0, 3, 100)
    z = LLE(1, n_neighbors=k, method="hessian").fit_transform(np.c_[np.cos(t), np.sin(t)])[:, 0]
    assert abs(np.corrcoef(z, t)[0, 1]) > 0.9999


def test_hessian_method_if_a_sample_is_not_a_neighbour_of_any_other(rng):
    X = np.vstack([rng.uniform(size=(200, 2)), [[1.5, 0.5]]])
    Z = LLE(n_neighbors=8, method="hessian").fit_transform(np.c_[X, np.zeros(201)])
    basis = np.c_[X, np.ones(201)]
    assert_allclose(basis @ np.linalg.lstsq(basis, Z)[0], Z, atol=1e-6)
