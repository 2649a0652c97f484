"""Compare embeddings of the Swiss roll.

``python examples/swiss_roll.py`` prints how well each embedding preserves neighbourhoods and how
closely it matches the flat sheet from which the roll was made. ``python examples/swiss_roll.py
roll.png`` also plots the embeddings (requires matplotlib, the extra ``plot``).
"""

import sys
import time

import numpy as np
from scipy.spatial import procrustes

from dimetric import LLE, MDS, PCA, Isomap
from dimetric.data import make_swiss_roll
from dimetric.manifold import scan_neighbors
from dimetric.quality import embedding_quality

EMBEDDINGS = {
    "PCA": PCA(n_components=2),
    "MDS, SMACOF": MDS(algorithm="smacof"),
    "Isomap": Isomap(n_neighbors=10),
    "Isomap, 100 landmarks": Isomap(n_neighbors=10, n_landmarks=100, random_state=0),
    "LLE": LLE(n_neighbors=12),
    "LLE, LTSA": LLE(n_neighbors=12, method="ltsa"),
}


def main(plot_file: str | None = None) -> None:
    """Print the tables, and plot the embeddings if a file name is given."""
    X, turn, sheet = make_swiss_roll(1500, random_state=0)
    print("neighbours  connected components  decrease in geodesic distances")
    scan = scan_neighbors(X, [3, 4, 6, 8, 10, 15, 20, 30, 40], random_state=0)
    for k, parts, drop, usable in zip(
        scan.n_neighbors, scan.n_parts, scan.drop, scan.usable, strict=True
    ):
        print(f"{k:10d}  {parts:20d}  {drop:30.1%}{'' if usable else '  unusable'}")
    print(f"\n{'':22} {'seconds':>7} {'trust':>6} {'cont.':>6} {'R_NX':>6} {'disparity':>14}")
    embedded = {}
    for name, embedding in EMBEDDINGS.items():
        started = time.perf_counter()
        Z = embedded[name] = embedding.fit_transform(X)
        seconds = time.perf_counter() - started
        quality = embedding_quality(X, Z, n_neighbors=10)
        print(
            f"{name:22} {seconds:7.2f} {quality.trustworthiness:6.3f} {quality.continuity:6.3f} "
            f"{quality.r_nx_auc:6.3f} {procrustes(sheet, Z)[2]:14.4f}"
        )
    if plot_file is not None:
        plot(embedded, turn, plot_file)


def plot(embedded: dict[str, np.ndarray], turn: np.ndarray, plot_file: str) -> None:
    """Plot each embedding, coloured by the position along the roll."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
    for ax, (name, Z) in zip(axes.flat, embedded.items(), strict=True):
        ax.scatter(*Z.T, c=turn, s=5)
        ax.set(title=name, xticks=[], yticks=[])
    figure.savefig(plot_file, dpi=120)
    print(f"\nsaved: {plot_file}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
