"""Works on a GPU, against absolute times of an H200.

The tolerances are small, so that the fits converge. NCA takes at most 50 iterations.
"""

from functools import partial

from _bar.data import image_like, mnist
from _bar.process import Side
from _bar.work import Bar, Work


def _fit(name: str, data: partial, seconds: float, **params: object) -> Work:
    return Work(
        row="gpu-fits",
        name=f"{name} on a GPU",
        data=data,
        ours=Side("dimetric", "fit_on_gpu", {"name": name, "params": params}),
        limit=Side("limit", "all_pairs_on_gpu", {"k": params.get("n_components")}),
        limit_per_iteration=True,
        bar=Bar(seconds=seconds),
        needs=("cuda", "data"),
    )


WORKS = (
    Work(
        row="gpu-evaluation",
        name="NCA loss and gradient on a GPU",
        data=partial(image_like, 60_000, 784),
        ours=Side("dimetric", "nca_evaluation_on_gpu", {"k": 32}),
        limit=Side("limit", "all_pairs_on_gpu", {"k": 32}),
        bar=Bar(seconds=0.025),
        needs=("cuda",),
    ),
    _fit("NCA", partial(mnist, None), 1.5, n_components=32, init="pca", max_iter=50, tol=1e-5),
    _fit("LMNN", partial(mnist, 50), 3, tol=1e-6),
    *(_fit(name, partial(mnist, 50), 3, tol=1e-5) for name in ("MCML", "LDML", "DMLEig")),
)
