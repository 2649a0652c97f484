"""The README's example prints what the README says it prints."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_example_prints_what_it_says(capsys):
    code, output = re.search(
        r"```python\n(.*?)```\n\n```\n(.*?)```", README.read_text(), re.S
    ).groups()
    exec(compile(code, str(README), "exec"), {})
    assert capsys.readouterr().out == output
