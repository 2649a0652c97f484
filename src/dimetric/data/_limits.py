"""Limits on the files that are read, so that a small file takes little time and memory."""

MAX_COLUMNS = (
    200_000  # of a file. Each column takes about 0.1 to 0.3 ms, and several hundred bytes.
)


def check_n_columns(n_columns: int) -> None:
    """Raise if a file has too many columns to read it as a table.

    The error message is a clause. The caller adds the name of the file.
    """
    if n_columns > MAX_COLUMNS:
        raise ValueError(
            f"it has {n_columns:,} columns, but at most {MAX_COLUMNS:,} are supported; check its "
            "separators, or pass the samples as an array"
        )
