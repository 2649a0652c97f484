"""Control characters and markup in names do not reach the terminal, and formulas are reported."""

import io
import json
import os
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from dimetric import KNNClassifier, save
from dimetric._names import printable
from dimetric.cli import _terminal
from dimetric.cli._terminal import (
    ProgressBar,
    escape_markup,
    one_line,
    print_json,
    print_lines,
    print_notes,
)
from dimetric.cli.main import run as command
from dimetric.data._writers import ColumnWriter

# Colours, clearing the screen, title of the window, 8-bit sequences, bell, backspace, carriage
# return, direction of writing, line breaks, and markup of Rich.
EVIL = "\x1b[31mred\x1b[2J\x1b]0;title\x07 \x9b31m \x08 \r \u202e \u2066 \u2028 \x7f [red][/] x"


def assert_safe(*texts):
    for text in texts:
        raw = [each for each in text if each != "\n" and not each.isprintable()]
        assert not raw, (raw, text)


def test_printable():
    assert_safe(printable(EVIL + "\n\t\x00"))
    assert "\n" not in printable("two\nlines")
    assert printable("naïve 数\u3000x \u05d0 a\u200cb ✓") == "naïve 数\u3000x \u05d0 a\u200cb ✓"
    assert printable("\udc80") == r"\udc80"  # a byte of a file name that is not UTF-8
    assert (
        one_line(" Input X contains NaN.\n\n  Impute it.\n") == "Input X contains NaN. Impute it."
    )


def test_printing_functions(capsys):
    print_notes(EVIL)
    print_lines(EVIL, "next")
    print_json({EVIL: [EVIL, "ü"]})
    out, err = capsys.readouterr()
    assert_safe(out, err)
    assert err.count("\n") == 1
    lines = out.splitlines()
    assert len(lines) == 3
    assert json.loads(lines[-1]) == {EVIL: [EVIL, "ü"]}
    assert '"ü"' in lines[-1]


def test_rich_prints_markup_literally(monkeypatch):
    from rich.console import Console

    monkeypatch.setattr(_terminal, "_shows_progress", lambda: True)
    console = Console(file=io.StringIO(), width=200)
    console.print(f"[bold]{escape_markup(EVIL)}[/bold]")
    assert "[red][/] x" in console.file.getvalue()
    assert_safe(console.file.getvalue())
    bar = ProgressBar(EVIL)
    terminal = Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    terminal.print(bar._bar.get_renderable())
    assert "[red][/] x" in terminal.file.getvalue()
    assert "\x07" not in terminal.file.getvalue()


def test_warnings_and_tracebacks(monkeypatch, capsys):
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    _terminal.escape_warnings_and_tracebacks()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        print(warnings.formatwarning(UserWarning(EVIL), UserWarning, "file.py", 3))
    try:
        raise KeyError(EVIL) from RuntimeError(EVIL)
    except KeyError as error:
        sys.excepthook(type(error), error, error.__traceback__)
    out, err = capsys.readouterr()
    assert "Warning: \\x1b[31mred" in out
    assert "Traceback (most recent call last):" in err
    assert_safe(out, err)


