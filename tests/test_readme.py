"""The README's examples print what the README says they print."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_examples_print_what_they_say(capsys):
    examples = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README.read_text(), re.S)
    assert len(examples) == 3
    names = {}
    for code, output in examples:  # each goes on from the one before
        exec(compile(code, str(README), "exec"), names)
        assert capsys.readouterr().out == output
