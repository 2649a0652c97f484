"""Ctrl-C at random times ends fits, functions and commands, and leaves nothing behind.

The number of interrupts is multiplied by the environment variable DIMETRIC_FUZZ_FACTOR. Run this
file as a script to see how long the calls take to end::

    python tests/fuzz/test_interrupts.py COUNT [NAME ...]
"""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from interrupt_cases import CASES, samples

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="needs signals of POSIX"),
]

FACTOR = int(os.environ.get("DIMETRIC_FUZZ_FACTOR", "1"))
MAX_SECONDS = 300  # a call that does not end after this time hangs
LONGEST_WAIT = 3.0  # seconds from the start of a call to the interrupt
TEN_ESTIMATORS = (
    "NCA", "LMNN", "NCMC", "ITML", "KPCA", "Isomap", "LLE", "MDS_smacof", "knn_tree", "knn_numba"
)  # fmt: skip
OTHERS = (
    "LMNN_short", "embedding_quality", "cross_validate", "benchmark", "compare", "Isomap_landmarks"
)  # fmt: skip


class Victim:
    """A process that runs a call of ``interrupt_cases.py`` again and again."""

    def __init__(self, name):
        script = str(Path(__file__).with_name("interrupt_cases.py"))
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, script, name], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )
        assert self.line(MAX_SECONDS) == b"ready\n", self.errors()

    def line(self, seconds):
        """Return the next line of the output, or None if there is none in time."""
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline() if ready else None

    def errors(self):
        """Kill the process, and return what it printed to standard error."""
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGUSR1)  # shows where the call hangs
            time.sleep(1)
        self.process.kill()
        return f"exit status {self.process.wait()}: {self.process.stderr.read().decode()}"

    def interrupt_after(self, seconds):
        """Start the call, interrupt it, and return the report, with the delay if there is one."""
        self.process.stdin.write(b"start\n")
        assert self.line(MAX_SECONDS) == b"begin\n", self.errors()
        sent, answer = None, self.line(seconds)
        if answer is None:
            sent = time.monotonic()
            self.process.send_signal(signal.SIGINT)
            answer = self.line(MAX_SECONDS)
        assert answer, self.errors()
        report = json.loads(answer)
        return report | {"delay": report["back"] - sent if sent else None}

    def end(self):
        """End the process, and return what it printed to standard error."""
        if self.process.stderr.closed:
            return ""
        self.process.stdin.close()
        errors = self.process.stderr.read().decode()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        return errors


def interrupt_often(name, count):
    """Interrupt a call at random times, and return the reports."""
    victim, waits = Victim(name), random.Random()
    try:
        for _ in range(count):
            # Half of the interrupts come early, where a call does many short steps.
            early = waits.random() < 0.5
            wait = 10 ** waits.uniform(-3, 0) if early else waits.uniform(0, LONGEST_WAIT)
            yield victim.interrupt_after(wait)
        errors = victim.end()
        assert victim.process.returncode == 0, errors
        assert "Exception" not in errors, errors
    finally:
        victim.process.kill()
        victim.end()


