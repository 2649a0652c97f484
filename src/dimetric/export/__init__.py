"""A learned distance on its way to other places: files, other programs, search engines."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dimetric.export.file import describe, load, save, trusted_types
    from dimetric.export.index import to_faiss, to_usearch
    from dimetric.export.numpy import to_numpy
    from dimetric.export.onnx import to_onnx
    from dimetric.export.sql import to_sql

__all__ = [
    "describe",
    "load",
    "save",
    "to_faiss",
    "to_numpy",
    "to_onnx",
    "to_sql",
    "to_usearch",
    "trusted_types",
]

_HOME = {
    "describe": "file",
    "load": "file",
    "save": "file",
    "to_faiss": "index",
    "to_numpy": "numpy",
    "to_onnx": "onnx",
    "to_sql": "sql",
    "to_usearch": "index",
    "trusted_types": "file",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'dimetric.export' has no attribute {name!r}")
    return getattr(import_module(f"dimetric.export.{_HOME[name]}"), name)
