"""Reference implementations of the learners' objectives, and their optima computed by cvxpy.

The objectives of MCML and LMNN are means over samples, and that of LDML is a mean over unordered
pairs, plus ``reg * v * tr(M) / d``, where v is the mean variance of the features. M may be any
symmetric matrix. Memory is O(n^2 d), so use few samples.
"""

import contextlib
import warnings

import cvxpy as cp
import numpy as np
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from dimetric.linalg.psd import project_psd


def squared_distances(X, M):
    """Return the n x n squared distances under a metric."""
    Z = X[:, None, :] - X[None, :, :]
    return np.einsum("ijk,kl,ijl->ij", Z, M, Z)


def weighted_scatter(X, W):
    """Return the sum over pairs of W_ij (x_i - x_j)(x_i - x_j)^T."""
    Z = X[:, None, :] - X[None, :, :]
    return np.einsum("ij,ijk,ijl->kl", W, Z, Z)


def is_psd(M):
    """Return whether M is symmetric and has no negative eigenvalue, up to rounding."""
    values = np.linalg.eigvalsh((M + M.T) / 2)
    rounding = len(M) * np.finfo(M.dtype).eps * np.abs(values).max()
    return bool(np.abs(M - M.T).max() <= rounding and values[0] >= -rounding)


def logdet_divergence(M, M0):
    """Return tr(M M0^-1) - log det(M M0^-1) - d, the Bregman divergence of -log det."""
    ratio = M @ np.linalg.inv(M0)
    return np.trace(ratio) - np.linalg.slogdet(ratio).logabsdet - len(M)


def jeffrey_divergence(P, Q):
    """Return the sum of both Kullback-Leibler divergences of centred Gaussians."""
    return (logdet_divergence(P, Q) + logdet_divergence(Q, P)) / 2


def ridge_weight(X, reg):
    """Return the weight of tr(M) in the objectives: reg times the mean variance, divided by d."""
    return reg * np.var(X, axis=0).mean() / X.shape[1]


def friends(y):
    """Return an n x n matrix, True where two different samples have the same class."""
    y = np.asarray(y)
    return (y[:, None] == y[None, :]) & ~np.eye(len(y), dtype=bool)


