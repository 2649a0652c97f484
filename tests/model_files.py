"""Take model files apart, and put them together again with changes."""

import json
import struct

from safetensors.numpy import load_file, save_file

from dimetric.export._container import METADATA_KEY


def parts(path):
    """Return the header of a model file, and its tensors."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][METADATA_KEY])
    return header, load_file(path)


def rewrite(path, header, tensors):
    """Write a model file with any header."""
    text = header if isinstance(header, str) else json.dumps(header)
    save_file(tensors, path, metadata={METADATA_KEY: text})
