"""Progress of a fit whose map is converted afterwards."""

from collections.abc import Callable
from typing import Any

from dimetric._compat import Progress


class ConvertedProgress(Progress):
    """Converts the fitted attributes of every iteration, and passes them to callbacks.

    Parameters
    ----------
    progress : Progress
        The progress that callbacks follow.
    convert : callable
        Converts a dictionary of fitted attributes. It is called only if a callback needs them.
    """

    def __init__(
        self, progress: Progress, convert: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        self._progress, self._convert = progress, convert

    def step(self, fitted_attributes: Callable[[], dict[str, Any]]) -> bool:
        return self._progress.step(lambda: self._convert(fitted_attributes()))
