"""Look up objects by name, and suggest similar names if a name is unknown."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar

MAX_LISTED_NAMES = 50  # names that a message lists if none is similar
MAX_SUGGESTIONS = 3
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
    names = [str(known_name) for known_name in known]
    by_lower = {known_name.lower(): known_name for known_name in names}
    close = get_close_matches(str(name).lower(), by_lower, MAX_SUGGESTIONS, MIN_SIMILARITY)
    similar = [by_lower[lower] for lower in close]
    if similar:
        *first, last = similar
        return f"Did you mean {', '.join(first)} or {last}?" if first else f"Did you mean {last}?"
    hidden = len(names) - MAX_LISTED_NAMES
    more = f" and {hidden} more" if hidden > 0 else ""
    return f"{intro} {', '.join(names[:MAX_LISTED_NAMES])}{more}."


class ArgumentErrorMixin:
    """Mixin for classes whose errors about constructor arguments name the right class.

    Python names the class that defines the constructor, which may be a private base class. The
    errors of a subclass of this mixin name the class that the user wrote, and suggest a parameter
    for an unknown keyword. The signature of the constructor does not change.

    Examples
    --------
    >>> class Base(ArgumentErrorMixin):
    ...     def __init__(self, *, n_components=2):
    ...         self.n_components = n_components
    >>> class Learner(Base):
    ...     pass
    >>> Learner(n_comp=3)
    Traceback (most recent call last):
    ...
    TypeError: Learner.__init__() got an unexpected keyword argument 'n_comp'. Did you mean
    n_components?
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = _with_clear_errors(cls.__init__)  # type: ignore[method-assign]


def _with_clear_errors(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor whose errors about its arguments name the class of the object."""

    @wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            prefix = f"{init.__qualname__}()"  # a call inside the constructor has another prefix
            if not str(error).startswith(prefix):
                raise
            message = f"{type(self).__name__}.__init__(){str(error).removeprefix(prefix)}"
            parameters = list(inspect.signature(init).parameters)[1:]
            unknown = [name for name in kwargs if name not in parameters]
            if unknown and "Did you mean" not in message:  # Python 3.13 suggests a parameter
                message = f"{message}. {suggest(unknown[0], parameters)}"
            raise TypeError(message) from None

    return __init__
