"""Figures 16 and 17 of the tutorial: posteriors of Bayesian comparisons, in triangles."""

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from dimetric import NCMC, NCMML, NCMCClassifier, NCMClassifier, benchmark
from dimetric.plot import SimplexDisplay


def figure_16():
    """What is believed of learners with 3-NN, in pairs."""
    found = scores("basic-3nn-test.csv", [None, "NCA", "DMLMJ", "LMNN"])
    pairs = [("Euclidean", "NCA"), ("Euclidean", "DMLMJ"), ("Euclidean", "LMNN"),
             ("NCA", "DMLMJ"), ("NCA", "LMNN"), ("DMLMJ", "LMNN")]  # fmt: skip
    return simplexes(found, pairs)


def figure_17():
    """What is believed of centroids, with and without the distance learned for them."""
    found = scores(
        "ncm-test.csv",
        {
            "Euclidean + NCM": NCMClassifier(), "NCMML": NCMClassifier(learner=NCMML()),
            "Euclidean + NCM (2 ctrd)": NCMCClassifier(2),
            "NCMC (2 ctrd)": NCMCClassifier(2, learner=NCMC(2)),
            "Euclidean + NCM (3 ctrd)": NCMCClassifier(3),
            "NCMC (3 ctrd)": NCMCClassifier(3, learner=NCMC(3)),
        },
    )  # fmt: skip
    names = list(found)
    return simplexes(found, list(zip(names[::2], names[1::2], strict=True)))


def scores(file: str, learners) -> dict[str, np.ndarray]:
    """Return scores on many data sets: those published, or ours on a few."""
    table = Path(os.environ.get("DIMETRIC_DATA", ""), "paper_tables", file)
    names = [each or "Euclidean" for each in learners]
    if not table.is_file():
        print("  no published scores (DIMETRIC_DATA): those of dimetric on three small data sets")
        found = benchmark.run(learners, ["iris", "wine", "breast_cancer"], cv=5)
        return dict(zip(names, found.scores().values.T, strict=True))
    with table.open(newline="", encoding="utf-8") as opened:
        head, *rows = list(csv.reader(opened))
    rows = [row for row in rows if not row[0].startswith("AVG")]
    columns = {name: head.index(name) for name in names}
    print(f"  the published scores on {len(rows)} data sets")
    return {name: np.array([float(row[j]) for row in rows]) for name, j in columns.items()}


def simplexes(found, pairs):
    """Draw a triangle for each pair."""
    down = -(-len(pairs) // 3)
    figure, axes = plt.subplots(down, 3, figsize=(12, 4 * down), layout="constrained")
    for ax, (a, b) in zip(np.ravel(axes), pairs, strict=True):
        display = SimplexDisplay.from_scores(
            found[a], found[b], names=(a, b), random_state=0, ax=ax
        )
        believed = display.posterior
        print(f"  {a} better {believed.left:.2f}, no difference {believed.rope:.2f}, "
              f"{b} better {believed.right:.2f}")  # fmt: skip
    return figure
