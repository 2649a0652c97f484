"""Does a learned distance help? Euclidean against each learner, by cross-validated 3-NN.

For every bundled data set: features scaled to [0, 1] inside each fold, five stratified folds,
the mean share of test samples that their 3 nearest neighbours classify right, and the mean time
of learning the distance.
"""

import time
import warnings

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

from dimetric import DMLMJ, LDA, LDML, LMNN, MCML, NCA, NCMML, PCA

DATA = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
LEARNERS: dict[str, TransformerMixin | None] = {
    "Euclidean": None,
    "PCA (95 %)": PCA(n_components=0.95),
    "LDA": LDA(),
    "DMLMJ": DMLMJ(),
    "NCA": NCA(),
    "LMNN": LMNN(),
    "MCML": MCML(),
    "LDML": LDML(),
    "NCMML": NCMML(),
}


def fold_score(learner: TransformerMixin | None, X, y, train, test) -> tuple[float, float]:
    """Return the test score of 3-NN under the learned distance, and the seconds to learn it."""
    scaler = MinMaxScaler().fit(X[train])
    near, far = scaler.transform(X[train]), scaler.transform(X[test])
    started = time.perf_counter()
    if learner is not None:
        learner = clone(learner).fit(near, y[train])
    seconds = time.perf_counter() - started
    if learner is not None:
        near, far = learner.transform(near), learner.transform(far)
    return KNeighborsClassifier(3).fit(near, y[train]).score(far, y[test]), seconds


def main() -> None:
    """Print a table a data set."""
    warnings.simplefilter("ignore", ConvergenceWarning)  # the score is what counts here
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    print("3-NN test score, mean of 5 folds; + or - is the difference to Euclidean\n")
    for name, load in DATA.items():
        X, y = load(return_X_y=True)
        print(f"{name}: {len(X)} samples, {X.shape[1]} features, {len(np.unique(y))} classes")
        euclidean = 0.0
        for title, learner in LEARNERS.items():
            results = [fold_score(learner, X, y, *fold) for fold in folds.split(X, y)]
            score, seconds = np.mean(results, axis=0)
            euclidean = score if learner is None else euclidean
            gain = "" if learner is None else f"{score - euclidean:+.3f}"
            print(f"  {title:12s} {score:.3f} {gain:>7s} {seconds:8.3f} s")
        print()


if __name__ == "__main__":
    main()
