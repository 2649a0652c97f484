"""Distribute the unfinished fits of a benchmark among worker processes."""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import joblib

from dimetric._arrays.threads import uninterrupted
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._cells import Fit, Outcome, SplitDataSet, evaluate
from dimetric.benchmark._keys import key_of
from dimetric.benchmark._store import LEASE_SECONDS, Store
from dimetric.benchmark._workers import Worker

POLL_SECONDS = 0.2  # interval for checking other processes and workers
RENEWAL_SECONDS = LEASE_SECONDS / 4  # a claim survives if up to two renewals in a row fail

Callback = Callable[[int, int, Cell | None], None]


def learner_key(fit: Fit) -> str:
    """Return the key of a learner and its tuning. It does not depend on the data."""
    tuning = None if fit.grid is None else (fit.grid, fit.tuning_cv, fit.tuning_k)
    try:
        return key_of(fit.model, tuning, fit.score)
    except Exception as error:
        why = next(iter(error.args), error)
        raise TypeError(
            f"{fit.learner} has a parameter or uses an object that cannot be hashed, so its cells "
            f"could not be found again. {why}"
        ) from error


class Job:
    """A fit to run and the keys of its cells.

    The keys do not depend on the names of learners and data sets, which may change between runs.
    """

    def __init__(self, data: SplitDataSet, fit: Fit, learner_key: str) -> None:
        self.data, self.fit, self._learner_key = data, fit, learner_key

    @cached_property
    def key(self) -> str:
        """Key of the fit."""
        rows, seed = self.data.splits[self.fit.split], self.fit.seed  # training and test rows
        return str(joblib.hash([self._learner_key, self.data.fingerprint, *rows, seed]))

    @cached_property
    def keys(self) -> dict[str, int | None]:
        """Keys of the cells, with their numbers of neighbours."""
        return {f"{self.key}-{k}": k for k in self.fit.ks}

    def without(self, done: Iterable[str]) -> "Job":
        """Return the job without the finished cells."""
        done = set(done)
        ks = tuple(k for key, k in self.keys.items() if key not in done)
        return Job(self.data, replace(self.fit, ks=ks), self._learner_key)

    def cell(self, k: int | None, outcome: Cell | Outcome) -> Cell:
        """Return the cell of an outcome, with the names used in this run."""
        repeat, fold = divmod(self.fit.split, self.data.n_folds)
        fields = {name: getattr(outcome, name) for name in Outcome._fields}
        fields |= {"data": self.data.name, "learner": self.fit.learner, "n_neighbors": k}
        return Cell(**fields, repeat=repeat, fold=fold)

    def cells(self, finished: Mapping[str, Cell]) -> list[Cell]:
        """Return the cells of this job that are in `finished`, a mapping of keys to cells."""
        return [self.cell(k, finished[key]) for key, k in self.keys.items() if key in finished]


@dataclass(frozen=True)
class Hooks:
    """Functions of the caller that are called during a run: see :func:`dimetric.benchmark.run`.

    They are never called by two threads at the same time.
    """

    callback: Callback | None = None
    stop: Callable[[list[Cell]], bool] | None = None
    drop: Callable[[list[Cell]], Iterable[str]] | None = None


