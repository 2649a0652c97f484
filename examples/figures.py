"""Redraw the figures of a tutorial on distance metric learning and two figures of a textbook.

``python examples/figures.py [FOLDER [FIGURE ...]]`` saves all figures, or the given ones (such as 3
or 10.4), in a folder, by default "figures". It also prints the main result of each figure. It
requires the extra ``plot``.

The tutorial is J. L. Suárez, S. García, F. Herrera, "A tutorial on distance metric learning",
Neurocomputing 425, 2021 (Figures 3-8, 11, 14-17). The textbook is Z.-H. Zhou, "Machine Learning",
Springer, 2021 (Figures 10.1, 10.4). The data of the tutorial are not published, so these figures
show the same effects on other data: generated samples and data sets of scikit-learn. Figures 16 and
17 use the published scores if ``DIMETRIC_DATA`` is a folder with ``paper_tables``, otherwise scores
on three small data sets.
"""

import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from _simplex_figures import figure_16, figure_17
from matplotlib.patches import Circle
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.semi_supervised import LabelSpreading

from dimetric import (
    LDA,
    NCA,
    PCA,
    Isomap,
    KNNClassifier,
    NCMCClassifier,
    NCMClassifier,
)
from dimetric.data import make_parallel_bands, make_s_curve
from dimetric.plot import EmbeddingDisplay, MetricDisplay, RegionsDisplay
from dimetric.quality import embedding_quality

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
# The metric of NCA on Iris after three iterations, from Figure 14 of the tutorial.
PUBLISHED_M = [
    [1.19098678, 0.51293714, -2.15818151, -2.01464351],
    [0.51293714, 1.58128238, -2.14573777, -2.10714773],
    [-2.15818151, -2.14573777, 6.46881853, 5.86280474],
    [-2.01464351, -2.10714773, 5.86280474, 6.83271473],
]
PUBLISHED_OBJECTIVES = 0.8380491129557291, 0.95771240234375


def cloud(n: int, axes, angle: float, seed: int, centre=(0.0, 0.0)) -> np.ndarray:
    """Return Gaussian samples with given standard deviations along rotated axes."""
    rotation = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.random.default_rng(seed).normal(size=(n, 2)) * axes @ rotation + np.array(centre)


def figure_3():
    """Three parallel bands: 1-NN fails with the Euclidean distance, but not with a learned one."""
    X, y, _ = make_parallel_bands(60, n_classes=3, length=30, noise=0.08, random_state=1)
    X, y = X @ np.array([[0.7, 0.7], [-0.7, 0.7]]), np.array(["A", "B", "C"])[y]
    display = RegionsDisplay.from_learner(NCA(), X, y, n_neighbors=1, mapped=True)
    euclidean, learned = KNNClassifier(1).fit(X, y), KNNClassifier(1, learner=NCA()).fit(X, y)
    std = np.std(learned.learner_.transform(X), axis=0)
    print(
        f"  leave-one-out accuracy: {euclidean.score():.2f} Euclidean, {learned.score():.2f} "
        f"learned; the transformed samples are {std.max() / std.min():.0f} times as long as wide"
    )
    return display.figure_


def figure_4():
    """Digits in two dimensions, reduced by PCA (unsupervised) and by NCA (supervised)."""
    X, y = load_digits(return_X_y=True)
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), layout="constrained")
    start = LDA(n_components=2).fit(X, y)
    for ax, (name, Z) in zip(axes, {
        "PCA": PCA(2).fit_transform(X),
        "NCA": NCA(2, init=start.components_, max_iter=100).fit(X, y).transform(X),
    }.items(), strict=True):  # fmt: skip
        last = name == "NCA"
        EmbeddingDisplay.from_embedding(
            Z, y, ax=ax, title=f"digits: {name}", legend="auto" if last else "none"
        )
        hit = embedding_quality(X, Z, y=y).neighborhood_hit
        print(
            f"  {name}: {hit:.0%} of the 5 nearest neighbours in two dimensions are the same digit"
        )
    return figure


def figure_5():
    """Samples along a diagonal, rotated by PCA, and reduced to the first component."""
    X = cloud(150, [2.5, 0.4], np.pi / 4, seed=0) + 3
    pca = PCA().fit(X)
    Z = pca.transform(X)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    for ax, points, title in zip(
        axes, (X, Z, np.column_stack([Z[:, 0], 0 * Z[:, 0]])),
        ("samples", "rotated", "first component"), strict=True,
    ):  # fmt: skip
        EmbeddingDisplay.from_embedding(points, ax=ax, title=title, axis_name="x")
    print(f"  the first component explains {pca.explained_variance_ratio_[0]:.1%} of the variance")
    return figure


