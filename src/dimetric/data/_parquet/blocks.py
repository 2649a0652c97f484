"""Parquet files in blocks of encoded rows, for learners that need not hold all rows in memory."""

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.blocks import MIN_ROWS_PER_FEATURE
from dimetric.data._dataset import DataSet
from dimetric.data._files import TableFile
from dimetric.data._parquet.categories import encoder_of
from dimetric.data._parquet.encode import encode_batch, target_of
from dimetric.data._parquet.row_groups import ParquetTable
from dimetric.data._parquet.sample import Sampling, sample_rows_of
from dimetric.data._parquet.table_sample import TableSample
from dimetric.data._samples import samples_of
from dimetric.data._tables import open_table

__all__ = ["ParquetBlocks"]

LEARNING_ROWS = 20_000  # of the sample that shows what the columns hold
MAX_BLOCK_ROWS = 2**16
CELLS_PER_BLOCK = 2**20  # 8 MiB in float64


class ParquetBlocks:
    """Parquet files as blocks of rows, encoded as features, for tables that do not fit into memory.

    Calling the object returns a new iterator over blocks: ``X``, or ``(X, y)`` with a target. So it
    can be passed to ``fit`` of all learners that learn from blocks, such as PCA and LDA.

    The columns become features as in :func:`read_table`. A sample of 20,000 rows shows what each
    column holds, and which columns are left out. Texts with few distinct values are categories,
    which are searched for in all rows, so all blocks have the same features.

    Parameters
    ----------
    source : path, or list of paths
        Parquet files with the same columns and types. A folder stands for the files in it whose
        names end in ``.parquet``.
    target : str or int, optional
        Name or number of the target column. Negative numbers count from the last column. By
        default, there is no target.
    drop : iterable of str
        Columns to drop.
    missing : {"auto", "drop", "impute", "raise"}, default="drop"
        How to treat missing values. "drop" leaves out the rows. "impute" replaces the values by the
        median or most frequent category in the sample. "auto" leaves out the rows if they are at
        most 10 % of the sample, and imputes otherwise. "raise" raises an error. Rows without a
        target are left out, unless `missing` is "raise".
    auto : bool, default=False
        Whether to drop columns that cannot be used, such as lists. Otherwise, they raise an error.
    block_rows : int, optional
        Largest number of rows in a block. By default, a block has at most 65,536 rows and about
        a million values, but at least four rows for each feature. A row group may have more rows:
        it is read in parts.
    random_state : int, default=0
        Seed of the samples.

    Attributes
    ----------
    n_rows : int
        Number of rows of the files, from their metadata.
    n_dropped : int or None
        Number of rows that the last complete iteration left out. None before.
    feature_names : tuple of str
        Names of the features.
    target_name : str or None
        Name of the target.
    encoder : TableEncoder
        Encodes the columns of new rows as the same features.
    notes : tuple of str
        Messages about how columns are read and which ones are left out.

    See Also
    --------
    read_table : Read a table that fits into memory.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet, tempfile
    >>> from dimetric import LDA
    >>> rows = {"size": [1.0, 2.0, 5.0, 7.0], "kind": ["x", "y", "x", "y"], "class": [0, 0, 1, 1]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pa.parquet.write_table(pa.table(rows), f"{folder}/tiny.parquet", row_group_size=3)
    ...     blocks = ParquetBlocks(f"{folder}/tiny.parquet", target="class")
    ...     print(blocks)
    ...     print([(X.shape, y) for X, y in blocks()])
    ParquetBlocks('tiny': 4 rows, 2 features, target 'class')
    [((4, 2), array([0, 0, 1, 1]))]
    """

    @check_types
    def __init__(
        self,
        source: Any,
        target: str | int | None = None,
        *,
        drop: Iterable[str] = (),
        missing: str = "drop",
        auto: bool = False,
        block_rows: int | None = None,
        random_state: int = 0,
    ) -> None:
        if block_rows is not None and block_rows < 1:
            raise ValueError(f"block_rows={block_rows!r} must be at least 1.")
        file = source if isinstance(source, TableFile) else TableFile.open(source)
        self._table = ParquetTable(TableFile(file.readers))
        self._missing, self._seed = missing, int(random_state)
        roles: dict[str, Any] = {"drop": list(drop), "needs_target": target is not None}
        sample = file if isinstance(file, TableSample) else None
        if sample is None:
            sample = TableSample.draw(self._table, LEARNING_ROWS, target, seed=self._seed, **roles)
        table = open_table(sample, target, auto=auto, **roles)
        if table.unit:
            raise ValueError(
                f"Column {table.target!r} holds numbers with a unit ({table.unit}). Convert them "
                "to plain numbers, or choose another target."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the rows of the sample that are left out
            samples = samples_of(table.columns, table.target, missing=missing, name=table.name)
        self.name, self.n_rows = table.name, self._table.n_rows
        self.n_dropped: int | None = None
        self.target_name = table.target
        self._target_is_number = samples.y is not None and samples.y.dtype.kind in "iufb"
        self.encoder, notes = encoder_of(self._table, samples.columns, missing)
        self.feature_names = tuple(str(each) for each in self.encoder.get_feature_names_out())
        self.notes = (*table.notes, *self.encoder.notes_, *notes)
        self._columns = [*self.encoder.column_names()]
        self._columns += [] if table.target is None else [table.target]
        n_cells = max(len(self.feature_names), len(self._columns))
        rows = min(MAX_BLOCK_ROWS, CELLS_PER_BLOCK // n_cells)
        self._block_rows = block_rows or max(MIN_ROWS_PER_FEATURE * n_cells, rows)

    def __repr__(self) -> str:
        target = "" if self.target_name is None else f", target {self.target_name!r}"
        return (
            f"ParquetBlocks({self.name!r}: {self.n_rows:,} rows, {len(self.feature_names)} "
            f"features{target})"
        )

    def __call__(self) -> Iterator[Any]:
        n_dropped = 0
        for batch in self._table.batches(self._columns, self._block_rows):
            X, y = self._encoded(batch)
            n_dropped += batch.num_rows - len(X)
            if len(X):
                yield X if y is None else (X, y)
        self.n_dropped = n_dropped

    def sample(self, n_rows: int, *, random_state: int | None = None) -> DataSet:
        """Return some of the rows, encoded in the same way, in proportion to the class sizes.

        Parameters
        ----------
        n_rows : int
            Approximate number of rows. A class has at least 20, if there are as many.
        random_state : int, optional
            Seed of the choice. By default, that of the object.

        Returns
        -------
        DataSet
            The rows. A note says from how many row groups they are.
        """
        return self._sample(n_rows, random_state)[0]

    def _sample(self, n_rows: int, seed: int | None = None) -> tuple[DataSet, Sampling]:
        """Return a sample, as :meth:`sample` does, and how many rows and row groups it has."""
        if n_rows < 1:
            raise ValueError(f"n_rows={n_rows!r} must be at least 1.")
        seed = self._seed if seed is None else int(seed)
        drawn = sample_rows_of(
            self._table, self._columns, n_rows, seed=seed, target=self.target_name
        )
        parts = [self._encoded(each) for each in drawn.table.to_batches()]
        X = np.concatenate([X for X, _ in parts])
        y = None if self.target_name is None else np.concatenate([y for _, y in parts])
        notes = (f"{drawn.sampling}.",)
        return DataSet(X, y, self.feature_names, self.target_name, self.name, notes), drawn.sampling

    def _encoded(self, batch: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the features and the targets of the rows of a batch that have no missing values.

        Raise if there are missing values and ``missing="raise"``.
        """
        X, y = encode_batch(self.encoder, batch), None
        lacking = np.isnan(X).any(axis=1)
        if self.target_name is not None:
            column = batch.column(self.target_name)
            y, lacks_target = target_of(self.target_name, column, is_number=self._target_is_number)
            lacking |= lacks_target
        if not lacking.any():
            return X, y
        if self._missing == "raise":
            raise ValueError(
                f"{self.name} has rows with missing values. Set missing='drop' to leave them out, "
                "or missing='impute' to impute the values."
            )
        return X[~lacking], None if y is None else y[~lacking]
