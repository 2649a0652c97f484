"""What may have been meant by a name that nothing has."""

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 50  # names that are listed at most


def nearest(name: str, known: Iterable[str], there: str = "There are") -> str:
    """Return a sentence with the names that are near, or, if none is, with those there are.

    Parameters
    ----------
    name : str
        The name that was given, in upper or lower case.
    known : iterable of str
        Names that could have been.
    there : str, default="There are"
        What goes before a list of those.

    Examples
    --------
    >>> nearest("lmn", ["NCA", "LMNN", "LDA"])
    'Did you mean LMNN?'
    >>> nearest("?", ["NCA", "LMNN"])
    'There are NCA, LMNN.'
    """
    names = [str(each) for each in known]
    by_lower = {each.lower(): each for each in names}
    near = [by_lower[each] for each in get_close_matches(str(name).lower(), by_lower, 3, 0.5)]
    if near:
        return f"Did you mean {' or '.join(near)}?"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{there} {', '.join(names[:SHOWN])}{more}."