class Scheduler:
    """Distribute the unfinished jobs of a benchmark among worker processes.

    Parameters
    ----------
    store : Store
        Store of the finished cells.
    jobs : list of Job
        All jobs.
    retry : bool
        Whether to repeat cells whose status is not "ok".
    hooks : Hooks
        Functions that report progress, stop the run or drop learners.
    """

    def __init__(self, store: Store, jobs: list[Job], retry: bool, hooks: Hooks) -> None:
        self._store, self._retry, self._hooks = store, retry, hooks
        self._cells: list[Cell] = []  # finished cells, in order of completion
        # Jobs grouped by key, because learners that differ only in their names are fitted once.
        self._waiting: dict[str, list[Job]] = {}
        for job in jobs:
            done = self._usable_cells(job)
            self._cells += job.cells(done)
            job = job.without(done)
            if job.fit.ks:
                self._waiting.setdefault(job.key, []).append(job)
        self._n_all = len(jobs)
        self._n_done = self._n_all - len(self._waiting)
        self._dropped: set[str] = set()
        self._running: dict[Worker | None, list[Job]] = {}
        self._lock, self._stopped = threading.RLock(), threading.Event()
        self._error: BaseException | None = None

    def run(self, n_jobs: int | None, time_budget: float | None) -> None:
        """Run the jobs until all are finished or a hook stops the run.

        Other processes that share the store may finish some of the jobs.

        Parameters
        ----------
        n_jobs : int or None
            Number of worker processes. None runs in this process if there is no time budget.
        time_budget : float or None
            Time limit for each fit, in seconds.
        """
        self._report(None)
        renewal_thread = threading.Thread(target=self._renew_claims, daemon=True)
        workers: dict[threading.Thread, Worker] = {}
        try:
            uninterrupted(renewal_thread.start)
            if n_jobs is None and time_budget is None:
                self._work(None, None)
            else:
                for _ in range(min(n_jobs or 1, len(self._waiting))):
                    worker = Worker()
                    thread = threading.Thread(target=self._work, args=(worker, time_budget))
                    workers[thread] = worker
                    uninterrupted(thread.start)
            # Poll instead of joining: a join would delay a keyboard interrupt.
            while any(thread.is_alive() for thread in workers) and not self._stopped.is_set():
                self._kill_dropped()
                self._stopped.wait(POLL_SECONDS)
        finally:
            self._stopped.set()
            uninterrupted(lambda: _end(workers, renewal_thread))
            with suppress(OSError):
                self._store.release()
        if self._error is not None:
            raise self._error

    def _work(self, worker: Worker | None, time_budget: float | None) -> None:
        """Run jobs until none is left. Each worker has a thread that calls this method."""
        try:
            while (jobs := self._claim_next(worker)) is not None:
                job = jobs[0]
                if worker is None:
                    outcomes = evaluate(job.data, job.fit)
                else:
                    outcomes = worker.evaluate(job.data, job.fit, time_budget)
                with self._lock:
                    del self._running[worker]
                    if self._stopped.is_set():
                        return  # the fit was killed by this run, so its outcome is meaningless
                    if self._is_dropped(jobs):
                        continue
                    pairs = zip(job.keys.items(), outcomes, strict=True)
                    cells = {key: job.cell(k, outcome) for (key, k), outcome in pairs}
                    self._store.add(job.key, cells)
                    self._report(jobs, cells)
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
                self._stopped.set()

    def _claim_next(self, worker: Worker | None) -> list[Job] | None:
        """Claim a waiting fit. Return the jobs that share it, or None if no fit is left."""
        while not self._stopped.is_set():
            with self._lock:
                for key, jobs in list(self._waiting.items()):
                    job = jobs[0]
                    if self._is_dropped(jobs):
                        del self._waiting[key]
                    elif self._store.claim(key, list(job.keys), retry=self._retry):
                        self._running[worker] = jobs
                        return self._waiting.pop(key)
                    else:
                        done = self._store.get(job.keys)
                        if len(done) == len(job.keys):  # finished by another process
                            del self._waiting[key]
                            self._report(jobs, done)
                if not self._waiting:
                    return None
            self._stopped.wait(POLL_SECONDS)
        return None

    def _usable_cells(self, job: Job) -> dict[str, Cell]:
        saved = self._store.get(job.keys)
        return {key: each for key, each in saved.items() if each.status == "ok" or not self._retry}

    def _report(self, jobs: list[Job] | None, cells: Mapping[str, Cell] | None = None) -> None:
        """Call the hooks. If `jobs` are given, first count their `cells` as finished."""
        cell = None
        if jobs is not None and cells is not None:
            self._n_done += 1
            new = [each for job in jobs for each in job.cells(cells)]
            self._cells += new
            cell = new[0]
        if self._hooks.callback is not None:
            self._hooks.callback(self._n_done, self._n_all, cell)
        if self._hooks.drop is not None:
            self._dropped |= set(self._hooks.drop(list(self._cells)))
        if self._hooks.stop is not None and self._hooks.stop(list(self._cells)):
            self._stopped.set()

    def _is_dropped(self, jobs: list[Job]) -> bool:
        return all(job.fit.learner in self._dropped for job in jobs)

    def _kill_dropped(self) -> None:
        """Kill processes that fit a dropped learner. The next fit starts a new process."""
        with self._lock:  # so that no thread starts another fit in the meantime
            for worker, jobs in self._running.items():
                if worker is not None and self._is_dropped(jobs):
                    worker.stop()

    def _renew_claims(self) -> None:
        """Renew the claims of this run until it stops."""
        while not self._stopped.wait(RENEWAL_SECONDS):
            with suppress(OSError):  # the error is raised when the next cell is added
                self._store.renew()


def _end(workers: dict[threading.Thread, Worker], renewal_thread: threading.Thread) -> None:
    """Kill the processes, and wait for the threads."""
    for thread, worker in workers.items():
        worker.stop()
        while thread.is_alive():  # the worker may have started another fit
            thread.join(POLL_SECONDS)
            worker.stop()
    if renewal_thread.ident is not None:
        renewal_thread.join()
