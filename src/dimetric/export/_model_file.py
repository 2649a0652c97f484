"""Model files: a fitted estimator as tensors and a JSON header, in the safetensors format.

docs/model-file.md describes the format, so that other programs can read it. A file holds no code:
it is safe to load a file from anywhere.
"""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dimetric._files import atomic_write
from dimetric._versions import installed_versions
from dimetric.export._container import (
    FORMAT,
    MAX_HEADER_BYTES,
    METADATA_KEY,
    parse_object,
    read_header,
    sentence,
)
from dimetric.export._decode import Decoder
from dimetric.export._encode import Encoder
from dimetric.export._schema import SKLEARN_CLASSES, all_types
from dimetric.export._upgrade import upgrade

__all__ = ["describe", "load", "save", "trusted_types"]

MAX_READINGS = 20  # of a file that another program replaces while it is read
PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn")


def save(model: BaseEstimator, path: str | os.PathLike[str], *, about: Any = None) -> None:
    """Write a fitted estimator to a file. If this fails, the old file is left as it was.

    Parameters
    ----------
    model : estimator
        An estimator of dimetric, or a :class:`~sklearn.pipeline.Pipeline` of such estimators and
        of scikit-learn's scalers.
    path : path
        The file; by convention its name ends in ``.dimetric``.
    about : str, dict or list, optional
        A description of the model in plain JSON: its data, its scores.

    See Also
    --------
    load, describe

    Notes
    -----
    Arrays keep their dtype. Arrays of torch and other namespaces are loaded as NumPy arrays; a
    loaded model still follows the namespace and device of the samples it is applied to. Functions
    (a kernel or metric of your own) cannot be saved.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from dimetric import LDA, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = LDA().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(lda, f"{folder}/iris.dimetric")
    ...     again = load(f"{folder}/iris.dimetric")
    >>> bool((again.transform(X) == lda.transform(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"A model file holds an estimator, not {type(model).__name__}.")
    check_is_fitted(model)
    encoder = Encoder()
    header = {
        "format": FORMAT,
        "versions": installed_versions(PACKAGES),
        "features": _listed(getattr(_first(model), "feature_names_in_", None)),
        "n_features": int(getattr(_first(model), "n_features_in_", 0)) or None,
        "classes": _listed(getattr(model, "classes_", None)),
        "about": about,
        "model": encoder.estimator(model),
    }
    try:
        text = json.dumps(header, allow_nan=False, separators=(",", ":"))
        parse_object(text)  # it refuses what is nested too deeply
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"about must be plain JSON: {error}.") from None
    if len(text) > MAX_HEADER_BYTES // 2:  # quotes in it will be escaped
        raise ValueError("The model has too many names and texts for a file's header.")
    from_numpy = _safetensors().numpy
    with atomic_write(path) as temporary:
        from_numpy.save_file(encoder.tensors, temporary, metadata={METADATA_KEY: text})


def load(path: str | os.PathLike[str]) -> Any:
    """Return the fitted estimator of a file that :func:`save` has written.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    model : estimator
        Equal to the one that was saved. Its arrays are NumPy arrays.

    Raises
    ------
    ValueError
        If the file is no model file, is cut off, or holds anything that no model has. Nothing in
        the file is executed.
    """
    for _ in range(MAX_READINGS):
        header, tensors = read_header(path)
        found = _tensors(path, header, list(tensors))
        if found is not None:
            break
    else:
        raise ValueError(f"{path} cannot be loaded: it changes all the time.")
    try:
        data = upgrade(header["model"]) if header["format"] < FORMAT else header["model"]
        model = Decoder(found).model(data)
        check_is_fitted(model)
    except ImportError:
        raise
    except Exception as error:  # an estimator may raise anything on values that no fit gives it
        raise ValueError(f"{path} cannot be loaded: {sentence(error)}.") from error
    _warn_of_other_version(header)
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the description of a model file; only its header is read.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    about : dict
        ``format``, ``class``, ``parameters`` (or ``steps`` of a pipeline, each with its own),
        ``features``, ``n_features``, ``classes``, ``versions``, ``about``, ``tensors`` (dtype and
        shape by name) and ``bytes``. All of it is plain JSON.
    """
    header, tensors = read_header(path)
    try:
        outline = _outline(header["model"])
    except ValueError as error:
        raise ValueError(f"{path} is not a model file: {sentence(error)}.") from None
    summary = {"format": header["format"], **outline}
    for name in ("features", "n_features", "classes", "versions", "about"):
        summary[name] = header.get(name)
    summary["tensors"] = {
        name: {"dtype": each["dtype"], "shape": each["shape"]} for name, each in tensors.items()
    }
    summary["bytes"] = Path(path).stat().st_size
    return summary