def nearest_targets(X, y, k):
    """Return all pairs (i, j) where j is one of the k nearest samples of the class of i."""
    D = np.where(friends(y), squared_distances(X, np.eye(X.shape[1])), np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.array([(i, j) for i in range(len(X)) for j in order[i] if np.isfinite(D[i, j])])


def mcml_value(X, y, M, *, reg=0.0):
    """Return the mean of sum_j p0(j|i) d2(i,j) + log sum_{k != i} exp(-d2(i,k)).

    Samples that are alone in their class are excluded.
    """
    D = squared_distances(X, M)
    same = friends(y)
    counted = same.any(axis=1)
    pull = np.sum(D * same, axis=1)[counted] / np.sum(same, axis=1)[counted]
    np.fill_diagonal(D, np.inf)
    total = np.sum(pull) + np.sum(logsumexp(-D[counted], axis=1))
    return total / counted.sum() + ridge_weight(X, reg) * np.trace(M)


def mcml_optimum(X, y, *, reg=0.0):
    """Return (M, value)."""
    M = cp.Variable((X.shape[1], X.shape[1]), PSD=True)
    same = friends(y)
    total = 0.0
    for i in np.flatnonzero(same.any(axis=1)):
        D = _distances(X[i] - np.delete(X, i, axis=0), M)
        total += cp.sum(D[np.flatnonzero(np.delete(same[i], i))]) / same[i].sum()
        total += cp.log_sum_exp(-D)
    _solve(total / same.any(axis=1).sum(), M, ridge_weight(X, reg))
    return project_psd(M.value), mcml_value(X, y, project_psd(M.value), reg=reg)


def ldml_value(X, y, M, b, *, reg=0.0):
    """Return minus the mean log-likelihood of sigma(b - d2) over the pairs i < j."""
    i, j = np.triu_indices(len(X), 1)
    sign = np.where(friends(y)[i, j], 1.0, -1.0)
    margin = sign * (b - squared_distances(X, M)[i, j])
    return np.logaddexp(0, -margin).mean() + ridge_weight(X, reg) * np.trace(M)


def ldml_optimum(X, y, *, b=None, reg=0.0):
    """Return (M, b, value). If b is None, it is optimised too."""
    rows = np.stack(np.triu_indices(len(X), 1), axis=1)
    return ldml_pairs_optimum(X, rows, friends(y)[tuple(rows.T)], b=b, reg=reg)


def ldml_pairs_optimum(X, rows, similar, *, b=None, reg=0.0):
    """Return (M, b, value) for the mean over the given pairs. If b is None, it is optimised too."""
    M = cp.Variable((X.shape[1], X.shape[1]), PSD=True)
    threshold = cp.Variable() if b is None else b
    i, j = rows.T
    sign = np.where(similar, 1.0, -1.0)
    margin = cp.multiply(sign, threshold - _distances(X[i] - X[j], M))
    _solve(cp.sum(cp.logistic(-margin)) / len(i), M, ridge_weight(X, reg))
    b, M = float(threshold.value) if b is None else b, project_psd(M.value)
    margin = sign * (b - squared_distances(X, M)[i, j])
    return M, b, np.logaddexp(0, -margin).mean() + ridge_weight(X, reg) * np.trace(M)


def triplets_optimum(X, triplets, *, mu=0.5, reg=0.0):
    """Return (M, value) for LMNN's mean of pulls and pushes over triplets."""
    M = cp.Variable((X.shape[1], X.shape[1]), PSD=True)
    i, j, l = triplets.T
    near, far = _distances(X[i] - X[j], M), _distances(X[i] - X[l], M)
    loss = (1 - mu) * cp.sum(near) + mu * cp.sum(cp.pos(1 + near - far))
    _solve(loss / len(triplets), M, ridge_weight(X, reg))
    D = squared_distances(X, project_psd(M.value))
    terms = (1 - mu) * D[i, j] + mu * np.maximum(0, 1 + D[i, j] - D[i, l])
    M = project_psd(M.value)
    return M, terms.mean() + ridge_weight(X, reg) * np.trace(M)


def lmnn_value(X, y, M, targets, weights=None, *, mu=0.5, reg=0.0):
    """Return ((1 - mu) pull + mu push) / n.

    In each pair (i, j) of `targets`, j is a target of i. `weights` are those of the pairs.
    """
    D = squared_distances(X, M)
    y = np.asarray(y)
    weights = np.ones(len(targets)) if weights is None else weights
    pull = sum(w * D[i, j] for (i, j), w in zip(targets, weights, strict=True))
    push = sum(
        w * np.maximum(0, 1 + D[i, j] - D[i, y != y[i]]).sum()
        for (i, j), w in zip(targets, weights, strict=True)
    )
    return ((1 - mu) * pull + mu * push) / len(X) + ridge_weight(X, reg) * np.trace(M)


def lmnn_optimum(X, y, targets, weights=None, *, mu=0.5, reg=0.0):
    """Return (M, value)."""
    M = cp.Variable((X.shape[1], X.shape[1]), PSD=True)
    y = np.asarray(y)
    weights = np.ones(len(targets)) if weights is None else weights
    triplets = np.array(
        [
            (i, j, l, w)
            for (i, j), w in zip(targets, weights, strict=True)
            for l in np.flatnonzero(y != y[i])
        ]
    )
    i, j, l = triplets[:, :3].astype(int).T
    hinge = cp.pos(1 + _distances(X[i] - X[j], M) - _distances(X[i] - X[l], M))
    pull = weights @ _distances(X[targets[:, 0]] - X[targets[:, 1]], M)
    loss = ((1 - mu) * pull + mu * triplets[:, 3] @ hinge) / len(X)
    _solve(loss, M, ridge_weight(X, reg))
    best = project_psd(M.value)
    return best, lmnn_value(X, y, best, targets, weights, mu=mu, reg=reg)


def _distances(Z, M):
    """Return the squared lengths of the rows of Z under M, as an expression of cvxpy."""
    return cp.sum(cp.multiply(Z @ M, Z), axis=1)


def _solve(loss, M=None, ridge=0.0, *, constraints=()):
    """Minimise to 1e-8, or at least to 1e-6. Raise a SolverError if that fails."""
    ridge = ridge * cp.trace(M) if M is not None else 0.0
    # Clarabel stalls on some problems, mostly if the objective is a mean (scale 1).
    for scale in (1000.0, 100.0, 1.0):
        problem = cp.Problem(cp.Minimize(scale * (loss + ridge)), list(constraints))
        good = {"tol_gap_abs": 1e-8 * scale, "tol_gap_rel": 1e-8, "tol_feas": 1e-8}
        fair = {f"reduced_{name}": 100 * tol for name, tol in good.items()}
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver=cp.CLARABEL, **good, **fair)
            return
    raise cp.SolverError("Clarabel did not reach a gap of 1e-6. Try other data, or reg > 0.")


