"""JSON lines and arrays of records, as whole tables and in chunks, and hostile files."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hostile_files import assert_one_sentence, write
from numpy.testing import assert_array_equal

from dimetric.data import read_table
from dimetric.data._files import TableFile

RECORDS = [
    {"size": 1.5 * i, "count": i, "colour": "red" if i % 2 else None, "class": "ab"[i % 2]}
    for i in range(8)
]
LINES = "".join(json.dumps(each) + "\n" for each in RECORDS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", LINES),
        ("a.ndjson", LINES.replace("\n", "\r\n\r\n")),
        ("a.json", LINES),
        ("a.json", json.dumps(RECORDS)),
        ("a.json", json.dumps(RECORDS, indent=2)),
        ("a.jsonl", "\ufeff" + LINES),
        ("a.json", json.dumps(RECORDS).encode("utf-16")),
        ("a.jsonl.gz", gzip.compress(LINES.encode())),
        ("a.json.gz", gzip.compress(json.dumps(RECORDS).encode())),
        ("a.txt", LINES),
    ],
)
def test_records(tmp_path, name, content):
    pd.DataFrame(RECORDS).to_csv(tmp_path / "b.csv", index=False)
    path = write(tmp_path / name, content)
    expected, data = (read_table(each, missing="impute") for each in (tmp_path / "b.csv", path))
    assert_array_equal(data.X, expected.X)
    assert_array_equal(data.y, expected.y)
    parts = list(TableFile.open(path).chunks(string_columns=["count"], cells_per_chunk=12))
    assert [list(each["count"]) for each in parts] == [["0", "1", "2"], ["3", "4", "5"], ["6", "7"]]


def test_objects_are_flattened_and_lists_are_refused(tmp_path):
    records = [
        {
            "a": {"b": {"c": i}, "d": None},
            "tags": [1],
            "more": [{}],
            "none": {},
            "class": "xy"[i % 2],
        }
        for i in range(4)
    ] + [{"a": None, "class": "x"}]
    path = write(tmp_path / "a.json", json.dumps(records))
    assert TableFile.open(path).column_names() == ["a.b.c", "a.d", "tags", "more", "none", "class"]
    with pytest.raises(ValueError, match=r"'tags'.* 'more' .*lists, which cannot be features"):
        read_table(path, missing="impute")
    with pytest.raises(ValueError, match="'tags' holds lists, so it cannot be the target"):
        TableFile.open(path).read("tags")
    part = next(TableFile.open(path).chunks())
    assert list(part) == ["a.b.c", "a.d", "none", "class"]
    assert_array_equal(part["a.b.c"], [0, 1, 2, 3, np.nan])
    columns = TableFile.open(path).read()
    assert list(columns["a.d"]) == [None] * 5


FRAME = pd.DataFrame({"a": [1, 2, 3], "class": ["x", "y", "x"]})


@pytest.mark.parametrize(
    "text",
    [
        FRAME.to_json(),
        FRAME.to_json(orient="split"),
        FRAME.to_json(orient="table"),
        json.dumps(FRAME.to_dict("list")),
        json.dumps({"count": 3, "results": FRAME.to_dict("records")}, indent=1),
        json.dumps(FRAME.to_dict("records"), indent=1),
    ],
)
def test_layouts_of_other_programs(tmp_path, text):
    columns = TableFile.open(write(tmp_path / "a.json", text)).read()
    assert_array_equal(columns["a"], [1, 2, 3])
    assert list(columns["class"]) == ["x", "y", "x"]


def test_one_record(tmp_path):
    for text in ('{"a": 1, "b": {"c": 2}}', '{\n"a": 1,\n"b": {"c": 2}\n}\n'):
        columns = TableFile.open(write(tmp_path / "a.json", text)).read()
        assert {name: list(values) for name, values in columns.items()} == {"a": [1], "b.c": [2]}


def test_keys_may_differ_between_records(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"a": 1}\n{"b": "x", "a": 2}\n{"c": true}\n')
    table = TableFile.open(path)
    assert table.column_names() == ["a", "b", "c"]
    parts = list(table.chunks(cells_per_chunk=1))
    assert [list(each) for each in parts] == [["a", "b", "c"]] * 3
    assert_array_equal(table.read()["a"], [1, 2, np.nan])


def test_types(tmp_path):
    lines = ['{"n": 12345678901234567890, "m": 1, "t": true, "f": 1.0}',
             '{"n": 2, "m": "a", "t": false, "f": NaN}']  # fmt: skip
    columns = TableFile.open(write(tmp_path / "a.jsonl", "\n".join(lines))).read()
    assert_array_equal(columns["n"], [12345678901234567890.0, 2])
    assert list(columns["m"]) == ["1", "a"]
    assert columns["t"].dtype == bool
    assert_array_equal(columns["f"], [1, np.nan])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"a": 1}\n{"a": \n', "line 2 is not valid JSON; expected one record in each line"),
        ('{\n "a": 1\n', "line 1 is not valid JSON"),
        ('{"a": [1], "b": [1, 2]}', "it holds a single object; expected"),
        ("[1, 2]", "record 1 is not a record; expected"),
        ('[{"a": 1}, 2]', "record 2 is not a record"),
        ('{"a": 1}\n[1]\n', "line 2 is not a record"),
        ("[]", "it has no records"),
        ("[" * 100_000, "it is nested too deeply|not valid JSON"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"a": ' * 50 + "1" + "}" * 50, "record 1 is nested too deeply"),
        (b'{"a": "\xe9"}', "it is not valid UTF-8 text"),
        ("".join(f'{{"k{i}": 1}}\n' for i in range(3000)), "content of at least .* times as large"),
        ('{"a": "x\n', "it is not valid JSON"),
    ],
)
def test_damaged_and_hostile_files(tmp_path, content, sentence):
    path = write(tmp_path / "a.json", content)
    assert_one_sentence(path, lambda path: read_table(path, -1), sentence)


def test_huge_numbers(tmp_path):
    path = write(
        tmp_path / "a.jsonl", '{"a": %s, "class": 1}\n{"a": 2, "class": 2}\n' % ("9" * 5000)
    )
    with pytest.raises(ValueError, match=r"'a'.* holds .*infinite values"):
        read_table(path)
    path = write(tmp_path / "a.jsonl", '{"a": -%s}\n{"a": 1e999}\n' % ("9" * 390))
    assert_array_equal(TableFile.open(path).read()["a"], [-np.inf, np.inf])
