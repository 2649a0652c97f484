"""Make learners and embeddings from their names: dimetric's own, or any ``module:Class``."""

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from dimetric._names import look_up, suggest
from dimetric.advice._candidates import KERNELIZED_NCA, kernelized_nca
from dimetric.advice._race_options import predicts
from dimetric.advice._selection import FAVOURITE
from dimetric.benchmark._inputs import estimator_classes
from dimetric.classify.ensemble import MetricEnsembleClassifier
from dimetric.learners._base import with_objects

__all__ = ["embedding_by_name", "learner_by_name", "short_name"]

# Short names of embedding methods of other packages.
SHORT_NAMES = {
    "pacmap": "pacmap:PaCMAP",
    "trimap": "trimap:TRIMAP",
    "tsne": "sklearn.manifold:TSNE",
    "umap": "umap:UMAP",
}
# Modules whose package has a different name in "pip install".
PACKAGE_NAMES = {"umap": "umap-learn", "sklearn": "scikit-learn"}
# Candidates of a comparison whose names are not those of their classes.
CANDIDATES: dict[str, Any] = {
    FAVOURITE: MetricEnsembleClassifier,
    KERNELIZED_NCA: kernelized_nca,
}


def learner_by_name(
    name: str, params: Mapping[str, Any] | None = None, *, random_state: int | None = None
) -> Any:
    """Return an unfitted learner, or None for the name "Euclidean".

    Parameters
    ----------
    name : str
        Name of a learner of dimetric, or of a candidate of :func:`dimetric.compare`, such as
        "Ensemble". Case is ignored.
    params : mapping of str to object, optional
        Parameters of the learner.
    random_state : int or None, default=None
        Seed of the learner. A seed in `params` takes precedence.

    Examples
    --------
    >>> learner_by_name("nca", {"n_components": 2}, random_state=0)
    NCA(n_components=2, random_state=0)
    >>> learner_by_name("kda", {"kernel": "poly", "kernel__degree": 2})
    KDA(kernel=Kernel(degree=2, name='poly'))
    >>> learner_by_name("ensemble")
    MetricEnsembleClassifier()
    """
    classes = CANDIDATES | _classes_with("transform", name)
    known = dict(sorted(classes.items(), key=lambda each: each[0].lower()))
    cls = look_up(name, known | {"Euclidean": None}, "learner")
    if cls is None:
        return None
    return _make_estimator(cls, params, {}, random_state)


def embedding_by_name(
    name: str,
    params: Mapping[str, Any] | None = None,
    *,
    n_components: int = 2,
    random_state: int | None = None,
) -> Any:
    """Return an unfitted embedding method.

    Parameters
    ----------
    name : str
        Name of a method of dimetric, "tsne", "umap", "pacmap" or "trimap" (case is ignored), or
        ``module:Class``. The class must have ``fit_transform``, or ``fit`` and ``transform``.
    params : mapping of str to object, optional
        Parameters of the method.
    n_components, random_state : int
        Number of dimensions, and seed. They are ignored if the class has no such parameter.
        Values in `params` take precedence.

    Examples
    --------
    >>> embedding_by_name("isomap", {"n_neighbors": 8}, random_state=0)
    Isomap(n_neighbors=8, random_state=0)
    >>> embedding_by_name("tsne", random_state=0)
    TSNE(random_state=0)
    >>> embedding_by_name("sklearn.manifold:SpectralEmbedding", n_components=3)
    SpectralEmbedding(n_components=3)
    """
    defaults: dict[str, Any] = {"n_components": n_components}
    if ":" not in name:
        name = SHORT_NAMES.get(short_name(name), name)
    if ":" not in name:
        known = {key.lower(): each for key, each in _classes_with("fit_transform", name).items()}
        known |= dict.fromkeys(SHORT_NAMES)
        hint = "For other methods, write module:Class, for example sklearn.manifold:MDS."
        cls = look_up(name, dict(sorted(known.items())), "method", hint=hint)
        return _make_estimator(cls, params, defaults, random_state)
    cls = _import_class(name)
    params = dict(params or {})
    accepted = signature(cls).parameters
    if not any(each.kind == each.VAR_KEYWORD for each in accepted.values()):
        _check_param_names(params, accepted, cls)
    defaults |= {"random_state": random_state, "n_dims": n_components}  # n_dims: of TRIMAP
    try:
        return cls(**({each: defaults[each] for each in defaults if each in accepted} | params))
    except TypeError as error:
        raise ValueError(
            f"{name} cannot be created: {error}. Pass the parameters it requires in params (on "
            "the command line: --option name=value)."
        ) from error


