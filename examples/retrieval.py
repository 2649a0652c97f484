"""Who has asked this before? Retrieval of questions by a distance learned from labelled ones.

13,083 questions to a bank, of 77 intents, as 384 numbers each: embeddings of all-MiniLM-L6-v2, a
network that knows nothing of banks (BANKING77, Casanueva et al. 2020). LDA learns which directions
tell intents apart, LMNN that the nearest ones are of the same. Two tests: new questions of known
intents, and questions of intents that were never seen, where little is to be gained. The ridge of
LDA is chosen on a part of what it may learn from, never on the test. Takes about a minute.

Run as ``python retrieval.py banking77_minilm384.npz``, or set DIMETRIC_DATA. The texts are shown if
banking77_text.csv.gz is beside it.
"""

import csv
import gzip
from typing import NamedTuple

import numpy as np
from _data import find, load

from dimetric import LDA, LMNN

NAME, WHAT = "banking77_minilm384.npz", "embeddings X of questions, their intents y, split, classes"
NEAREST = 50  # that are looked at
RIDGES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)


class Found(NamedTuple):
    """What was found for each query."""

    precision: np.ndarray  # the average precision
    nearest: np.ndarray  # the nearest questions, nearest first
    is_right: np.ndarray  # whether their intent is that of the query


def retrieved(Q, y_q, B, y_b) -> Found:
    """Rank all questions B by their distance to each query Q."""
    found = []
    for rows in np.array_split(np.arange(len(Q)), max(1, len(Q) // 500)):
        D = np.sum(B * B, axis=1) - 2 * Q[rows] @ B.T  # but for a term that is the same for all
        order = np.argsort(D, axis=1)
        right = y_b[order] == y_q[rows, None]
        precision = np.cumsum(right, axis=1) / np.arange(1, len(B) + 1)
        average = np.sum(precision * right, axis=1) / np.sum(right, axis=1)
        found.append(Found(average, order[:, :NEAREST], right[:, :NEAREST]))
    return Found(*map(np.concatenate, zip(*found, strict=True)))


def with_best_ridge(X, y, train, learned_from, queries, base) -> LDA:
    """Return an LDA of all training questions, with the ridge that suits part of them best.

    For that, it learns from some of them, and finds others. All are given as arrays of bool.
    """

    def score(reg):
        Z = LDA(reg=reg).fit(X[learned_from], y[learned_from]).transform(X)
        return np.mean(retrieved(Z[queries], y[queries], Z[base], y[base]).precision)

    return LDA(reg=max(RIDGES, key=score)).fit(X[train], y[train])


def show(title, learners, X, y, queries, base) -> list[Found]:
    """Print the scores before and after; return what was found."""
    print(f"\n{title}: {queries.sum()} sought among {base.sum()}")
    print(f"  {'':24}recall@1    mAP")
    found = []
    for learner in (None, *learners):
        Z = X if learner is None else learner.transform(X)
        found.append(retrieved(Z[queries], y[queries], Z[base], y[base]))
        recall, precision = np.mean(found[-1].is_right[:, 0]), np.mean(found[-1].precision)
        name = "Euclidean" if learner is None else f"{type(learner).__name__}, reg {learner.reg}"
        print(f"  {name:24}{recall:8.3f} {precision:6.3f}", flush=True)
    return found


def show_texts(before, after, y, queries, base, classes) -> None:
    """Print what is nearest to three questions: one of the better, a usual one, and the worst."""
    path = find(NAME, WHAT).with_name("banking77_text.csv.gz")
    if not path.is_file():
        print(f"\n(No texts to show: there is no {path.name} beside the embeddings.)")
        return
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    asked, known = np.flatnonzero(queries), np.flatnonzero(base)
    order = np.argsort(after.precision - before.precision)
    for title, share in (("Much better", 0.95), ("As usual", 0.5), ("The worst", 0.0)):
        i = order[int(share * len(order))]
        change = f"average precision {before.precision[i]:.2f} to {after.precision[i]:.2f}"
        print(f"\n{title} ({change}): {texts[asked[i]]!r} [{classes[y[asked[i]]]}]")
        for name, found in (("Euclidean", before), ("LDA", after)):
            rows, is_right = known[found.nearest[i]], found.is_right[i]
            print(f"  {name}: of the {len(rows)} nearest, {is_right.sum()} have its intent")
            print(f"    the nearest: {texts[rows[0]]!r} [{classes[y[rows[0]]]}]")
            if not is_right.all():
                other = rows[np.argmin(is_right)]
                print(f"    first other: {texts[other]!r} [{classes[y[other]]}]")


def main() -> None:
    """Print retrieval before and after."""
    data = load(NAME, WHAT)
    X, y, test = data["X"].astype(np.float64), data["y"].astype(np.int64), data["split"] == 1
    print(f"{len(X)} questions of {len(data['classes'])} intents, {X.shape[1]} numbers each")
    rng = np.random.default_rng(0)
    quarter = rng.random(len(X)) < 0.25

    train = ~test
    known = train & ~quarter
    lda = with_best_ridge(X, y, train, known, train & quarter, known)
    lmnn = LMNN(min(128, X.shape[1]), n_neighbors=10, tol=0.01)
    learners = lda, lmnn.fit(X[train], y[train])
    before, after, _ = show("New questions of known intents", learners, X, y, test, train)
    show_texts(before, after, y, test, train, data["classes"])

    thirds = rng.permutation(len(data["classes"])) % 3
    new, other = thirds[y] == 0, thirds[y] == 1
    train = ~test & ~new
    lda = with_best_ridge(
        X, y, train, train & ~other, train & other & quarter, train & other & ~quarter
    )
    learners = lda, lmnn.fit(X[train], y[train])
    show("Questions of intents never seen", learners, X, y, test & new, ~test & new)


if __name__ == "__main__":
    main()
