"""Reports on retrieval are self-contained pages in which all texts are escaped."""

import re
from dataclasses import replace

import pytest
from pages import EVIL, NAMES, Page

from dimetric.report import (
    CandidateRow,
    ChangedQuery,
    FoundDocument,
    GroupRow,
    RetrievalRecord,
    render_retrieval_report,
)


def change(text, group="travel"):
    found = tuple(FoundDocument(each, i % 2 == 0) for i, each in enumerate(NAMES))
    return ChangedQuery(text, group, 0.25, 0.75, found, found[::-1])


RECORD = RetrievalRecord(
    name="shop",
    source="queries.parquet",
    verdict="adapter is better than identity.",
    outcome="nDCG@10 is 0.907.",
    measure="nDCG@10",
    baseline="identity",
    chosen="adapter",
    tested="adapter",
    candidates=[
        CandidateRow("adapter", {"nDCG@10": 0.9071, "MRR@10": 0.5}, 0.0306, 0.0252, 0.0361),
        CandidateRow("LDA", {"nDCG@10": 0.8899, "MRR@10": 0.4}, 0.0134, -0.0021, 0.0188),
        CandidateRow("identity", {"nDCG@10": 0.8765, "MRR@10": 0.3}, 0.0, 0.0, 0.0),
    ],
    probabilities={"worse": 0.02, "equivalent": 0.1, "better": 0.88},
    rope=0.01,
    gains_of="queries",
    groups=[GroupRow("travel", 12, 0.5, 0.75), GroupRow("food", 9, 0.8, 0.7)],
    losers=[change("cheap flights")],
    winners=[change("where is my card?")],
    n_worse=7,
    n_better=30,
    n_equal=63,
    counts={"queries": 100, "documents": 2000},
    method={"Test": "100 test queries in 5 folds."},
    notes=("Left out 2 queries.",),
    model_file="adapter.dimetric",
    seconds=14.0,
    random_state=0,
    versions={"dimetric": "0.3"},
)


def text_of(record):
    text = Page(render_retrieval_report(record)).text
    return re.sub(r"[ \n]+", " ", text)


def test_page_states_the_results():
    text = text_of(RECORD)
    for each in (
        "adapter is better than identity. nDCG@10 is 0.907.",
        "adapter is worse 2\u00a0%, equivalent (within 0.01) 10\u00a0%",
        "map nDCG@10 gain 95 % interval of the gain MRR@10",
        "adapter 0.9071 +0.0306 +0.0252 to +0.0361 0.5000",
        "LDA 0.8899 +0.0134 -0.0021 to +0.0188 0.4000",
        "identity 0.8765 0.3000",
        "the mean over test queries",
        "travel 12 0.500 0.750 +0.250",
        "food 9 0.800 0.700 -0.100",
        "is higher for 30 test queries, lower for 7, and the same for 63",
        "cheap flights",
        "0.25 → 0.75",
        "100 queries, 2,000 documents.",
        "Left out 2 queries.",
        "100 test queries in 5 folds.",
        "dimetric.load('adapter.dimetric')",
        "documents and their index stay as they are",
    ):
        assert each in text, each


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_escaped(name):
    record = replace(
        RECORD,
        name=name,
        source=name,
        verdict=name,
        outcome=name,
        chosen=name,
        tested=name,
        candidates=[RECORD.candidates[0]._replace(name=name), *RECORD.candidates[1:]],
        groups=[GroupRow(name, 3, 0.1, 0.2), *RECORD.groups],
        losers=[change(name, name)],
        winners=[change(name, name)],
        method={name: name},
        notes=(name,),
        model_file=name,
        versions={name: name},
    )
    content = render_retrieval_report(record)
    page = Page(content)  # raises if a tag is not closed
    assert "script" not in page.tags
    assert EVIL not in content
    assert " ".join(name.split())[:20] in " ".join(page.text.split())
    assert not [each for each, _ in page.attributes if each.startswith("on")]


def test_page_loads_nothing():
    page = Page(render_retrieval_report(RECORD))
    sources = [value for key, value in page.attributes if key in ("src", "href", "srcset")]
    assert sources
    assert all(each.startswith("data:image/png;base64,") for each in sources)
    policy = dict(page.attributes)["http-equiv"]
    assert policy == "Content-Security-Policy"


def test_missing_parts_are_left_out():
    text = text_of(replace(RECORD, groups=[], losers=[], winners=[], model_file=None, notes=()))
    assert "Groups" not in text
    assert "marks a relevant document" not in text
    assert "Use the adapter" not in text


def test_many_groups_show_the_largest_changes():
    groups = [GroupRow(f"g{i:03d}", 2, 0.5, 0.5 + (i - 50) / 200) for i in range(101)]
    text = text_of(replace(RECORD, groups=groups))
    shown = re.findall(r"g\d{3}", text)
    assert shown == [f"g{i:03d}" for i in [*range(100, 85, -1), *range(14, -1, -1)]]
    assert "Not shown: 71 groups with smaller changes." in text
