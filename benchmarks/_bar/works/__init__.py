"""The works of the bar, one file for each kind."""

from _bar.works import gpu, learners, manifold, neighbors

ALL = (*learners.WORKS, *manifold.WORKS, *neighbors.WORKS, *gpu.WORKS)
