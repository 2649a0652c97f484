"""Pieces of a page that needs nothing else, and in which any text is but a text."""

from collections.abc import Iterable
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --ink: #1d2433; --soft: #5b6474; --paper: #ffffff;
  --card: #f4f6fa; --line: #d9dee8; --accent: #0072b2; --good: #00795a; --bad: #b34a00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9f0; --soft: #a4adbd; --paper: #14171d;
  --card: #1e232c; --line: #363d4a; --accent: #56b4e9; --good: #4fd1a5; --bad: #f0a05c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 62rem; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
.verdict { background: var(--card); border-left: 5px solid var(--accent); padding: .8rem 1rem;
  border-radius: 6px; } .verdict b { font-size: 1.25rem; line-height: 1.3; }
.soft, figcaption, small { color: var(--soft); } figcaption { font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; } th:nth-child(2), td:nth-child(2), .left { text-align: left !important; }
td.names { white-space: normal; } tr.best td { font-weight: 600; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
figure { margin: .5rem 0; } figure img { width: 100%; max-width: 39rem; background: #fff;
  border-radius: 6px; padding: 4px; display: block; }
.bars { display: grid; grid-template-columns: fit-content(50%) 1fr max-content;
  gap: .15rem .6rem; align-items: center; max-width: 40rem; font-size: .92rem; }
.bars i { display: block; height: .8rem; border-radius: 3px; background: var(--accent);
  min-width: 1px; }
.split { display: flex; height: 1.6rem; border-radius: 4px; overflow: hidden; margin: .5rem 0; }
.split i { display: block; height: 100%; } pre { background: var(--card); padding: .7rem;
  border-radius: 6px; overflow-x: auto; font-size: .85rem; } .no { color: var(--bad); }
.yes { color: var(--good); } ul { padding-left: 1.2rem; }
@media (max-width: 32rem) { th, td { padding: .2rem .35rem; font-size: .85rem; }
  td.names { min-width: 11rem; } }
"""


def text(value: Any, most: int = 80) -> str:
    """Return a text as HTML shows it, whatever is in it; long ones are cut.

    Examples
    --------
    >>> text("<script>alert('a & b')")
    '&lt;script&gt;alert(&#x27;a &amp; b&#x27;)'
    """
    line = str(value)
    return escape(line if len(line) <= most else f"{line[: most - 1]}…")


def shortened(value: Any, most: int) -> str:
    """Return a text without its middle, if it is long: names often differ at their ends.

    Examples
    --------
    >>> shortened("a very long name indeed", 10)
    'a ver…deed'
    """
    line = str(value)
    return line if len(line) <= most else f"{line[: most // 2]}…{line[1 - (most + 1) // 2 :]}"


def document(title: str, parts: Iterable[str]) -> str:
    """Return a page of parts that are HTML already; it may load nothing."""
    content = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
        f"<title>{text(title)}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{content}\n</body></html>\n"
    )


def bars(values: dict[str, Any], digits: str) -> str:
    """Return numbers with bars beside them."""
    largest = max([0.0, *(float(each) for each in values.values())]) or 1.0
    lines = [
        f'<span>{text(shortened(name, 32))}</span><span><i style="width:'
        f'{100 * max(0.0, float(value)) / largest:.1f}%"></i></span><span>{value:{digits}}</span>'
        for name, value in values.items()
    ]
    return f'<div class="bars">{"".join(lines)}</div>'


def figure(picture: str, caption: str) -> str:
    """Return a picture with what is to be said about it."""
    return (
        f'<figure><img src="{picture}" alt="{text(caption, 300)}">'
        f"<figcaption>{text(caption, 300)}</figcaption></figure>"
    )


def listed(sentences: Iterable[str]) -> str:
    """Return sentences as a list; nothing if there are none."""
    items = "".join(f"<li>{text(each, 300)}</li>" for each in sentences)
    return f'<ul class="soft">{items}</ul>' if items else ""
