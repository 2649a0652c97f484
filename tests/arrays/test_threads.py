"""Threads: distribution of tasks, order of results, and the limit on BLAS threads."""

import os
import signal
import sys
import threading
import time
import weakref
from _thread import start_new_thread
from types import ModuleType

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from dimetric._arrays import blas_limit
from dimetric._arrays.blas_limit import limited_threads, one_blas_thread
from dimetric._arrays.thread_group import Worker, stop_if_interrupted
from dimetric._arrays.threads import (
    ROWS_PER_THREAD,
    map_on_threads,
    run_on_threads,
    uninterrupted,
)


def blas_threads():
    """Return the thread counts of NumPy's BLAS. Other packages may have a single-threaded one."""
    libraries = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    return {lib["num_threads"] for lib in libraries if "numpy" in lib["filepath"]}


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_each_thread_gets_every_nth_task(threads):
    with threadpool_limits(threads, "blas"):
        by_thread = run_on_threads(list, range(8))
    assert by_thread == [list(range(t, 8, threads)) for t in range(threads)]


@pytest.mark.parametrize("n_tasks", [0, 1, 7])
def test_shared_queue_runs_every_task_once(n_tasks):
    with threadpool_limits(3, "blas"):
        by_thread = run_on_threads(list, range(n_tasks), shared_queue=True)
    assert len(by_thread) == max(1, min(3, n_tasks))
    assert sorted(task for tasks in by_thread for task in tasks) == list(range(n_tasks))


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(None, 3), (10, 1), (2 * ROWS_PER_THREAD, 2), (10**6, 3)]
)
def test_few_rows_use_few_threads(n_rows, expected):
    with threadpool_limits(3, "blas"):
        assert len(run_on_threads(list, range(9), n_rows=n_rows)) == expected


def test_results_are_in_the_order_of_the_tasks():
    second = threading.Event()

    def work(task):
        if task == 0:
            assert second.wait(10)  # the second task ends before the first
        elif task == 1:
            second.set()
        return task

    with threadpool_limits(2, "blas"):
        assert list(map_on_threads(work, range(5))) == list(range(5))


@pytest.mark.parametrize("run", [map_on_threads, run_on_threads])
def test_blas_has_one_thread_and_an_error_restores_the_others(run):
    seen = []

    def work(task):
        seen.append(blas_threads())
        raise OSError("no more")

    with threadpool_limits(2, "blas"):
        with pytest.raises(OSError, match="no more"):
            list(run(work, range(4)))
        assert blas_threads() == {2}
    assert seen
    assert all(found == {1} for found in seen)


def test_last_user_restores_the_blas_limit():
    with threadpool_limits(2, "blas"):
        with one_blas_thread() as outer:
            with one_blas_thread() as inner:
                assert (outer, inner) == (2, 2)
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_results_are_reproducible_for_a_fixed_number_of_threads():
    A = np.random.default_rng(0).normal(size=(1000, 30))

    def total(rows):
        return sum(float(A[row] @ A[row]) for row in rows)

    with threadpool_limits(2, "blas"):
        first, again = (sum(run_on_threads(total, range(1000))) for _ in range(2))
    assert first == again


