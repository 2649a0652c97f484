"""The container of a model file: safetensors, whose header is checked before it is used."""

import json
import os
import struct
from math import isfinite
from typing import Any

FORMAT = 2  # that is written
FORMATS = (1, 2)  # that are read
MAX_DEPTH = 100  # of objects within objects in a header
METADATA_KEY = "dimetric"  # our header stands under this key of the metadata of safetensors
MAX_HEADER_BYTES = 100_000_000  # the limit of safetensors
DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "F32", "F64"}


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return our header, and dtype, shape and place of each tensor; both are checked."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
            if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
                raise ValueError("it is not a safetensors file, or it is cut off")
            outer = parse_object(file.read(length))
        metadata = outer.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not isinstance(metadata.get(METADATA_KEY), str):
            raise ValueError("it is a safetensors file, but dimetric has not written it")
        _check_tensors(outer, size - 8 - length)
        header = parse_object(metadata[METADATA_KEY])
        found = header.get("format")
        if type(found) is not int or found not in FORMATS:
            raise ValueError(
                f"its format is {found!r}, and this dimetric reads up to {FORMAT}: "
                "upgrade by pip install -U dimetric"
            )
        if not isinstance(header.get("versions"), dict):
            raise ValueError("its header names no versions")
        if not isinstance(header.get("model"), dict):
            raise ValueError("its header describes no estimator")
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} is a folder, not a model file.") from None
    except ValueError as error:
        raise ValueError(f"{path} is not a model file: {sentence(error)}.") from None
    return header, outer


def parse_object(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object; NaN, infinity, keys that come twice, and deep nesting are errors."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("its header has a name twice")
        return dict(pairs)

    def finite(digits: str) -> float:
        if not isfinite(value := float(digits)):
            raise ValueError("its header has NaN or infinity")
        return value

    try:
        found = json.loads(text, object_pairs_hook=once, parse_float=finite, parse_constant=finite)
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("its header is not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("its header is not a JSON object")
    level: list[Any] = [found]
    for _ in range(MAX_DEPTH):
        level = [
            each
            for held in level
            for each in (held.values() if isinstance(held, dict) else held)
            if isinstance(each, (dict, list))
        ]
    if level:
        raise ValueError("its header is nested too deeply")
    return found


def _check_tensors(tensors: dict[str, Any], size: int) -> None:
    """Raise unless all tensors have a dtype and a shape, and together fill the file."""
    end = 0
    for name, each in tensors.items():
        keys = {"dtype", "shape", "data_offsets"}
        if not isinstance(each, dict) or set(each) != keys or each["dtype"] not in DTYPES:
            raise ValueError(f"its tensor {name!r} has a dtype or a layout that no model has")
        shape, offsets = each["shape"], each["data_offsets"]
        if (
            not all(
                isinstance(both, list) and all(type(i) is int and i >= 0 for i in both)
                for both in (shape, offsets)
            )
            or len(offsets) != 2
        ):
            raise ValueError(f"its tensor {name!r} has no valid shape or place")
        end = max(end, offsets[1])
    if end != size:
        raise ValueError(f"it has {size} bytes of tensors where {end} should be")


def sentence(error: BaseException) -> str:
    """Return the message of an error as a part of a sentence."""
    return " ".join((str(error) or type(error).__name__).split()).rstrip(".")
