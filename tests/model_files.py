"""Split model files into header and tensors, and write them again with changes."""

import json
import struct

from safetensors.numpy import load_file, save_file

from dimetric.export._container import METADATA_KEY


def header_and_tensors(path):
    """Return the header and the tensors of a model file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][METADATA_KEY])
    return header, load_file(path)


def rewrite(path, header, tensors):
    """Write a model file with any header, given as a dict or as JSON."""
    text = header if isinstance(header, str) else json.dumps(header)
    save_file(tensors, path, metadata={METADATA_KEY: text})
