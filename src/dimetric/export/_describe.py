"""Describe a model file without loading the model.

This module imports neither scikit-learn nor pandas, so that ``dimetric info`` starts fast.
"""

import os
from typing import Any

from dimetric._arguments import check_types
from dimetric._errors import error_text
from dimetric.export._container import read_header

__all__ = ["describe"]


@check_types
def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Describe a model file. Only its header is read.

    Parameters
    ----------
    path : path
        Path of the file.

    Returns
    -------
    summary : dict
        ``format``, ``class``, ``parameters``, ``features``, ``n_features``, ``classes``,
        ``versions``, ``about``, ``tensors`` (dtype and shape by name) and ``bytes`` (size of the
        file). A pipeline has ``steps``, each with ``name``, ``class`` and ``parameters``, instead
        of ``parameters``. All values are valid JSON.
    """
    header, tensors, file_bytes, _ = read_header(path)
    try:
        outline = _class_and_parameters(header["model"])
    except ValueError as error:
        raise ValueError(f"{path} is not a model file: {error_text(error)}.") from None
    summary = {"format": header["format"], **outline}
    for name in ("features", "n_features", "classes", "versions", "about"):
        summary[name] = header.get(name)
    summary["tensors"] = {
        name: {"dtype": each["dtype"], "shape": each["shape"]} for name, each in tensors.items()
    }
    summary["bytes"] = file_bytes
    return summary


def _class_and_parameters(model: Any) -> dict[str, Any]:
    """Return the class and parameters of a model from its JSON."""
    if not isinstance(model, dict) or not isinstance(model.get("$class"), str):
        raise ValueError("its header does not describe an estimator")
    parameters = model.get("parameters")
    if not isinstance(parameters, dict):
        raise ValueError("its header does not describe the parameters")
    if model["$class"] != "Pipeline":
        return {"class": model["$class"], "parameters": _readable(parameters)}
    steps = parameters.get("steps")
    listed = steps if isinstance(steps, list) else []
    pairs = [each.get("$tuple") if isinstance(each, dict) else None for each in listed]
    valid = [pair for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    if not pairs or len(valid) < len(pairs):
        raise ValueError("its header describes a pipeline without steps")
    named = [
        {"name": name, **_class_and_parameters(step)}
        for name, step in valid
        if isinstance(step, dict)
    ]
    return {"class": "Pipeline", "steps": named}


def _readable(value: Any) -> Any:
    """Simplify encoded parameters for display."""
    if isinstance(value, list):
        return [_readable(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "$class" in value:
        return _class_and_parameters(value)
    for key in ("$tuple", "$scalar", "$float", "$dtype"):
        if key in value:
            return _readable(value[key])
    if "$tensor" in value:
        return f"tensor {value['$tensor']}"
    return {key: _readable(each) for key, each in value.items()}
