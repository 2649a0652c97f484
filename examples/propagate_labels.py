"""Few labels, more samples: label propagation on the graph of a learned distance.

Some of 178 wines have a label, 5, 10 or 20 of each of the three kinds; all others have -1. Labels
spread along the graph of nearest neighbours, by Euclidean distances and by those learned from the
few labels. LDML, which learns from all pairs of them, gains a little; LMNN, from neighbours alone,
loses until there are enough. Means over ten draws of who has a label.
"""

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import MinMaxScaler
from sklearn.semi_supervised import LabelSpreading

from dimetric import LDML, LMNN

NONE = -1
LEARNERS = {"LDML": LDML(unlabelled=NONE, reg=0.1), "LMNN": LMNN(unlabelled=NONE, reg=0.1)}


def few_labels(y, n_of_each: int, seed: int):
    """Return labels of which only some are known."""
    rng = np.random.default_rng(seed)
    known = [rng.choice(np.flatnonzero(y == c), n_of_each, replace=False) for c in np.unique(y)]
    labels = np.full(len(y), NONE)
    labels[np.concatenate(known)] = y[np.concatenate(known)]
    return labels


def spread(Z, labels, y) -> float:
    """Return the share of unlabelled samples whose label is right after the spreading."""
    model = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.2).fit(Z, labels)
    hidden = labels == NONE
    return float(np.mean(model.transduction_[hidden] == y[hidden]))


def main() -> None:
    """Print scores before and after."""
    X, y = load_wine(return_X_y=True)
    Z = MinMaxScaler().fit_transform(X)
    print("share of Wine's unlabelled samples that get the right label\n")
    print("labels of each kind  Euclidean" + "".join(f"  {name:>13s}" for name in LEARNERS))
    for n_of_each in (5, 10, 20):
        drawn = [few_labels(y, n_of_each, seed) for seed in range(10)]
        before = np.mean([spread(Z, labels, y) for labels in drawn])
        line = f"{n_of_each:19d}  {before:9.3f}"
        for learner in LEARNERS.values():
            after = np.mean(
                [spread(learner.fit(Z, labels).transform(Z), labels, y) for labels in drawn]
            )
            line += f"  {after:.3f} ({after - before:+.3f})"
        print(line)


if __name__ == "__main__":
    main()
