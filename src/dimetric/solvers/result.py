"""What every solver returns."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

FLAT = "gradient below tol"
SEPARABLE = "separable: infimum not attained"
STOPPED_BY_CALLBACK = "stopped by a callback"


@dataclass(frozen=True)
class Result:
    """The end of a minimisation.

    Attributes
    ----------
    x : ndarray
        Best point found.
    value : float
        Objective there.
    n_iter : int
        Iterations done.
    converged : bool
        Whether a criterion of convergence was met.
    reason : str
        Why the solver stopped, in words.
    history : tuple of float
        Objective at the start and after every iteration.
    """

    x: np.ndarray
    value: float
    n_iter: int
    converged: bool
    reason: str
    history: tuple[float, ...]

    def warn_unless_converged(self, name: str, remedy: str) -> None:
        """Warn that `name` did not converge, why, and what to do; whoever stopped it knows."""
        if not self.converged and self.reason != STOPPED_BY_CALLBACK:
            warnings.warn(
                f"{name} did not converge: {self.reason}. {remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )
