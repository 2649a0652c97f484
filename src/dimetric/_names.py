"""Look up objects by name, suggest similar names, and write names and numbers as text."""

import codecs
import io
import shlex
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from math import floor, log10
from typing import Any, TextIO, TypeVar
from unicodedata import category

MAX_LISTED_CLASSES = 5  # in a message about some of the classes
MAX_LISTED_ARRAYS = 5  # in a message about the arrays of a file
MAX_NAME_CHARACTERS = 50  # of a listed name
MAX_LISTED_NAMES = 50  # names that a message lists if none is similar
MAX_LISTED_COLUMNS = 20  # in a message about some of the columns
MAX_SUGGESTIONS = 3
N_DIGITS = 4  # significant digits of a number in a text
JOINERS = "\u200c\u200d"  # some scripts and emojis need these two invisible characters
MIN_SIMILARITY = 0.5  # ratio of difflib, from 0 (different) to 1 (equal)

T = TypeVar("T")


def look_up(name: str, known: Mapping[str, T], kind: str, *, hint: str = "") -> T:
    """Return the object with a given name, ignoring case.

    Parameters
    ----------
    name : str
        The name to look up.
    known : mapping of str to object
        The known objects by name.
    kind : str
        Kind of the objects, such as "learner". Used in the error message.
    hint : str, default=""
        Sentence that ends the error message.

    Raises
    ------
    ValueError
        If the name is unknown. The message suggests similar names.

    Examples
    --------
    >>> look_up("nca", {"NCA": 1, "LDA": 2}, "learner")
    1
    >>> look_up("nac", {"NCA": 1, "LDA": 2}, "learner")
    Traceback (most recent call last):
    ...
    ValueError: There is no learner 'nac'. Did you mean NCA?
    """
    by_lower = {str(known_name).lower(): known_name for known_name in known}
    if name in known:
        return known[name]
    if name.lower() in by_lower:
        return known[by_lower[name.lower()]]
    sentences = [f"There is no {kind} {name!r}.", suggest(name, known), hint]
    raise ValueError(" ".join(sentence for sentence in sentences if sentence))


def suggest(name: str, known: Iterable[str], intro: str = "Choose from") -> str:
    """Return a sentence that suggests similar names, or lists all names if none is similar.

    Parameters
    ----------
    name : str
        The unknown name. Case is ignored.
    known : iterable of str
        The known names.
    intro : str, default="Choose from"
        Beginning of the sentence that lists all names.

    Examples
    --------
    >>> suggest("lmn", ["NCA", "LMNN", "LDA"])
    'Did you mean LMNN?'
    >>> suggest("LMMN", ["LMNN", "KLMNN", "LDA", "MCML"])
    'Did you mean LMNN, KLMNN or MCML?'
    >>> suggest("?", ["NCA", "LMNN"])
    'Choose from NCA, LMNN.'
    """
    names = [printable(known_name) for known_name in known]
    by_lower = {known_name.lower(): known_name for known_name in names}
    close = get_close_matches(str(name).lower(), by_lower, MAX_SUGGESTIONS, MIN_SIMILARITY)
    similar = [by_lower[lower] for lower in close]
    if similar:
        *first, last = similar
        return f"Did you mean {', '.join(first)} or {last}?" if first else f"Did you mean {last}?"
    hidden = len(names) - MAX_LISTED_NAMES
    more = f" and {hidden} more" if hidden > 0 else ""
    return f"{intro} {', '.join(names[:MAX_LISTED_NAMES])}{more}."


