"""The 34 data sets of the published experiments, reduced and split as they were there."""

import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from dimetric.data import DataSet, load_data_set

__all__ = ["FOLD", "SETS", "SMALL_SETS", "load_published_data_set"]

FOLD = "published fold"  # the column with the number of the test fold
N_FOLDS = 10
SEED = 28

SETS = (
    "appendicitis",
    "balance",
    "banana",
    "bupa",
    "cleveland",
    "digits",
    "glass",
    "hepatitis",
    "ionosphere",
    "iris",
    "letter",
    "magic",
    "monk-2",
    "movement_libras",
    "newthyroid",
    "optdigits",
    "page-blocks",
    "phoneme",
    "pima",
    "ring",
    "satimage",
    "segment",
    "sonar",
    "spambase",
    "texture",
    "thyroid",
    "titanic",
    "twonorm",
    "vehicle",
    "vowel",
    "wdbc",
    "wine",
    "winequality-red",
    "wisconsin",
)
SMALL_SETS = (
    "appendicitis",
    "balance",
    "bupa",
    "cleveland",
    "glass",
    "hepatitis",
    "ionosphere",
    "iris",
    "monk-2",
    "newthyroid",
    "sonar",
    "wine",
    "movement_libras",
    "pima",
    "banana",
    "optdigits",
    "phoneme",
    "satimage",
    "segment",
    "spambase",
    "twonorm",
)
# Large sets, of which only this share of the samples was used.
USED_SHARES = dict.fromkeys(
    [
        "banana",
        "optdigits",
        "page-blocks",
        "phoneme",
        "ring",
        "satimage",
        "segment",
        "texture",
        "thyroid",
        "titanic",
        "twonorm",
    ],
    0.2,
) | dict.fromkeys(("letter", "magic", "spambase"), 0.1)


def load_published_data_set(name: str, folder: str | Path | None = None) -> DataSet:
    """Return a data set as it was used in the published experiments.

    Large sets were reduced to the second test part of KEEL's 5 folds; letter and magic to that of
    KEEL's 10 folds; spambase to 460 samples. These sets and digits were then shuffled and split
    into 10 folds. All others have KEEL's 10 folds. If the columns with these folds (``fold10``,
    ``fold5``, ``pos5``, ``paper460``) are missing, as many samples are drawn at random, shuffled
    and split, and the notes of the data set say so.

    Parameters
    ----------
    name : str
        Name, such as "iris".
    folder : path, optional
        As in :func:`~dimetric.data.load_data_set`.

    Returns
    -------
    DataSet
        ``extra[FOLD]`` holds the number of the test fold of each sample, 1 to 10.

    Examples
    --------
    >>> iris = load_published_data_set("iris")
    >>> iris
    DataSet('iris': 150 samples, 4 features, 3 values of y)
      Split by a shuffle: the published folds are not there.
    >>> np.bincount(iris.extra[FOLD])
    array([ 0, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15])
    """
    data = load_data_set(name, folder)
    if data.y is None:
        raise ValueError(f"Data set {name!r} has no classes.")
    rows, note = _rows(name, data)
    notes = [*data.notes, *note]
    if name in USED_SHARES or name == "digits" or "fold10" not in data.extra:
        if name not in USED_SHARES and name != "digits":
            notes.append("Split by a shuffle: the published folds are not there.")
        fold = _shuffled(data.X[rows], data.y[rows])
    else:
        fold = np.asarray(data.extra["fold10"], dtype=np.int64)[rows]
    extra = {FOLD: fold}
    names = data.feature_names, data.target_name, name
    return DataSet(data.X[rows], data.y[rows], *names, tuple(notes), extra)


def _rows(name: str, data: DataSet) -> tuple[np.ndarray, list[str]]:
    """Return the rows that were used, in their order, and notes about them."""
    columns = {key: np.asarray(values, dtype=np.float64) for key, values in data.extra.items()}
    n = len(data.X)
    if name not in USED_SHARES:
        return np.arange(n), []
    if name == "spambase" and "paper460" in columns:
        place = columns["paper460"]
        return _in_order(np.flatnonzero(place > 0), place), []
    if name in ("letter", "magic") and "fold10" in columns:
        return np.flatnonzero(columns["fold10"] == 2), []
    if "fold5" in columns:
        used = columns["fold5"] == 2
        if name == "page-blocks":
            used &= np.asarray(data.y).astype(str) != "3"
        return _in_order(np.flatnonzero(used), columns.get("pos5")), []
    share = USED_SHARES[name]
    rows, _ = train_test_split(np.arange(n), train_size=share, stratify=data.y, random_state=SEED)
    note = f"{share:.0%} of the samples were drawn: which ones were published is not there."
    return np.sort(rows), [note]


def _in_order(rows: np.ndarray, place: np.ndarray | None) -> np.ndarray:
    return rows if place is None else rows[np.argsort(place[rows], kind="stable")]


def _shuffled(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the test fold of each sample, counted from 1."""
    smallest = int(np.min(np.unique(y, return_counts=True)[1]))
    n_folds = min(N_FOLDS, max(2, smallest))
    if n_folds < N_FOLDS:
        warnings.warn(
            f"The smallest class has {smallest} members: there are {n_folds} folds, not {N_FOLDS}.",
            stacklevel=3,
        )
    fold = np.zeros(len(y), dtype=np.int64)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    for number, (_, test) in enumerate(folds.split(X, y), start=1):
        fold[test] = number
    return fold
