"""Face verification: decide whether two images show the same, previously unseen person.

The data are 400 images of 40 people (ORL). The distance and its threshold are learned from pairs
of images of the first 20 people and evaluated on pairs of the other 20.

Run ``python verify_faces.py orl_faces32.npz``, or set DIMETRIC_DATA.
"""

import numpy as np
from _data import load

from dimetric import LDML, PCA, Pairs


def scores(learner, pairs: Pairs, Z) -> str:
    """Return the ROC-AUC and the accuracy of a learner on pairs, as text."""
    accuracy = np.mean(learner.predict_pairs(pairs, Z) == pairs.is_similar)
    return f"ROC-AUC {learner.score_pairs(pairs, Z):.3f}, accuracy {accuracy:.3f}"


def main() -> None:
    """Print the scores of the Euclidean and the learned distance."""
    data = load("orl_faces32.npz", "10 images of each of 40 people, and their labels")
    X, person = data["X"] / 255.0, data["y"]
    seen = np.isin(person, np.unique(person)[:20])
    unlabelled = -1
    options = {"random_state": 0, "unlabelled": unlabelled}
    train = Pairs.from_labels(np.where(seen, person, unlabelled), 4000, **options)
    test = Pairs.from_labels(np.where(seen, unlabelled, person), 1800, **options)
    whitening = PCA(n_components=60, whiten=True, random_state=0).fit(X[seen])
    Z = whitening.transform(X)
    learner = LDML(reg=0.1).fit(Z, pairs=train).calibrate_threshold(train, Z)
    pixels = PCA().fit(X).calibrate_threshold(train, X)
    whitened = PCA().fit(Z).calibrate_threshold(train, Z)
    print(f"training: {train} of 20 people; test: {test} of 20 other people\n")
    print(f"  Euclidean, pixels              {scores(pixels, test, X)}")
    print(f"  Euclidean, whitened components {scores(whitened, test, Z)}")
    print(f"  LDML, whitened components      {scores(learner, test, Z)}")


if __name__ == "__main__":
    main()
