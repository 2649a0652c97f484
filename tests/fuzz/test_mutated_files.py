"""Mutated files are read, or raise a documented error: quickly, and in little memory.

Run one case of one kind of file with ``python tests/fuzz/test_mutated_files.py KIND NUMBER``. Set
DIMETRIC_FUZZ_FACTOR to multiply the number of cases.
"""

import contextlib
import gzip
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

FACTOR = float(os.environ.get("DIMETRIC_FUZZ_FACTOR", "1"))
CASES_PER_KIND = max(1, round(30 * FACTOR))
SECONDS_PER_CASE = 20  # of a loaded machine. A case takes a few milliseconds.
MAX_ADDRESS_BYTES = 8 * 2**30
FREE_BYTES = 50_000_000
HUGE_NUMBERS = [b"99999999999999999999", b"-1", b"1e999", b"4294967296", b"9223372036854775807",
                b"1" * 5000, b"18446744073709551615", b"0", b"1.5", b"nan"]  # fmt: skip


# The files. Each function returns the name of a file and its content.


def table_text(n=40):
    rng = np.random.default_rng(0)
    rows = [
        f"{i};{a:.3f};{b:.2e};{'red' if a > 0 else 'blue'};{'?' if i == 7 else i % 3};c{i % 2}"
        for i, (a, b) in enumerate(rng.normal(size=(n, 2)))
    ]
    return "id;size;weight;colour;level;class\n" + "\n".join(rows) + "\n"


def csv_file(folder):
    return "a.csv", table_text().replace(";", ",").encode()


def decimal_comma_file(folder):
    return "a.txt", table_text().replace(".", ",").encode("utf-16")


def quoted_file(folder):
    return "a.tsv", re.sub("[a-z]+", r'"\g<0>, é"', table_text().replace(";", "\t")).encode()


def gzip_file(folder):
    return "a.csv.gz", gzip.compress(table_text().encode(), mtime=0)


def keel_file(folder):
    head = (
        "@relation 'some data'\n@attribute id integer [0, 39]\n@attribute size real [-3, 3]\n"
        "@attribute weight real\n@attribute colour {red, 'blue'}\n@attribute level {0, 1, 2}\n"
        "@attribute class {c0, c1}\n@inputs size, weight, colour, level\n@outputs class\n@data\n"
    )
    return "a.dat", (head + table_text().partition("\n")[2].replace(";", ", ")).encode()


def npz_file(folder):
    X = np.random.default_rng(0).normal(size=(40, 5))
    np.savez_compressed(folder / "a.npz", X=X, y=np.array(["p", "qq"])[np.arange(40) % 2])
    return "a.npz", (folder / "a.npz").read_bytes()


def npy_file(folder):
    np.save(folder / "a.npy", np.asfortranarray(np.random.default_rng(0).normal(size=(30, 4))))
    return "a.npy", (folder / "a.npy").read_bytes()


def parquet_file(folder):
    import pandas as pd

    frame = pd.DataFrame(
        {"a": np.arange(40.0), "b": ["x", "y", None, "zz"] * 10, "class": ["p", "q"] * 20}
    )
    frame.to_parquet(folder / "a.parquet")
    return "a.parquet", (folder / "a.parquet").read_bytes()


def feather_file(folder):
    import pandas as pd

    frame = pd.read_parquet(folder / parquet_file(folder)[0])
    frame.to_feather(folder / "a.feather")
    return "a.feather", (folder / "a.feather").read_bytes()


def excel_file(folder):
    import pandas as pd

    frame = pd.read_parquet(folder / parquet_file(folder)[0])
    frame.to_excel(folder / "a.xlsx", index=False)
    return "a.xlsx", stored((folder / "a.xlsx").read_bytes())


