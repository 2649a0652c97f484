"""All functions that write files: special targets, full disks, and killed processes."""

import os
import resource
import stat
import subprocess
import sys
import threading
import warnings
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import pytest
from sklearn.datasets import load_iris

import dimetric
from dimetric.cli._picture import write_picture
from dimetric.data._writers import ColumnWriter
from dimetric.export import to_faiss, to_numpy, to_onnx, to_sql, to_usearch

mpl.use("agg")
X, y = load_iris(return_X_y=True)
MODEL = dimetric.KNNClassifier(3, learner=dimetric.LDA()).fit(X, y)


def write_columns(path):
    with ColumnWriter(path, {"X": ["a", "b"]}) as writer:
        for start in (0, 75):
            rows = slice(start, start + 75)
            writer.write({"a": X[rows, 0], "b": X[rows, 1], "kind": y[rows].astype(str)})


def write_plot(path):
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots()
    ax.scatter(*X[:, :2].T)
    write_picture(figure, path)


def write_report(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison.report(path)


comparison = None


@pytest.fixture(scope="module", autouse=True)
def compared():
    global comparison  # the writers take only a path
    comparison = dimetric.compare(X, y, learners=["LDA"], budget=2, random_state=0)


WRITERS = {
    "model.dimetric": lambda path: dimetric.save(MODEL, path),
    "table.csv": write_columns,
    "table.tsv.gz": write_columns,
    "table.parquet": write_columns,
    "table.npz": write_columns,
    "index.faiss": lambda path: to_faiss(MODEL, path=path),
    "index.usearch": lambda path: to_usearch(MODEL, path=path),
    "model.onnx": lambda path: to_onnx(MODEL, path),
    "model.sql": lambda path: to_sql(MODEL, path),
    "model.py": lambda path: to_numpy(MODEL, path),
    "plot.png": write_plot,
    "plot.svg": write_plot,
    "plot.pdf": write_plot,
    "report.html": write_report,
}
parametrized = pytest.mark.parametrize(("name", "writer"), list(WRITERS.items()), ids=list(WRITERS))


@pytest.mark.slow
@parametrized
def test_named_pipe_receives_the_file(tmp_path, name, writer):
    writer(tmp_path / name)
    expected = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    pipe, received = tmp_path / name, []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    writer(pipe)
    reader.join(60)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == [name]
    assert len(received[0]) == len(expected) > 0
    if not name.endswith((".onnx", ".usearch", ".html")):  # these hold a time or an address
        assert received == [expected]


@pytest.mark.slow
@parametrized
def test_device_stays_a_device(tmp_path, name, writer):
    link = tmp_path / name  # a writer checks the extension
    link.symlink_to("/dev/null")
    before = os.stat("/dev/null")
    writer(link)
    after = os.stat("/dev/null")
    assert link.is_symlink()
    assert (before.st_mode, before.st_ino, before.st_rdev) == (
        after.st_mode, after.st_ino, after.st_rdev,
    )  # fmt: skip
    link.unlink()
    link.symlink_to("/dev/full")
    with pytest.raises(OSError, match=f"^Cannot write {link}: No space left on device\\.$"):
        writer(link)


@contextmanager
def largest_file(n_bytes):
    """Let writing fail beyond some size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
@parametrized
def test_full_disk_leaves_the_old_file(tmp_path, name, writer):
    path = tmp_path / name
    writer(path)
    n_bytes = path.stat().st_size
    for limit in sorted({0, 1, 100, n_bytes // 2, n_bytes - 1}):
        for content in (None, b"old"):
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
            with largest_file(limit), pytest.raises(OSError, match=r"^Cannot write") as raised:
                writer(path)
            message = str(raised.value)
            if name.endswith(".usearch"):  # usearch does not name the reason
                message = message.replace("Input/output error", "File too large")
            assert f"Cannot write {path}: File too large" in message
            assert message.endswith(".")
            assert "\n" not in message
            assert os.listdir(tmp_path) == ([] if content is None else [name])
            assert content is None or path.read_bytes() == content
    writer(path)
    assert path.stat().st_size == n_bytes


WRITERS_AT_ONCE = """
import os, sys, time
from pathlib import Path
from dimetric._files import atomic_write

folder, pids = Path(sys.argv[1]), []
for i in range(6):
    pids.append(os.fork())
    if pids[-1] == 0:
        for j in range(100):
            with atomic_write(folder / str((i + j) % 3)) as temporary:
                temporary.write_text(str(i) * 10_000)
        os._exit(0)
time.sleep(0.2)
for pid in pids[:2]:
    os.kill(pid, 9)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in pids[2:])
