"""Clear errors about wrong types and unknown names of arguments."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from types import UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dimetric._names import suggest

P = ParamSpec("P")
R = TypeVar("R")

# What an annotation accepts, if that is more than its own instances.
ACCEPTED: dict[Any, Any] = {
    bool: (bool, np.bool_),
    int: Integral,
    float: Real,
    list: Collection,
    tuple: Collection,
    Sequence: Collection,  # NumPy arrays and pandas objects are not instances of Sequence
    dict: Mapping,
    np.ndarray: object,  # anything that NumPy converts to an array
    Any: object,
}


MAX_SHOWN_CHARACTERS = 200  # of a value in a message


class ArgumentTypeError(TypeError, ValueError):
    """An argument has the wrong type.

    It is also a ValueError, because estimators raise one for the same mistake in a parameter.
    """


def check_types(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: raise an error if an argument does not match its annotation.

    Without this check, a wrong type raises an error deep inside a computation, or none at all:
    ``open(1)`` takes 1 for a file descriptor. Elements of containers are not checked.

    Examples
    --------
    >>> @check_types
    ... def repeat(text: str, times: int = 2) -> str:
    ...     return times * text
    >>> repeat("ab")
    'abab'
    >>> repeat("ab", 1.5)
    Traceback (most recent call last):
    ...
    dimetric._arguments.ArgumentTypeError: times=1.5 must be an int, not a float.
    """
    signature = inspect.signature(function)
    annotations = cache(lambda: get_type_hints(function))

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # raises Python's own error
        for name, value in arguments.items():
            expected = annotations().get(name, Any)
            if signature.parameters[name].kind in ARGUMENT_LISTS or _accepts(expected, value):
                continue
            found = _describe(type(value))
            shown = " ".join(repr(value).split())[:MAX_SHOWN_CHARACTERS]
            raise ArgumentTypeError(f"{name}={shown} must be {_describe(expected)}, not {found}.")
        return function(*args, **kwargs)

    return checked


ARGUMENT_LISTS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _accepts(annotation: Any, value: Any) -> bool:
    """Return whether a value matches an annotation."""
    origin = get_origin(annotation) or annotation
    if origin in (Union, UnionType):
        return any(_accepts(each, value) for each in get_args(annotation))
    accepted = ACCEPTED.get(origin, origin)
    if not isinstance(accepted, type | tuple):  # for example a type variable
        return True
    return isinstance(value, accepted)


def _describe(annotation: Any) -> str:
    """Return the name of a type with its article, or the names of the types in a union."""
    if get_origin(annotation) in (Union, UnionType):
        names = dict.fromkeys(_describe(each) for each in get_args(annotation))
        *others, last = names
        return f"{', '.join(others)} or {last}" if others else last
    if annotation is type(None):
        return "None"
    name = str(getattr(get_origin(annotation) or annotation, "__name__", annotation))
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


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
