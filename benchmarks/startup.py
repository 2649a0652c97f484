"""Start-up time of the command, beside the time to import scikit-learn and pandas.

The time is the processor time (user and system) of a process, because it depends little on other
processes. The commands alternate, and the smallest time of each is printed. Bytecode is cached in a
temporary folder, as in an installed package.

Run: python benchmarks/startup.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

REPEATS = 7
IMPORTS = "import sklearn, pandas"
DIMETRIC = [sys.executable, "-m", "dimetric"]
LIMITS = {"dimetric info": 0.5}  # processor seconds; other verbs: the imports plus 0.4
EXTRA_SECONDS = 0.4


def commands() -> dict[str, list[str]]:
    """Return the commands to measure, by title."""
    words = {
        "--version": "--version",
        "--help": "--help",
        "info": "info iris.dimetric",
        "predict": "predict iris.dimetric iris.csv --out classes.csv",
        "transform": "transform iris.dimetric iris.csv --out coordinates.csv",
        "neighbors": "neighbors iris.dimetric iris.csv --row 5",
        "export": "export iris.dimetric --to numpy --out iris.py",
        "fit": "fit iris.csv --learner LDA --out other.dimetric",
        "embed (table)": "embed iris.csv --method pca --out map.csv",
        "embed (plot)": "embed iris.csv --method pca --out map.png",
    }
    python = {IMPORTS: [sys.executable, "-c", IMPORTS]}
    return python | {f"dimetric {name}": [*DIMETRIC, *text.split()] for name, text in words.items()}


def processor_seconds(command: list[str], folder: Path) -> float:
    """Run a command, and return the processor time that it took."""
    cache = {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | cache
    before = os.times()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


def main() -> None:
    """Print the times."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        frame = load_iris(as_frame=True).frame.rename(columns={"target": "class"})
        frame.to_csv(folder / "iris.csv", index=False)
        fit = [*DIMETRIC, "fit", "iris.csv", "--learner", "LDA", "--out", "iris.dimetric"]
        processor_seconds(fit, folder)
        best: dict[str, float] = {}
        for turn in range(REPEATS + 1):
            for title, command in commands().items():
                seconds = processor_seconds(command, folder)
                if turn:  # the first turn compiles the modules
                    best[title] = min(best.get(title, seconds), seconds)
    print(f"{'command':24} seconds  beyond the imports  limit")
    for title, seconds in best.items():
        limit = LIMITS.get(title, best[IMPORTS] + EXTRA_SECONDS)
        beyond = f"{seconds - best[IMPORTS]:+.2f}" if title != IMPORTS else ""
        print(f"{title:24} {seconds:7.2f}  {beyond:>18}  {limit:5.2f}")


if __name__ == "__main__":
    main()