for pid in pids[:2]:
    os.waitpid(pid, 0)
with atomic_write(folder / "0") as temporary:
    temporary.write_text("0" * 10_000)
assert sorted(os.listdir(folder)) == ["0", "1", "2"], os.listdir(folder)
for each in folder.iterdir():
    assert len(set(each.read_text())) == 1 and each.stat().st_size == 10_000
"""


@pytest.mark.slow
def test_many_processes_write_to_one_folder(tmp_path):
    """No process removes the temporary files of another one that is running."""
    run_script(WRITERS_AT_ONCE, tmp_path)


def run_script(code, *words):
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *map(str, words)],
        env=os.environ | {"PYTHONPATH": str(Path(dimetric.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


N_KILLS = 20
# A parent process forks a writer, kills it, and checks the file, because imports take long.
KILLS = """
import os, random, sys, time
from pathlib import Path
import numpy as np
import dimetric
from dimetric.data._writers import ColumnWriter

folder, kind, n_kills = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
path = folder / f"file.{kind}"
contents = [np.full((50_000, 2), float(i)) for i in (1, 2)]
models = [dimetric.PCA(1).fit(each + np.random.default_rng(0).normal(size=each.shape))
          for each in contents]
models = [dimetric.KNNClassifier(1, learner=each).fit(contents[0], np.arange(50_000) % 2)
          for each in models]

def write(i):
    if kind == "dimetric":
        dimetric.save(models[i], path)
    else:
        with ColumnWriter(path, {}) as writer:
            for rows in np.split(contents[i], 5):
                writer.write({"a": rows[:, 0], "b": rows[:, 1]})

def read():
    if kind == "dimetric":
        loaded = dimetric.load(path).learner_.offset_
        assert any((loaded == each.learner_.offset_).all() for each in models)
        return
    import pandas as pd
    table = (pd.read_csv if kind == "csv" else pd.read_parquet)(path) if kind != "npz" else None
    values = np.load(path)["a"] if table is None else table["a"].to_numpy()
    assert len(values) == 50_000 and (values == values[0]).all(), values

write(0)
start = time.perf_counter()
write(0)
duration = time.perf_counter() - start
random.seed(0)
n_left = 0
for _ in range(n_kills):
    ready, started = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(started, b"x")
        while True:
            for i in (0, 1):
                write(i)
    os.read(ready, 1)
    os.close(ready), os.close(started)
    while len(os.listdir(folder)) == 1:  # until the writer has started a new file
        pass
    time.sleep(random.choice([0, random.uniform(0, 2 * duration)]))
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    n_left += len(os.listdir(folder)) > 1
    read()
    if random.random() < 0.3:
        write(0)
        assert os.listdir(folder) == [path.name], os.listdir(folder)
write(1)
assert os.listdir(folder) == [path.name], os.listdir(folder)
print(n_left)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dimetric", "csv", "parquet", "npz"])
def test_kills_leave_a_whole_file_and_nothing_else(tmp_path, kind):
    n_left = int(run_script(KILLS, tmp_path, kind, N_KILLS))
    assert n_left >= N_KILLS // 10  # some kills happen while the file is written
