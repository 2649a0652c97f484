"""A random sample of the rows of a Parquet table, stratified by class, from some row groups."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric.blocks.sample import random_numbers
from dimetric.data._parquet.row_groups import ParquetTable, RowGroup

MIN_GROUPS = 16  # row groups that are read, because neighbouring rows may be alike
OVERSAMPLING = 10  # rows in these groups, relative to the number of rows of the sample
MAX_STRATA = 1000  # a target of more distinct values is not stratified
MIN_ROWS_PER_STRATUM = 20  # of a class in the sample, so that its recall can be estimated
ROWS_PER_BATCH = 2**16
CELLS_PER_BATCH = 2**20


@dataclass(frozen=True)
class Sampling:
    """How many rows were sampled from how many row groups.

    Attributes
    ----------
    n_rows, n_all_rows : int
        Number of rows in the sample, and in the table.
    n_groups, n_all_groups : int
        Number of row groups that the rows are from, and in the table.

    Examples
    --------
    >>> str(Sampling(50_000, 10_000_000, 16, 100))
    '50,000 of 10,000,000 rows, sampled from 16 of 100 row groups'
    """

    n_rows: int
    n_all_rows: int
    n_groups: int
    n_all_groups: int

    def __str__(self) -> str:
        groups = "row group" if self.n_all_groups == 1 else "row groups"
        return (
            f"{self.n_rows:,} of {self.n_all_rows:,} rows, sampled from {self.n_groups:,} of "
            f"{self.n_all_groups:,} {groups}"
        )


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Some rows of a Parquet table.

    Attributes
    ----------
    table : pyarrow.Table
        The rows, in the order of the table.
    rows : ndarray of shape (n_rows,)
        Their numbers in the whole table, ascending.
    sampling : Sampling
        Numbers of rows and row groups.
    """

    table: Any
    rows: np.ndarray
    sampling: Sampling


def sample_rows_of(
    table: ParquetTable, columns: list[str], size: int, *, seed: int, target: str | None = None
) -> SampledRows:
    """Return about `size` random rows of a table, in proportion to the sizes of the classes.

    The rows are from some of the row groups, which are at random places in equal parts of the
    table, so that they represent a table that is sorted, too. One column, the target, is read from
    all row groups: it shows the sizes of the classes, and from which further row groups the rows
    of the rarest classes must be. The same seed always gives the same rows.

    Parameters
    ----------
    table : ParquetTable
        The table.
    columns : list of str
        Names of the columns to read.
    size : int
        Number of rows. A class has at least 20 rows, if there are as many in the row groups.
    seed : int
        Seed of the random choice of row groups and rows.
    target : str, optional
        A column whose values are strata, unless it has more than 1000 distinct values.
    """
    strata = None if target is None else class_counts(table, target)
    if strata is None:
        target, strata = None, ({}, np.array([[each.n_rows] for each in table.groups]))
    labels, counts = strata
    chosen = _chosen_groups(counts, size, seed)
    quotas = _quotas(counts, chosen, size)
    parts, rows = [], []
    for place, quota in zip(chosen, quotas, strict=True):
        group = table.groups[place]
        picked = _picked(_labelled_rows(table, group, target, labels), quota, seed)
        parts += _taken(table, group, columns, picked - group.first)
        rows.append(picked)
    sampling = Sampling(sum(map(len, rows)), table.n_rows, len(chosen), len(table.groups))
    import pyarrow

    return SampledRows(pyarrow.Table.from_batches(parts), np.concatenate(rows), sampling)


def class_counts(table: ParquetTable, target: str) -> tuple[dict[Any, int], np.ndarray] | None:
    """Return the number of rows of each class in each row group. Missing values are a class, too.

    Parameters
    ----------
    table : ParquetTable
        The table.
    target : str
        The column of classes.

    Returns
    -------
    codes : dict
        The number of each class, by its value. None stands for missing values.
    counts : ndarray of shape (n_groups, n_classes)
        Numbers of rows. None is returned instead if there are more than 1000 distinct values.
    """
    codes: dict[Any, int] = {}
    counts: list[dict[int, int]] = []
    for group in table.groups:
        found: dict[int, int] = {}
        for batch in table.batches([target], ROWS_PER_BATCH, group):
            for each in batch.column(0).value_counts().to_pylist():
                code = codes.setdefault(_plain(each["values"]), len(codes))
                found[code] = found.get(code, 0) + each["counts"]
            if len(codes) > MAX_STRATA:
                return None
        counts.append(found)
    dense = np.zeros((len(counts), len(codes)), dtype=np.int64)
    for i, found in enumerate(counts):
        dense[i, list(found)] = list(found.values())
    return codes, dense


