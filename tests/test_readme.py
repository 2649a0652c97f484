"""Tests of the README and other pages: examples print the output shown, and links lead to files."""

import re
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("page", "n_examples"), [("README.md", 1), ("docs/guide.md", 8), ("docs/retrieval.md", 2)]
)
def test_examples_print_the_output_shown(page, n_examples, capsys):
    path = TREE / page
    examples = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", path.read_text(), re.S)
    assert len(examples) >= n_examples
    namespace = {}  # shared, because later examples use names from earlier ones
    for code, output in examples:
        exec(compile(code, str(path), "exec"), namespace)
        assert capsys.readouterr().out == output


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "docs/guide.md",
        "docs/methods.md",
        "docs/retrieval.md",
        "docs/scale.md",
    ],
)
def test_links_lead_to_existing_files(page):
    path = TREE / page
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    links += re.findall(r'(?:src|srcset)="([^"]+)"', path.read_text())
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_methods_page_lists_every_estimator():
    from estimators import VARIANTS

    page = (TREE / "docs" / "methods.md").read_text()
    assert [cls.__name__ for cls in VARIANTS if f"`{cls.__name__}" not in page] == []
