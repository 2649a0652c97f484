"""Marks, rows and reports of ``benchmarks/bar.py``."""

import json
import math

import pytest
from _bar.bar_rows import IN_FULL_RUN, ROWS, Outcome, row_marks
from _bar.growth import Growth, Series
from _bar.measure import Timing
from _bar.process import Side
from _bar.qualities import Quality
from _bar.report import as_json, markdown, write
from _bar.work import Bar, Work

SIDE = Side("dimetric", "fit")
FIVE_TIMES = Bar(5)
LOSS = Quality("loss", lambda _arrays, _results: 0.0, higher_is_better=False)


def outcome(
    *, ours=1.0, peer=10.0, bar=FIVE_TIMES, values=(2.0, 2.0), row="nca", name="NCA", **work
):
    """Return a work with given timings: numbers for seconds, or a Timing."""
    given = {"ours": ours, "peer": peer}
    timings = {r: t if isinstance(t, Timing) else Timing([t], 30.0) for r, t in given.items()}
    named = dict(zip(("ours", "peer"), values, strict=True))
    made = Work("nca", name, lambda: ("", {}), SIDE, SIDE, bar=bar, quality=LOSS, **work)
    return Outcome(made, "10 x 2", timings, named)


@pytest.mark.parametrize(
    ("given", "mark", "reason"),
    [
        ({}, "reached", ""),
        ({"peer": 4.0}, "not reached", "4x of 5x"),
        ({"values": (2.001, 2.0)}, "reached", ""),  # within the tolerance
        ({"values": (2.1, 2.0)}, "not reached", "loss 2.1 is worse than 2"),
        ({"values": (math.nan, 2.0)}, "not reached", "loss nan is worse than 2"),
        ({"values": (2.0, math.nan)}, "reached", ""),
        ({"peer": Timing(over_limit=30)}, "reached", ""),
        ({"peer": Timing(over_limit=3)}, "not measured", "the peer took more than 3 s"),
        ({"peer": Timing(error="not installed")}, "not measured", "peer: not installed"),
        ({"ours": Timing(error="bug")}, "not reached", "ours failed: bug"),
        ({"ours": Timing(over_limit=30)}, "not reached", "ours took more than 30 s"),
        ({"bar": Bar(seconds=0.5)}, "not reached", "1 s of 0.5 s"),
        ({"bar": Bar(seconds=2, megabytes=40)}, "reached", ""),
        ({"bar": Bar(5, megabytes=20)}, "not reached", "30 MB of 20 MB"),
    ],
)
def test_mark_of_a_work(given, mark, reason):
    assert outcome(**given).mark() == (mark, reason)


def test_smaller_data_cannot_show_that_the_bar_is_missed():
    each = outcome(peer=4.0)
    each.is_smaller = True
    assert each.mark() == ("not measured", "4x of 5x, on less data than the bar's")
    each = outcome(peer=4.0, values=(3.0, 2.0))
    each.is_smaller = True
    assert each.mark()[0] == "not reached"


def test_ratio_is_a_lower_bound_if_the_peer_reaches_its_limit():
    assert outcome(peer=Timing(over_limit=30), ours=2.0).ratio == 15


def test_limit_counts_each_iteration():
    ours = Timing([2.0], results={"n_iter": 10})
    each = outcome(ours=ours, limit_per_iteration=True)
    each.timings["limit"] = Timing([0.1])
    assert each.limit_ratio == pytest.approx(0.5)


def test_row_is_reached_only_if_no_work_misses_its_bar():
    good, bad = outcome(name="good"), outcome(name="bad", peer=2.0)
    assert row_marks([good])["nca"] == ("reached", [])
    assert row_marks([good, bad])["nca"] == ("not reached", ["bad, 10 x 2: 2x of 5x"])
    assert set(row_marks([good])) == {"nca"}
    missing = outcome(name="missing", peer=Timing(error="not installed"))
    note = "missing, 10 x 2: peer: not installed"
    assert row_marks([good, missing])["nca"] == ("not measured", [note])


def test_row_counts_the_works_of_the_full_run():
    left = Outcome(outcome().work, "", {}, {}, IN_FULL_RUN)
    note = f"2 works {IN_FULL_RUN}"
    assert row_marks([outcome(), left, left])["nca"] == ("reached", [note])
    assert row_marks([left, left])["nca"] == ("not measured", [note])


RUN = {
    "kind": "quick",
    "works": "",
    "date": "2026-01-01",
    "minutes": 4.0,
    "processor": "Some processor",
    "gpu": "Some GPU",
    "cores": 2,
    "system": "Linux",
    "versions": {"numpy": "2.4.6"},
    "peers": {"pydml": "not installed: no network"},
}


def growth():
    series = Series("NCA, d = 2", "n", (100, 200, 400), lambda n: ("", {}), SIDE)
    timings = [Timing([1.0]), Timing([4.0]), Timing(over_limit=5)]
    return Growth(series, series.sizes, {"ours": timings})


def test_report_has_the_rows_of_its_works_and_names_what_is_missing():
    found = [outcome(peer=Timing(over_limit=30)), outcome(peer=Timing(error="not installed"))]
    text = markdown(RUN, found, [growth()], "numbers.json")
    assert [row for row in ROWS.values() if row in text] == [ROWS["nca"]]
    named = ("Some processor", "Some GPU", "(numbers.json)", "not installed: no network")
    for expected in (*named, "> 30 s", "> 30x", "2.00"):
        assert expected in text


def test_report_is_written_as_markdown_and_json(tmp_path):
    found = [outcome(ours=Timing(error="bug"), values=(math.nan, 1.0))]
    write(tmp_path / "page.md", RUN, found, [growth()])
    content = json.loads((tmp_path / "page.json").read_text())
    assert content == json.loads(json.dumps(as_json(RUN, found, [growth()])))
    assert content["works"][0]["ratio"] is None
    assert content["growth"][0]["seconds"]["ours"] == [1.0, 4.0, None]
    assert [each["row"] for each in content["bar"]] == [ROWS["nca"]]
    assert (tmp_path / "page.md").read_text() == markdown(RUN, found, [growth()], "page.json")
