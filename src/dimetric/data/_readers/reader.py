"""The interface of the readers of table files."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from dimetric.data._readers.source import InputFile


class Reader(ABC):
    """Reads the table in a file, as a whole or in chunks of rows.

    Errors are clauses without the name of the file, which :class:`~dimetric.data._files.TableFile`
    adds.

    Attributes
    ----------
    file : InputFile
        The file.
    kind : str
        Type of the file in words, for example "a text file".
    """

    file: InputFile
    kind: ClassVar[str]

    @abstractmethod
    def column_names(self) -> list[str]:
        """Return the names of all columns."""

    @abstractmethod
    def read(self, target: str | None = None) -> Any:
        """Return the whole table, as a data frame or a dict of columns.

        Parameters
        ----------
        target : str, optional
            A column whose values are read as strings, if they are strings in the file.
        """

    @abstractmethod
    def chunks(self, string_columns: set[str], cells_per_chunk: int) -> Iterator[Any]:
        """Yield chunks of rows, as data frames or dicts of columns.

        Parameters
        ----------
        string_columns : set of str
            Columns whose values are read as strings, even if a chunk holds only numbers.
        cells_per_chunk : int
            Number of values in each chunk.
        """

    def nested_columns(self) -> dict[str, str]:
        """Return the columns that are known to be nested before reading, and what they hold."""
        return {}

    def notes(self) -> list[str]:
        """Return messages about the format of the file."""
        return []
