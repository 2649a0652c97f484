"""Figures 16 and 17 of the tutorial: posteriors of Bayesian comparisons in triangles."""

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dimetric import NCMC, NCMML, NCMCClassifier, NCMClassifier, benchmark
from dimetric.plot import SimplexDisplay


def figure_16():
    """Pairwise Bayesian comparison of learners with 3-NN."""
    by_learner = scores("basic-3nn-test.csv", [None, "NCA", "DMLMJ", "LMNN"])
    pairs = [("Euclidean", "NCA"), ("Euclidean", "DMLMJ"), ("Euclidean", "LMNN"),
             ("NCA", "DMLMJ"), ("NCA", "LMNN"), ("DMLMJ", "LMNN")]  # fmt: skip
    return simplexes(by_learner, pairs)


def figure_17():
    """Bayesian comparison of centroid classifiers with and without a learned distance."""
    by_learner = scores(
        "ncm-test.csv",
        {
            "Euclidean + NCM": NCMClassifier(), "NCMML": NCMClassifier(learner=NCMML()),
            "Euclidean + NCM (2 ctrd)": NCMCClassifier(2),
            "NCMC (2 ctrd)": NCMCClassifier(2, learner=NCMC(n_centroids=2)),
            "Euclidean + NCM (3 ctrd)": NCMCClassifier(3),
            "NCMC (3 ctrd)": NCMCClassifier(3, learner=NCMC(n_centroids=3)),
        },
    )  # fmt: skip
    names = list(by_learner)
    return simplexes(by_learner, list(zip(names[::2], names[1::2], strict=True)))


def scores(file: str, learners) -> dict[str, np.ndarray]:
    """Return the published scores or, if they are missing, our scores on three data sets."""
    table = Path(os.environ.get("DIMETRIC_DATA", ""), "paper_tables", file)
    names = [each or "Euclidean" for each in learners]
    if not table.is_file():
        print("  DIMETRIC_DATA has no published scores: using dimetric on three small data sets")
        result = benchmark.run(learners, ["iris", "wine", "breast_cancer"], cv=5)
        return dict(zip(names, result.scores().values.T, strict=True))
    with table.open(newline="", encoding="utf-8") as opened:
        head, *rows = list(csv.reader(opened))
    rows = [row for row in rows if not row[0].startswith("AVG")]
    columns = {name: head.index(name) for name in names}
    print(f"  using the published scores on {len(rows)} data sets")
    return {name: np.array([float(row[j]) for row in rows]) for name, j in columns.items()}


def simplexes(by_learner, pairs):
    """Draw a triangle for each pair of learners."""
    n_rows = -(-len(pairs) // 3)
    figure, axes = plt.subplots(n_rows, 3, figsize=(12, 4 * n_rows), layout="constrained")
    for ax, (a, b) in zip(np.ravel(axes), pairs, strict=True):
        display = SimplexDisplay.from_scores(
            by_learner[a], by_learner[b], names=(a, b), random_state=0, ax=ax
        )
        posterior = display.posterior
        print(f"  {a} better {posterior.left:.2f}, no difference {posterior.rope:.2f}, "
              f"{b} better {posterior.right:.2f}")  # fmt: skip
    return figure
