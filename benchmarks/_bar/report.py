"""Write the results as Markdown and JSON."""

import json
import math
from pathlib import Path
from typing import Any

from _bar.bar_rows import ROWS, Outcome, row_marks
from _bar.growth import Growth
from _bar.measure import Timing

INTRODUCTION = """\
# Benchmarks

`benchmarks/bar.py` wrote this page, and [{numbers}]({numbers}) with the same numbers. Each work
runs on the same data in our library and in the peer's, each in a process of its own. The runs
alternate, and the times are medians. Absolute times differ between machines. Ratios differ less.

- **ratio**: the time of the peer divided by ours.
- **limit**: the time of the products, passes or decompositions that the work cannot do without,
  measured in the same run, divided by our time. The products are in float64, except for PCA and on
  a GPU. The limit is 1 if our time is that of these products alone. It is above 1 if we compute
  less, such as products in float32. For iterative fits, the products of one evaluation are counted
  once for each iteration.
- **quality**: an objective or accuracy. The same function of ours evaluates both results. A work
  reaches its bar only if our quality is no worse.
- **memory**: the largest resident memory during the work minus the memory before it. The code of
  the libraries is loaded before.
"""


def write(page: Path, run: dict[str, Any], outcomes: list[Outcome], grown: list[Growth]) -> None:
    """Write a page in Markdown, and its numbers beside it as JSON."""
    page.parent.mkdir(parents=True, exist_ok=True)
    numbers = page.with_suffix(".json")
    page.write_text(markdown(run, outcomes, grown, numbers.name), encoding="utf-8")
    content = as_json(run, outcomes, grown)
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    numbers.write_text(text + "\n", encoding="utf-8")


def markdown(
    run: dict[str, Any], outcomes: list[Outcome], grown: list[Growth], numbers: str
) -> str:
    """Return the page, which links to the file of its numbers."""
    parts = [INTRODUCTION.format(numbers=numbers), _machine(run)]
    parts += ["## The bar\n", _rows(outcomes), "## Works\n", _works(outcomes)]
    parts += ["## Growth\n", _growth(grown)] if grown else []
    return "\n".join(parts)


def as_json(run: dict[str, Any], outcomes: list[Outcome], grown: list[Growth]) -> dict[str, Any]:
    """Return the numbers. What is not known is null."""
    marks = row_marks(outcomes)
    return {
        "run": run,
        "bar": [
            {"row": ROWS[row], "mark": mark, "notes": notes} for row, (mark, notes) in marks.items()
        ],
        "works": [_work_record(each) for each in outcomes],
        "growth": [
            {
                "work": each.series.name,
                "variable": each.series.variable,
                "sizes": list(each.sizes),
                "seconds": {r: [_known(t.median) for t in ts] for r, ts in each.timings.items()},
                "exponents": {role: _known(value) for role, value in each.exponents().items()},
            }
            for each in grown
        ],
    }


def _work_record(outcome: Outcome) -> dict[str, Any]:
    mark, reason = outcome.mark()
    quality = outcome.work.quality
    return {
        "work": outcome.work.name,
        "row": outcome.work.row,
        "size": outcome.size,
        "bar": str(outcome.work.bar),
        "mark": mark,
        "reason": reason,
        "ratio": _known(outcome.ratio),
        "limit_ratio": _known(outcome.limit_ratio),
        "quality": None if quality is None else quality.name,
        "sides": {
            role: {
                "seconds": _known(timing.median),
                "runs": timing.seconds,
                "megabytes": _known(timing.megabytes),
                "quality": _known(outcome.values.get(role, math.nan)),
                "over_limit": timing.over_limit,
                "error": timing.error,
            }
            for role, timing in outcome.timings.items()
        },
    }


def _machine(run: dict[str, Any]) -> str:
    def listed(versions: dict[str, str] | str) -> str:
        if isinstance(versions, str):
            return versions
        return ", ".join(f"{name} {version}" for name, version in versions.items())

    lines = [
        f"A {run['kind']} run{run['works']} on {run['date']}, {run['minutes']:.1f} minutes.\n",
        f"- {run['processor']}, {run['cores']} cores, {run['system']}",
        *([f"- {run['gpu']}"] if run["gpu"] else []),
        f"- {listed(run['versions'])}",
        *(f"- environment {name}: {listed(each)}" for name, each in run["peers"].items()),
    ]
    return "\n".join(lines) + "\n"


def _rows(outcomes: list[Outcome]) -> str:
    marks = row_marks(outcomes).items()
    lines = [[ROWS[row], f"**{mark}**", "<br>".join(notes)] for row, (mark, notes) in marks]
    return _table(["row", "mark", "notes"], lines)


def _works(outcomes: list[Outcome]) -> str:
    head = ["work", "size", "ours", "peer", "ratio", "bar", "limit", "quality"]
    head += ["ours, theirs", "memory: ours, peer", "runs", "mark"]
    lines = [_work_line(each) for each in outcomes if not each.skipped]
    return _table(head, lines)


def _work_line(outcome: Outcome) -> list[str]:
    work, timings = outcome.work, outcome.timings
    peer = timings.get("peer", Timing())
    values = [outcome.values.get(role, math.nan) for role in ("ours", "peer")]
    pairs = [timings.get(role, Timing()) for role in ("ours", "peer")]
    more = "> " if peer.over_limit is not None else ""
    return [
        work.name,
        outcome.size,
        _seconds(timings["ours"]),
        _seconds(peer) if work.peer else "",
        f"{more}{_times(outcome.ratio)}" if math.isfinite(outcome.ratio) else "",
        str(work.bar),
        f"{outcome.limit_ratio:.2f}" if math.isfinite(outcome.limit_ratio) else "",
        work.quality.name if work.quality else "",
        ", ".join(f"{value:.6g}" for value in values if math.isfinite(value)),
        ", ".join(f"{each.megabytes:,.0f} MB" for each in pairs if math.isfinite(each.megabytes)),
        ", ".join(str(len(each.seconds)) for each in pairs if each.seconds),
        outcome.mark()[0],
    ]


def _growth(grown: list[Growth]) -> str:
    """Return a table of the times, and of the exponents e of the fits time = c * size ** e."""
    lines = []
    for each in grown:
        for role, timings in each.timings.items():
            sizes = ", ".join(f"{size:,}" for size in each.sizes)
            seconds = ", ".join(_seconds(timing) for timing in timings)
            who = "dimetric" if role == "ours" else "scikit-learn"
            value = each.exponents()[role]
            shown = f"{value:.2f}" if math.isfinite(value) else ""
            grows = f"{each.series.variable} = {sizes}"
            lines.append([each.series.name, who, grows, seconds, shown])
    return _table(["work", "library", "size", "times", "exponent"], lines)


def _seconds(timing: Timing) -> str:
    """Return a time in words."""
    if timing.over_limit is not None and not timing.seconds:
        return f"> {timing.over_limit:g} s"
    if not timing.seconds:
        return timing.error or ""
    value = timing.median
    return f"{value:.3g} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 100 else f"{ratio:.3g}x"


def _known(value: float) -> float | None:
    """Return a number for JSON, which has neither NaN nor infinity."""
    return float(value) if math.isfinite(value) else None


def _table(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(c.replace('|', '/') for c in row)} |" for row in rows) + "\n"
