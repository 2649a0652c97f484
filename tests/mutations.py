"""Check that the quick tests find as many faults as all tests. This is a script, not a test.

The script makes small faults, called mutations, in core modules. For each mutation, it runs
the quick tests of the module until one fails. If all pass, it runs the slow tests. It works in a
copy of the tree. The same seed gives the same mutations.

    python tests/mutations.py                          # 20 in each module: about half an hour
    python tests/mutations.py --module learners/pca.py --count 5 --seed 1
"""

import argparse
import ast
import difflib
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "SCIPY_ARRAY_API"), "1")

import pandas as pd  # noqa: F401
import polars as pl  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.utils.estimator_checks  # noqa: F401

TREE = Path(__file__).parents[1]

# The test files of each module, fastest first, and an expression that selects tests (pytest -k).
MODULES = {
    "objectives/fast/all_pairs.py": (
        [
            "tests/objectives/test_engine.py",
            "tests/objectives/test_margins.py",
            "tests/test_contract.py::test_fast_path_matches_the_engine",
        ],
        "",
    ),
    "objectives/fast/symmetric.py": (
        [
            "tests/objectives/test_engine.py",
            "tests/test_contract.py::test_fast_path_matches_the_engine",
            "tests/learners/test_ldml.py",
            "tests/learners/test_lsi.py",
        ],
        "",
    ),
    "objectives/fast/softmin.py": (
        ["tests/learners/test_dml_eig.py"],
        "",
    ),
    "objectives/softmax.py": (
        [
            "tests/objectives/test_engine.py",
            "tests/learners/test_neighbor_choice.py",
            "tests/learners/test_mlkr.py",
            "tests/learners/test_nca_costs.py",
            "tests/test_contract.py::test_fast_path_matches_the_engine",
            "tests/learners/test_nca.py",
            "tests/learners/test_mcml.py",
        ],
        "",
    ),
    "learners/pca.py": (
        [
            "tests/learners/test_pca.py",
            "tests/sklearn_suite/test_pca.py",
            "tests/test_bad_input.py",
            "tests/test_contract.py",
        ],
        "test_pca or [PCA or -PCA",
    ),
    "classify/_votes.py": (
        ["tests/classify/test_knn.py", "tests/classify/test_weights.py"],
        "",
    ),
    "classify/_neighbors.py": (
        [
            "tests/classify/test_knn.py",
            "tests/classify/test_multi_metric.py",
            "tests/classify/test_contract.py",
        ],
        "not NCM and not Energy",
    ),
}

# For each module, mutated lines that no caller can notice, and the reason.
EQUIVALENT = {
    "objectives/fast/softmin.py": {
        "np.clip(W, SMALLEST_EXPONENT, 1, out=W)": "W exceeds 0 only by rounding errors",
    },
    "objectives/softmax.py": {
        "scale = 1 / _softmax(P, first, last, side.weights)[(-1)]": "the tuple has two elements",
        "for start, size in zip(starts[:-1].tolist(), sizes.tolist(), strict=False):": (
            "both lists have one element for each class"
        ),
    },
}

COMPARISONS = {
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.GtE],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SWAPPED_NAMES = {"min": "max", "minimum": "maximum", "argmin": "argmax", "any": "all"}
SWAPPED_NAMES |= {value: name for name, value in SWAPPED_NAMES.items()}


