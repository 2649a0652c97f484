"""Read and check the header of a model file, which is a safetensors file."""

import json
import os
import struct
from math import isfinite
from typing import Any

FORMAT_VERSION = 2  # the version that is written
READABLE_VERSIONS = (1, 2)
MAX_NESTING = 100  # levels of JSON objects and lists in a header
METADATA_KEY = "dimetric"  # key of dimetric's header in the safetensors metadata
LENGTH_BYTES = 8  # size of the integer before the header, which holds its length
MAX_HEADER_BYTES = 100_000_000  # the limit of safetensors
DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "F32", "F64"}


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read and check dimetric's header, and the dtype, shape and offsets of each tensor."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(LENGTH_BYTES)
            length = struct.unpack("<Q", start)[0] if len(start) == LENGTH_BYTES else 0
            if not 2 <= length <= min(MAX_HEADER_BYTES, size - LENGTH_BYTES):
                raise ValueError("it is not a safetensors file, or it is truncated")
            outer = parse_object(file.read(length))
        metadata = outer.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not isinstance(metadata.get(METADATA_KEY), str):
            raise ValueError("it is a safetensors file that dimetric did not write")
        _check_tensors(outer, size - LENGTH_BYTES - length)
        header = parse_object(metadata[METADATA_KEY])
        version = header.get("format")
        if type(version) is not int or version not in READABLE_VERSIONS:
            raise ValueError(
                f"its format version is {version!r}, but this version of dimetric reads versions "
                f"up to {FORMAT_VERSION}; upgrade with pip install -U dimetric"
            )
        if not isinstance(header.get("versions"), dict):
            raise ValueError("its header does not list package versions")
        if not isinstance(header.get("model"), dict):
            raise ValueError("its header does not describe an estimator")
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} is a directory, not a model file.") from None
    except ValueError as error:
        raise ValueError(f"{path} is not a model file: {error_text(error)}.") from None
    return header, outer


def parse_object(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object. Raise on NaN, infinity, duplicate keys and deep nesting."""

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("its header has a duplicate key")
        return dict(pairs)

    def finite(digits: str) -> float:
        if not isfinite(value := float(digits)):
            raise ValueError("its header contains NaN or infinity")
        return value

    try:
        parsed = json.loads(
            text, object_pairs_hook=without_duplicates, parse_float=finite, parse_constant=finite
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("its header is not JSON") from None
    if not isinstance(parsed, dict):
        raise ValueError("its header is not a JSON object")
    level: list[Any] = [parsed]
    for _ in range(MAX_NESTING):
        level = [
            each
            for container in level
            for each in (container.values() if isinstance(container, dict) else container)
            if isinstance(each, (dict, list))
        ]
    if level:
        raise ValueError("it is nested too deeply")
    return parsed


def _check_tensors(tensors: dict[str, Any], size: int) -> None:
    """Raise unless each tensor has a valid dtype, shape and offsets, and the last ends the file."""
    end = 0
    for name, each in tensors.items():
        keys = {"dtype", "shape", "data_offsets"}
        if not isinstance(each, dict) or set(each) != keys or each["dtype"] not in DTYPES:
            raise ValueError(f"its tensor {name!r} has an unsupported dtype or layout")
        shape, offsets = each["shape"], each["data_offsets"]
        if (
            not all(
                isinstance(sizes, list) and all(type(i) is int and i >= 0 for i in sizes)
                for sizes in (shape, offsets)
            )
            or len(offsets) != 2
        ):
            raise ValueError(f"its tensor {name!r} has an invalid shape or offset")
        end = max(end, offsets[1])
    if end != size:
        raise ValueError(f"its tensors take {size} bytes, but its header declares {end}")


def error_text(error: BaseException) -> str:
    """Return the message of an error on one line, without its full stop."""
    return " ".join((str(error) or type(error).__name__).split()).rstrip(".")
