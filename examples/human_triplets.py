"""What people see: a distance between materials, from judgements "a is more like b than c".

100 materials as small pictures, and 25,801 triplets that people judged. The distance is learned
from some of them and asked for the others: first with all materials known, then for materials
that no judgement was learned from. Euclidean distances agree with about 63 %.

Run as ``python human_triplets.py materials_triplets.npz``, or set DIMETRIC_DATA.
"""

import numpy as np
from _data import load

from dimetric import LMNN, PCA, Triplets
from dimetric.selection import cross_validate_pairs


def main() -> None:
    """Print the share of judgements that distances agree with."""
    data = load("materials_triplets.npz", "pictures of materials, and human triplets of them")
    X = data["X"] / 255.0
    learned_from = Triplets.from_rows(data["triplets_train"], len(X))
    held_out = Triplets.from_rows(data["triplets_test"], len(X))
    pictures = PCA(n_components=20, random_state=0).fit(X)
    Z = pictures.transform(X)
    learner = LMNN(reg=0.1).fit(Z, triplets=learned_from)
    print(f"{len(X)} materials, {len(learned_from)} triplets learned from\n")
    print(f"agreement with {len(held_out)} triplets that were held out")
    euclidean = PCA().fit(X).score_triplets(held_out, X)
    score = learner.score_triplets(held_out, Z)
    print(f"  Euclidean {euclidean:.3f}\n  LMNN      {score:.3f}  ({score - euclidean:+.3f})\n")

    folds = list(learned_from.split(4, random_state=0))
    euclidean = float(np.mean([PCA().fit(X).score_triplets(test, X) for _, test in folds]))
    scores = cross_validate_pairs(LMNN(reg=0.1), Z, learned_from, cv=folds).test_score
    print("agreement with triplets of materials that are new to it, 4 folds")
    print(f"  Euclidean {euclidean:.3f}")
    print(f"  LMNN      {np.mean(scores):.3f}  ({np.mean(scores) - euclidean:+.3f})")


if __name__ == "__main__":
    main()
