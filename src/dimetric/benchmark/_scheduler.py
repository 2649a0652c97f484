"""The fits of a comparison: which are to be done, and who does them."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import joblib

from dimetric.benchmark._cells import Fit, Outcome, Problem, judge
from dimetric.benchmark._keys import key_of
from dimetric.benchmark._store import LEASE, Cell, Store
from dimetric.benchmark._workers import Worker

WAIT = 0.2  # seconds between looks at what others do

Watch = Callable[[int, int, Cell | None], None]


def learner_key(fit: Fit) -> str:
    """Return the key of a learner and how it is tuned, whatever it is fitted to."""
    tuning = None if fit.grid is None else (fit.grid, fit.n_tuning_folds, fit.tuned_for)
    try:
        return key_of(fit.model, tuning)
    except Exception as error:
        why = next(iter(error.args), error)
        raise TypeError(
            f"{fit.learner} has a parameter, or its code refers to something, that cannot be "
            f"written down, by which a later run would know it again: {why}"
        ) from error


class Job:
    """A fit to do, and the keys of its cells.

    Keys tell what is computed, not what it is called: names may change between runs.
    """

    def __init__(self, problem: Problem, fit: Fit, learner_key: str) -> None:
        self.problem, self.fit, self._learner_key = problem, fit, learner_key

    @cached_property
    def key(self) -> str:
        """Key of the fit."""
        splits, seed = self.problem.splits[self.fit.split], self.fit.seed
        return joblib.hash([self._learner_key, self.problem.fingerprint, *splits, seed])

    @cached_property
    def keys(self) -> dict[str, int | None]:
        """Keys of the cells, and their numbers of neighbours."""
        return {f"{self.key}-{k}": k for k in self.fit.ks}

    def without(self, done: Iterable[str]) -> "Job":
        """Return the job less some cells."""
        done = set(done)
        ks = tuple(k for key, k in self.keys.items() if key not in done)
        return Job(self.problem, replace(self.fit, ks=ks), self._learner_key)

    def cell(self, k: int | None, end: Cell | Outcome) -> Cell:
        """Return a cell with the names that things have here."""
        repeat, fold = divmod(self.fit.split, self.problem.n_folds)
        fields = {name: getattr(end, name) for name in Outcome._fields}
        fields |= {"data": self.problem.name, "learner": self.fit.learner, "n_neighbors": k}
        return Cell(**fields, repeat=repeat, fold=fold)


class Run:
    """The jobs of a comparison that are not finished, dealt out to whoever is free.

    Parameters
    ----------
    store : Store
        Where finished cells are, and go.
    jobs : list of Job
        All jobs.
    retry : bool
        Whether cells that are not "ok" are to be done again.
    watch : callable or None
        Told of every job that ends.
    """

    def __init__(self, store: Store, jobs: list[Job], retry: bool, watch: Watch | None) -> None:
        self._store, self._retry, self._watch = store, retry, watch
        waiting: dict[str, Job] = {}  # learners that differ in name alone are fitted once
        for job in jobs:
            job = job.without(self._finished(job))
            if job.fit.ks:
                waiting.setdefault(job.key, job)
        self._waiting = list(waiting.values())
        self._n_all = len(jobs)
        self._n_done = self._n_all - len(self._waiting)
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._error: BaseException | None = None

    def finish(self, n_jobs: int | None, budget: float | None) -> None:
        """Do all jobs, or wait until others have done them; None does them in this process."""
        if self._watch is not None:
            self._watch(self._n_done, self._n_all, None)
        renewing = threading.Thread(target=self._renew, daemon=True)
        renewing.start()
        workers: dict[threading.Thread, Worker] = {}
        try:
            if n_jobs is None and budget is None:
                self._work(None, None)
            else:
                for _ in range(min(n_jobs or 1, len(self._waiting))):
                    worker = Worker()
                    thread = threading.Thread(target=self._work, args=(worker, budget))
                    workers[thread] = worker
                    thread.start()
            while any(thread.is_alive() for thread in workers):
                time.sleep(WAIT)  # no join: an interrupt is to be heard
        finally:
            self._stop.set()
            for thread, worker in workers.items():
                worker.stop()
                while thread.is_alive():  # and may just have begun another fit
                    thread.join(WAIT)
                    worker.stop()
            renewing.join()
            with suppress(OSError):
                self._store.release()
        if self._error is not None:
            raise self._error

    def _work(self, worker: Worker | None, budget: float | None) -> None:
        try:
            while (job := self._next()) is not None:
                if worker is None:
                    outcomes = judge(job.problem, job.fit)
                else:
                    outcomes = worker.judge(job.problem, job.fit, budget)
                if self._stop.is_set():
                    return  # the process was killed, which says nothing about the fit
                ends = zip(job.keys.items(), outcomes, strict=True)
                cells = {key: job.cell(k, end) for (key, k), end in ends}
                self._store.add(job.key, cells)
                self._tell(cells.values())
        except BaseException as error:
            self._error = self._error or error
            self._stop.set()

    def _next(self) -> Job | None:
        """Return a job that nobody does, None when all are done."""
        while not self._stop.is_set():
            with self._lock:
                for job in list(self._waiting):
                    if self._store.claim(job.key, list(job.keys), retry=self._retry):
                        self._waiting.remove(job)
                        return job
                    done = self._store.get(job.keys)
                    if len(done) == len(job.keys):  # another process has done it
                        self._waiting.remove(job)
                        self._tell(done.values())
                if not self._waiting:
                    return None
            time.sleep(WAIT)
        return None

    def _finished(self, job: Job) -> list[str]:
        found: Mapping[str, Cell] = self._store.get(job.keys)
        return [key for key, cell in found.items() if cell.status == "ok" or not self._retry]

    def _tell(self, cells: Iterable[Cell]) -> None:
        self._n_done += 1
        if self._watch is not None:
            self._watch(self._n_done, self._n_all, next(iter(cells)))

    def _renew(self) -> None:
        while not self._stop.wait(LEASE / 4):
            with suppress(OSError):  # whoever adds a cell will hear of it
                self._store.renew()
