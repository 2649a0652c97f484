"""Learn a distance between materials from human judgements "a is more similar to b than to c".

The data are small images of 100 materials and 25,801 triplets judged by people. The distance is
learned from some of the triplets and evaluated on the others: first on held-out triplets of known
materials, then on triplets of materials that do not occur in the training triplets. The Euclidean
distance agrees with about 63 % of the judgements.

Run ``python human_triplets.py materials_triplets.npz``, or set DIMETRIC_DATA.
"""

import numpy as np
from _data import load

from dimetric import LMNN, PCA, Triplets
from dimetric.selection import cross_validate_pairs


def main() -> None:
    """Print the fraction of judgements that each distance agrees with."""
    data = load("materials_triplets.npz", "images of materials and human triplets")
    X = data["X"] / 255.0
    train = Triplets.from_rows(data["triplets_train"], len(X))
    held_out = Triplets.from_rows(data["triplets_test"], len(X))
    Z = PCA(n_components=20, random_state=0).fit_transform(X)
    learner = LMNN(reg=0.03).fit(Z, triplets=train)
    print(f"{len(X)} materials, {len(train)} training triplets\n")
    print(f"agreement with {len(held_out)} held-out triplets")
    euclidean = PCA().fit(X).score_triplets(held_out, X)
    score = learner.score_triplets(held_out, Z)
    print(f"  Euclidean {euclidean:.3f}\n  LMNN      {score:.3f}  ({score - euclidean:+.3f})\n")

    folds = list(train.split(4, random_state=0))
    euclidean = float(np.mean([PCA().fit(X).score_triplets(test, X) for _, test in folds]))
    scores = cross_validate_pairs(LMNN(reg=0.03), Z, train, cv=folds).test_score
    print("agreement with triplets of unseen materials, 4 folds")
    print(f"  Euclidean {euclidean:.3f}")
    print(f"  LMNN      {np.mean(scores):.3f}  ({np.mean(scores) - euclidean:+.3f})")


if __name__ == "__main__":
    main()
