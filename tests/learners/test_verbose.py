"""Tests of ``verbose``: one line per iteration, and an unchanged logging configuration."""

import logging
from contextlib import contextmanager

import pytest
from estimators import each, fit, is_linear, iterates, samples

from dimetric import MDS, NCA

X, y = samples()
ROOT, OURS = logging.getLogger(), logging.getLogger("dimetric")


def configuration():
    return [
        (logger.level, list(logger.handlers), logger.propagate, logger.disabled)
        for logger in (ROOT, OURS)
    ]


class RecordingHandler(logging.Handler):
    def __init__(self, level=logging.NOTSET):
        super().__init__(level)
        self.lines = []

    def emit(self, record):
        self.lines.append((record.name, record.levelname, record.getMessage()))


@pytest.fixture
def fresh_loggers():
    """Return a context with loggers as in a new interpreter, without the handlers of pytest."""

    @contextmanager
    def loggers():
        kept = ROOT.handlers, ROOT.level, OURS.handlers, OURS.level, OURS.propagate
        ROOT.handlers, OURS.handlers, OURS.propagate = [], [], True
        ROOT.setLevel(logging.WARNING)
        OURS.setLevel(logging.NOTSET)
        try:
            yield
        finally:
            ROOT.handlers, level, OURS.handlers, our_level, OURS.propagate = kept
            ROOT.setLevel(level)
            OURS.setLevel(our_level)

    return loggers


def check_lines(lines, learner):
    assert len(lines) == learner.n_iter_ >= 2
    name = type(learner).__name__
    assert lines[0].startswith(f"[{name}] iteration 1: objective ")


@each(iterates, is_linear)
def test_without_a_handler_lines_go_to_stderr(learner, fresh_loggers, capfd):
    with fresh_loggers():
        before = configuration()
        learner = fit(learner, X, y, verbose=1)
        assert configuration() == before
    lines = capfd.readouterr()
    check_lines(lines.err.splitlines(), learner)
    assert lines.out == ""


def test_embeddings_write_lines_to_stderr(fresh_loggers, capfd):
    with fresh_loggers():
        before = configuration()
        mds = MDS(algorithm="smacof", verbose=1).fit(X)
        assert configuration() == before
    assert len(capfd.readouterr().err.splitlines()) == mds.n_iter_


@pytest.mark.parametrize("logger", [ROOT, OURS], ids=str)
def test_a_handler_gets_the_lines_and_stderr_does_not(logger, fresh_loggers, capfd):
    kept = RecordingHandler()
    with fresh_loggers():
        logger.addHandler(kept)
        logger.setLevel(logging.INFO)
        before = configuration()
        learner = NCA(verbose=1).fit(X, y)
        assert configuration() == before
    assert {line[:2] for line in kept.lines} == {("dimetric", "INFO")}
    check_lines([line[2] for line in kept.lines], learner)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "case", ["level of the logger", "level of the handler", "null", "no propagation"]
)
def test_lines_go_to_stderr_if_no_handler_shows_them(case, fresh_loggers, capfd):
    """Handlers that filter out the lines do not receive them."""
    kept = RecordingHandler(logging.ERROR if case == "level of the handler" else logging.NOTSET)
    with fresh_loggers():
        ROOT.addHandler(logging.NullHandler() if case == "null" else kept)
        ROOT.setLevel(logging.WARNING if case == "level of the logger" else logging.INFO)
        OURS.propagate = case != "no propagation"
        before = configuration()
        learner = NCA(verbose=1).fit(X, y)
        assert configuration() == before
    check_lines(capfd.readouterr().err.splitlines(), learner)
    assert kept.lines == []


def test_silent_by_default(fresh_loggers, capfd):
    with fresh_loggers():
        NCA().fit(X, y)
    assert capfd.readouterr() == ("", "")