def node_mutations(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield the mutations of a node: the part to replace, and the code that replaces it."""
    match node:
        case ast.Compare(ops=[operator]):
            for other in COMPARISONS[type(operator)]:
                yield node, ast.unparse(ast.Compare(node.left, [other()], node.comparators))
        case ast.BinOp() if type(node.op) in OPERATORS:
            changed = ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
            yield node, f"({ast.unparse(changed)})"
        case ast.AugAssign() if type(node.op) in OPERATORS:
            changed = ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
            yield node, ast.unparse(changed)
        case ast.BoolOp():
            changed = ast.BoolOp(OPERATORS[type(node.op)](), node.values)
            yield node, f"({ast.unparse(changed)})"
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool()):
            yield node, str(not node.value)
        case ast.Constant(value=int() | float()):
            yield node, repr(node.value + 1)
            if node.value:
                yield node, f"(-{node.value!r})"
        case ast.Name(id=name) if name in SWAPPED_NAMES:
            yield node, SWAPPED_NAMES[name]
        case ast.Attribute(attr=name) if name in SWAPPED_NAMES:
            yield node, f"{ast.unparse(node.value)}.{SWAPPED_NAMES[name]}"
        case ast.Subscript(slice=ast.Slice() | ast.Tuple()):
            yield from shifted_slices(node)
        case ast.If() | ast.IfExp():
            yield node.test, f"(not ({ast.unparse(node.test)}))"
        case ast.Return(value=ast.expr()):
            yield node.value, "None"


def shifted_slices(node: ast.Subscript) -> Iterator[tuple[ast.AST, str]]:
    """Yield mutations that shorten a slice of a subscript by one element at either end."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice) and part.step is None and (part.lower or part.upper):
            lower = ast.unparse(part.lower) if part.lower else ""
            upper = ast.unparse(part.upper) if part.upper else ""
            yield part, f"{lower} + 1 : {upper}" if lower else f"1 : {upper}"
            if upper:
                yield part, f"{lower} : {upper} - 1"


def all_mutations(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield the mutations of a node and its descendants, except in annotations and errors."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.AnnAssign):
        return
    if isinstance(node, ast.keyword) and node.arg in ("axis", "keepdims", "stacklevel"):
        return  # any test that runs the line notices such a change
    yield from node_mutations(node)
    for name, field in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST):
                    yield from all_mutations(child)


def mutated_sources(source: str, count: int, seed: int) -> list[str]:
    """Return copies of the source with one random mutation each, in the order of their lines."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    candidates = []
    for part, code in all_mutations(ast.parse(source)):
        first = offset(part.lineno, part.col_offset)
        last = offset(part.end_lineno, part.end_col_offset)
        candidates.append((first, source[:first] + code + source[last:]))
    chosen = random.Random(seed).sample(candidates, count)
    return [mutated for _, mutated in sorted(chosen)]


def changed_lines(before: str, after: str) -> tuple[str, str]:
    """Return the code that a mutation removes and the code that it adds, each in one line."""
    lines = [
        line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "-+"
    ]
    removed, added = (
        " ".join(line[2:].strip() for line in lines if line[0] == sign) for sign in "-+"
    )
    return removed, added


class TreeCopy:
    """A copy of the tree, in which mutated modules are written and tested."""

    def __init__(self, folder: Path, cpu_seconds: int) -> None:
        self.folder, self.cpu_seconds = folder, cpu_seconds
        for name in ("src", "tests"):
            shutil.copytree(TREE / name, folder / name, ignore=shutil.ignore_patterns("*.pyc"))
        shutil.copy(TREE / "pyproject.toml", folder)

    def write(self, module: str, source: str) -> None:
        path = self.folder / "src/dimetric" / module
        path.write_text(source, encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()  # its timestamp may match the new source

    def passes(self, module: str, selection: str) -> bool:
        """Return whether the tests of a module pass. Stop at the first file that fails."""
        files, keywords = MODULES[module]
        arguments = ["-x", "-q", "-m", selection, "-k", keywords, "--hypothesis-seed=0"]
        arguments += ["-p", "no:randomly", "-p", "no:cacheprovider"]
        codes = (self._run([*arguments, file]) for file in files)
        return all(code in (0, 5) for code in codes)  # 5: no test of the file is selected

    def _run(self, arguments: list[str]) -> int:
        """Run pytest in a fork, because this process has already imported the large libraries."""
        shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)
        child = os.fork()
        if child:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            # 1 is a failed test, 2 a module that cannot be imported, less than 0 the time limit.
            if code > 2 and code != 5:
                raise RuntimeError(f"pytest ended with exit code {code}: {' '.join(arguments)}")
            return code
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_seconds, self.cpu_seconds))
            os.chdir(self.folder)
            sys.path[:] = [str(self.folder / "src"), *sys.path[1:]]
            with Path(os.devnull).open("w") as null:
                os.dup2(null.fileno(), 1)
                os.dup2(null.fileno(), 2)
            os._exit(pytest.main(arguments))
        finally:
            os._exit(70)


def count_killed(copy: TreeCopy, module: str, count: int, seed: int) -> tuple[int, int, int]:
    """Return how many mutations are equivalent, killed by quick tests, and killed by any test."""
    source = (copy.folder / "src/dimetric" / module).read_text(encoding="utf-8")
    for selection in ("not slow", "slow"):
        if not copy.passes(module, selection):
            raise RuntimeError(f"The tests of {module} ({selection}) fail without a mutation")
    n_equivalent = n_quick = n_slow = 0
    for mutated in mutated_sources(source, count, seed):
        removed, added = changed_lines(source, mutated)
        reason = EQUIVALENT.get(module, {}).get(added.partition("  #")[0])
        n_equivalent += reason is not None
        copy.write(module, mutated)
        if not copy.passes(module, "not slow"):
            n_quick += 1
            verdict = "killed by a quick test"
        elif not copy.passes(module, "slow"):
            n_slow += 1
            verdict = "KILLED ONLY BY A SLOW TEST"
        else:
            verdict = f"survives, is equivalent: {reason}" if reason else "SURVIVES"
        print(f"{module}: {verdict}\n  - {removed}\n  + {added}", flush=True)
    copy.write(module, source)
    return n_equivalent, n_quick, n_quick + n_slow


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--module", action="append", choices=MODULES, help="mutate only this module"
    )
    parser.add_argument("--count", type=int, default=20, help="number of mutations in each module")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the mutations")
    parser.add_argument(
        "--limit", type=int, default=300, help="CPU time limit of a test file, in seconds"
    )
    options = parser.parse_args()
    rows, start = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = TreeCopy(Path(folder), options.limit)
        for module in options.module or MODULES:
            rows.append((module, *count_killed(copy, module, options.count, options.seed)))
    print(f"\n{time.perf_counter() - start:.0f} seconds\n")
    print("| module | mutations | equivalent | killed by quick tests | killed by all tests |")
    print("|---|---|---|---|---|")
    for module, *counts in rows:
        print(f"| {module} | {options.count} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    main()