def trusted_types() -> list[str]:
    """Return the names of the types that models of dimetric consist of, for ``skops.io.load``.

    Examples
    --------
    >>> import skops.io
    >>> from dimetric import LDA, trusted_types
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> model = make_pipeline(StandardScaler(), LDA()).fit(*load_iris(return_X_y=True))
    >>> again = skops.io.loads(skops.io.dumps(model), trusted=trusted_types())
    >>> again[-1]
    LDA()
    """
    return sorted(f"{each.__module__}.{each.__qualname__}" for each in all_types())


def _tensors(
    path: str | os.PathLike[str], header: dict[str, Any], names: list[str]
) -> dict[str, np.ndarray] | None:
    """Return the tensors of a file; None if it was replaced after its header was read."""
    try:
        with _safetensors().safe_open(path, framework="numpy") as file:
            if json.loads((file.metadata() or {}).get(METADATA_KEY, "null")) != header:
                return None
            return {name: file.get_tensor(name) for name in names}
    except (ImportError, OSError):
        raise
    except Exception as error:  # safetensors has error types of its own
        raise ValueError(f"{path} cannot be loaded: {sentence(error)}.") from error


def _outline(model: Any) -> dict[str, Any]:
    """Return the class and parameters of a model from its JSON."""
    if not isinstance(model, dict) or not isinstance(model.get("$class"), str):
        raise ValueError("its header describes no estimator")
    parameters = model.get("parameters")
    if not isinstance(parameters, dict):
        raise ValueError("its header describes no parameters")
    if model["$class"] != "Pipeline":
        return {"class": model["$class"], "parameters": _readable(parameters)}
    steps = parameters.get("steps")
    listed = steps if isinstance(steps, list) else []
    pairs = [each.get("$tuple") if isinstance(each, dict) else None for each in listed]
    good = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    if not pairs or len(good) < len(pairs):
        raise ValueError("its header describes a pipeline without steps")
    named = [{"name": name, **_outline(step)} for name, step in good if isinstance(step, dict)]
    return {"class": "Pipeline", "steps": named}


def _readable(value: Any) -> Any:
    """Return encoded parameters as plain values."""
    if isinstance(value, list):
        return [_readable(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$class" in value:
        return _outline(value)
    for key in ("$tuple", "$scalar", "$float", "$dtype"):
        if key in value:
            return _readable(value[key])
    if "$tensor" in value:
        return f"tensor {value['$tensor']}"
    return {key: _readable(each) for key, each in value.items()}


def _warn_of_other_version(header: dict[str, Any]) -> None:
    """Warn if the file holds state of scikit-learn that another version has written."""
    package = "scikit-learn"
    then, now = header["versions"].get(package), installed_versions([package]).get(package)
    text = json.dumps(header["model"])
    if then != now and any(f'"$class": "{name}"' in text for name in SKLEARN_CLASSES):
        warnings.warn(
            f"The model was saved with scikit-learn {then}, and this is {now}: its scalers may "
            "have changed. Learn and save it anew if results differ.",
            stacklevel=3,
        )


def _first(model: Any) -> Any:
    """Return the first step of a pipeline that is an estimator."""
    steps = [step for _, step in getattr(model, "steps", ()) if step not in (None, "passthrough")]
    return _first(steps[0]) if steps else model


def _listed(values: Any) -> list[Any] | None:
    return None if values is None else np.asarray(values).tolist()


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:  # pragma: no cover - the tests have it
        raise ImportError("Model files need safetensors: pip install 'dimetric[export]'.") from None
    return safetensors