def printable(value: object) -> str:
    r"""Return a value as a text without characters that control a terminal.

    Control characters, line breaks and characters that change the direction of writing are replaced
    by escape sequences.

    Parameters
    ----------
    value : object
        The value, such as a name from a table or the path of a file.

    Examples
    --------
    >>> print(printable("red\x1b[31m \u202e line\n"), printable("naïve 数 \U0001f600"))
    red\x1b[31m \u202e line\n naïve 数 😀
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(each if _is_harmless(each) else ascii(each)[1:-1] for each in text)


class TerminalOutput(io.BufferedIOBase):
    """Binary stream that prints UTF-8 text to a terminal, with control characters escaped.

    Parameters
    ----------
    terminal : text stream
        The terminal.
    """

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        lines = self._decoder.decode(bytes(content)).split("\n")
        self._terminal.write("\n".join(map(printable, lines)))
        return len(content)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character in JOINERS or category(character) == "Zs"


def listed_classes(classes: Iterable[object]) -> str:
    """Return the first classes as a list in quotes.

    Examples
    --------
    >>> listed_classes(["a", "b"]), listed_classes(range(9))
    ("'a', 'b'", "'0', '1', '2', '3', '4', ...")
    """
    names = [repr(str(each)) for each in classes]
    return ", ".join(names[:MAX_LISTED_CLASSES] + ["..."] * (len(names) > MAX_LISTED_CLASSES))


def listed_arrays(names: Iterable[str]) -> str:
    """Return the first names of arrays, shortened, and the number of the others.

    Examples
    --------
    >>> listed_arrays(["a", "b"]), listed_arrays([]), listed_arrays("abcdefgh")
    ('a, b', 'no arrays', 'a, b, c, d, e and 3 others')
    """
    names = list(names)
    shown = [
        printable(each if len(each) <= MAX_NAME_CHARACTERS else f"{each[:MAX_NAME_CHARACTERS]}...")
        for each in names[:MAX_LISTED_ARRAYS]
    ]
    hidden = len(names) - len(shown)
    others = f" and {hidden} other{'s' * (hidden > 1)}" if hidden else ""
    return (", ".join(shown) or "no arrays") + others


def number_text(value: float, sign: str = "") -> str:
    """Return a number with four significant digits, without an exponent if it is of usual size.

    Examples
    --------
    >>> number_text(31234.5), number_text(0.0123456), number_text(7.0), number_text(1e-30)
    ('31,234', '0.01235', '7', '1e-30')
    """
    if value == 0 or not 1e-4 <= abs(value) < 1e9:
        return f"{value:{sign}.{N_DIGITS}g}"
    n_decimals = max(0, N_DIGITS - 1 - floor(log10(abs(value))))
    text = f"{value:{sign},.{n_decimals}f}"
    return text.rstrip("0").rstrip(".") if n_decimals else text


def listed_columns(names: Iterable[str]) -> str:
    """Return the names of columns in quotes, shortened, and the number of those left out.

    Examples
    --------
    >>> listed_columns(["a"]), listed_columns(["a", "b", "c"])
    ("'a'", "'a', 'b' and 'c'")
    """
    names = list(names)
    shown = [
        repr(each if len(each) <= MAX_NAME_CHARACTERS else f"{each[:MAX_NAME_CHARACTERS]}...")
        for each in names[:MAX_LISTED_COLUMNS]
    ]
    hidden = len(names) - len(shown)
    last = f"{hidden} other{'s' * (hidden > 1)}" if hidden else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def joined_names(names: Iterable[str]) -> str:
    """Return names separated by commas, as options of the command take them.

    Names that contain a comma or start with a quotation mark are quoted as in a CSV file.

    Examples
    --------
    >>> print(joined_names(["price", "size, cm"]))
    price,"size, cm"
    """
    doubled = ((each, each.replace('"', '""')) for each in names)
    return ",".join(
        f'"{text}"' if "," in name or name.startswith('"') else name for name, text in doubled
    )


def shell_names(*names: str) -> str:
    """Return names as one quoted word of a command.

    Examples
    --------
    >>> print(shell_names("price"), shell_names("it's, odd"))
    'price' '"it'"'"'s, odd"'
    """
    text = joined_names(names)
    quoted = shlex.quote(text)
    return quoted if quoted != text else f"'{text}'"
