"""Learners and embeddings by name: those of dimetric, or any class that the user names."""

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from dimetric._names import look_up, suggest
from dimetric.benchmark._inputs import estimator_classes
from dimetric.learners._base import with_objects

__all__ = ["embedding_by_name", "learner_by_name"]

# Packages that are installed by another name than that of their module.
PACKAGES = {"umap": "umap-learn", "sklearn": "scikit-learn"}


def learner_by_name(
    name: str, params: Mapping[str, Any] | None = None, *, random_state: int | None = None
) -> Any:
    """Return a learner by name; None for "Euclidean".

    Parameters
    ----------
    name : str
        As in ``dimetric``, in upper or lower case.
    params : mapping of str to object, optional
        Its parameters.
    random_state : int or None, default=None
        Its seed, unless `params` has another.

    Examples
    --------
    >>> learner_by_name("nca", {"n_components": 2}, random_state=0)
    NCA(n_components=2, random_state=0)
    >>> learner_by_name("kda", {"kernel": "poly", "kernel__degree": 2})
    KDA(kernel=Kernel(degree=2, name='poly'))
    """
    known = dict(sorted(_classes_with("transform").items(), key=lambda each: each[0].lower()))
    cls = look_up(name, known | {"Euclidean": None}, "learner")
    if cls is None:
        return None
    return _with_params(cls, params, {}, random_state)


def embedding_by_name(
    name: str,
    params: Mapping[str, Any] | None = None,
    *,
    n_components: int = 2,
    random_state: int | None = None,
) -> Any:
    """Return an embedding by name.

    Parameters
    ----------
    name : str
        As in ``dimetric``, in upper or lower case; or ``module:Class`` of any class with
        ``fit_transform``, or with ``fit`` and ``transform``.
    params : mapping of str to object, optional
        Its parameters.
    n_components, random_state : int
        Dimensions and seed, for classes that have such parameters, unless `params` has others.

    Examples
    --------
    >>> embedding_by_name("isomap", {"n_neighbors": 8}, random_state=0)
    Isomap(n_neighbors=8, random_state=0)
    >>> embedding_by_name("sklearn.manifold:TSNE", random_state=0)
    TSNE(random_state=0)
    """
    usual: dict[str, Any] = {"n_components": n_components}
    if ":" not in name:
        known = {each.lower(): own for each, own in _classes_with("fit_transform").items()}
        more = "Any other goes by module:Class, as sklearn.manifold:TSNE."
        cls = look_up(name, dict(sorted(known.items())), "method", hint=more)
        return _with_params(cls, params, usual, random_state)
    cls = _imported_class(name)
    given = dict(params or {})
    own = signature(cls).parameters
    if not any(each.kind == each.VAR_KEYWORD for each in own.values()):
        _check_names(given, own, cls)
    usual["random_state"] = random_state
    try:
        return cls(**({each: value for each, value in usual.items() if each in own} | given))
    except TypeError as error:
        raise ValueError(
            f"{name} cannot be made: {error}. Give what it needs as params, on the command line "
            "by --option name=value."
        ) from error


def _with_params(
    cls: type, params: Mapping[str, Any] | None, usual: Mapping[str, Any], random_state: int | None
) -> Any:
    """Return an estimator of dimetric.

    Where parameters are nested, as ``solver__batch_size``, names of solvers become objects.
    `usual` are parameters for classes that have them.
    """
    estimator, given = cls(), dict(params or {})
    nested = {each: given.pop(each) for each in list(given) if "__" in each}
    _check_names(given, with_objects(estimator).get_params(), cls)
    own = estimator.get_params(deep=False)
    estimator.set_params(**({each: usual[each] for each in usual if each in own} | given))
    # The kernel is always an object, so that its landmarks, if there will be any, have the seed.
    estimator = with_objects(estimator, {"kernel", *(each.partition("__")[0] for each in nested)})
    own = estimator.get_params()
    _check_names(nested, own, cls)
    seeds = {each for each in own if each.rpartition("__")[2] == "random_state"}
    seeds -= given.keys() | nested.keys()
    return estimator.set_params(**dict.fromkeys(seeds, random_state), **nested)


def _classes_with(method: str) -> dict[str, Any]:
    """Return the public classes of dimetric that have a method, by name."""
    # Kernelized needs another learner, so that a name alone does not make one.
    return {name: each for name, each in estimator_classes(method).items() if name != "Kernelized"}


def _check_names(given: Mapping[str, Any], own: Mapping[str, Any], cls: type) -> None:
    wrong = next((each for each in given if each not in own), None)
    if wrong is not None:
        hint = suggest(wrong, own, "It has")
        raise ValueError(f"{cls.__name__} has no option {wrong!r}. {hint}")


def _imported_class(name: str) -> type:
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
