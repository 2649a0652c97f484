"""Check that two versions of the library give the same results.

``same_results.py record FILE`` fits each learner, embedding and classifier to small data sets,
computes each score, and writes the results to a file. ``same_results.py compare OLD NEW`` prints
the differences between two records. It exits with status 1 if a difference exceeds its tolerance:

- closed-form results: 1e-12 relative to the largest value (1e-5 in float32);
- iterative fits: 1e-9 relative to the objective (1e-5 in float32), and equal predictions.

Records are reproducible, because they use one thread and fixed seeds: two records of the same
version on the same machine are bit-identical. A version with other names needs its own adapter,
such as ``_same/api.py``: ``record --api adapter.py FILE``.
"""

import argparse
import importlib.util
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType

from _same.compare import Verdict, compared
from _same.data import data_sets
from _same.estimators import estimator_cases
from _same.record import load, record, save
from _same.scores import score_cases
from _same.special import special_cases


def main() -> int:
    """Parse the command line and run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb")
    recording = verbs.add_parser("record", help="compute all results and write them to a file")
    recording.add_argument("file", type=Path)
    recording.add_argument("--api", type=Path, help="adapter for the names of another version")
    recording.add_argument("--only", default="", help="only cases whose name contains this")
    comparing = verbs.add_parser("compare", help="print the differences between two records")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--all", action="store_true", help="also list entries that are equal")
    args = parser.parse_args()
    if args.verb == "record":
        return write_record(args.file, adapter(args.api), args.only)
    if args.verb == "compare":
        return print_comparison(args.old, args.new, show_all=args.all)
    parser.print_help()
    return 0


def adapter(path: Path | None) -> ModuleType:
    """Return the adapter of this version, or the adapter in a file."""
    if path is None:
        from _same import api

        return api
    spec = importlib.util.spec_from_file_location("adapter", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_record(path: Path, api: ModuleType, name_part: str) -> int:
    """Compute the results of all cases whose name contains a string, and write them to a file."""
    import dimetric

    started, sets = time.perf_counter(), data_sets()
    cases = [*estimator_cases(api, sets), *special_cases(api, sets), *score_cases(api, sets)]
    chosen = [case for case in cases if name_part in case.name]
    entries = record(chosen, show=lambda line: print(line, file=sys.stderr, flush=True))
    about = {"package": str(Path(dimetric.__file__).parent), "version": dimetric.__version__}
    save(entries, about, path)
    failed = Counter(entry.facts["error"] for entry in entries.values() if "error" in entry.facts)
    errors = ", ".join(f"{count} {name}" for name, count in failed.items()) or "none"
    seconds = time.perf_counter() - started
    print(f"{len(entries)} entries in {seconds:.0f} s; errors: {errors}; written to {path}")
    return 0


def print_comparison(old_path: Path, new_path: Path, *, show_all: bool) -> int:
    """Print a table of the differences. Return 1 if a difference exceeds its tolerance."""
    old, new = load(old_path)[0], load(new_path)[0]
    verdicts = [compared(name, old[name], new[name]) for name in old if name in new]
    for verdict in sorted(verdicts, key=lambda each: each.word != "FAILS"):
        if show_all or verdict.word != "same":
            print_verdict(verdict)
    for title, left, right in (("old", old, new), ("new", new, old)):
        missing = [name for name in left if name not in right]
        if missing:
            print(f"\nOnly in the {title} record ({len(missing)}):", *missing, sep="\n  ")
    print("\nkind        same  within  FAILS  largest difference")
    for kind in ("closed", "iterative"):
        of_kind = [each for each in verdicts if each.kind == kind]
        counts = Counter(each.word for each in of_kind)
        largest = max((each.largest for each in of_kind), default=0.0)
        print(
            f"{kind:10} {counts['same']:5} {counts['within']:7} {counts['FAILS']:6}  {largest:.1e}"
        )
    return int(any(verdict.failures for verdict in verdicts))


def print_verdict(verdict: Verdict) -> None:
    """Print one row of the table, followed by its failures and notes."""
    judged = f"{verdict.largest:.1e} {verdict.where}"
    unjudged = f"{verdict.unjudged:.1e} {verdict.unjudged_where}"
    print(f"{verdict.word:6}  {verdict.kind:9}  {judged:34} ({unjudged:28})  {verdict.name}")
    for line in (*verdict.failures, *(f"note: {note}" for note in verdict.notes)):
        print(f"          {line}")


if __name__ == "__main__":
    sys.exit(main())