@pytest.mark.parametrize("name", [*TEN_ESTIMATORS, *OTHERS])
def test_interrupts_leave_nothing_behind(name):
    for report in interrupt_often(name, 4 * FACTOR):
        assert report["outcome"] in ("interrupted", "finished", "late"), report
        assert not report["changed"], report
        assert report["outcome"] != "finished" or not report["raised"], report  # it was lost


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a table and a model."""
    import pandas as pd

    folder = tmp_path_factory.mktemp("interrupts")
    X, y = samples(20_000, 8)
    table = pd.DataFrame(X, columns=list("abcdefgh")).assign(kind=y)
    table.to_csv(folder / "table.csv", index=False)
    table[:500].to_csv(folder / "small.csv", index=False)
    command(folder, "fit", "small.csv", "--target", "kind", "--out", "model.dimetric").communicate()
    return folder


VERBS = {
    "compare": ("compare", "table.csv", "--target", "kind", "--out", "out", "--jobs", 2),
    "fit": ("fit", "table.csv", "--learner", "NCA", "--target", "kind", "--out", "new.dimetric"),
    "transform": ("transform", "model.dimetric", "table.csv", "--out", "new.csv"),
    "predict": ("predict", "model.dimetric", "table.csv", "--out", "new.csv"),
    "embed": ("embed", "table.csv", "--method", "isomap", "--color", "kind", "--out", "new.csv"),
    "export": ("export", "model.dimetric", "--to", "onnx", "--out", "new.onnx"),
    "neighbors": (
        "neighbors",
        "model.dimetric",
        "table.csv",
        "--row",
        3,
        "--target",
        "kind",
        "--out",
        "new.png",
    ),
    "info": ("info", "model.dimetric"),
    "reproduce": ("reproduce", "--only", "iris,wine", "--out", "results", "--jobs", 2),
}


def command(folder, *words):
    """Start the command in its own process group."""
    source = str(Path(__file__).parents[2] / "src")
    path = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "dimetric", *map(str, words)], stdout=pipe, stderr=pipe, text=True,
        cwd=folder, env=os.environ | {"PYTHONPATH": path}, start_new_session=True,
    )  # fmt: skip


def interrupt_command(folder, verb, wait, signals=(signal.SIGINT,)):
    """Interrupt a verb after some seconds. Return exit status, standard error and the delay."""
    process = command(folder, *VERBS[verb])
    try:
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            sent = time.monotonic()
            for each in signals:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, each)
                time.sleep(0.02)
        else:
            sent = None
        stderr = process.communicate(timeout=MAX_SECONDS)[1]
        return process.returncode, stderr, time.monotonic() - sent if sent else None
    finally:
        process.kill()


@pytest.mark.parametrize(
    ("signals", "status", "line"),
    [
        ([signal.SIGINT], 130, "Interrupted."),
        ([signal.SIGINT] * 5, 130, "Interrupted."),
        ([signal.SIGTERM] * 2, 143, "Terminated."),
    ],
    ids=["Ctrl-C", "five times Ctrl-C", "SIGTERM"],
)
@pytest.mark.parametrize("verb", VERBS)
def test_verbs_end_with_one_line(files, verb, signals, status, line):
    for _ in range(FACTOR):
        wait = random.uniform(0.5, 6)
        code, stderr, delay = interrupt_command(files, verb, wait, signals)
        assert "Traceback" not in stderr
        if delay is not None and code != 0:
            assert code == status, (wait, stderr)
            assert [each for each in stderr.splitlines() if each.startswith(line)]
        assert not [each.name for each in files.iterdir() if each.name.startswith(".")]
        (files / "new.csv").unlink(missing_ok=True)


def test_ignored_signals_stay_ignored(files):
    """A shell lets commands in the background ignore Ctrl-C."""
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited by the command
    try:
        process = command(files, *VERBS["info"])
    finally:
        signal.signal(signal.SIGINT, previous)
    while process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.1)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors


def show_delays(name, count):
    """Interrupt a call or a verb, and print the longest delays."""
    reports = list(interrupt_often(name, count))
    longest = sorted(reports, key=lambda report: report["delay"] or 0, reverse=True)[:3]
    outcomes = [report["outcome"] for report in reports]
    counts = {each: outcomes.count(each) for each in sorted(set(outcomes))}
    delays = "; ".join(f"{r['delay'] or 0:.2f} s in {' > '.join(r['where'])}" for r in longest)
    changed = [report["changed"] for report in reports if report["changed"]]
    print(f"{name}: {counts}. Longest: {delays}. Changed: {changed}", flush=True)


if __name__ == "__main__":
    for each in sys.argv[2:] or CASES:
        show_delays(each, int(sys.argv[1]))
