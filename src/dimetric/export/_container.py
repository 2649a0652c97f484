"""Read and check the header of a model file, which is a safetensors file."""

import json
import os
import struct
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from dimetric._errors import error_text

FORMAT_VERSION = 2  # the version that is written
READABLE_VERSIONS = (1, 2)
MAX_JSON_LEVELS = 100  # nested JSON objects and lists in a header
MAX_VALUE_LEVELS = 24  # nested values in a model; the largest pipelines need about ten
METADATA_KEY = "dimetric"  # key of dimetric's header in the safetensors metadata
LENGTH_BYTES = 8  # size of the integer before the header, which holds its length
MAX_HEADER_BYTES = 100_000_000  # the limit of safetensors
# Limits on the values in a header, so that parsed JSON takes at most about ten times its size. A
# list or an object takes several hundred bytes in memory, and may take two bytes in the file.
MAX_CONTAINERS, BYTES_PER_CONTAINER = 30_000, 100
MAX_VALUES, BYTES_PER_VALUE = 300_000, 8
CHUNK_BYTES = 2**20
MAX_DIGITS = 400  # of an integer
DTYPES = {"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64", "F16", "F32", "F64"}


class Header(NamedTuple):
    """The checked header of a model file.

    Attributes
    ----------
    values : dict
        The JSON object that describes the model.
    tensors : dict
        The dtype, shape and offsets of each tensor, by name.
    file_bytes : int
        Size of the file.
    text_hash : int
        Hash of the JSON text of `values`.
    """

    values: dict[str, Any]
    tensors: dict[str, Any]
    file_bytes: int
    text_hash: int


def read_header(path: str | os.PathLike[str]) -> Header:
    """Read and check the header of a model file."""
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
        _check_tensors(outer, size - LENGTH_BYTES - length, size)
        text = metadata.pop(METADATA_KEY)
        header = parse_object(text)
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
    return Header(header, outer, size, hash(text))


def parse_object(text: str | bytes) -> dict[str, Any]:
    """Parse a JSON object. Raise on NaN, infinity, duplicate keys, deep nesting and many values."""
    _check_number_of_values(text)

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("its header has a duplicate key")
        return dict(pairs)

    def finite(digits: str) -> float:
        if not isfinite(value := float(digits)):
            raise ValueError("its header contains NaN or infinity")
        return value

    def integer(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise ValueError(f"its header contains an integer with {len(digits)} digits")
        return int(digits)

    try:
        parsed = json.loads(
            text,
            object_pairs_hook=without_duplicates,
            parse_float=finite,
            parse_int=integer,
            parse_constant=finite,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("its header is not JSON") from None
    if not isinstance(parsed, dict):
        raise ValueError("its header is not a JSON object")
    level: list[Any] = [parsed]
    for _ in range(MAX_JSON_LEVELS):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    if level:
        raise ValueError("it is nested too deeply")
    return parsed


def _check_number_of_values(text: str | bytes) -> None:
    """Raise if JSON text has too many lists, objects and values for its length."""
    content = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    # Without escaped quotes, the remaining quotes begin and end strings.
    content = content.replace(rb"\\", b"").replace(rb"\"", b"")
    containers = separators = 0
    in_string = False
    for start in range(0, len(content), CHUNK_BYTES):
        codes = np.frombuffer(content[start : start + CHUNK_BYTES], dtype=np.uint8)
        # The number of quotes so far is odd within a string. Overflow does not change this.
        n_quotes = np.cumsum(codes == ord('"'), dtype=np.uint8) + np.uint8(in_string)
        in_string = bool(n_quotes[-1] % 2)
        counts = np.bincount(codes[n_quotes % 2 == 0], minlength=128)
        containers += counts[ord("[")] + counts[ord("{")]
        separators += counts[ord(",")] + counts[ord(":")]
    if (
        containers > MAX_CONTAINERS + len(text) // BYTES_PER_CONTAINER
        or containers + separators > MAX_VALUES + len(text) // BYTES_PER_VALUE
    ):
        raise ValueError("its header is nested too deeply or has too many values")


def _check_tensors(tensors: dict[str, Any], size: int, file_bytes: int) -> None:
    """Raise unless all tensors are valid, and the last one ends at the end of the file.

    `size` is the number of bytes after the header. An array without elements could have a dimension
    of any size, so dimensions are compared with the size of the file.
    """
    end = 0
    for name, tensor in tensors.items():
        keys = {"dtype", "shape", "data_offsets"}
        if not isinstance(tensor, dict) or set(tensor) != keys or tensor["dtype"] not in DTYPES:
            raise ValueError(f"its tensor {name!r} has an unsupported dtype or layout")
        shape, offsets = tensor["shape"], tensor["data_offsets"]
        if (
            not all(
                isinstance(sizes, list) and all(type(i) is int and i >= 0 for i in sizes)
                for sizes in (shape, offsets)
            )
            or len(offsets) != 2
            or max([0, *shape]) > file_bytes
        ):
            raise ValueError(f"its tensor {name!r} has an invalid shape or offset")
        end = max(end, offsets[1])
    if end != size:
        raise ValueError(f"its tensors take {size} bytes, but its header declares {end}")
