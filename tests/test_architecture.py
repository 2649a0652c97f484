"""docs/architecture.md is true: its examples run, its rooms and flows are those of the code."""

import doctest
import re
import sys
import textwrap
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from test_bad_input import ROWS, check_row
from typer.testing import CliRunner

import dimetric
from dimetric.learners._base import Learner

TREE = Path(__file__).parents[1]
SOURCE = Path(dimetric.__file__).parent
PAGE = TREE / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")


def section(title):
    """Return the text of a section of the page."""
    found = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", TEXT, re.S | re.M)
    assert found, f"there is no section {title!r}"
    return found[1]


def examples():
    """Return the code blocks of the page, each with the number of its line."""
    blocks = re.finditer(r"^ *```python\n(.*?)^ *```$", TEXT, re.S | re.M)
    return [(TEXT[: block.start()].count("\n") + 1, block[1]) for block in blocks]


@pytest.fixture(scope="module")
def names():
    """Names that the examples define: they are pasted one after the other."""
    names = {"__name__": "pasted"}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failures = []
    for line, block in examples():
        code = textwrap.dedent(block)
        if ">>>" not in code:
            exec(compile("\n" * line + code, str(PAGE), "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, f"line {line}", str(PAGE), line)
        runner.run(test, out=failures.append, clear_globs=False)
        names |= test.globs
    assert not failures, "".join(failures)
    return names


def test_examples_run(names):
    assert {"FisherWeights", "PullAndPush", "Momentum", "to_json"} <= set(names)


@pytest.mark.parametrize("code", [code for _, code in examples() if ">>>" not in code])
def test_each_example_is_a_complete_module(code):
    """It needs no name of another example."""
    names = {"__name__": "pasted"}
    exec(compile(code, str(PAGE), "exec"), names)
    assert any(getattr(value, "__module__", "") == "pasted" for value in names.values())


@pytest.mark.parametrize("name", ["FisherWeights", "PullAndPush"])
def test_pasted_learners_keep_the_contract(names, name, namespace):
    """A taste of the contract: parameters, metadata, and that everything follows X."""
    X, y = load_iris(return_X_y=True)
    cls = names[name]
    expected = cls().fit(X, y)
    learner = cls().fit(namespace.asarray(X), y)
    assert isinstance(learner.transform(namespace.asarray(X)), type(namespace.asarray(X)))
    np.testing.assert_allclose(
        np.asarray(learner.metric()), expected.metric(), rtol=1e-4, atol=1e-4
    )
    assert learner.metadata()["n_components"] == 4
    assert cls().fit(X.astype(np.float32), y).components_.dtype == np.float32
    with pytest.raises(ValueError, match="must be"):
        cls(**{next(iter(set(cls().get_params()) & {"power", "push"})): -1}).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["FisherWeights", "PullAndPush"])
@pytest.mark.parametrize("row", ROWS)
def test_pasted_learners_find_their_rows_of_bad_input(names, name, row):
    """As the page says: a learner that does what its base class does needs no entry there."""
    check_row(row, names[name]())


def test_class_attributes_of_learners_are_those_that_are_told():
    row = r"^ *\| `(_\w+)` \| .* \| `?(.*?)`? \|$"
    told = dict(re.findall(row, section("Contracts"), re.M))
    assert "_supervision_kinds" in told
    own = {
        name: repr(vars(Learner)[name])
        for name in Learner.__annotations__
        if hasattr(Learner, name)
    }
    assert told == {name: value.replace("'", '"') for name, value in own.items()}


def test_rooms_are_those_of_the_tree():
    """The table lists every room and module, in the order of the layers."""
    told = re.findall(r"^\| (`.*?`) \|", section("The rooms"), re.M)
    told = [name for row in told for name in re.findall(r"`(\w+)`", row)]
    there = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    there |= {path.stem for path in SOURCE.glob("_*.py")} - {"__init__"}
    assert sorted(told) == sorted(there)
    contracts = tomllib.loads((TREE / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [re.findall(r"\w+", layer) for layer in contracts["contracts"][0]["layers"]]
    level = {name: i for i, layer in enumerate(reversed(layers)) for name in layer}
    assert [level[name] for name in told] == sorted(level[name] for name in told)


def test_files_and_sections_that_are_named_exist():
    for path in re.findall(r"`([\w/]+\.(?:pyi?|txt|md|toml))`", TEXT):
        if "fisher_weights" in path or path.endswith(("momentum.py", "_json.py")):
            continue  # what the reader is to write
        assert any((folder / path).exists() for folder in (SOURCE, TREE)), path


def calls_in(run):
    """Return every function of dimetric, and from which ones it was called at its first call.

    Functions are (file, name); of a function within another, the name is "outer.inner". They are in
    the order of their first calls.
    """
    found = {}

    def function_of(frame):
        code = frame.f_code
        name = code.co_qualname.replace(".<locals>", "")
        return code.co_filename.removeprefix(f"{SOURCE}/"), name

    def note(frame, event, _):
        if event != "call" or not frame.f_code.co_filename.startswith(str(SOURCE)):
            return
        called = function_of(frame)
        if called not in found:
            found[called] = callers = set()
            while frame := frame.f_back:
                callers.add(function_of(frame))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


def callers_told(steps):
    """Return, for each step but the first, the step that the page says it is called from."""
    callers = {number: number - 1 for number in range(2, len(steps) + 1)}
    for caller, (*_, text) in enumerate(steps, start=1):
        for told in re.findall(r"takes\s+steps ([\d,\sand]+) in\s+turn", text):
            callers |= dict.fromkeys(map(int, re.findall(r"\d+", told)), caller)
    return callers


def compare_iris(folder):
    """Run the command in this process."""
    from dimetric.cli.main import app

    X, y = load_iris(return_X_y=True)
    lines = [
        "a,b,c,d,kind",
        *(",".join([*map(str, row), f"k{k}"]) for row, k in zip(X, y, strict=True)),
    ]
    (folder / "iris.csv").write_text("\n".join(lines))
    words = ["compare", "iris.csv", "--learners", "LDA", "--budget", "3", "--jobs", "1", "--json"]
    result = CliRunner().invoke(app, [*words[:1], str(folder / words[1]), *words[2:], "--out",
                                      str(folder / "out")])  # fmt: skip
    assert result.exit_code == 0, result.output


FLOWS = {
    "From `NCA().fit(X, y)` to a distance": lambda _: dimetric.NCA().fit(
        *load_iris(return_X_y=True)
    ),
    "From `dimetric compare table.csv` to a report": compare_iris,
}


@pytest.mark.parametrize("title", FLOWS)
def test_flows_are_those_of_the_code(title, tmp_path):
    """Every step is called, in the order of the page, and from the step that the page says."""
    step = r"^\d+\. `([\w/]+\.py)` `([\w.]+)`(.*?)(?=^\d+\. |\Z)"
    steps = re.findall(step, section(title), re.M | re.S)
    assert len(steps) == len(re.findall(r"^\d+\. ", section(title), re.M)) > 10
    functions = [(file, name) for file, name, _ in steps]
    called = calls_in(lambda: FLOWS[title](tmp_path))
    callers = callers_told(steps)
    if title.startswith("From `dimetric"):
        del functions[0], callers[2]  # the runner of the tests calls the verb itself
        callers = {number - 1: caller - 1 for number, caller in callers.items()}
    assert not [function for function in functions if function not in called]
    places = [list(called).index(function) for function in functions]
    assert places == sorted(places)
    for number, caller in callers.items():
        assert functions[caller - 1] in called[functions[number - 1]], functions[number - 1]