def _plain(value: Any) -> Any:
    """Return a value, or None for NaN, which does not equal itself."""
    return value if value == value else None


def _chosen_groups(counts: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Return the indices of row groups: random ones in equal parts, and those of rare classes."""
    n_groups, n_rows = len(counts), int(counts.sum())
    n_chosen = min(n_groups, max(MIN_GROUPS, -(-OVERSAMPLING * size * n_groups // n_rows)))
    rng = np.random.default_rng(seed)
    edges = np.arange(n_chosen + 1) * n_groups // n_chosen
    chosen = rng.integers(edges[:-1], edges[1:])
    absent = np.flatnonzero(counts[chosen].sum(axis=0) == 0)
    return np.union1d(chosen, counts[:, absent].argmax(axis=0))


def _quotas(counts: np.ndarray, chosen: np.ndarray, size: int) -> np.ndarray:
    """Return how many rows of each class to take from each of the chosen row groups."""
    available = counts[chosen]
    of_class = available.sum(axis=0)
    share = np.rint(size * counts.sum(axis=0) / counts.sum()).astype(np.int64)
    smallest = min(MIN_ROWS_PER_STRATUM, max(1, size // counts.shape[1]))
    wanted = np.minimum(np.maximum(share, smallest), of_class)
    # Differences of rounded cumulative sums: these add up to the wanted number of each class.
    cumulative = np.cumsum(available, axis=0) * (wanted / np.maximum(of_class, 1))
    return np.diff(np.rint(cumulative).astype(np.int64), axis=0, prepend=0)


def _labelled_rows(
    table: ParquetTable, group: RowGroup, target: str | None, labels: dict[Any, int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the numbers and the classes of the rows of a group, part by part."""
    first = group.first
    if target is None:
        for rows in row_blocks(group.n_rows, ROWS_PER_BATCH):
            yield first + np.arange(rows.start, rows.stop), np.zeros(rows.stop - rows.start, int)
        return
    for batch in table.batches([target], ROWS_PER_BATCH, group):
        encoded = batch.column(0)
        if not hasattr(encoded, "dictionary"):
            encoded = encoded.dictionary_encode()
        codes = [labels[_plain(each)] for each in encoded.dictionary.to_pylist()]
        places = encoded.indices.fill_null(len(codes)).to_numpy(zero_copy_only=False)
        yield first + np.arange(len(places)), np.array([*codes, labels.get(None, -1)])[places]
        first += len(places)


def _picked(
    parts: Iterable[tuple[np.ndarray, np.ndarray]], quota: np.ndarray, seed: int
) -> np.ndarray:
    """Return the rows with the smallest random numbers of each class, ascending."""
    rows, codes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for more_rows, more_codes in parts:
        rows, codes = np.concatenate([rows, more_rows]), np.concatenate([codes, more_codes])
        order = np.lexsort((random_numbers(rows, seed), codes))
        ordered = codes[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        kept = order[rank < quota[ordered]]
        rows, codes = rows[kept], codes[kept]
    return np.sort(rows)


def _taken(
    table: ParquetTable, group: RowGroup, columns: list[str], picked: np.ndarray
) -> list[Any]:
    """Return the given rows of a group as record batches."""
    import pyarrow

    parts, start = [], 0
    max_rows = max(1, min(ROWS_PER_BATCH, CELLS_PER_BATCH // len(columns)))
    for batch in table.batches(columns, max_rows, group):
        here = picked[(picked >= start) & (picked < start + batch.num_rows)] - start
        # A batch without rows keeps the schema of a group of which no row is taken.
        parts.append(batch.take(pyarrow.array(here)))
        start += batch.num_rows
    return parts