def stored(content):
    """Return an archive without compression, so that mutations change its XML."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return buffer.getvalue()


def json_file(folder):
    lines = (
        json.dumps({"a": i * i % 7, "b": {"c": [None, "x"][i % 2]}, "class": "pq"[i % 2]})
        for i in range(40)
    )
    return "a.jsonl", "\n".join(lines).encode()


def sqlite_file(folder):
    import sqlite3

    with contextlib.closing(sqlite3.connect(folder / "a.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a REAL, b TEXT, class TEXT)")
        rows = [(i / 3, "xy"[i % 2], "pq"[i % 2]) for i in range(40)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        connection.commit()
    return "a.sqlite", (folder / "a.sqlite").read_bytes()


def model_file(folder):
    import pandas as pd
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from dimetric import LDA, KNNClassifier, save
    from dimetric.data import TableEncoder

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    frame["colour"] = rng.choice(["red", "green", "blue"], 30)
    model = make_pipeline(TableEncoder(), StandardScaler(), KNNClassifier(learner=LDA()))
    save(model.fit(frame, rng.choice(["p", "q"], 30)), folder / "a.dimetric")
    return "a.dimetric", (folder / "a.dimetric").read_bytes()


def kernel_model_file(folder):
    from dimetric import KPCA, save

    save(KPCA(2).fit(np.random.default_rng(0).normal(size=(12, 3))), folder / "b.dimetric")
    return "b.dimetric", (folder / "b.dimetric").read_bytes()


def store_file(folder):
    from dimetric.benchmark import Cell, Store

    path = folder / "cells"
    store = Store(path)
    store.claim("open fit", ["k"])
    for i in range(30):
        store.add(f"fit{i}", {f"key{i}": Cell("iris", "NCA", 3, 0, i, 0.9, 0.8, metadata={"n": i})})
    store.close()
    return "cells", path.read_bytes()


# The readers.


def read_text_or_arrays(path):
    from dimetric.data import read_table
    from dimetric.data._files import TableFile

    table = TableFile.open(path)
    names = table.column_names()
    table.read(names[-1] if table.dialect is not None else None)
    list(table.chunks(cells_per_chunk=50))
    try:
        read_table(path, -1)
    except ValueError as error:  # an error in the content names the column or the table
        raise ContentError(error) from error


class ContentError(Exception):
    """An error in the content of a table, which need not name the file."""


def read_keel_file(path):
    from dimetric.data import read_keel

    try:
        read_keel(path)
    except ValueError as error:
        raise error if str(path) in str(error) else ContentError(error) from error


def read_model(path):
    from dimetric import describe, load

    json.dumps(describe(path))
    load(path)


def use_store(path):
    from dimetric.benchmark import Cell, Store

    store = Store(path)
    try:
        len(store)
        store.get([f"key{i}" for i in range(30)])
        store.claim("open fit", ["k"])
        store.add("new", {"new": Cell("wine", "PCA", 1, 0, 0)})
        store.release()
    finally:
        store.close()


KINDS = {
    "csv": (csv_file, read_text_or_arrays),
    "decimal comma": (decimal_comma_file, read_text_or_arrays),
    "quoted": (quoted_file, read_text_or_arrays),
    "gzip": (gzip_file, read_text_or_arrays),
    "npz": (npz_file, read_text_or_arrays),
    "npy": (npy_file, read_text_or_arrays),
    "parquet": (parquet_file, read_text_or_arrays),
    "keel": (keel_file, read_keel_file),
    "model": (model_file, read_model),
    "kernel model": (kernel_model_file, read_model),
    "store": (store_file, use_store),
    "feather": (feather_file, read_text_or_arrays),
    "excel": (excel_file, read_text_or_arrays),
    "json": (json_file, read_text_or_arrays),
    "sqlite": (sqlite_file, read_text_or_arrays),
}


# The mutations. Each function takes a generator of random numbers and the content.


def flip_bits(rng, data):
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def set_bytes(rng, data):
    start = rng.integers(len(data))
    length = int(rng.integers(1, 9))
    value = rng.choice([b"\0", b"\xff", b"\x7f", b"\n", b'"', b",", b"'", b"["])
    return data[:start] + bytes(value) * length + data[start + length :]


def truncate(rng, data):
    return data[: rng.integers(len(data))]


def delete(rng, data):
    start = rng.integers(len(data))
    return data[:start] + data[start + rng.integers(1, 40) :]


def splice(rng, data):
    source, target = rng.integers(len(data), size=2)
    part = data[source : source + rng.integers(1, 200)] * int(rng.integers(1, 4))
    return data[:target] + part + data[target + (len(part) if rng.random() < 0.5 else 0) :]


def replace_number(rng, data):
    numbers = list(re.finditer(rb"\d+", data))
    if not numbers:
        return flip_bits(rng, data)
    number = numbers[rng.integers(len(numbers))]
    value = HUGE_NUMBERS[rng.integers(len(HUGE_NUMBERS))]
    return data[: number.start()] + value + data[number.end() :]


def replace_integer(rng, data):
    """Replace four or eight bytes that may be a size or an offset."""
    start, length = rng.integers(len(data)), int(rng.choice([4, 8]))
    value = int(rng.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**20])).to_bytes(8, "little")
    return data[:start] + value[:length] + data[start + length :]


MUTATIONS = [flip_bits, set_bytes, truncate, delete, splice, replace_number, replace_integer]


def mutated(kind, number, data):
    rng = np.random.default_rng([list(KINDS).index(kind), number])
    is_inner = kind == "gzip" and number % 2  # change the compressed content
    data = gzip.decompress(data) if is_inner else data
    for _ in range(rng.integers(1, 4)):
        data = MUTATIONS[rng.integers(len(MUTATIONS))](rng, data) or b"0"
    return gzip.compress(data, mtime=0) if is_inner else data


def fault_of(path, read):
    """Return what is wrong with reading a file, or "" if it is read or has a documented error."""
    tracemalloc.start()
    fault = ""
    try:
        read(path)
    except ContentError as error:
        fault = fault_of_message(error.args[0], "")
    except (ValueError, OSError) as error:
        fault = fault_of_message(error, str(path))
    except BaseException as error:
        fault = f"{type(error).__name__}: {error}"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if peak > 10 * path.stat().st_size + FREE_BYTES:
        fault += f" It took {peak / 1e6:.0f} MB."
    return fault


def fault_of_message(error, name):
    text = str(error)
    is_plain = type(error).__module__ == "builtins" and not isinstance(error, UnicodeError)
    is_sentence = "\n" not in text and len(text) < 1500 and name in text
    if is_plain and is_sentence and "Unable to allocate" not in text:
        return ""
    return f"{type(error).__name__} is not documented, or its message is wrong: {text[:300]!r}"


def run_cases(kind, numbers, folder):
    """Print each case before it runs, and its fault afterwards."""
    make, read = KINDS[kind]
    name, data = make(folder)
    (folder / name).write_bytes(data)
    read(folder / name)  # also imports what reading needs
    for number in numbers:
        path = folder / f"case {number}" / name
        path.parent.mkdir()
        path.write_bytes(mutated(kind, number, data))
        print(f"case {number}", flush=True)
        fault = fault_of(path, read)
        if fault:
            print(f"FAULT in case {number} of {kind}: {fault}", flush=True)
        for each in path.parent.iterdir():
            each.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_mutated_files(kind):
    command = [sys.executable, __file__, kind, "0", str(CASES_PER_KIND)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=60 + SECONDS_PER_CASE * CASES_PER_KIND,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        pytest.fail(f"{kind} hangs: {(error.stdout or b'').decode()[-100:]}")
    faults = [line for line in done.stdout.splitlines() if line.startswith("FAULT")]
    assert not faults, "\n".join(faults[:10])
    assert done.returncode == 0, done.stdout[-100:] + done.stderr[-2000:]


if __name__ == "__main__":
    first = int(sys.argv[2])
    last = int(sys.argv[3]) if len(sys.argv) > 3 else first + 1
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES))
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as where:
        run_cases(sys.argv[1], range(first, last), Path(where))
