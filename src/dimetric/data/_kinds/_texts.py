"""Texts with many distinct values: their frequency, or their hashed words."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from dimetric.data._categories import category_name
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._missing import is_missing

N_HASHED = 32  # features of the words of a column
MAX_HASHED = 4096  # features that a model file may ask for
MAX_STORED_VALUES = 10_000  # of a column whose values are counted
MAX_FREQUENT = 10  # values with a feature of their own
MIN_FREQUENT, MIN_FREQUENT_ROWS = 0.02, 5  # fraction and number of rows of such a value
WORD = re.compile(r"\w+")
N_GRAM = 3  # characters


@dataclass(frozen=True)
class FrequencyColumn(ColumnEncoding):
    """Values that are too many for categories: the logarithm of how often each occurs.

    The most frequent values also have a one-hot feature each. A value that was not seen during fit
    counts as one that occurs once.

    Attributes
    ----------
    values : tuple of str
        The values, the most frequent first. At most 10,000 are stored.
    counts : tuple of int
        How often each occurs in the training rows.
    is_complete : bool
        Whether `values` has all values.
    n_frequent : int
        Number of the values that have a feature of their own.
    """

    values: tuple[str, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    is_complete: bool = True
    n_frequent: int = 0

    @classmethod
    def of(cls, texts: Sequence[str], counts: Sequence[int]) -> Self:
        """Return the encoding of the distinct texts of a column."""
        order = sorted(range(len(texts)), key=lambda i: (-counts[i], texts[i]))[:MAX_STORED_VALUES]
        kept = [int(counts[i]) for i in order]
        least = max(MIN_FREQUENT_ROWS, MIN_FREQUENT * sum(counts))
        n_frequent = sum(each >= least for each in kept[:MAX_FREQUENT])
        is_complete = len(order) == len(texts)
        return cls(tuple(str(texts[i]) for i in order), tuple(kept), is_complete, n_frequent)

    @property
    def content(self) -> str:
        """What the column holds."""
        return "texts"

    def is_valid(self) -> bool:
        """Return whether each value has a count."""
        return self.n_frequent <= len(self.values) == len(self.counts)

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the index of each value, or the number of known values for an unknown one."""
        index, unknown = {each: i for i, each in enumerate(self.values)}, len(self.values)
        found = [
            np.nan if missing else index.get(category_name(each), unknown)
            for each, missing in zip(values.tolist(), is_missing(values).tolist(), strict=True)
        ]
        return np.array(found, dtype=np.float64)[:, None]

    def fitted(self, codes: np.ndarray) -> Self:
        """Return an encoding with the counts of the training rows."""
        present = codes[~np.isnan(codes)].astype(np.int64)
        counts = np.bincount(present, minlength=len(self.values))[: len(self.values)]
        return replace(self, counts=tuple(counts.tolist()))

    def fill(self, codes: np.ndarray) -> float:
        """Return the code of the most frequent value."""
        present = codes[~np.isnan(codes)].astype(np.int64)
        return float(np.argmax(np.bincount(present))) if len(present) else 0.0

    def features(self, codes: np.ndarray) -> np.ndarray:
        """Return the logarithm of how often each value occurs, and one-hot features."""
        table = np.append(np.log(np.maximum(self.counts, 1)), 0.0)
        missing = np.isnan(codes)
        index = np.clip(np.where(missing, 0, codes), 0, len(self.values)).astype(np.int64)
        one_hot = (codes == self._frequent()).astype(np.float64)
        return np.where(missing, np.nan, np.concatenate([table[index], one_hot], axis=1))

    def _frequent(self) -> np.ndarray:
        """Return the codes of the most frequent values."""
        return np.argsort(-np.array(self.counts), kind="stable")[: self.n_frequent]

    def feature_names(self, name: str) -> list[str]:
        """Return names such as "town frequency" and "town=Paris"."""
        frequent = [f"{name}={self.values[i]}" for i in self._frequent()]
        return [f"{name} frequency".strip(), *frequent]

    def n_unknown(self, values: np.ndarray, codes: np.ndarray) -> int:
        """Return the number of values that were not seen during fit."""
        return int(np.sum(codes == len(self.values))) if self.is_complete else 0

    def unknown_note(self, name: str, n_values: int) -> str:
        """Return a message about unknown values."""
        return f"Found unknown values in column {name!r} (number of values: {n_values})."


@dataclass(frozen=True)
class WordsColumn(ColumnEncoding):
    """Free texts: a hashed bag of words or character trigrams, of length 1.

    Each word adds 1 or -1 to one of `n_hashed` features, which its checksum determines. A missing
    text is an empty text: all its features are 0.

    Attributes
    ----------
    n_hashed : int
        Number of features.
    characters : bool
        Whether to use character trigrams instead of words. Trigrams suit single words.
    """

    n_hashed: int = N_HASHED
    characters: bool = False

    @property
    def content(self) -> str:
        """What the column holds."""
        return "texts"

    @property
    def n_codes(self) -> int:
        """Number of codes, which are the features."""
        return self.n_hashed

    def is_valid(self) -> bool:
        """Return whether the number of features is reasonable."""
        return 1 <= self.n_hashed <= MAX_HASHED

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the hashed words of each text."""
        rows: list[int] = []
        places: list[tuple[int, float]] = []
        known: dict[str, tuple[int, float]] = {}
        for i, (value, missing) in enumerate(
            zip(values.tolist(), is_missing(values).tolist(), strict=True)
        ):
            for token in () if missing else self._tokens(str(value).lower()):
                if token not in known:
                    checksum = zlib.crc32(token.encode(errors="replace"))
                    known[token] = checksum % self.n_hashed, 1.0 if checksum >> 31 else -1.0
                rows.append(i)
                places.append(known[token])
        features = np.zeros((len(values), self.n_hashed))
        if rows:
            columns, signs = zip(*places, strict=True)
            np.add.at(features, (rows, list(columns)), signs)
        length = np.sqrt(np.sum(features**2, axis=1, keepdims=True))
        return features / np.where(length > 0, length, 1.0)

    def _tokens(self, text: str) -> list[str]:
        words = WORD.findall(text)
        if not self.characters:
            return words
        padded = f" {' '.join(words)} "
        return [padded[i : i + N_GRAM] for i in range(len(padded) - N_GRAM + 1)]

    def feature_names(self, name: str) -> list[str]:
        """Return names such as "comment words 1"."""
        what = "letters" if self.characters else "words"
        return [f"{name} {what} {i + 1}".strip() for i in range(self.n_hashed)]

    def n_unknown(self, values: np.ndarray, codes: np.ndarray) -> int:
        """Return 0, because every text has features."""
        return 0
