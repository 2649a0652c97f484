"""The examples of the README and of the user guide print what these pages say."""

import re
from pathlib import Path

import pytest

TREE = Path(__file__).parents[1]


@pytest.mark.parametrize(("page", "n_examples"), [("README.md", 1), ("docs/guide.md", 4)])
def test_examples_print_what_they_say(page, n_examples, capsys):
    path = TREE / page
    examples = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", path.read_text(), re.S)
    assert len(examples) == n_examples
    names = {}
    for code, output in examples:  # each continues the one before
        exec(compile(code, str(path), "exec"), names)
        assert capsys.readouterr().out == output


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/methods.md"]
)
def test_links_lead_to_files(page):
    path = TREE / page
    links = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    links += re.findall(r'(?:src|srcset)="([^"]+)"', path.read_text())
    assert [each for each in links if not (path.parent / each).exists()] == []


def test_every_learner_is_in_the_table_of_methods():
    from estimators import VARIANTS

    table = (TREE / "docs" / "methods.md").read_text()
    assert [cls.__name__ for cls in VARIANTS if f"`{cls.__name__}" not in table] == []
