"""Compare dimetric with other libraries, and with the limit of the machine.

    make bench           # all works and sizes: an hour on two cores
    make bench QUICK=1   # about 5 minutes on two cores

The first run builds the environments of metric-learn and pyDML under ``.bench/``. The results are
written to ``docs/results/benchmarks.md`` and ``.json``. Progress is shown on stderr.
"""

import argparse
import os
import time
from datetime import UTC, datetime
from pathlib import Path

os.environ.setdefault("PYTHONWARNINGS", "ignore")

from _bar.environments import Environments
from _bar.growth import SERIES
from _bar.machine import description
from _bar.measure import FULL, QUICK
from _bar.report import write
from _bar.run import growth, outcomes, tell
from _bar.works import ALL

PAGE = Path(__file__).parents[1] / "docs" / "results" / "benchmarks.md"


def main() -> None:
    """Parse the command line, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer works, sizes and repeats")
    parser.add_argument("--only", default="", help="only works whose name contains this")
    parser.add_argument("--out", type=Path, default=PAGE, help="page to write, in Markdown")
    args = parser.parse_args()

    def selected(name: str) -> bool:
        return args.only.casefold() in name.casefold()

    series = [s for s in SERIES if selected(s.name) and (s.quick or not args.quick)]
    works = [work for work in ALL if selected(work.name)]
    libraries = {side.library for work in works for side in work.sides.values()}
    environments = Environments()
    run = description(environments, libraries)  # their time does not count
    started = time.monotonic()
    grown = [growth(each, environments, quick=args.quick) for each in series]
    found = outcomes(
        works,
        QUICK if args.quick else FULL,
        environments,
        quick=args.quick,
        started=started,
    )
    run |= {
        "kind": "quick" if args.quick else "full",
        "works": f" of the works with {args.only!r} in their name" if args.only else "",
        "date": datetime.now(UTC).date().isoformat(),
        "minutes": (time.monotonic() - started) / 60,
    }
    write(args.out, run, found, grown)
    tell(f"wrote {args.out} and .json after {run['minutes']:.1f} minutes")


if __name__ == "__main__":
    main()