def figure_6():
    """Four labels: supervised learning, and semi-supervised learning with unlabelled samples."""
    X, y = make_moons(300, noise=0.08, random_state=0)
    known, rng = np.full(len(y), -1), np.random.default_rng(0)
    for c in (0, 1):
        known[rng.choice(np.flatnonzero(y == c), 2, replace=False)] = c
    supervised = KNNClassifier(1).fit(X[known >= 0], known[known >= 0])
    spreading = LabelSpreading(kernel="rbf", gamma=100, alpha=0.99, max_iter=2000).fit(X, known)
    models = {"4 labelled samples": supervised, "4 labelled, 296 unlabelled": spreading}
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
    for ax, (title, model) in zip(axes, models.items(), strict=True):
        display = RegionsDisplay.from_estimator(model, X, known, ax=ax)
        accuracy = np.mean(model.predict(X) == y)
        ax.set_title(f"{title}: accuracy {accuracy:.2f}")
        print(f"  {title}: accuracy {accuracy:.2f}")
        display.points_[0][0].set(facecolors="#777777")
        for points in display.points_[0][1:]:  # the labelled samples
            points.set(sizes=[110], linewidths=1.5, edgecolors="black")
    axes[0].get_legend().remove()
    display.legend_.legend_handles[0].set(color="#777777", markerfacecolor="#777777")
    for text, name in zip(
        display.legend_.get_texts(), ("unlabelled", "class 0", "class 1"), strict=True
    ):
        text.set_text(name)
    return figure


def figure_7():
    """PCA: principal directions, both components, one component, and its reconstruction."""
    X = cloud(120, [2.0, 0.6], np.pi / 6, seed=1, centre=(1, 2))
    full, one = PCA().fit(X), PCA(1).fit(X)
    restored = one.inverse_transform(one.transform(X))
    figure, axes = plt.subplots(2, 2, figsize=(9, 7), layout="constrained")
    EmbeddingDisplay.from_embedding(X, ax=axes[0, 0], title="principal directions", axis_name="x")
    for row, variance in zip(full.components_, full.explained_variance_, strict=True):
        arrow(axes[0, 0], full.offset_, 2 * variance**0.5 * row, ORANGE)
    EmbeddingDisplay.from_embedding(full.transform(X), ax=axes[0, 1], title="both components")
    EmbeddingDisplay.from_embedding(one.transform(X), ax=axes[1, 0], title="one component")
    EmbeddingDisplay.from_embedding(X, ax=axes[1, 1], title="reconstruction", axis_name="x")
    axes[1, 1].plot(*np.stack([X, restored], axis=1).T, color="#BBBBBB", linewidth=0.6, zorder=1)
    axes[1, 1].scatter(*restored.T, s=10, color=ORANGE, zorder=3)
    error = np.mean(np.sum((X - restored) ** 2, axis=1))
    print(f"  mean squared reconstruction error {error:.3f}, variance of the second component "
          f"{full.explained_variance_[1] * (len(X) - 1) / len(X):.3f}")  # fmt: skip
    return figure


def figure_8():
    """Two elongated classes: PCA finds the direction of their length, LDA separates them."""
    X = np.concatenate([cloud(80, [2.5, 0.5], 0.6, 2), cloud(80, [2.5, 0.5], 0.6, 3, (-1, 2))])
    y = np.repeat(["class 1", "class 2"], 80)
    pca, lda = PCA(1).fit(X), LDA(n_components=1).fit(X, y)
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 3.8), layout="constrained")
    EmbeddingDisplay.from_embedding(X, y, ax=axes[0], axis_name="x", legend="none")
    for learner, color in ((pca, ORANGE), (lda, GREEN)):
        direction = learner.components_[0] / np.linalg.norm(learner.components_[0])
        arrow(axes[0], X.mean(axis=0), 3 * direction, color, type(learner).__name__)
    for ax, learner in zip(axes[1:], (pca, lda), strict=True):
        name = type(learner).__name__
        EmbeddingDisplay.from_estimator(learner, X, y, ax=ax, title=f"projected by {name}")
        score = KNNClassifier(3, learner=learner).fit(X, y).score()
        print(f"  3-NN after {name}, leave-one-out accuracy: {score:.2f}")
    return figure


def arrow(ax, start, along, color: str, name: str = "") -> None:
    """Draw an arrow with a name at its tip."""
    ax.annotate(
        "", start + along, xytext=start, zorder=5,
        arrowprops={"arrowstyle": "->", "color": color, "linewidth": 2.2},
    )  # fmt: skip
    ax.annotate(name, start + 1.15 * along, color=color, ha="center", va="center", zorder=5)


