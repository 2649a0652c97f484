"""Which fits of a benchmark are left to do, and who does them."""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import joblib

from dimetric.benchmark._cells import Fit, Outcome, SplitDataSet, judge
from dimetric.benchmark._keys import key_of
from dimetric.benchmark._store import LEASE_SECONDS, Cell, Store
from dimetric.benchmark._workers import Worker

POLL_SECONDS = 0.2  # between looks at other processes and at workers to stop

Callback = Callable[[int, int, Cell | None], None]


def learner_key(fit: Fit) -> str:
    """Return the key of a learner and of its tuning, independent of the data."""
    tuning = None if fit.grid is None else (fit.grid, fit.tuning_cv, fit.tuned_for)
    try:
        return key_of(fit.model, tuning)
    except Exception as error:
        why = next(iter(error.args), error)
        raise TypeError(
            f"{fit.learner} has a parameter, or its code uses an object, that cannot be hashed: a "
            f"later run would not find its cells again. {why}"
        ) from error


class Job:
    """A fit to do, and the keys of its cells.

    Keys depend on what is computed, not on names: names may change between runs.
    """

    def __init__(self, data: SplitDataSet, fit: Fit, learner_key: str) -> None:
        self.data, self.fit, self._learner_key = data, fit, learner_key

    @cached_property
    def key(self) -> str:
        """Key of the fit."""
        splits, seed = self.data.splits[self.fit.split], self.fit.seed
        return str(joblib.hash([self._learner_key, self.data.fingerprint, *splits, seed]))

    @cached_property
    def keys(self) -> dict[str, int | None]:
        """Keys of the cells, and their numbers of neighbours."""
        return {f"{self.key}-{k}": k for k in self.fit.ks}

    def without(self, done: Iterable[str]) -> "Job":
        """Return the job without the cells that are done."""
        done = set(done)
        ks = tuple(k for key, k in self.keys.items() if key not in done)
        return Job(self.data, replace(self.fit, ks=ks), self._learner_key)

    def cell(self, k: int | None, end: Cell | Outcome) -> Cell:
        """Return a cell with the names that this run uses."""
        repeat, fold = divmod(self.fit.split, self.data.n_folds)
        fields = {name: getattr(end, name) for name in Outcome._fields}
        fields |= {"data": self.data.name, "learner": self.fit.learner, "n_neighbors": k}
        return Cell(**fields, repeat=repeat, fold=fold)

    def cells(self, found: Mapping[str, Cell]) -> list[Cell]:
        """Return those cells of this job that are among those found, by their keys."""
        return [self.cell(k, found[key]) for key, k in self.keys.items() if key in found]


@dataclass(frozen=True)
class Control:
    """What the caller of a benchmark may say while it runs; see :func:`dimetric.benchmark.run`.

    The functions are never called by two threads at once.
    """

    callback: Callback | None = None
    stop: Callable[[list[Cell]], bool] | None = None
    drop: Callable[[list[Cell]], Iterable[str]] | None = None


class Scheduler:
    """Hand the unfinished jobs of a benchmark to whoever is free.

    Parameters
    ----------
    store : Store
        Holds the finished cells.
    jobs : list of Job
        All jobs.
    retry : bool
        Whether to repeat cells that are not "ok".
    control : Control
        Progress, and when to stop.
    """

    def __init__(self, store: Store, jobs: list[Job], retry: bool, control: Control) -> None:
        self._store, self._retry, self._control = store, retry, control
        self._cells: list[Cell] = []  # finished, in the order in which they were
        # Learners that differ only in their names are fitted once: jobs by key.
        self._waiting: dict[str, list[Job]] = {}
        for job in jobs:
            done = self._finished(job)
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
        """Finish all jobs, or wait until other processes have; stop early if asked to.

        Parameters
        ----------
        n_jobs : int or None
            Number of worker processes; None fits in this process if there is no time budget.
        time_budget : float or None
            Seconds after which a fit is killed.
        """
        self._report(None)
        renewing = threading.Thread(target=self._renew, daemon=True)
        renewing.start()
        workers: dict[threading.Thread, Worker] = {}
        try:
            if n_jobs is None and time_budget is None:
                self._work(None, None)
            else:
                for _ in range(min(n_jobs or 1, len(self._waiting))):
                    worker = Worker()
                    thread = threading.Thread(target=self._work, args=(worker, time_budget))
                    workers[thread] = worker
                    thread.start()
            # No join: it would not notice an interrupt from the keyboard.
            while any(thread.is_alive() for thread in workers) and not self._stopped.is_set():
                self._kill_dropped()
                self._stopped.wait(POLL_SECONDS)
        finally:
            self._stopped.set()
            for thread, worker in workers.items():
                worker.stop()
                while thread.is_alive():  # it may just have begun another fit
                    thread.join(POLL_SECONDS)
                    worker.stop()
            renewing.join()
            with suppress(OSError):
                self._store.release()
        if self._error is not None:
            raise self._error

    def _work(self, worker: Worker | None, time_budget: float | None) -> None:
        """Do one job after the other until none is left; runs in a thread for each worker."""
        try:
            while (jobs := self._next(worker)) is not None:
                job = jobs[0]
                if worker is None:
                    outcomes = judge(job.data, job.fit)
                else:
                    outcomes = worker.judge(job.data, job.fit, time_budget)
                with self._lock:
                    del self._running[worker]
                    if self._stopped.is_set():
                        return  # the process was killed, which says nothing about the fit
                    if self._is_dropped(jobs):
                        continue
                    ends = zip(job.keys.items(), outcomes, strict=True)
                    cells = {key: job.cell(k, end) for (key, k), end in ends}
                    self._store.add(job.key, cells)
                    self._report(jobs, cells)
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
                self._stopped.set()

    def _next(self, worker: Worker | None) -> list[Job] | None:
        """Return a job that nobody does, under all its names; None when all are done."""
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
                        if len(done) == len(job.keys):  # another process has done it
                            del self._waiting[key]
                            self._report(jobs, done)
                if not self._waiting:
                    return None
            self._stopped.wait(POLL_SECONDS)
        return None

    def _finished(self, job: Job) -> dict[str, Cell]:
        found = self._store.get(job.keys)
        return {key: each for key, each in found.items() if each.status == "ok" or not self._retry}

    def _report(self, jobs: list[Job] | None, found: Mapping[str, Cell] | None = None) -> None:
        """Tell the caller of a finished job, or of the start, and ask how to go on."""
        cell = None
        if jobs is not None and found is not None:
            self._n_done += 1
            new = [cell for job in jobs for cell in job.cells(found)]
            self._cells += new
            cell = new[0]
        if self._control.callback is not None:
            self._control.callback(self._n_done, self._n_all, cell)
        if self._control.drop is not None:
            self._dropped |= set(self._control.drop(list(self._cells)))
        if self._control.stop is not None and self._control.stop(list(self._cells)):
            self._stopped.set()

    def _is_dropped(self, jobs: list[Job]) -> bool:
        return all(job.fit.learner in self._dropped for job in jobs)

    def _kill_dropped(self) -> None:
        """End the processes that fit a dropped learner; their threads start new ones."""
        with self._lock:  # held, so that no thread begins another fit meanwhile
            for worker, jobs in self._running.items():
                if worker is not None and self._is_dropped(jobs):
                    worker.stop()

    def _renew(self) -> None:
        """Keep the claims of this run until it stops."""
        while not self._stopped.wait(LEASE_SECONDS / 4):
            with suppress(OSError):  # whoever adds a cell will notice
                self._store.renew()
