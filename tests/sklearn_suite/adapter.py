"""Adapters that run scikit-learn's own tests on dimetric's learners.

The classes here have scikit-learn's names and signatures, and only translate calls to dimetric.
:func:`load` executes a test module of scikit-learn after two changes of its source: it replaces the
import of the class under test, and a few listed lines.
"""

import inspect
from dataclasses import replace
from importlib import import_module
from types import ModuleType

import numpy as np
import pytest
import sklearn
from scipy import sparse

import dimetric
from dimetric.kernels import Kernel
from dimetric.kernels.kernel import FUNCTION_PARAMETERS as USED
from dimetric.learners.nca import NCARule
from dimetric.manifold._patches import reconstruction_weights
from dimetric.neighbors.metric_search import metric_neighbors
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective


class PCA(dimetric.PCA):
    """PCA that ignores `copy` and `power_iteration_normalizer`."""

    def __init__(
        self,
        n_components=None,
        *,
        copy=True,
        whiten=False,
        svd_solver="auto",
        tol=0.0,
        iterated_power="auto",
        n_oversamples=10,
        power_iteration_normalizer="auto",
        random_state=None,
    ):
        super().__init__(
            n_components,
            whiten=whiten,
            svd_solver=svd_solver,
            tol=tol,
            iterated_power=iterated_power,
            n_oversamples=n_oversamples,
            random_state=random_state,
        )
        self.copy = copy
        self.power_iteration_normalizer = power_iteration_normalizer

    @property
    def mean_(self):
        return self.offset_


class LinearDiscriminantAnalysis(dimetric.LDA):
    """LDA that ignores `solver`, and has no ridge."""

    def __init__(self, solver="svd", shrinkage=None, n_components=None):
        super().__init__(n_components, shrinkage=shrinkage, reg=0)
        self.solver = solver

    @property
    def scalings_(self):
        return self.components_.T


class KernelPCA(dimetric.KPCA):
    """KPCA with scikit-learn's defaults and kernel parameters, from which fit makes a Kernel.

    `eigen_solver` is ignored.
    """

    def __init__(
        self,
        n_components=None,
        *,
        kernel="linear",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        alpha=1.0,
        fit_inverse_transform=False,
        eigen_solver="auto",
        remove_zero_eig=False,
        random_state=None,
    ):
        super().__init__(
            n_components, kernel=kernel, alpha=alpha, fit_inverse_transform=fit_inverse_transform
        )
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.eigen_solver = eigen_solver
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state

    def fit(self, X, y=None):
        theirs = self.kernel
        parameters = {"gamma": "auto" if self.gamma is None else self.gamma}
        parameters |= {"degree": self.degree, "coef0": self.coef0}
        # scikit-learn ignores parameters that the kernel does not use, but dimetric refuses them.
        used = {name: parameters[name] for name, (_, users) in USED.items() if theirs in users}
        self.kernel = Kernel(theirs, params=self.kernel_params, **used)
        try:
            return super().fit(X, y)
        finally:
            self.kernel = theirs


class NeighborhoodComponentsAnalysis(dimetric.NCA):
    """NCA with a function as callback, and the objective under scikit-learn's private name."""

    def __init__(
        self,
        n_components=None,
        *,
        init="auto",
        warm_start=False,
        max_iter=50,
        tol=1e-5,
        callback=None,
        verbose=0,
        random_state=None,
    ):
        super().__init__(
            n_components,
            init=init,
            warm_start=warm_start,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
        )
        self.callback = callback

    def fit(self, X, y):
        if self.callback is not None:
            self.set_callbacks(EachIteration(self.callback))
        return super().fit(X, y)

    def _loss_grad_lbfgs(self, transformation, X, same_class_mask, sign=1.0):
        codes = np.unique(same_class_mask.argmax(axis=1), return_inverse=True)[1]
        order = np.argsort(codes)
        objective = on_maps(PairwiseObjective(NCARule(), X[order], codes[order]))
        loss, gradient = objective(transformation.ravel())
        return -sign * len(X) * loss, -sign * len(X) * gradient


class LocallyLinearEmbedding(dimetric.LLE):
    """LLE that ignores scikit-learn's tolerances."""

    def __init__(
        self,
        *,
        n_neighbors=5,
        n_components=2,
        reg=1e-3,
        eigen_solver="auto",
        tol=1e-6,
        max_iter=100,
        method="standard",
        hessian_tol=1e-4,
        modified_tol=1e-12,
        neighbors_algorithm="auto",
        random_state=None,
        n_jobs=None,
    ):
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            reg=reg,
            method=method,
            eigen_solver=eigen_solver,
        )
        self.tol = tol
        self.max_iter = max_iter
        self.hessian_tol = hessian_tol
        self.modified_tol = modified_tol
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs


