"""Embeddings by name: of dimetric, or any class that the user names."""

import ast
from importlib import import_module
from inspect import signature
from typing import Any

from dimetric._names import suggest

PACKAGES = {"umap": "umap-learn", "sklearn": "scikit-learn"}  # called otherwise than their modules


def embedding_from(name: str, options: list[str], *, n_components: int, seed: int) -> Any:
    """Return an embedding by name, with options of the form name=value.

    Parameters
    ----------
    name : str
        As in ``dimetric``, in any case of letters; or ``module:Class`` of any class with
        ``fit_transform``, or with ``fit`` and ``transform``.
    options : list of str
        Its parameters.
    n_components, seed : int
        Dimensions, and where it draws at random: for classes that have such parameters, unless
        options say otherwise.

    Examples
    --------
    >>> embedding_from("isomap", ["n_neighbors=8"], n_components=2, seed=0)
    Isomap(n_neighbors=8, random_state=0)
    >>> embedding_from("sklearn.manifold:TSNE", [], n_components=2, seed=0)
    TSNE(random_state=0)
    """
    cls = _class_named(name) if ":" in name else _known(name)
    given = dict(parsed_option(each) for each in options)
    takes = signature(cls).parameters
    takes_any = any(each.kind == each.VAR_KEYWORD for each in takes.values())
    wrong = next((each for each in given if each not in takes and not takes_any), None)
    if wrong is not None:
        hint = suggest(wrong, takes, "It has")
        raise ValueError(f"{cls.__name__} has no option {wrong!r}. {hint}")
    own = {"n_components": n_components, "random_state": seed}
    try:
        return cls(**({each: value for each, value in own.items() if each in takes} | given))
    except TypeError as error:
        raise ValueError(f"{name} cannot be made: {error}. Give --option name=value.") from error


def _known(name: str) -> type:
    """Return a class of dimetric that maps samples."""
    import dimetric

    known = {
        each.lower(): each
        for each in dimetric.__all__
        if hasattr(getattr(dimetric, each), "fit_transform") and each != "Kernelized"
    }
    if name.lower() in known:
        return getattr(dimetric, known[name.lower()])
    raise ValueError(
        f"There is no method {name!r}. {suggest(name, sorted(known))} Any other goes by "
        "module:Class, as sklearn.manifold:TSNE."
    )


def _class_named(name: str) -> type:
    """Return the class that the user names by module:Class."""
    home, _, wanted = name.partition(":")
    try:
        module = import_module(home)
    except (ImportError, ValueError, TypeError) as error:
        package = home.partition(".")[0]
        raise ImportError(
            f"The module {home!r} of {name} cannot be imported: {error}. If it is not installed: "
            f"pip install {PACKAGES.get(package, package)}."
        ) from error
    cls = getattr(module, wanted, None)
    if not isinstance(cls, type):
        classes = [each for each in dir(module) if isinstance(getattr(module, each), type)]
        hint = suggest(wanted, classes)
        raise ValueError(f"The module {home!r} has no class {wanted!r}. {hint}")
    if not hasattr(cls, "fit_transform") and not (
        hasattr(cls, "fit") and hasattr(cls, "transform")
    ):
        raise ValueError(
            f"{name} embeds nothing: it has neither fit_transform, nor fit and transform."
        )
    return cls


def parsed_option(text: str) -> tuple[str, Any]:
    """Return the name and the value that name=value stands for.

    Examples
    --------
    >>> parsed_option("n_neighbors = 8"), parsed_option("solver=sgd")
    (('n_neighbors', 8), ('solver', 'sgd'))
    """
    name, equals, value = (each.strip() for each in text.partition("="))
    if not equals or not name:
        raise ValueError(f"--option {text} must be name=value, as n_components=2.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value  # a text