def similar_scatter(X, y):
    """Return the scatter of the differences of all pairs of the same class."""
    i, j = np.triu_indices(len(X), 1)
    V = (X[i] - X[j])[friends(y)[i, j]]
    return V.T @ V


def lsi_value(X, y, M):
    """Return the sum of distances over all pairs of different classes."""
    i, j = np.triu_indices(len(X), 1)
    D = squared_distances(X, M)[i, j][~friends(y)[i, j]]
    return np.sum(np.sqrt(D.clip(0)))


def lsi_optimum(X, y, *, delta=0.0, diagonal=False):
    """Return the largest sum of distances between classes; see `_bounded_optimum`."""
    best, unit, n = _bounded_optimum(X, y, delta, lambda D: cp.sum(cp.sqrt(D)) / D.size, diagonal)
    return n * best * unit**0.5


def dml_eig_optimum(X, y, *, delta=0.0):
    """Return the largest minimum squared distance between classes; see `_bounded_optimum`."""
    best, unit, _ = _bounded_optimum(X, y, delta, cp.min)
    return best * unit


def n_directions(X, diagonal=False):
    """Return the number of directions, or of features, in which the samples vary."""
    return np.sum(np.ptp(X, axis=0) > 0) if diagonal else np.linalg.matrix_rank(X - X.mean(axis=0))


def _bounded_optimum(X, y, delta, gain, diagonal=False):
    """Return (largest gain, unit of squared distances, number of dissimilar pairs).

    The metric M satisfies <S, M> <= 1, where S is the scatter of similar pairs plus delta times its
    mean eigenvalue, over directions in which the samples vary.
    """
    i, j = np.triu_indices(len(X), 1)
    V = (X[i] - X[j])[~friends(y)[i, j]]
    V = V[np.any(V != 0, axis=1)]
    S = similar_scatter(X, y)
    S = S + delta * np.trace(S) / n_directions(X, diagonal) * np.eye(len(S))
    V = V / np.sqrt(np.diag(S)) if diagonal else V @ np.linalg.inv(np.linalg.cholesky(S)).T
    unit = np.mean(V**2)  # mean squared distance under I / d, which has trace 1
    if diagonal:
        w = cp.Variable(len(S), nonneg=True)
        D, used = (V**2 / unit) @ w, cp.sum(w)
    else:
        M = cp.Variable((len(S), len(S)), PSD=True)
        D, used = _distances(V / unit**0.5, M), cp.trace(M)
    _solve(-gain(D), constraints=[used <= 1])
    return float(gain(D).value), unit, len(V)


def itml_value(V, similar, M, *, upper, lower, gamma=1.0):
    """Return tr M - log det M - d plus the penalty of the slacks, for differences V of pairs."""
    D = np.einsum("ij,jk,ik->i", V, M, V)
    ratio = np.where(similar, np.maximum(D / upper, 1), np.minimum(D / lower, 1))
    slack = np.sum(ratio - np.log(ratio) - 1)
    return np.trace(M) - np.linalg.slogdet(M)[1] - len(M) + gamma * slack


def itml_optimum(V, similar, *, upper, lower, gamma=1.0):
    """Return (M, value), where the prior is the identity."""
    d = V.shape[1]
    M, slack = cp.Variable((d, d), PSD=True), cp.Variable(len(V))
    sign, bounds = np.where(similar, 1.0, -1.0), np.where(similar, upper, lower)
    ratio = cp.multiply(slack, 1 / bounds)
    loss = cp.trace(M) - cp.log_det(M) - d + gamma * cp.sum(ratio - cp.log(ratio) - 1)
    _solve(loss, constraints=[cp.multiply(sign, _distances(V, M) - slack) <= 0])
    return M.value, itml_value(V, similar, M.value, upper=upper, lower=lower, gamma=gamma)


def assert_same_evaluation(found, expected, L, tol):
    """Compare the losses and the Laplacian products of two objectives at a map."""
    Z = found.points @ L.T
    for V in (Z, found.points):
        (loss, product, _), (expected_loss, expected_product, _) = (
            each.evaluate(Z, V, each.theta) for each in (found, expected)
        )
        assert_allclose(loss, expected_loss, rtol=tol)
        assert_allclose(product, expected_product, atol=tol * np.abs(expected_product).max())
