"""Half-labelled data: when do samples without a label improve a learned distance?

Of 1297 digits, 10, 50 or 200 random ones have a label. Three learners are fitted without and with
the other samples:

- LDA, without and with the total scatter of all samples (`unlabelled_weight`);
- NCA and LMNN, without and with the penalty `unlabelled_reg`, which keeps neighbours near each
  other, whether they have a label or not.

The table shows the accuracy of 3 nearest neighbours on 500 further digits, as means over ten random
choices of the labels, and the gain by the unlabelled samples with its 95 % confidence interval.

With 50 labels, the penalty helps. The maps have 64 x 64 parameters, which so few labels do not
determine, and the penalty prefers directions in which neighbours hardly differ. NCA then exceeds
the Euclidean distance. LMNN, here with `reg=0`, gains most, because it overfits without any
penalty, but remains below the Euclidean distance. LDA with a ridge gains little. With 10 labels,
few classes have two of them. There is almost nothing to learn, and the Euclidean distance is best.
With 200 labels, the labels determine the map, and the gains are small. More labels help more than
unlabelled samples.
"""

import warnings

import numpy as np
from scipy.stats import t
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dimetric import LDA, LMNN, NCA, KNNClassifier

UNLABELLED = -1
N_CHOICES = 10


def fitted_lda(X, y, use_all: bool):
    """Return LDA, as a function that maps samples."""
    weight = 0.5 if use_all else 0.0
    return LDA(reg=1.0, unlabelled=UNLABELLED, unlabelled_weight=weight).fit(X, y).transform


def fitted_nca(X, y, use_all: bool):
    """Return NCA, as a function that maps samples."""
    return NCA(unlabelled=UNLABELLED, unlabelled_reg=float(use_all)).fit(X, y).transform


def fitted_lmnn(X, y, use_all: bool):
    """Return LMNN, as a function that maps samples."""
    reg = {"reg": 0.0, "unlabelled_reg": float(use_all)}
    learner = LMNN(unlabelled=UNLABELLED, tol=1e-6, max_iter=100, **reg)
    return learner.fit(X, y).transform


METHODS = {"LDA": fitted_lda, "NCA": fitted_nca, "LMNN": fitted_lmnn}


def accuracies(n_labels: int, seed: int) -> list[float]:
    """Return the accuracies of the Euclidean distance, and of each method without and with all."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X / 16, y, test_size=500, random_state=seed)
    known = np.random.default_rng(seed).choice(len(y), n_labels, replace=False)
    labels = np.full(len(y), UNLABELLED)
    labels[known] = y[known]

    def score(transform) -> float:
        model = KNNClassifier(3, weights="distance").fit(transform(X[known]), y[known])
        return model.score(transform(X_test), y_test)

    maps = [method(X, labels, use) for method in METHODS.values() for use in (False, True)]
    return [score(lambda samples: samples), *(score(each) for each in maps)]


def main() -> None:
    """Print the accuracies without and with unlabelled samples."""
    warnings.simplefilter("ignore")  # about classes with few labels, and iterations
    print("accuracy on 500 digits\n")
    print("labels  method        only labelled  all samples  gain (95 % interval)")
    for n_labels in (10, 50, 200):
        table = np.array([accuracies(n_labels, seed) for seed in range(N_CHOICES)])
        means = table.mean(axis=0)
        print(f"{n_labels:6d}  {'Euclidean':12s}  {means[0]:13.3f}")
        for number, name in enumerate(METHODS):
            without, using = 1 + 2 * number, 2 + 2 * number
            gains = table[:, using] - table[:, without]
            half = t.ppf(0.975, N_CHOICES - 1) * gains.std(ddof=1) / N_CHOICES**0.5
            print(
                f"{n_labels:6d}  {name:12s}  {means[without]:13.3f}  {means[using]:11.3f}"
                f"  {gains.mean():+.3f} ({gains.mean() - half:+.3f} to {gains.mean() + half:+.3f})"
            )


if __name__ == "__main__":
    main()
