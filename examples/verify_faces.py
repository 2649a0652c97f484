"""Are these two pictures of one person? Verification of faces by pairs, for people never seen.

400 pictures of 40 people (ORL). The distance is learned from pairs of the first 20 people, with
the threshold that suits them, and judges pairs of the other 20.

Run as ``python verify_faces.py orl_faces32.npz``, or set DIMETRIC_DATA.
"""

import numpy as np
from _data import load

from dimetric import LDML, PCA, Pairs


def judged(learner, pairs: Pairs, Z) -> str:
    """Return the scores of a learner's judgements."""
    right = np.mean(learner.predict_pairs(pairs, Z) == pairs.is_similar)
    return f"ROC-AUC {learner.score_pairs(pairs, Z):.3f}, right {right:.3f}"


def main() -> None:
    """Print scores before and after."""
    data = load("orl_faces32.npz", "pictures of 40 people, 10 of each, and who they are of")
    X, who = data["X"] / 255.0, data["y"]
    people = np.unique(who)
    seen = np.isin(who, people[:20])
    nobody = -1
    known = Pairs.from_labels(np.where(seen, who, nobody), 4000, random_state=0, unlabelled=nobody)
    asked = Pairs.from_labels(np.where(seen, nobody, who), 1800, random_state=0, unlabelled=nobody)
    faces = PCA(n_components=60, whiten=True, random_state=0).fit(X[seen])
    Z = faces.transform(X)
    learner = LDML(reg=0.1).fit(Z, pairs=known).calibrate_threshold(known, Z)
    pixels = PCA().fit(X).calibrate_threshold(known, X)
    whitened = PCA().fit(Z).calibrate_threshold(known, Z)
    print(f"{known} of 20 people learned from; {asked} of 20 others asked for\n")
    print(f"  Euclidean, of pixels              {judged(pixels, asked, X)}")
    print(f"  Euclidean, of whitened components {judged(whitened, asked, Z)}")
    print(f"  LDML, of whitened components      {judged(learner, asked, Z)}")


if __name__ == "__main__":
    main()
