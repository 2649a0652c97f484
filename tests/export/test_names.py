"""The public names of dimetric.export, which are loaded on first use."""

from pathlib import Path

import pytest

import dimetric.export


@pytest.mark.parametrize("name", dimetric.export.__all__)
def test_names_resolve(name):
    assert getattr(dimetric.export, name).__name__ == name


def test_unknown_name():
    with pytest.raises(AttributeError, match=r"No dimetric\.export attribute to_c"):
        dimetric.export.to_c  # noqa: B018


def test_the_documented_exports_work(tmp_path, monkeypatch):
    text = (Path(__file__).parents[2] / "docs/export.md").read_text()
    monkeypatch.chdir(tmp_path)
    exec(text.split("```python")[1].split("```")[0], {})
    extensions = {each.suffix for each in tmp_path.iterdir()}
    assert extensions == {".dimetric", ".onnx", ".py", ".faiss", ".usearch", ".sql"}
