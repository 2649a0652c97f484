"""Compare two records entry by entry, with tolerances."""

from dataclasses import dataclass, field

import numpy as np

from _same.record import Entry

# Largest accepted relative differences.
CLOSED_FORM_TOLERANCE = 1e-12
OBJECTIVE_TOLERANCE = 1e-9  # objectives of iterative fits
FLOAT32_TOLERANCE = 1e-5  # all results in float32
# Results, recognized by the last part of their names.
PREDICTED = ("predicted",)
OBJECTIVES = ("final_objective", "initial_objective", "stress_")
NOT_JUDGED = ("reason", "error message")  # messages may be reworded


@dataclass(eq=False)
class Verdict:
    """Differences between two records of an entry."""

    name: str
    kind: str
    largest: float = 0.0  # largest relative difference that has a tolerance
    where: str = ""
    unjudged: float = 0.0  # largest relative difference without a tolerance
    unjudged_where: str = ""
    failures: list[str] = field(default_factory=list)  # differences that exceed their tolerance
    notes: list[str] = field(default_factory=list)  # other differences

    @property
    def word(self) -> str:
        """The verdict in one word."""
        if self.failures:
            return "FAILS"
        exact = self.largest == 0 and self.unjudged == 0 and not self.notes
        return "same" if exact else "within"


def compared(name: str, old: Entry, new: Entry) -> Verdict:
    """Compare the same entry of two records."""
    found = Verdict(name, old.kind)
    _compare_facts(found, old, new)
    for key in sorted(set(old.arrays) | set(new.arrays)):
        if key not in old.arrays or key not in new.arrays:
            found.notes.append(f"{key} only in the {'old' if key in old.arrays else 'new'} record")
            continue
        _compare_arrays(found, key, old, new)
    return found


def _compare_facts(found: Verdict, old: Entry, new: Entry) -> None:
    for key in sorted(set(old.facts) | set(new.facts)):
        before, after = old.facts.get(key), new.facts.get(key)
        if before == after and (key in old.facts) == (key in new.facts):
            continue
        text = f"{key}: {before!r} -> {after!r}"
        last = _last(key)
        if key not in old.facts or key not in new.facts:
            where = "old" if key in old.facts else "new"
            text = f"{key} only in the {where} record"
            if key.startswith("error"):
                text += f": {old.facts.get(key, after)}"
            serious = key == "error"
        else:
            judged = last not in NOT_JUDGED and key != "warnings"
            serious = judged and (old.kind == "closed" or last in PREDICTED or key == "error")
        (found.failures if serious else found.notes).append(text)


def _compare_arrays(found: Verdict, key: str, old: Entry, new: Entry) -> None:
    before, after = old.arrays[key], new.arrays[key]
    if old.kind == "iterative" and key == "fitted.history_":
        _compare_histories(found, before, after)
        return
    judged = old.kind == "closed" or _last(key) in (*OBJECTIVES, *PREDICTED)
    if before.shape != after.shape:
        text = f"{key}: shape {before.shape} -> {after.shape}"
        (found.failures if judged else found.notes).append(text)
        return
    difference = _difference(key, old, new)
    if not judged:
        if difference > found.unjudged:
            found.unjudged, found.unjudged_where = difference, key
        return
    if difference > found.largest:
        found.largest, found.where = difference, key
    if not difference <= _tolerance(key, old):
        found.failures.append(f"{key} differs by {difference:.1e}")


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _tolerance(key: str, entry: Entry) -> float:
    if _last(key) in PREDICTED or entry.arrays[key].dtype.kind in "iub":
        return 0.0
    if entry.single:
        return FLOAT32_TOLERANCE
    return CLOSED_FORM_TOLERANCE if entry.kind == "closed" else OBJECTIVE_TOLERANCE


def _difference(key: str, old: Entry, new: Entry) -> float:
    """Return the largest difference, relative to the largest value.

    The scale of an objective is at least a thousandth of its initial value, because the final value
    may be almost 0.
    """
    before, after = old.arrays[key], new.arrays[key]
    if before.size == 0 or np.array_equal(before, after, equal_nan=before.dtype.kind == "f"):
        return 0.0
    if before.dtype.kind not in "fc":
        return float(np.mean(before != after))
    before, after = before.astype(np.float64), after.astype(np.float64)
    scale = np.max(np.abs(before[np.isfinite(before)]), initial=0.0)
    first = old.arrays.get("metadata.initial_objective")
    if _last(key) in OBJECTIVES and first is not None and np.isfinite(first):
        scale = max(scale, 1e-3 * abs(float(first)))
    if not np.array_equal(np.isfinite(before), np.isfinite(after)):
        return float("inf")
    gaps = np.abs(before - after)[np.isfinite(before)]
    return float(np.max(gaps, initial=0.0) / (scale or 1.0))


def _compare_histories(found: Verdict, before: np.ndarray, after: np.ndarray) -> None:
    """Note the first iteration at which two fits differ."""
    n = min(len(before), len(after))
    same = np.isclose(before[:n], after[:n], rtol=1e-12, atol=0, equal_nan=True)
    if not same.all():
        found.notes.append(f"history differs from iteration {int(np.argmin(same))} on")
    elif len(before) != len(after):
        found.notes.append(f"history has {len(before)} -> {len(after)} values")
