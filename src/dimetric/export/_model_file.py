"""Save and load fitted estimators as safetensors files: tensors and a JSON header.

docs/model-file.md describes the format for other programs. A model file holds no code, so loading
a file from an untrusted source is safe.
"""

import json
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._errors import error_text
from dimetric._files import atomic_write
from dimetric._names import printable
from dimetric._versions import installed_versions
from dimetric._warnings import warn
from dimetric.export._container import (
    FORMAT_VERSION,
    MAX_HEADER_BYTES,
    METADATA_KEY,
    Header,
    parse_object,
    read_header,
)
from dimetric.export._decode import Decoder, max_string_bytes
from dimetric.export._encode import Encoder
from dimetric.export._schema import SKLEARN_CLASSES, all_types
from dimetric.export._upgrade import upgrade

__all__ = ["load", "save", "trusted_types"]

MAX_READ_ATTEMPTS = 20  # for a file that another program replaces while it is read
PACKAGES = ("dimetric", "numpy", "scipy", "scikit-learn")


@check_types
def save(model: Any, path: str | os.PathLike[str], *, about: Any = None) -> None:
    """Save a fitted estimator to a file. If saving fails, an existing file stays unchanged.

    Parameters
    ----------
    model : estimator
        An estimator of dimetric, or a :class:`~sklearn.pipeline.Pipeline` of such estimators and
        scikit-learn's scalers.
    path : path
        Path of the file. By convention, its extension is ``.dimetric``.
    about : str, dict or list, optional
        A description of the model, such as its data and scores. It must be valid JSON.

    See Also
    --------
    load, describe

    Notes
    -----
    Arrays keep their dtype. Arrays of torch and other array libraries are loaded as NumPy arrays. A
    loaded model still uses the array library and device of the samples that are passed to it.
    Functions, such as custom kernels and metrics, cannot be saved.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from dimetric import LDA, load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = LDA().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save(lda, f"{directory}/iris.dimetric")
    ...     again = load(f"{directory}/iris.dimetric")
    >>> bool((again.transform(X) == lda.transform(X)).all())
    True
    """
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be an estimator, not {type(model).__name__}.")
    check_is_fitted(model)
    encoder = Encoder()
    header = {
        "format": FORMAT_VERSION,
        "versions": installed_versions(PACKAGES),
        "features": _as_list(getattr(_first_step(model), "feature_names_in_", None)),
        "n_features": int(getattr(_first_step(model), "n_features_in_", 0)) or None,
        "classes": _as_list(getattr(model, "classes_", None)),
        "about": about,
        "model": encoder.estimator(model),
    }
    try:
        text = json.dumps(header, allow_nan=False, separators=(",", ":"))
        parse_object(text)  # raises if it is nested too deeply or has too many values
    except (TypeError, ValueError, RecursionError) as error:
        reason = error_text(error)
        if about is None:
            raise ValueError(f"The model cannot be saved: {reason}.") from None
        raise ValueError(f"about must be valid JSON: {reason}.") from None
    if len(text) > MAX_HEADER_BYTES // 2:  # escaping its quotes makes it longer
        raise ValueError("The names and strings of the model are too long for the file header.")
    file_bytes = len(text) + sum(each.nbytes for each in encoder.tensors.values())
    if encoder.string_bytes > max_string_bytes(file_bytes):
        raise ValueError(
            "The arrays of strings of the model take too much memory, because one string is much "
            "longer than the others. Shorten the longest name."
        )
    from_numpy = _safetensors().numpy
    with atomic_write(path) as temporary:
        from_numpy.save_file(encoder.tensors, temporary, metadata={METADATA_KEY: text})


@check_types
def load(path: str | os.PathLike[str]) -> Any:
    """Load a fitted estimator from a file written by :func:`save`.

    Parameters
    ----------
    path : path
        Path of the file.

    Returns
    -------
    model : estimator
        A copy of the saved estimator. Its arrays are NumPy arrays.

    Raises
    ------
    ValueError
        If the file is not a model file, is truncated, or has invalid content. Nothing in the file
        is executed.
    """
    for _ in range(MAX_READ_ATTEMPTS):
        header = read_header(path)
        arrays = _read_tensors(path, header)
        if arrays is not None:
            break
    else:
        raise ValueError(
            f"{path} cannot be loaded: it changed during {MAX_READ_ATTEMPTS} attempts to read it."
        )
    try:
        data = header.values["model"]
        data = upgrade(data) if header.values["format"] < FORMAT_VERSION else data
        model = Decoder(arrays, header.file_bytes).model(data)
        check_is_fitted(model)
    except ImportError:
        raise
    except Exception as error:  # estimators may raise any error on invalid attributes
        raise ValueError(f"{path} cannot be loaded: {error_text(error)}.") from error
    _warn_if_sklearn_differs(header.values)
    return model


def trusted_types() -> list[str]:
    """Return the names of dimetric's types, to pass as ``trusted`` to ``skops.io.load``.

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


def _read_tensors(path: str | os.PathLike[str], header: Header) -> dict[str, np.ndarray] | None:
    """Read the tensors of a file. Return None if it has changed since its header was read."""
    try:
        with _safetensors().safe_open(path, framework="numpy") as file:
            if hash((file.metadata() or {}).get(METADATA_KEY)) != header.text_hash:
                return None
            return {name: file.get_tensor(name) for name in header.tensors}
    except (ImportError, OSError):
        raise
    except Exception as error:  # safetensors raises its own error types
        raise ValueError(f"{path} cannot be loaded: {error_text(error)}.") from error


def _warn_if_sklearn_differs(header: dict[str, Any]) -> None:
    """Warn if the file holds estimators of another version of scikit-learn."""
    package = "scikit-learn"
    then, now = header["versions"].get(package), installed_versions([package]).get(package)
    text = json.dumps(header["model"])
    if then != now and any(f'"$class": "{name}"' in text for name in SKLEARN_CLASSES):
        warn(
            f"The model was saved with scikit-learn {printable(then)}, but version {now} is "
            "installed. Its scalers may behave differently. If results differ, fit and save the "
            "model again.",
        )


def _first_step(model: Any) -> Any:
    """Return the first estimator of a pipeline, or the model itself."""
    steps = [step for _, step in getattr(model, "steps", ()) if step not in (None, "passthrough")]
    return _first_step(steps[0]) if steps else model


def _as_list(values: Any) -> list[Any] | None:
    if isinstance(values, list):  # the classes of several outputs
        return [_as_list(each) for each in values]
    return None if values is None else np.asarray(values).tolist()


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:  # pragma: no cover - installed in the tests
        raise ImportError(
            "Model files require safetensors: pip install 'dimetric[export]'."
        ) from None
    return safetensors