def figure_11():
    """A class in two groups around another: the class means fail, two centroids succeed."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)) * [0.5, 0.9] + [x, 0] for x in (-3, 3, 0)])
    y = np.repeat(["class 2", "class 2", "class 1"], 60)
    models = {"nearest mean": NCMClassifier(), "two centroids per class": NCMCClassifier(2)}
    display = RegionsDisplay.from_estimators(models, X, y, n_columns=2)
    for ax, (name, model) in zip(display.axes_, models.items(), strict=True):
        fitted = model.fit(X, y)
        ax.scatter(*np.asarray(fitted.centroids_).T, marker="*", s=200, color="white",
                   edgecolors="black", zorder=6)  # fmt: skip
        print(f"  {name}: accuracy {fitted.score(X, y):.2f}")
    return display.figure_


def figure_14():
    """NCA on Iris: the published metric after three iterations, and ours after the full fit."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    nca = NCA(init=np.eye(4)).fit(X, y)  # the published fit starts from the identity matrix
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    names = list(X.columns)
    MetricDisplay(np.array(PUBLISHED_M), feature_names=names, title="published, 3 iterations").plot(
        ax=axes[0]
    )
    MetricDisplay.from_estimator(nca, title=f"NCA, {nca.n_iter_} iterations", ax=axes[1])
    metadata = nca.metadata()
    print(f"  expected accuracy: from {metadata['initial_objective']:.4f} to "
          f"{metadata['final_objective']:.4f}; published: from {PUBLISHED_OBJECTIVES[0]:.4f} to "
          f"{PUBLISHED_OBJECTIVES[1]:.4f}")  # fmt: skip
    ours, published = (np.asarray(M).ravel() for M in (nca.metric(), PUBLISHED_M))
    cosine = ours @ published / np.linalg.norm(ours) / np.linalg.norm(published)
    print(f"  cosine similarity of the two matrices: {cosine:.3f}")
    return figure


def figure_15():
    """Four classifiers on two features of Iris, as in the tutorial's ``dml_multiplot`` example."""
    iris = load_iris(as_frame=True)
    models = {
        "NCMC": NCMCClassifier(2),
        "NCMC + NCA": NCMCClassifier(2, learner=NCA()),
        "3-NN": KNNClassifier(3),
        "3-NN + LDA": KNNClassifier(3, learner=LDA()),
    }
    y = iris.target_names[iris.target]
    display = RegionsDisplay.from_estimators(models, iris.data.iloc[:, :2], y, n_columns=2)
    display.figure_.suptitle("Comparing")
    return display.figure_


def figure_10_1():
    """The same sample is classified as positive, negative and positive for k = 1, 3 and 5."""
    lengths = np.array([0.5, 0.8, 0.9, 1.2, 1.3, 1.9, 2.0, 2.1, 1.8, 2.05])
    angles = np.array([0.6, 2.6, 4.4, 5.6, 1.9, 0.2, 1.1, 3.4, 5.0, 2.9])
    X = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    y = np.array(["+", "−", "−", "+", "+", "+", "−", "−", "+", "−"])
    display = EmbeddingDisplay.from_embedding(X, y, axis_name="x", artist_kwargs={"s": 70})
    ax = display.ax_
    ax.scatter(0, 0, marker="*", s=220, color="black", zorder=5)
    for k in (1, 3, 5):
        distances, _ = KNNClassifier(k).fit(X, y).kneighbors([[0.0, 0.0]])
        radius = distances[0, -1] + 0.04
        ax.add_patch(Circle((0, 0), radius, fill=False, linestyle="--"))
        ax.annotate(f"k = {k}", (0, -radius), ha="center", va="top", fontsize=9)
        predicted = KNNClassifier(k).fit(X, y).predict([[0.0, 0.0]])[0]
        print(f"  {k} neighbours: {'positive' if predicted == '+' else 'negative'}")
    return display.figure_


def figure_10_4():
    """3000 samples of an S-shaped sheet: in 3-D, after PCA, after Isomap, and the true sheet."""
    X, t, truth = make_s_curve(3000, random_state=0)
    figure = plt.figure(figsize=(12, 9), layout="constrained")
    EmbeddingDisplay.from_embedding(
        X[:, [0, 2, 1]], t, ax=figure.add_subplot(2, 2, 1, projection="3d"), title="samples"
    )
    embeddings = {
        "PCA": PCA(2).fit_transform(X),
        "Isomap": Isomap(n_neighbors=12, n_landmarks=200, random_state=0).fit_transform(X),
        "true sheet": truth,
    }
    for i, (name, Z) in enumerate(embeddings.items()):
        EmbeddingDisplay.from_embedding(Z, t, ax=figure.add_subplot(2, 2, i + 2), title=name)
        quality = embedding_quality(truth, Z, n_neighbors=10, sample_size=500, random_state=0)
        kept = f"{quality.knn_preservation:.0%} of the 10 nearest neighbours preserved"
        print(f"  {name}: {kept}, residual variance {quality.residual_variance:.2f}")
    return figure


FIGURES = {
    "3": figure_3,
    "4": figure_4,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "11": figure_11,
    "14": figure_14,
    "15": figure_15,
    "16": figure_16,
    "17": figure_17,
    "10.1": figure_10_1,
    "10.4": figure_10_4,
}


def main() -> None:
    """Draw and save the requested figures."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    requested = sys.argv[2:] or list(FIGURES)
    unknown = [name for name in requested if name not in FIGURES]
    if unknown:
        sys.exit(f"There is no figure {unknown[0]}. Choose from {', '.join(FIGURES)}.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in requested:
        draw = FIGURES[name]
        print(f"Figure {name}. {draw.__doc__}")
        with warnings.catch_warnings():
            # A few iterations are enough for a figure.
            warnings.filterwarnings("ignore", message=".*did not converge")
            figure = draw()
        file = folder / f"figure-{name}.png"
        figure.savefig(file, dpi=90)
        plt.close(figure)
        print(f"  {file}")


if __name__ == "__main__":
    main()
