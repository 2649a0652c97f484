"""Maps of frozen embeddings for retrieval."""

from contextlib import nullcontext
from dataclasses import replace
from math import inf
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self, cast

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import ArgumentErrorMixin
from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.namespaces import Array, asarray_like, is_host, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._compat import Interval, StrOptions, fit_method
from dimetric._warnings import warn
from dimetric.learners._fitting.verbose import report
from dimetric.learners._retrieval.choice import choose_reg, fit_metadata
from dimetric.learners._retrieval.function import Sides, mapped
from dimetric.learners._retrieval.solve import Options, fit_maps, initial_maps
from dimetric.learners._retrieval.vectors import checked_sets, checked_vectors
from dimetric.neighbors.ranking import ranked_documents
from dimetric.solvers import LBFGS, Solver
from dimetric.supervision._groups import checked_groups

MAX_SOFTMAX_DOCUMENTS = 20_000  # documents in the softmax, unless n_candidates is given
LEARNED_SCALE_START = 10.0
CHOICE_SHARE = 0.75  # part of a time limit for the choice of reg


class RetrievalAdapter(ArgumentErrorMixin, BaseEstimator):
    r"""Learn linear maps of frozen embeddings, so that queries find their relevant documents.

    With queries :math:`q_i` and documents :math:`d_j`, the adapter minimises

    .. math:: \frac{1}{n} \sum_i -\log \sum_{j \in R_i} g_{ij}\, p_{ij}
              + reg\, (|W - W_0|_F^2 + |V - V_0|_F^2), \qquad
              p_{ij} = \operatorname{softmax}_j\bigl(s \cos(W q_i, V d_j)\bigr)

    over the maps W of queries and V of documents. :math:`R_i` holds the relevant documents of query
    i, and :math:`g_{ij}` their grades, relative to the highest one. The softmax covers all
    documents, so no learning rate, batch or sampling of negatives is needed, and no relevant
    document counts as a negative one. :math:`W_0` and :math:`V_0` are the identity, or the leading
    principal axes if `n_components` is smaller than the number of features.

    Parameters
    ----------
    n_components : int, optional
        Number k of components. The default is the number of features.
    sides : {"query", "both", "two"}, default="query"
        Learn W only, so that documents need not be mapped again ("query"), one map W = V ("both",
        whose ridge counts once), or two maps ("two"). With two maps, the objective has local
        minima, and the solver finds one near the initial maps.
    scale : float or "learn", default=10.0
        The scale s. "learn" learns it together with the maps, between 1 and 100.
    reg : float or "auto", default="auto"
        Weight of the ridge. "auto" tries several values by cross-validation over queries, or over
        `groups`, and takes the one with the best nDCG@10. If a t-test at the
        level 0.05 shows no improvement on the initial maps, they are returned, and a warning says
        so.
    solver : "lbfgs" or Solver, default="lbfgs"
        The solver.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-4
        Tolerance of the solver.
    n_candidates : int, optional
        Number of documents in the softmax if there are more: the relevant ones, the best ones under
        the current maps, and random ones, weighted so that they represent the rest. They are
        chosen anew in each of three rounds. By default, 20,000.
    cv : int, default=3
        Number of folds for ``reg="auto"``. At most 1,000 random queries are used.
    verbose : int, default=0
        Log each iteration if 1.
    random_state : int, RandomState or None, default=None
        Random seed of folds and candidates.

    Attributes
    ----------
    query_components_, document_components_ : array of shape (n_components, n_features)
        The maps W and V.
    scale_ : float
        The scale s.
    is_identity_ : bool
        Whether the adapter returns the initial maps, because no learned ones were better.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from dimetric.supervision import Relevance
    >>> rng = np.random.RandomState(0)
    >>> topics, noise = rng.randn(5, 8), 3 * rng.randn(300, 8) * (np.arange(8) > 3)
    >>> X = topics[np.arange(300) % 5] + noise
    >>> relevance = Relevance.from_labels(np.arange(200) % 5, np.arange(100) % 5)
    >>> adapter = RetrievalAdapter(sides="both", random_state=0)
    >>> adapter.fit(X[:200], X[200:], relevance)
    RetrievalAdapter(random_state=0, sides='both')
    >>> adapter.is_identity_, adapter.transform_queries(X[:3]).shape
    (False, (3, 8))
    >>> scores, positions = adapter.search(X[:1], X[200:], n_neighbors=3)
    >>> positions % 5  # topics of the documents
    array([[0, 0, 0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "sides": [StrOptions({"query", "both", "two"})],
        "scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"learn"})],
        "reg": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "solver": [StrOptions({"lbfgs"}), Solver],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_candidates": [Interval(Integral, 2, None, closed="left"), None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        sides: str = "query",
        scale: float | str = 10.0,
        reg: float | str = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        n_candidates: int | None = None,
        cv: int = 3,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.sides = sides
        self.scale = scale
        self.reg = reg
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_candidates = n_candidates
        self.cv = cv
        self.verbose = verbose
        self.random_state = random_state

    @fit_method
    def fit(self, queries: Array, documents: Array, relevance: Any, *, groups: Any = None) -> Self:
        """Learn the maps.

        Vectors are divided by their norms. Queries without a relevant document are left out, and
        a warning gives their number.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Vectors of the queries, as a NumPy array or an array of any array API library.
        documents : array-like of shape (n_documents, n_features)
            Vectors of the documents. They are converted to the library, dtype and device of the
            queries.
        relevance : Relevance or array-like of shape (m, 2) or (m, 3)
            The relevant documents: positions of a query and a document, and optionally a grade.
        groups : array-like of shape (n_queries,), optional
            Groups of queries, such as intents or customers. ``reg="auto"`` then uses folds that do
            not split groups, which measures the gain for new groups.

        Returns
        -------
        self : object
            The fitted adapter.
        """
        started = perf_counter()
        for name in [each for each in vars(self) if each.endswith("_")]:
            delattr(self, name)  # after an error, the adapter is unfitted
        metadata = self._fit(queries, documents, relevance, groups)
        self._metadata = metadata | {"time": perf_counter() - started}
        if metadata["n_queries_without_relevant"]:
            warn(
                f"{metadata['n_queries_without_relevant']} of {len(queries)} queries have no "
                "relevant document and are left out."
            )
        if self.is_identity_:
            warn(f"RetrievalAdapter returns the initial maps: {metadata['reason']}.")
        elif not metadata["converged"]:
            message = f"RetrievalAdapter did not converge: {metadata['reason']}."
            warn(f"{message} Raise max_iter, tol or reg.", ConvergenceWarning)
        return self

    def _fit(
        self, queries: Array, documents: Array, relevance: Any, groups: Any, seconds: float = inf
    ) -> dict[str, Any]:
        """Set the fitted attributes in about `seconds` at most, and return the metadata."""
        started = perf_counter()
        Q, D, known, rows = checked_sets(queries, documents, relevance)
        if not len(rows):
            raise ValueError("No query has a relevant document, so there is nothing to learn from.")
        groups = None if groups is None else checked_groups(groups, len(queries))[rows]
        rng = random_generator(self.random_state)
        options = self._options(int(rng.randint(2**31 - 1)), started + seconds)
        k, d = self.n_components or Q.shape[1], Q.shape[1]
        if k > d:
            raise ValueError(f"n_components={k} must be at most the number of features, {d}.")
        scale = LEARNED_SCALE_START if self.scale == "learn" else float(self.scale)
        initial = initial_maps(Q, D, k, scale)
        choice = fit = None
        # Beside an accelerator, the host only has vectors as long as a map. Threads of BLAS would
        # wait for each other longer than they compute.
        with nullcontext() if is_host(Q) else one_blas_thread():
            if self.reg == "auto":
                limited = replace(options, deadline=started + CHOICE_SHARE * seconds)
                choice = choose_reg(Q, D, known, groups, initial, limited, self.cv)
            reg = float(self.reg) if choice is None else choice.reg
            if reg is not None:
                fit = fit_maps(Q, D, known, initial, reg, options, callback=self._report)
        maps = initial if fit is None else fit.maps
        self.query_components_ = asarray_like(maps.queries, Q)
        self.document_components_ = asarray_like(maps.documents, Q)
        self.scale_, self.n_features_in_ = float(maps.scale), d
        self.is_identity_ = fit is None
        return {
            "n_components": k,
            "n_queries": len(rows),
            "n_queries_without_relevant": len(queries) - len(rows),
            "n_documents": D.shape[0],
            "scale": self.scale_,
            "reg": reg,
            "is_identity": self.is_identity_,
            **fit_metadata(fit, choice),
        }

    def _options(self, seed: int, deadline: float) -> Options:
        return Options(
            sides=cast(Sides, self.sides),
            learns_scale=self.scale == "learn",
            n_candidates=self.n_candidates or MAX_SOFTMAX_DOCUMENTS,
            solver=LBFGS() if isinstance(self.solver, str) else self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
            seed=seed,
            deadline=deadline,
        )

    def _report(self, value: float, n_iter: int) -> None:
        """Log an iteration."""
        if self.verbose:
            report("RetrievalAdapter: iteration %d, objective %.6g", n_iter, value)

    def transform_queries(self, queries: Array) -> Array:
        """Return the mapped queries, divided by their norms.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            Vectors, of any length but 0.

        Returns
        -------
        U : array of shape (n_queries, n_components)
            Unit vectors.
        """
        check_is_fitted(self)
        return self._mapped(queries, "queries", self.query_components_)

    def transform_documents(self, documents: Array) -> Array:
        """Return the mapped documents, divided by their norms. See :meth:`transform_queries`.

        Parameters
        ----------
        documents : array-like of shape (n_documents, n_features)
            Vectors, of any length but 0.

        Returns
        -------
        V : array of shape (n_documents, n_components)
            Unit vectors.
        """
        check_is_fitted(self)
        return self._mapped(documents, "documents", self.document_components_)

    def search(
        self, queries: Array, documents: Array, n_neighbors: int = 10
    ) -> tuple[Array, Array]:
        """Return the best documents of each query by the cosine of the mapped vectors.

        Parameters
        ----------
        queries, documents : array-like of shape (n_queries, n_features), (n_documents, n_features)
            Vectors that are not mapped yet.
        n_neighbors : int, default=10
            Number of documents to return, at most all of them.

        Returns
        -------
        scores : array of shape (n_queries, n_neighbors)
            Cosines, descending.
        positions : array of shape (n_queries, n_neighbors)
            Positions of the documents.
        """
        U = self.transform_queries(queries)
        return ranked_documents(
            U, asarray_like(self.transform_documents(documents), U), n_neighbors
        )

    def metadata(self) -> dict[str, Any]:
        """Return information about the fit, such as the chosen `reg`, iterations and time."""
        check_is_fitted(self)
        return dict(self._metadata)

    def _mapped(self, X: Array, name: str, components: Array) -> Array:
        X = checked_vectors(X, name)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"{name} have {X.shape[1]} features, but RetrievalAdapter was fitted with "
                f"{self.n_features_in_} features."
            )
        return mapped(X, to_host(components))[0]
