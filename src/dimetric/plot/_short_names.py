"""Shorten names so that they fit into a plot."""

from collections.abc import Sequence

from dimetric.plot._matplotlib import plain_text

__all__ = ["short_names"]

MIN_COMMON_CHARACTERS = 4  # length of a common prefix and suffix that is worth omitting


def short_names(names: Sequence[object], max_length: int) -> list[str]:
    """Shorten names to `max_length` characters and keep them distinct where possible.

    If a name is too long, the prefix and suffix that all names have in common are omitted.

    Examples
    --------
    >>> short_names(["the long name of class 1 here", "the long name of class 2 here"], 12)
    ['…1…', '…2…']
    """
    short = [plain_text(name, max_length) for name in names]
    lines = [" ".join(str(name).split()) for name in names]
    if max(len(line) for line in lines) <= max_length or len(set(lines)) < 2:
        return short
    head, tail = _common_lengths(lines, whole_words=True)
    if max(len(line) - head - tail for line in lines) > max_length - 2:
        head, tail = _common_lengths(lines)
    if head + tail < MIN_COMMON_CHARACTERS and len(set(short)) == len(set(lines)):
        return short
    start, end = "…" * (head > 0), "…" * (tail > 0)
    cores = [plain_text(line[head : len(line) - tail], max(3, max_length - 2)) for line in lines]
    return [start + core + end for core in cores]


def _common_lengths(lines: Sequence[str], *, whole_words: bool = False) -> tuple[int, int]:
    """Return the lengths of the longest prefix and suffix that all lines have in common."""
    head = _common_prefix_length(lines, whole_words)
    return head, _common_prefix_length([line[head:][::-1] for line in lines], whole_words)


def _common_prefix_length(lines: Sequence[str], whole_words: bool) -> int:
    """Return the length of the longest prefix that all lines have in common.

    With `whole_words`, it ends after a space.
    """
    first, last = min(lines), max(lines)
    differ = (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    length = next(differ, min(len(first), len(last)))
    return first.rfind(" ", 0, length) + 1 if whole_words else length
