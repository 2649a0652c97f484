"""Tests of docs/architecture.md: its examples run, and its tables and call flows match the code."""

import doctest
import re
import sys
import textwrap
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from test_bad_input import CASES, check_case
from typer.testing import CliRunner

import dimetric
from dimetric.learners._base import Learner

TREE = Path(__file__).parents[1]
SOURCE = Path(dimetric.__file__).parent
PAGE = TREE / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")


def section(title):
    """Return the text of a section of the page."""
    match = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", TEXT, re.S | re.M)
    assert match, f"there is no section {title!r}"
    return match[1]


def examples():
    """Return the line number and the code of each example on the page."""
    blocks = re.finditer(r"^ *```python\n(.*?)^ *```$", TEXT, re.S | re.M)
    return [(TEXT[: block.start()].count("\n") + 1, block[1]) for block in blocks]


@pytest.fixture(scope="module")
def page_names():
    """Run all examples in order; return the names that they define."""
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


def test_examples_run(page_names):
    assert {"FisherWeights", "PullAndPush", "Momentum", "to_json"} <= set(page_names)


@pytest.mark.parametrize("code", [code for _, code in examples() if ">>>" not in code])
def test_each_example_is_a_complete_module(code):
    """It needs no name of another example."""
    names = {"__name__": "pasted"}
    exec(compile(code, str(PAGE), "exec"), names)
    assert any(getattr(value, "__module__", "") == "pasted" for value in names.values())


@pytest.mark.parametrize("name", ["FisherWeights", "PullAndPush"])
def test_example_learners_meet_the_contract(page_names, name, namespace):
    """Test a part of the contract: parameters, metadata, and the library and dtype of results."""
    X, y = load_iris(return_X_y=True)
    cls = page_names[name]
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
@pytest.mark.parametrize("case", CASES)
def test_example_learners_need_no_entry_in_the_bad_input_tables(page_names, name, case):
    check_case(case, page_names[name]())


def test_page_lists_the_class_attributes_of_learners():
    row = r"^ *\| `(_\w+)` \| .* \| `?(.*?)`? \|$"
    listed = dict(re.findall(row, section("Contracts"), re.M))
    assert "_supervision_kinds" in listed
    actual = {
        name: repr(vars(Learner)[name]).replace("'", '"')
        for name in Learner.__annotations__
        if hasattr(Learner, name)
    }
    assert listed == actual


def test_page_lists_all_packages_in_the_order_of_the_layers():
    cells = re.findall(r"^\| (`.*?`) \|", section("The packages"), re.M)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    actual = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    actual |= {path.stem for path in SOURCE.glob("_*.py")} - {"__init__"}
    assert sorted(listed) == sorted(actual)
    contracts = tomllib.loads((TREE / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [re.findall(r"\w+", layer) for layer in contracts["contracts"][0]["layers"]]
    level = {name: i for i, layer in enumerate(reversed(layers)) for name in layer}
    assert [level[name] for name in listed] == sorted(level[name] for name in listed)


def test_named_files_exist():
    for path in re.findall(r"`([\w/]+\.(?:pyi?|txt|md|toml))`", TEXT):
        if "fisher_weights" in path or path.endswith(("momentum.py", "_json.py")):
            continue  # the reader writes these files
        assert any((folder / path).exists() for folder in (SOURCE, TREE)), path


def calls_in(run):
    """Return the functions of dimetric that are called, with all callers at the first call.

    A function is a pair (file, name). The name of a nested function is "outer.inner". The functions
    are in the order of their first calls.
    """
    callers_of = {}

    def function_of(frame):
        code = frame.f_code
        name = code.co_qualname.replace(".<locals>", "")
        return code.co_filename.removeprefix(f"{SOURCE}/"), name

    def record_call(frame, event, _):
        if event != "call" or not frame.f_code.co_filename.startswith(str(SOURCE)):
            return
        called = function_of(frame)
        if called not in callers_of:
            callers_of[called] = callers = set()
            while frame := frame.f_back:
                callers.add(function_of(frame))

    previous = sys.getprofile()
    sys.setprofile(record_call)
    try:
        run()
    finally:
        sys.setprofile(previous)
    return callers_of


def callers_on_the_page(steps):
    """Return, for each step after the first, the number of the step that calls it."""
    callers = {number: number - 1 for number in range(2, len(steps) + 1)}
    for caller, (*_, text) in enumerate(steps, start=1):
        for numbers in re.findall(r"calls\s+steps\s+([\d,\sand]+)\s+in\s+turn", text):
            callers |= dict.fromkeys(map(int, re.findall(r"\d+", numbers)), caller)
    return callers


def compare_iris(folder):
    """Run `dimetric compare` on the iris data in this process."""
    from dimetric.cli.main import app

    X, y = load_iris(return_X_y=True)
    lines = [
        "a,b,c,d,kind",
        *(",".join([*map(str, row), f"k{k}"]) for row, k in zip(X, y, strict=True)),
    ]
    (folder / "iris.csv").write_text("\n".join(lines))
    options = ["--learners", "LDA", "--budget", "3", "--jobs", "1", "--json"]
    files = [str(folder / "iris.csv"), "--out", str(folder / "out")]
    result = CliRunner().invoke(app, ["compare", *files, *options])
    assert result.exit_code == 0, result.output


FLOWS = {
    # With a named start, step 4 already evaluates the objective, to choose the scale of the start.
    "From `NCA().fit(X, y)` to a distance": lambda _: dimetric.NCA(
        init=np.eye(4), reg=0.0, tol=1e-5
    ).fit(*load_iris(return_X_y=True)),
    "From `dimetric compare table.csv` to a report": compare_iris,
}


@pytest.mark.parametrize("title", FLOWS)
def test_flows_match_the_code(title, tmp_path):
    """Every step is called, in the order of the page, by the step that the page names."""
    step = r"^\d+\. `([\w/]+\.py)` `([\w.]+)`(.*?)(?=^\d+\. |\Z)"
    steps = re.findall(step, section(title), re.M | re.S)
    assert len(steps) == len(re.findall(r"^\d+\. ", section(title), re.M)) > 10
    functions = [(file, name) for file, name, _ in steps]
    called = calls_in(lambda: FLOWS[title](tmp_path))
    callers = callers_on_the_page(steps)
    if title.startswith("From `dimetric"):
        del functions[0], callers[2]  # CliRunner calls the verb without main
        callers = {number - 1: caller - 1 for number, caller in callers.items()}
    assert not [function for function in functions if function not in called]
    places = [list(called).index(function) for function in functions]
    assert places == sorted(places)
    for number, caller in callers.items():
        assert functions[caller - 1] in called[functions[number - 1]], functions[number - 1]


def test_only_one_module_uses_scikit_learns_random_state():
    package = Path(dimetric.__file__).parent
    users = [
        path.relative_to(package).as_posix()
        for path in sorted(package.rglob("*.py"))
        if "check_random_state" in path.read_text(encoding="utf-8")
    ]
    assert users == ["_arrays/random_state.py"]