def locally_linear_embedding(X, **params):
    """Return the embedding and its reconstruction error."""
    model = LocallyLinearEmbedding(**params).fit(X)
    return model.embedding_, model.reconstruction_error_


def barycenter_kneighbors_graph(X, n_neighbors, reg=1e-3):
    """Return dimetric's reconstruction weights as a sparse matrix."""
    neighbors = metric_neighbors(X, n_neighbors)[1]
    weights = reconstruction_weights(X, X, neighbors, reg).astype(X.dtype)
    starts = np.arange(0, neighbors.size + 1, n_neighbors)
    return sparse.csr_array((weights.ravel(), neighbors.ravel(), starts), shape=(len(X), len(X)))


class EachIteration:
    """Callback that calls a function with the map and the iteration number."""

    def __init__(self, function):
        self.function = function

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if fitted_estimator is not None and context.task_name == "iteration":
            self.function(fitted_estimator.components_.ravel(), context.task_id + 1)


class Isomap(dimetric.Isomap):
    """Isomap that ignores `eigen_solver`, and has the parameter p of the Minkowski metric."""

    def __init__(
        self,
        *,
        n_neighbors=5,
        radius=None,
        n_components=2,
        eigen_solver="auto",
        tol=0,
        max_iter=None,
        path_method="auto",
        neighbors_algorithm="auto",
        n_jobs=None,
        metric="minkowski",
        p=2,
        metric_params=None,
    ):
        super().__init__(
            n_neighbors=n_neighbors,
            radius=radius,
            n_components=n_components,
            path_method=path_method,
            metric=metric,
            metric_params=metric_params,
        )
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.p = p

    def _max_steps(self):
        return 0

    def _neighborhood(self):
        near = super()._neighborhood()
        return replace(near, metric_params={"p": self.p}) if self.metric == "minkowski" else near


class ClassicalMDS(dimetric.MDS):
    """MDS by classical scaling only."""

    def __init__(self, n_components=2, *, metric="euclidean", metric_params=None):
        super().__init__(n_components, metric=metric, metric_params=metric_params)


class MDS(dimetric.MDS):
    """MDS by SMACOF only; fit_transform takes the start as an argument."""

    def __init__(
        self,
        n_components=2,
        *,
        metric_mds=True,
        n_init=1,
        init="random",
        max_iter=300,
        verbose=0,
        eps=1e-6,
        n_jobs=None,
        random_state=None,
        metric="euclidean",
        metric_params=None,
        normalized_stress="auto",
    ):
        super().__init__(
            n_components,
            algorithm="smacof",
            metric=metric,
            metric_params=metric_params,
            metric_mds=metric_mds,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            eps=eps,
            normalized_stress=normalized_stress,
            verbose=verbose,
            random_state=random_state,
        )
        self.n_jobs = n_jobs

    def fit_transform(self, X, y=None, init=None):
        if init is not None:
            self.set_params(init=init)
        return super().fit_transform(X)


def smacof(dissimilarities, *, metric=True, init=None, n_components=2, **params):
    """Return the embedding of dissimilarities and its stress."""
    params |= {"metric_mds": metric, "init": "random" if init is None else init}
    if init is not None:
        n_components = np.shape(init)[1]
    mds = MDS(n_components, metric="precomputed", **params).fit(dissimilarities)
    return mds.embedding_, mds.stress_


def load(name, imported, changed):
    """Return a test module of scikit-learn that tests a class of dimetric.

    Parameters
    ----------
    name : str
        Name of the module.
    imported : tuple of (str, str), or list of tuples
        Imports of the classes under test, and their replacements.
    changed : dict of str to list of (str, str)
        Pieces of the source of each test, by name, and their replacements.
    """
    if not sklearn.__version__.startswith("1.9."):
        pytest.skip("the lists of tests are for scikit-learn 1.9", allow_module_level=True)
    original = import_module(name)
    imports = imported if isinstance(imported, list) else [imported]
    source = _replaced(inspect.getsource(original), imports)
    for test, pieces in changed.items():
        text = inspect.getsource(getattr(original, test))
        source = _replaced(source, [(text, _replaced(text, pieces))])
    module = ModuleType(name)
    exec(compile(source, original.__file__, "exec"), vars(module))
    return module


def _replaced(text, pieces):
    for old, new in pieces:
        if old not in text:
            raise LookupError(f"The source of scikit-learn's tests does not contain {old!r}.")
        text = text.replace(old, new)
    return text


def names_of(module):
    """Return the names of a module's tests."""
    return {name for name in vars(module) if name.startswith("test_")}


def numeric_fraction(run, excluded):
    """Return the fraction of the numeric tests that run."""
    ours = sum(kind == "numeric" for kind in run.values())
    return ours / (ours + sum(kind == "numeric" for kind, _ in excluded.values()))


def fraction(run, excluded):
    """Return the number of tests that run, and the number of all tests of the class."""
    return len(run), len(run) + len(excluded)