def short_name(name: str) -> str:
    """Return the name of an embedding method in lower case, without its module.

    Examples
    --------
    >>> short_name("t-SNE"), short_name("sklearn.manifold:SpectralEmbedding"), short_name("PCA")
    ('tsne', 'spectralembedding', 'pca')
    """
    return name.rpartition(":")[2].lower().replace("t-sne", "tsne")


def _make_estimator(
    cls: Callable[[], Any],
    params: Mapping[str, Any] | None,
    defaults: Mapping[str, Any],
    random_state: int | None,
) -> Any:
    """Return an estimator of a dimetric class.

    `params` override `defaults`. Defaults for parameters that the class does not have are ignored.
    A nested parameter such as ``solver__batch_size`` turns a solver given by name into an object.
    """
    estimator, params = cls(), dict(params or {})
    nested = {each: params.pop(each) for each in list(params) if "__" in each}
    _check_param_names(params, with_objects(estimator).get_params(), cls)
    accepted = estimator.get_params(deep=False)
    estimator.set_params(
        **({each: defaults[each] for each in defaults if each in accepted} | params)
    )
    # Replace a kernel given by name with an object too, because the seed of its landmarks is set
    # below.
    estimator = with_objects(estimator, {"kernel", *(each.partition("__")[0] for each in nested)})
    accepted = estimator.get_params()
    _check_param_names(nested, accepted, cls)
    seeds = {each for each in accepted if each.rpartition("__")[2] == "random_state"}
    seeds -= params.keys() | nested.keys()
    return estimator.set_params(**dict.fromkeys(seeds, random_state), **nested)


def _classes_with(method: str, name: str | None) -> dict[str, Any]:
    """Return dimetric's public estimator classes that have the given method, by class name.

    If one of them has the given name, return only this class, because importing all takes time.
    """
    # Kernelized cannot be made from its name alone: it wraps another learner. Ensembles predict.
    found = {
        each: cls
        for each, cls in estimator_classes(method, name).items()
        if each != "Kernelized" and not predicts(cls)
    }
    return found if found or name is None else _classes_with(method, None)


def _check_param_names(params: Mapping[str, Any], accepted: Mapping[str, Any], cls: Any) -> None:
    wrong = next((each for each in params if each not in accepted), None)
    if wrong is not None:
        hint = suggest(wrong, accepted, "Its parameters are")
        raise ValueError(f"{cls.__name__} has no parameter {wrong!r}. {hint}")


def _import_class(name: str) -> type:
    """Import a class given as module:Class. Raise if it is not an embedding method."""
    module_name, _, class_name = name.partition(":")
    try:
        module = import_module(module_name)
    except (ImportError, ValueError, TypeError) as error:
        top = module_name.partition(".")[0]
        package = PACKAGE_NAMES.get(top, top)
        if name in SHORT_NAMES.values() and getattr(error, "name", "") == top:
            raise ImportError(
                f"The method {top} requires the package {package}. Install it with "
                f"pip install {package}."
            ) from error
        raise ImportError(
            f"{name}: the module {module_name!r} cannot be imported: {error}. If it is not "
            f"installed, run pip install {package}."
        ) from error
    cls = getattr(module, class_name, None)
    if not isinstance(cls, type):
        classes = [each for each in dir(module) if isinstance(getattr(module, each), type)]
        hint = suggest(class_name, classes)
        raise ValueError(f"The module {module_name!r} has no class {class_name!r}. {hint}")
    if not hasattr(cls, "fit_transform") and not (
        hasattr(cls, "fit") and hasattr(cls, "transform")
    ):
        raise ValueError(
            f"{name} is not an embedding method: it needs fit_transform, or fit and transform."
        )
    return cls
