"""Tests of SimplexDisplay."""

import sys

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
from numpy.testing import assert_allclose

from dimetric.plot import SimplexDisplay
from dimetric.stats import correlated_t_test, sign_test

A, B = [0.81, 0.90, 0.75, 0.66, 0.93], [0.86, 0.95, 0.75, 0.72, 0.98]


@pytest.fixture(autouse=True)
def no_window():
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")


def test_points_are_posterior_samples():
    posterior = sign_test(A, B, random_state=0)
    display = SimplexDisplay(posterior, names=("PCA", "NCA")).plot()
    assert display.points_.get_array().sum() == len(posterior.samples)
    assert display.figure_ is display.ax_.figure
    assert [each.get_text().split("\n")[0] for each in display.text_] == [
        "PCA", "no difference", "NCA",
    ]  # fmt: skip


@pytest.mark.parametrize("corner", [0, 1, 2])
def test_certain_outcomes_are_at_their_corner(corner):
    posterior = sign_test(A, B, random_state=0, n_samples=10)
    samples = np.zeros((10, 3))
    samples[:, corner] = 1
    object.__setattr__(posterior, "samples", samples)
    display = SimplexDisplay(posterior).plot(gridsize=20)
    where = display.points_.get_offsets()
    assert len(where) == 1
    assert_allclose(where[0], [(0, 0), (0.5, 3**0.5 / 2), (1, 0)][corner], atol=0.05)
    label = display.text_[corner].get_position()
    assert np.linalg.norm(label - where[0]) < 0.1  # the label is at the same corner


def test_from_scores():
    _, ax = matplotlib.pyplot.subplots()
    display = SimplexDisplay.from_scores(A, B, test="signed_rank", random_state=0, ax=ax)
    assert display.ax_ is ax
    assert display.posterior.right > 0.9
    with pytest.raises(ValueError, match="test='t' must be 'sign' or 'signed_rank'"):
        SimplexDisplay.from_scores(A, B, test="t")


def test_names_are_literal_and_fit_into_the_figure():
    names = ("a $quite$ long name, Euclidean", "b" * 60)
    display = SimplexDisplay.from_scores(A, B, names=names, random_state=0)
    assert display.text_[0].get_text().startswith(r"a \$quite\$ long")
    display.figure_.draw_without_rendering()
    left, _, right = (each.get_window_extent() for each in display.text_)
    assert left.x0 >= 0
    assert left.x1 < right.x0
    assert right.x1 <= display.figure_.bbox.x1
    with pytest.raises(ValueError, match="must hold the names of the two learners"):
        SimplexDisplay.from_scores(A, B, names=("a",))
    with pytest.raises(TypeError, match="ax must be matplotlib axes, not str"):
        SimplexDisplay.from_scores(A, B, ax="here")


def test_posterior_of_differences_is_rejected():
    with pytest.raises(ValueError, match="must have three columns"):
        SimplexDisplay(correlated_t_test(A, B, random_state=0)).plot()


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"SimplexDisplay requires matplotlib.*dimetric\[plot\]"):
        SimplexDisplay(sign_test(A, B, random_state=0)).plot()
