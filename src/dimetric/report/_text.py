"""Format numbers, explain scores, and shorten long names to fit into pages and plots."""

from collections.abc import Sequence
from typing import Any

SCORE_MEANINGS = {
    "accuracy": "Accuracy is the fraction of test rows that are classified correctly.",
    "balanced_accuracy": "Balanced accuracy is the fraction of rows classified correctly in each "
    "class, averaged over the classes, so that small classes count as much as large ones.",
    "f1_macro": "Macro F1 combines precision and recall of each class, and is averaged over the "
    "classes, so that small classes count as much as large ones. It is 1 for perfect predictions.",
    "r2": "R2 is the fraction of the variance of {target} that the predictions explain: 1 for "
    "perfect predictions, and 0 for predictions that are as good as the mean.",
    "mae": "MAE is the mean absolute error, in units of {target}.",
}


def score_meaning(score: str, target: str) -> str:
    """Return a sentence that explains a score of predictions.

    Examples
    --------
    >>> score_meaning("mae", "price")
    'MAE is the mean absolute error, in units of price.'
    """
    return SCORE_MEANINGS[score].replace("{target}", cut_end(target))


def cut_end(value: Any, max_length: int = 80) -> str:
    """Cut off the end of a long string.

    Examples
    --------
    >>> cut_end("a very long name indeed", 10)
    'a very lo…'
    """
    text = str(value)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def percent(fraction: float, digits: int = 1) -> str:
    """Return a fraction as a percentage.

    Examples
    --------
    >>> percent(0.9124), percent(0.79, 0)
    ('91.2 %', '79 %')
    """
    return f"{100 * fraction:.{digits}f} %"


def cut_middle(value: Any, max_length: int) -> str:
    """Remove the middle of a long string, because names often differ at their ends.

    Examples
    --------
    >>> cut_middle("a very long name indeed", 10)
    'a ver…deed'
    """
    text = str(value)
    if len(text) <= max_length:
        return text
    return f"{text[: max_length // 2]}…{text[1 - (max_length + 1) // 2 :]}"


def distinct_names(names: Sequence[object], max_length: int) -> list[str]:
    """Shorten names so that they stay distinct.

    The middle or the end of long names is omitted, or the parts that all names have in common. If
    some are still equal, numbers are appended to these.

    Examples
    --------
    >>> distinct_names(["group 1 of the first study", "group 2 of the first study"], 12)
    ['group 1 of …', 'group 2 of …']
    >>> distinct_names(["height of the left part", "height of the right part"], 12)
    ['…left…', '…right…']
    >>> distinct_names(["age", "the month of birth", "the month in birth"], 8)
    ['age', 'the …rth 1', 'the …rth 2']
    """
    n_distinct = len(set(map(str, names)))
    for shorten in (_cut_middles, _cut_ends, _without_common_parts):
        short = shorten(names, max_length) if names else []
        if len(set(short)) == n_distinct:
            return short
    short = _cut_middles(names, max_length)
    return [
        f"{name} {short[: i + 1].count(name)}" if short.count(name) > 1 else name
        for i, name in enumerate(short)
    ]


def _cut_middles(names: Sequence[object], max_length: int) -> list[str]:
    return [cut_middle(each, max_length) for each in names]


def _cut_ends(names: Sequence[object], max_length: int) -> list[str]:
    return [cut_end(each, max_length) for each in names]


def _without_common_parts(names: Sequence[object], max_length: int) -> list[str]:
    from dimetric.plot._short_names import short_names

    return [each.replace(r"\$", "$") for each in short_names(names, max_length)]  # $ is escaped


def keep_together(text: str) -> str:
    """Return a text in which a number and its per cent sign are not divided between two lines.

    Examples
    --------
    >>> keep_together("79 % of rows") == "79\u00a0% of rows"
    True
    """
    return text.replace(" %", "\u00a0%")
