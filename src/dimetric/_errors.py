"""Messages of errors that other libraries raise, for use in messages of dimetric."""

MAX_ERROR_CHARACTERS = 400


def error_text(error: BaseException) -> str:
    r"""Return the message of an error on one line, without its full stop and not too long.

    Examples
    --------
    >>> error_text(ValueError("Wrong header.\nIt has 3 lines."))
    'Wrong header. It has 3 lines'
    """
    text = " ".join((str(error) or type(error).__name__).split()).rstrip(".")
    return text if len(text) <= MAX_ERROR_CHARACTERS else f"{text[:MAX_ERROR_CHARACTERS]}..."
