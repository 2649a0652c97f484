"""Export adapters as module folders of sentence-transformers."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric._files import atomic_write, check_folder, create_folder
from dimetric.export._retrieval.sides import require_adapter, side_matrix

__all__ = ["to_sentence_transformers"]

DENSE_FOLDER, NORMALIZE_FOLDER = "0_Dense", "1_Normalize"
MODULES = [
    {"idx": 0, "name": "0", "path": DENSE_FOLDER, "type": "sentence_transformers.models.Dense"},
    {
        "idx": 1,
        "name": "1",
        "path": NORMALIZE_FOLDER,
        "type": "sentence_transformers.models.Normalize",
    },
]
IDENTITY = "torch.nn.modules.linear.Identity"


@check_types
def to_sentence_transformers(
    adapter: Any, folder: str | os.PathLike[str], *, side: str = "query"
) -> None:
    """Write an adapter as a folder of sentence-transformers: a dense layer and a normalisation.

    Append its modules to those of the embedding model::

        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer("all-MiniLM-L6-v2")
        model = SentenceTransformer(modules=[*model, *SentenceTransformer("adapter")])

    Parameters
    ----------
    adapter : RetrievalAdapter
        A fitted adapter.
    folder : path
        The folder to write. Files of an earlier export are replaced.
    side : {"query", "document"}, default="query"
        Which map to write. If the maps differ, queries and documents need a model each.

    Notes
    -----
    The weights are stored in float32, as safetensors. The activation is the identity, and there is
    no bias. sentence-transformers is not needed to write the folder.
    """
    W = side_matrix(require_adapter(adapter, "A folder of sentence-transformers"), side)
    from safetensors.numpy import save_file

    folder = Path(folder)
    check_folder(folder)
    for each in (folder, folder / DENSE_FOLDER, folder / NORMALIZE_FOLDER):
        create_folder(each)
    config = {
        "in_features": W.shape[1],
        "out_features": W.shape[0],
        "bias": False,
        "activation_function": IDENTITY,
    }
    _write_json(folder / DENSE_FOLDER / "config.json", config)
    with atomic_write(folder / DENSE_FOLDER / "model.safetensors") as temporary:
        save_file({"linear.weight": np.ascontiguousarray(W, dtype=np.float32)}, temporary)
    # Older versions of sentence-transformers read the configuration of each module.
    _write_json(folder / NORMALIZE_FOLDER / "config.json", {})
    _write_json(folder / "modules.json", MODULES)


def _write_json(path: Path, content: Any) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