def interrupt_main_thread():
    """Do what Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("shared_queue", [False, True])
def test_interrupt_stops_all_threads(shared_queue):
    done = []

    def work(tasks):
        for task in tasks:
            if task == 5:
                interrupt_main_thread()
            done.append(task)
            time.sleep(0.001)

    before = threading.enumerate()
    with threadpool_limits(3, "blas"):
        with pytest.raises(KeyboardInterrupt):
            run_on_threads(work, range(100_000), shared_queue=shared_queue)
        assert blas_threads() == {3}
    assert threading.enumerate() == before
    count = len(done)
    time.sleep(0.01)
    assert len(done) == count < 100_000


def test_further_interrupts_do_not_leave_threads_behind():
    def work(tasks):
        for task in tasks:
            if task == 0:
                interrupt_main_thread()
                time.sleep(0.05)  # until the main thread waits for this one
                interrupt_main_thread()
                time.sleep(0.05)

    before = threading.enumerate()
    with threadpool_limits(2, "blas"), pytest.raises(KeyboardInterrupt):
        run_on_threads(work, range(1000))
    assert threading.enumerate() == before


def test_long_tasks_can_ask_whether_to_stop():
    def work(tasks):
        for _ in tasks:
            interrupt_main_thread()
            end = time.monotonic() + 60
            while time.monotonic() < end:
                stop_if_interrupted()

    with threadpool_limits(2, "blas"), pytest.raises(KeyboardInterrupt):
        run_on_threads(work, range(2))


def test_no_task_starts_after_an_error():
    done = []

    def work(tasks):
        for task in tasks:
            if task == 1:
                raise OSError("no more")
            done.append(task)
            time.sleep(0.001)

    with threadpool_limits(2, "blas"), pytest.raises(OSError, match="no more"):
        run_on_threads(work, range(100_000))
    assert len(done) < 50_000


def test_no_thread_runs_while_the_caller_handles_a_result():
    before = threading.enumerate()
    with threadpool_limits(2, "blas"):
        results = map_on_threads(str, range(10**6))
        assert next(results) == "0"
        assert threading.enumerate() == before
        assert blas_threads() == {2}


@pytest.mark.parametrize("n_rows", [None, 1])
def test_threads_use_the_error_state_of_the_caller(n_rows):
    def work(tasks):
        return [np.float64(task) / 0 for task in tasks]

    with threadpool_limits(2, "blas"), np.errstate(divide="raise"):
        with pytest.raises(FloatingPointError):
            run_on_threads(work, [1, 2], n_rows=n_rows)
        with np.errstate(divide="ignore"):
            assert np.isinf(run_on_threads(work, [1, 2], n_rows=n_rows)).all()


def test_interrupt_waits_for_uninterrupted_function():
    ended = []

    def work():
        interrupt_main_thread()
        time.sleep(0.05)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        uninterrupted(work)
    assert ended


def test_threads_are_used_again():
    both = threading.Barrier(2, timeout=10)

    def ident(_):
        both.wait()  # so that each thread gets one task
        return threading.get_ident()

    with threadpool_limits(2, "blas"):
        first = set(run_on_threads(ident, range(2)))
        assert len(first) == 2
        for _ in range(20):
            assert set(run_on_threads(ident, range(2))) == first


def test_threads_of_several_callers_at_once():
    """Tasks that start tasks, on threads that run at the same time, use threads of their own."""
    totals = []

    def total(rows):
        return sum(sum(run_on_threads(sum, range(row))) for row in rows)

    def call():
        totals.append(sum(run_on_threads(total, range(40))))

    with threadpool_limits(2, "blas"):
        callers = [threading.Thread(target=call) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(60)
    assert totals == [sum(sum(range(row)) for row in range(40))] * 4


def test_idle_threads_keep_no_data():
    class Data:
        pass

    data = Data()
    alive = weakref.ref(data)

    def work(tasks, data=data):
        return [data for _ in tasks]

    with threadpool_limits(2, "blas"):
        assert len(run_on_threads(work, range(2))) == 2
    del data, work
    end = time.monotonic() + 10
    while alive() is not None and time.monotonic() < end:
        time.sleep(0.001)  # a thread takes a moment to become idle
    assert alive() is None


def test_only_some_threads_wait_for_the_next_tasks(monkeypatch):
    monkeypatch.setattr("dimetric._arrays.thread_group.MAX_IDLE", 1)
    monkeypatch.setattr(Worker, "idle", [])
    n_before, together = len(sys._current_frames()), threading.Barrier(3)
    with threadpool_limits(3, "blas"):
        run_on_threads(lambda tasks: together.wait(timeout=60), range(3))
    assert len(Worker.idle) == 1
    end = time.monotonic() + 10
    while len(sys._current_frames()) > n_before + 1 and time.monotonic() < end:
        time.sleep(0.001)  # a thread takes a moment to end
    assert len(sys._current_frames()) <= n_before + 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_threads_work_in_a_forked_process():
    with threadpool_limits(2, "blas"):
        run_on_threads(sum, range(10))
        process = os.fork()
        if process == 0:
            signal.alarm(60)
            os._exit(sum(run_on_threads(sum, range(10))))
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 45


@pytest.mark.parametrize("n_started", [0, 1])
def test_too_many_threads_raise(monkeypatch, n_started):
    """No task begins, and the threads that could start are used later."""
    begun, n_left = [], n_started

    def start(function, args):
        nonlocal n_left
        if not n_left:
            raise RuntimeError("can't start new thread")
        n_left -= 1
        return start_new_thread(function, args)

    monkeypatch.setattr("dimetric._arrays.thread_group.start_new_thread", start)
    monkeypatch.setattr(Worker, "idle", [])
    with threadpool_limits(2, "blas"):
        with pytest.raises(RuntimeError, match="new thread"):
            run_on_threads(begun.append, range(10))
        assert begun == []
        assert blas_threads() == {2}
        n_left = 2 - n_started
        assert sum(run_on_threads(sum, range(10))) == 45
    assert n_left == 0


def test_threads_are_limited_in_all_libraries_and_restored():
    """Limits hold inside the context only, also for libraries loaded after the first use."""
    before = {each["filepath"]: each["num_threads"] for each in threadpool_info()}
    with limited_threads(1):
        assert {each["num_threads"] for each in threadpool_info()} == {1}
        with limited_threads(None):
            assert {each["num_threads"] for each in threadpool_info()} == {1}
    assert {each["filepath"]: each["num_threads"] for each in threadpool_info()} == before


def test_libraries_are_searched_again_only_after_an_import(monkeypatch):
    searches = []
    monkeypatch.setattr(
        blas_limit, "ThreadpoolController", lambda: searches.append(1) or ThreadpoolController()
    )
    blas_limit._thread_pools.cache_clear()
    for _ in range(3):
        with limited_threads(1):
            pass
    assert len(searches) == 1
    monkeypatch.setitem(sys.modules, "a_module_that_loads_a_library", ModuleType("a"))
    with limited_threads(1):
        pass
    assert len(searches) == 2
