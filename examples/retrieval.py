"""Retrieve similar questions with a distance learned from labelled questions.

The data are 13,083 questions to a bank with 77 intents (BANKING77, Casanueva et al. 2020). Each
question is a vector of 384 numbers, embedded by all-MiniLM-L6-v2, a network that was not trained on
banking. LDA learns the directions that separate the intents. LMNN learns to place questions with
the same intent next to each other. There are two tests: new questions with known intents, and
questions with unseen intents, where the gain is small. The ridge of LDA is chosen on part of the
training data, never on the test data. The example takes about a minute.

Run ``python retrieval.py banking77_minilm384.npz``, or set DIMETRIC_DATA. The texts are shown if
banking77_text.csv.gz is in the same folder.
"""

import csv
import gzip
from typing import NamedTuple

import numpy as np
from _data import find, load

from dimetric import LDA, LMNN

NAME = "banking77_minilm384.npz"
CONTENT = "embeddings X of questions, their intents y, split, classes"
N_NEAREST = 50  # number of retrieved questions that are kept
RIDGES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)


class Retrieval(NamedTuple):
    """Retrieved questions of each query."""

    precision: np.ndarray  # average precision
    nearest: np.ndarray  # nearest questions, sorted by distance
    is_right: np.ndarray  # whether these questions have the intent of the query


def retrieve(Q, y_q, B, y_b) -> Retrieval:
    """Rank all questions B by their distance to each query in Q."""
    parts = []
    for rows in np.array_split(np.arange(len(Q)), max(1, len(Q) // 500)):
        # Squared distances, without the term that is constant for each query.
        D = np.sum(B * B, axis=1) - 2 * Q[rows] @ B.T
        order = np.argsort(D, axis=1)
        right = y_b[order] == y_q[rows, None]
        precision = np.cumsum(right, axis=1) / np.arange(1, len(B) + 1)
        average = np.sum(precision * right, axis=1) / np.sum(right, axis=1)
        parts.append(Retrieval(average, order[:, :N_NEAREST], right[:, :N_NEAREST]))
    return Retrieval(*map(np.concatenate, zip(*parts, strict=True)))


def with_best_ridge(X, y, train, tuning_train, queries, base) -> LDA:
    """Return an LDA fitted to all training questions, with a tuned ridge.

    For each ridge, LDA is fitted to `tuning_train` and retrieves `queries` from `base`. All
    subsets are boolean masks of the rows.
    """

    def score(reg):
        Z = LDA(reg=reg).fit(X[tuning_train], y[tuning_train]).transform(X)
        return np.mean(retrieve(Z[queries], y[queries], Z[base], y[base]).precision)

    return LDA(reg=max(RIDGES, key=score)).fit(X[train], y[train])


def show(title, learners, X, y, queries, base) -> list[Retrieval]:
    """Print the scores of the Euclidean and the learned distances, and return the retrievals."""
    print(f"\n{title}: {queries.sum()} queries, {base.sum()} questions to retrieve from")
    print(f"  {'':24}recall@1    mAP")
    retrievals = []
    for learner in (None, *learners):
        Z = X if learner is None else learner.transform(X)
        retrievals.append(retrieve(Z[queries], y[queries], Z[base], y[base]))
        last = retrievals[-1]
        recall, precision = np.mean(last.is_right[:, 0]), np.mean(last.precision)
        name = "Euclidean" if learner is None else f"{type(learner).__name__}, reg {learner.reg}"
        print(f"  {name:24}{recall:8.3f} {precision:6.3f}", flush=True)
    return retrievals


def show_texts(before, after, y, queries, base, classes) -> None:
    """Print the nearest questions of three queries: much improved, typical and worst."""
    path = find(NAME, CONTENT).with_name("banking77_text.csv.gz")
    if not path.is_file():
        print(f"\n(The texts are not shown, because {path.name} is not in the same folder.)")
        return
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    asked, known = np.flatnonzero(queries), np.flatnonzero(base)
    order = np.argsort(after.precision - before.precision)
    for title, quantile in (("Much improved", 0.95), ("Typical", 0.5), ("Worst", 0.0)):
        i = order[int(quantile * len(order))]
        change = f"average precision {before.precision[i]:.2f} to {after.precision[i]:.2f}"
        print(f"\n{title} ({change}): {texts[asked[i]]!r} [{classes[y[asked[i]]]}]")
        for name, retrieval in (("Euclidean", before), ("LDA", after)):
            rows, is_right = known[retrieval.nearest[i]], retrieval.is_right[i]
            print(f"  {name}: {is_right.sum()} of the {len(rows)} nearest have the same intent")
            print(f"    nearest: {texts[rows[0]]!r} [{classes[y[rows[0]]]}]")
            if not is_right.all():
                wrong = rows[np.argmin(is_right)]
                print(f"    nearest with another intent: {texts[wrong]!r} [{classes[y[wrong]]}]")


def main() -> None:
    """Print the retrieval scores of both tests."""
    data = load(NAME, CONTENT)
    X, y, test = data["X"].astype(np.float64), data["y"].astype(np.int64), data["split"] == 1
    print(f"{len(X)} questions, {len(data['classes'])} intents, {X.shape[1]} features")
    rng = np.random.default_rng(0)
    quarter = rng.random(len(X)) < 0.25

    train = ~test
    known = train & ~quarter
    lda = with_best_ridge(X, y, train, known, train & quarter, known)
    lmnn = LMNN(min(128, X.shape[1]), n_neighbors=10, tol=0.01)
    learners = lda, lmnn.fit(X[train], y[train])
    before, after, _ = show("New questions with known intents", learners, X, y, test, train)
    show_texts(before, after, y, test, train, data["classes"])

    thirds = rng.permutation(len(data["classes"])) % 3
    unseen, tuning = thirds[y] == 0, thirds[y] == 1  # intents for the test and for the ridge
    train = ~test & ~unseen
    lda = with_best_ridge(
        X, y, train, train & ~tuning, train & tuning & quarter, train & tuning & ~quarter
    )
    learners = lda, lmnn.fit(X[train], y[train])
    show("Questions with unseen intents", learners, X, y, test & unseen, ~test & unseen)


if __name__ == "__main__":
    main()
