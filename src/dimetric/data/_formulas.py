"""Cells of CSV files that a spreadsheet program would run as formulas."""

from typing import Any

# The last four are the full-width forms, which some programs also accept.
FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"
FORMULA = rf"\A[{FORMULA_STARTS.replace('-', '')}\-]"
NUMBER = r"\A[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))\z"
ESCAPE = "'"


class FormulaCells:
    """Count cells that start like a formula, and put an apostrophe before them on request.

    Texts that are numbers, such as "-1", are not formulas.

    Parameters
    ----------
    escape : bool
        Whether to put an apostrophe before the cells.

    Attributes
    ----------
    count : int
        Number of such cells so far.

    Examples
    --------
    >>> import pyarrow as pa
    >>> cells = FormulaCells(escape=True)
    >>> cells.apply(pa.array(["=1+1", "-1", "a = b", None])).to_pylist(), cells.count
    (["'=1+1", '-1', 'a = b', None], 1)
    """

    def __init__(self, *, escape: bool) -> None:
        self._escape = escape
        self.count = 0

    def apply(self, texts: Any) -> Any:
        """Count the formulas in a pyarrow array of strings. Return the texts to write."""
        import pyarrow as pa
        import pyarrow.compute as pc

        is_formula = pc.and_not(
            pc.match_substring_regex(texts, FORMULA), pc.match_substring_regex(texts, NUMBER)
        )
        count = pc.sum(is_formula).as_py() or 0
        self.count += count
        if not (count and self._escape):
            return texts
        escaped = pc.binary_join_element_wise(pa.scalar(ESCAPE, texts.type), texts, "")
        return pc.if_else(is_formula, escaped, texts)

    def apply_to_table(self, table: Any) -> Any:
        """Count the formulas in the strings of a pyarrow table. Return the table to write."""
        import pyarrow as pa

        for i, field in enumerate(table.schema):
            if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                table = table.set_column(i, field, self.apply(table.column(i)))
        return table
