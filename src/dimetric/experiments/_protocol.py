"""The 34 data sets of the published experiments, with the published subsets and splits."""

from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

from dimetric._arguments import check_types
from dimetric._warnings import warn
from dimetric.data import DataSet, load_data_set

__all__ = ["DATA_SETS", "FOLD_COLUMN", "SMALL_DATA_SETS", "load_published_data_set"]

FOLD_COLUMN = "published fold"  # column that contains the number of the test fold
N_FOLDS = 10
SEED = 28

DATA_SETS = (
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
SMALL_DATA_SETS = (
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
# Large data sets and the fraction of their samples that was used.
USED_FRACTIONS = dict.fromkeys(
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


@check_types
def load_published_data_set(name: str, folder: str | Path | None = None) -> DataSet:
    """Return a data set as it was used in the published experiments.

    Large data sets were reduced to the test samples of one of KEEL's folds: the second of 10 folds
    for letter and magic, the second of 5 folds for the others. Class 3 of page-blocks was omitted.
    Spambase is an exception: its 460 samples are marked in the column ``paper460``. The reduced
    data sets and digits were then shuffled and split into 10 folds. All other data sets use KEEL's
    10 folds.

    The folds are read from the columns ``fold10`` and ``fold5``, the order of the samples in a
    subset from ``pos5`` and ``paper460``. If these columns are missing, the subset or the folds are
    random, and the notes of the data set say so.

    Parameters
    ----------
    name : str
        Name of the data set, such as "iris".
    folder : path, optional
        As in :func:`~dimetric.data.load_data_set`.

    Returns
    -------
    DataSet
        The data set. ``extra[FOLD_COLUMN]`` contains the test fold of each sample, 1 to 10.

    Examples
    --------
    >>> iris = load_published_data_set("iris")
    >>> iris
    DataSet('iris': 150 samples, 4 features, 3 values of y)
      The published folds are missing. The samples were split at random.
    >>> np.bincount(iris.extra[FOLD_COLUMN])
    array([ 0, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15])
    """
    data = load_data_set(name, folder)
    if data.y is None:
        raise ValueError(f"Data set {name!r} has no classes.")
    rows, row_notes = _used_rows(name, data)
    notes = [*data.notes, *row_notes]
    if name in USED_FRACTIONS or name == "digits" or "fold10" not in data.extra:
        if name not in USED_FRACTIONS and name != "digits":
            notes.append("The published folds are missing. The samples were split at random.")
        fold = _shuffled_folds(data.X[rows], data.y[rows])
    else:
        fold = np.asarray(data.extra["fold10"], dtype=np.int64)[rows]
    extra = {FOLD_COLUMN: fold}
    names = data.feature_names, data.target_name, name
    return DataSet(data.X[rows], data.y[rows], *names, tuple(notes), extra)


def _used_rows(name: str, data: DataSet) -> tuple[np.ndarray, list[str]]:
    """Return the rows that were used, in the published order, and notes about them."""
    columns = {key: np.asarray(values, dtype=np.float64) for key, values in data.extra.items()}
    n = len(data.X)
    if name not in USED_FRACTIONS:
        return np.arange(n), []
    if name == "spambase" and "paper460" in columns:
        position = columns["paper460"]
        return _sorted_by(np.flatnonzero(position > 0), position), []
    if name in ("letter", "magic") and "fold10" in columns:
        return np.flatnonzero(columns["fold10"] == 2), []
    if "fold5" in columns:
        used = columns["fold5"] == 2
        if name == "page-blocks":
            used &= np.asarray(data.y).astype(str) != "3"
        return _sorted_by(np.flatnonzero(used), columns.get("pos5")), []
    size, y = USED_FRACTIONS[name], data.y
    rows, _ = train_test_split(np.arange(n), train_size=size, stratify=y, random_state=SEED)
    note = f"The published subset is missing. A random {size:.0%} of the samples was chosen."
    return np.sort(rows), [note]


def _sorted_by(rows: np.ndarray, position: np.ndarray | None) -> np.ndarray:
    return rows if position is None else rows[np.argsort(position[rows], kind="stable")]


def _shuffled_folds(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the test fold of each sample, starting at 1, from a stratified shuffle."""
    smallest = int(np.min(np.unique(y, return_counts=True)[1]))
    n_folds = min(N_FOLDS, max(2, smallest))
    if n_folds < N_FOLDS:
        warn(
            f"The smallest class has {smallest} samples. {n_folds} folds are used instead of "
            f"{N_FOLDS}.",
        )
    fold = np.zeros(len(y), dtype=np.int64)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=SEED)
    for number, (_, test) in enumerate(folds.split(X, y), start=1):
        fold[test] = number
    return fold
