"""Works of embeddings and of kernel PCA."""

from functools import partial

from _bar import qualities
from _bar.data import blobs, distances, images, normal, roll
from _bar.process import Side
from _bar.work import Bar, Work

EMBEDDING = {"inputs": ["X"], "results": ["embedding_"]}
LLE_RATIOS = {"standard": 4, "ltsa": 15, "hessian": 15}


def _fit(library: str, name: str, **params: object) -> Side:
    return Side(library, "fit", {"name": name, "params": params, **EMBEDDING})


def _lle(method: str, ratio: float) -> Work:
    params = {"n_neighbors": 12, "method": method}
    return Work(
        row="manifold",
        name=f"LLE, {method}, scikit-learn",
        data=partial(roll, 10_000),
        ours=_fit("dimetric", "LLE", **params),
        peer=_fit("scikit_learn", "LocallyLinearEmbedding", **params, random_state=0, n_jobs=-1),
        limit=Side("limit", "neighborhoods", {"n_neighbors": 12, "eigen": method != "standard"}),
        bar=Bar(ratio),
        quality=qualities.CORRELATION,
    )


def _smacof() -> Work:
    n_iter = 40
    params = {"n_init": 1, "init": "random", "random_state": 0, "eps": 0, "max_iter": n_iter}
    return Work(
        row="manifold",
        name=f"SMACOF, {n_iter} iterations, scikit-learn",
        data=partial(normal, 2000, 10, 0),
        ours=_fit("dimetric", "MDS", algorithm="smacof", **params),
        peer=_fit("scikit_learn", "MDS", **params),
        # Each iteration computes all distances, and one product with the matrix of weights.
        limit=Side("limit", "all_pairs", {"k": 2}),
        limit_per_iteration=True,
        bar=Bar(8),
        quality=qualities.STRESS,
    )


def _landmarks(n: int, bar: Bar) -> Work:
    return Work(
        row="landmarks",
        name="Isomap, 300 landmarks",
        data=partial(roll, n),
        ours=_fit("dimetric", "Isomap", n_neighbors=10, n_landmarks=300, random_state=0),
        bar=bar,
        quality=qualities.DISPARITY,
        quick=False,
        seconds_limit=600,
    )


def _kernel_pca(
    row: str, n: int, k: int, solvers: tuple[str, ...], ratio: float, *, quick: bool = True
) -> Work:
    """Return a work against the fastest of some solvers of scikit-learn."""
    gamma = 0.05
    result = {"inputs": ["X"], "results": ["eigenvalues_"]}
    ours = {"name": "KPCA", "params": {"n_components": k}, "kernel": {"gamma": gamma}, **result}
    params = {"n_components": k, "kernel": "rbf", "gamma": gamma, "random_state": 0}
    theirs = {"name": "KernelPCA", "params": params, "choice": "eigen_solver", "values": solvers}
    return Work(
        row=row,
        name=f"KPCA to {k}, scikit-learn's {' or '.join(solvers)}",
        data=partial(blobs, n),
        ours=Side("dimetric", "fit", ours),
        peer=Side("scikit_learn", "fastest_fit", theirs | result),
        limit=Side("limit", "kernel_and_products", {"k": k}),
        bar=Bar(ratio),
        quality=qualities.EIGENVALUES,
        quick=quick,
    )


WORKS = (
    Work(
        row="manifold",
        name="Isomap, scikit-learn",
        data=partial(roll, 8000),
        quick_data=partial(roll, 4000),
        ours=_fit("dimetric", "Isomap", n_neighbors=10),
        peer=_fit("scikit_learn", "Isomap", n_neighbors=10),
        limit=Side("limit", "square_and_multiply", {"k": 10}),
        bar=Bar(6),
        quality=qualities.DISPARITY,
    ),
    Work(
        row="manifold",
        name="Classical MDS, scikit-learn",
        data=partial(distances, 4000),
        ours=Side("dimetric", "fit_distances", {"name": "MDS", "params": {}}),
        peer=Side(
            "scikit_learn",
            "fit",
            {
                "name": "ClassicalMDS",
                "params": {"metric": "precomputed"},
                "inputs": ["D"],
                "results": ["embedding_"],
            },
        ),
        limit=Side("limit", "square_and_multiply", {"k": 2}),
        bar=Bar(100),
        quality=qualities.VARIANCE,
    ),
    _smacof(),
    *(_lle(method, ratio) for method, ratio in LLE_RATIOS.items()),
    _landmarks(100_000, Bar(seconds=8, megabytes=600)),
    _landmarks(1_000_000, Bar()),
    _kernel_pca("kpca", 5000, 10, ("auto",), 25),
    _kernel_pca("kpca", 5000, 10, ("arpack", "randomized"), 1.5),
    *(
        _kernel_pca("kpca-sizes", n, k, ("arpack", "randomized"), 1, quick=False)
        for n in (500, 1000, 2500, 5000, 10_000)
        for k in (2, 50, 100)
    ),
    Work(
        row="images",
        name="LLE, standard, scikit-learn",
        data=partial(images, 2000, 50),
        ours=_fit("dimetric", "LLE", n_neighbors=12),
        peer=_fit("scikit_learn", "LocallyLinearEmbedding", n_neighbors=12, random_state=0),
        bar=Bar(1),
        needs=("data",),
    ),
)