@pytest.fixture
def evil_table(tmp_path, monkeypatch):
    """Write a table whose names, classes and path contain control characters and markup."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    frame = pd.DataFrame(rng.normal(size=(60, 4)) + y[:, None], columns=["a", "b", "c", "d"])
    evil = EVIL.replace("\r", "").replace(";", "")  # these look like separators
    names = {"a": f"a{evil}", "b": "[red]b[/red]", "c": "=c", "d": "d\u202e"}
    frame = frame.rename(columns=names)
    frame["text"] = np.array(["=cmd|' /C calc'!A0", "-1", f"[/]{evil}"])[y]
    frame["class\x1b[0m"] = np.array(["=A1", "[bold]", f"c{evil}"])[y]
    path = tmp_path / "evil\x1b[31m[red].csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_verbs_print_no_control_characters(evil_table, run):
    target, model = "class\x1b[0m", "m\x1b[1m.dimetric"
    verbs = [
        ("fit", evil_table, "--target", target, "--out", model, "--learner", "LDA"),
        ("fit", evil_table, "--out", "other.dimetric", "--learner", "LDA", "--json"),
        ("predict", model, evil_table, "--keep", "text", "--out", "p\x1b.csv"),
        ("transform", model, evil_table, "--keep", target, "--out", "t.csv", "--json"),
        ("neighbors", model, evil_table, "--row", 2, "--show", "text"),
        ("neighbors", model, evil_table, "--row", 2, "--json"),
        ("info", model),
        ("info", model, "--json"),
        ("export", model, "--to", "numpy", "--out", "m\x1b[1m.py"),
        ("embed", evil_table, "--color", target, "--method", "pca", "--out", "e\x1b.svg",
         "--out", "e.csv"),
        ("compare", evil_table, "--target", target, "--learners", "LDA", "--budget", 1,
         "--jobs", 1, "--out", "out\x1b[1m"),
    ]  # fmt: skip
    for words in verbs:
        done = run(*words)
        assert done.exit_code == 0, (words, done.output, done.exception)
        assert_safe(done.stdout, done.stderr)
    assert_safe("".join(ElementTree.parse("e\x1b.svg").getroot().itertext()))
    assert "[bold]" in run("fit", evil_table, "--out", model, "--learner", "LDA").stdout


def test_errors_print_no_control_characters(evil_table, monkeypatch, capsys):
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    wrong = [
        ("fit", evil_table, "--out", "x", "--target", EVIL),
        ("info", f"nothing{EVIL}"),
        ("embed", evil_table, "--method", f"x{EVIL}"),
        (f"verb{EVIL}",),
        (f"--option{EVIL}",),
        ("fit", evil_table, "--out", "x", f"--option{EVIL}"),
        ("fit", evil_table, f"more{EVIL}"),
        ("fit", evil_table, "--out", "x", "--k", EVIL),
        ("export", "model", "--to", EVIL, "--out", "x"),
    ]
    for words in wrong:
        monkeypatch.setattr(sys, "argv", ["dimetric", *map(str, words)])
        with pytest.raises(SystemExit) as stopped:
            command()
        assert stopped.value.code != 0
        assert_safe(str(stopped.value.code), *capsys.readouterr())


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_csv_on_a_terminal_is_escaped(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    with ColumnWriter(None) as writer:
        writer.write({EVIL: np.array([1.5]), "text": np.array([EVIL + " ü\n"], object)})
    assert_safe(terminal.getvalue())
    assert "ü" in terminal.getvalue()


def terminal_output(write):
    """Return the text that a function writes to the path of a terminal."""
    leader, terminal = os.openpty()
    try:
        for path in (os.ttyname(terminal), f"/dev/fd/{terminal}"):
            write(Path(path))
            os.write(terminal, b"END\n")
            content = b""
            while not content.endswith(b"END\r\n"):
                content += os.read(leader, 10_000)
            yield content.decode().replace("\r\n", "\n")
    finally:
        os.close(leader)
        os.close(terminal)


def test_files_that_go_to_a_terminal_are_escaped(tmp_path):
    """A terminal may be named as a device, or as an open file such as /dev/stdout."""

    def write_table(path):
        with ColumnWriter(path) as writer:
            writer.write({EVIL: np.array([1.5]), "text": np.array([EVIL + " ü\x85"], object)})

    def write_model(path):
        X = np.random.default_rng(0).normal(size=(20, 3))
        save(KNNClassifier(1).fit(X, [EVIL, "b"] * 10), path)

    for text in terminal_output(write_table):
        assert_safe(text)
        assert "ü" in text
        assert r"\x1b" in text
    for text in terminal_output(write_model):
        assert_safe(text)
    write_table(tmp_path / "table.csv")
    assert EVIL in (tmp_path / "table.csv").read_bytes().decode()


TEXTS = ["=1+1", "+a", "-a", "@SUM(A1)", "\tx", "\rx", "\n=x", "＝1", "-1", "+2.5e3", "-inf", "'=x",
         "a=b", "", "-", "--1", "x;=1", '","=1']  # fmt: skip
FORMULAS = ["=1+1", "+a", "-a", "@SUM(A1)", "\tx", "\rx", "\n=x", "＝1", "-", "--1"]


@pytest.mark.parametrize("extension", ["csv", "tsv", "csv.gz", "parquet"])
@pytest.mark.parametrize("escape", [False, True])
def test_formula_cells(tmp_path, extension, escape):
    """By default, values are exact. Numbers are never changed."""
    path = tmp_path / f"t.{extension}"
    columns = {"=name": -np.arange(len(TEXTS) + 1.0), "text": np.array([*TEXTS, None], object)}
    with ColumnWriter(path, escape_formulas=escape) as writer:
        writer.write({name: values[:5] for name, values in columns.items()})
        writer.write({name: values[5:] for name, values in columns.items()})
    if extension == "parquet":
        frame = pd.read_parquet(path)
    else:
        separator = "\t" if extension == "tsv" else ","
        frame = pd.read_csv(path, sep=separator, keep_default_na=False, lineterminator="\n")
    escaped = escape and extension != "parquet"
    assert list(frame.columns) == ["'=name" if escaped else "=name", "text"]
    np.testing.assert_array_equal(frame.iloc[:, 0], columns["=name"])
    expected = [f"'{each}" if escaped and each in FORMULAS else each for each in TEXTS]
    assert frame["text"].tolist()[:-1] == expected
    assert writer.n_formula_cells == (0 if extension == "parquet" else len(FORMULAS) + 1)


def test_formulas_are_reported(evil_table, run):
    run("fit", evil_table, "--target", "class\x1b[0m", "--out", "m.dimetric", "--learner", "LDA")
    words = ("predict", "m.dimetric", evil_table, "--keep", "text", "--out", "p.csv")
    done = run(*words)
    n = (pd.read_csv("p.csv")[["text", "prediction"]].stack().str[0] == "=").sum()
    assert n >= 20
    assert f"p.csv has {n} cells that a spreadsheet program may run as formulas." in done.stderr
    done = run(*words, "--escape-formulas")
    assert f"p.csv has {n} cells with an apostrophe in front" in done.stderr
    frame = pd.read_csv("p.csv")
    assert set(frame["prediction"]) >= {"'=A1"}
    assert "-1" in set(frame["text"])  # a text that is a number
    done = run(*words[:-2], "--out", "p.parquet")
    assert "formulas" not in done.stderr
    embed = ("embed", evil_table, "--color", "class\x1b[0m", "--method", "pca", "--out", "e.csv")
    assert "e.csv has 20 cells that a spreadsheet" in run(*embed).stderr
    assert "e.csv has 20 cells with an apostrophe" in run(*embed, "--escape-formulas").stderr
    assert not os.path.exists("e.png")
