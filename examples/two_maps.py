"""Draw the picture of the README: held-out digits under PCA and under a learned distance.

``python examples/two_maps.py docs/pictures/digits.png`` draws it on white,
``python examples/two_maps.py docs/pictures/digits-dark.png --dark`` on black. It needs matplotlib,
the extra ``plot``.
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dimetric import KDA, PCA, KNNClassifier
from dimetric.plot import EmbeddingDisplay

LEARNERS = {"PCA": PCA(2), "Kernel discriminant analysis (KDA)": KDA(2)}


def main(path: str, dark: bool = False) -> None:
    """Fit each learner on two thirds of the digits, and draw the other third."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=1 / 3, stratify=y, random_state=0
    )
    with plt.style.context("dark_background" if dark else "default"):
        figure, axes = plt.subplots(1, len(LEARNERS), figsize=(9, 4), layout="constrained")
        for ax, (name, learner) in zip(axes, LEARNERS.items(), strict=True):
            model = KNNClassifier(5, learner=learner).fit(X_train, y_train)
            Z = model.learner_.transform(X_test)
            EmbeddingDisplay.from_embedding(Z, y_test, ax=ax, legend="centres")
            ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
            accuracy = model.score(X_test, y_test)
            ax.set_title(f"{name}\n5-NN classifies {accuracy:.0%} of new digits correctly")
        figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main(sys.argv[1], dark="--dark" in sys.argv)
