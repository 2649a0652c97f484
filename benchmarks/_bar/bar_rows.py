"""The rows of the bar, in order, and the marks of the works."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from _bar.measure import Timing
from _bar.work import Work

IN_FULL_RUN = "in the full run only"
Mark = Literal["reached", "not reached", "not measured"]

ROWS = {
    "nca": "NCA, 5,000 x 50 and digits, against scikit-learn: 6x and 4x, memory O(block)",
    "pairwise": "LMNN on digits against metric-learn; NCA, LMNN, MCML, LDML, LSI, DML-eig and "
    "KLMNN against pyDML where it finishes: 20x",
    "centroids": "NCMML and NCMC against pyDML: 5x",
    "itml": "ITML on digits against metric-learn: 20x",
    "spectral": "ANMM and DMLMJ on digits against pyDML: 10x",
    "manifold": "Isomap 8,000 / classical MDS 4,000 / SMACOF per iteration / LLE / LTSA / HLLE "
    "10,000 against scikit-learn: 6 / 100 / 8 / 4 / 15 / 15x",
    "landmarks": "Landmark Isomap: 100,000 in 8 s and 600 MB; 1,000,000 finishes",
    "neighbors": "Exact k-NN graph, d = 50 / 784, against scikit-learn's brute force: 1.9 / 2.8x",
    "kpca": "KPCA, 5,000 to 10, against scikit-learn's 'auto' / its best solver: 25 / 1.5x",
    "trustworthiness": "Trustworthiness, 6,000 against scikit-learn: 3x; 100,000 in 2,000 MB",
    "experiment": "Experiment 1 of the paper: 40 minutes, no failed fit",
    "kernels": "KDA, KANMM and KDMLMJ on wine against pyDML: 20x",
    "kpca-sizes": "KPCA, 500 to 10,000 samples, 2 to 100 components, against the fastest solver of "
    "scikit-learn: 1x",
    "pca": "PCA of float32 samples against the fastest solver of scikit-learn: 1x",
    "images": "LLE of 2,000 images against scikit-learn: 1x",
    "serving": "Predictions of k-NN against the fastest algorithm of scikit-learn: 1.2x; one row "
    "among 20,000 x 50 in 1 ms",
    "gpu-evaluation": "GPU: NCA loss and gradient, 60,000 x 784 to 32: 25 ms on an H200",
    "gpu-fits": "GPU: NCA of MNIST to 32 in 1.5 s; LMNN, MCML, LDML and DML-eig of MNIST on "
    "PCA(50) in 3 s on an H200",
}


@dataclass
class Outcome:
    """The measurement of a work.

    Attributes
    ----------
    work : Work
        The work.
    size : str
        Title of its data.
    timings : dict of Timing
        Timings by role. Empty if the work was skipped.
    values : dict of float
        Quality by role.
    skipped : str
        Why the work was not measured, or "".
    is_smaller : bool
        Whether the data are smaller than those of the bar.
    """

    work: Work
    size: str
    timings: dict[str, Timing]
    values: dict[str, float]
    skipped: str = ""
    is_smaller: bool = False

    @property
    def ratio(self) -> float:
        """Time of the peer divided by ours. A lower bound if the peer reached its time limit."""
        peer = self.timings.get("peer", Timing())
        seconds = peer.over_limit if peer.over_limit is not None else peer.median
        return seconds / self.seconds

    @property
    def seconds(self) -> float:
        """Median of our times."""
        return self.timings.get("ours", Timing()).median

    @property
    def limit_ratio(self) -> float:
        """Time of the unavoidable products divided by our time, at most 1 if they are."""
        limit = self.timings.get("limit", Timing()).median
        ours = self.timings.get("ours", Timing())
        factor = float(ours.results.get("n_iter", 1)) if self.work.limit_per_iteration else 1.0
        return limit * factor / self.seconds

    def mark(self) -> tuple[Mark, str]:
        """Return whether the work reaches its bar, and the reason if it does not."""
        if self.skipped:
            return "not measured", self.skipped
        ours, peer = self.timings["ours"], self.timings.get("peer")
        if ours.error is not None:
            return "not reached", f"ours failed: {ours.error}"
        if ours.over_limit is not None:
            return "not reached", f"ours took more than {ours.over_limit:g} s"
        reasons = self._beyond_limits() + self._worse()
        if self.work.bar.ratio is not None and peer is not None:
            if peer.error is not None:
                return "not measured", f"peer: {peer.error}"
            if self.ratio < self.work.bar.ratio and peer.over_limit is not None:
                return "not measured", f"the peer took more than {peer.over_limit:g} s"
            if self.ratio < self.work.bar.ratio:
                shown = f"{self.ratio:.3g}x of {self.work.bar.ratio:g}x"
                if self.is_smaller and not reasons:
                    return "not measured", f"{shown}, on less data than the bar's"
                reasons.insert(0, shown)
        return ("not reached", "; ".join(reasons)) if reasons else ("reached", "")

    def _beyond_limits(self) -> list[str]:
        bar, megabytes = self.work.bar, self.timings["ours"].megabytes
        reasons = []
        if bar.seconds is not None and self.seconds > bar.seconds:
            reasons.append(f"{self.seconds:.3g} s of {bar.seconds:g} s")
        if bar.megabytes is not None and megabytes > bar.megabytes:
            reasons.append(f"{megabytes:.0f} MB of {bar.megabytes:g} MB")
        return reasons

    def _worse(self) -> list[str]:
        quality = self.work.quality
        if quality is None:
            return []
        ours, theirs = (self.values.get(role, np.nan) for role in ("ours", "peer"))
        if quality.no_worse(ours, theirs):
            return []
        return [f"{quality.name} {ours:.5g} is worse than {theirs:.5g}"]


def row_marks(outcomes: list[Outcome]) -> dict[str, tuple[Mark, list[str]]]:
    """Return the mark of each row that has works, with the works that do not reach their bar.

    A row is reached if all of its works reach their bar. Works of the full run do not count in a
    quick run, but the notes name them.
    """
    marks: dict[str, tuple[Mark, list[str]]] = {}
    for row in ROWS:
        found = [(each, *each.mark()) for each in outcomes if each.work.row == row]
        if not found:
            continue
        kinds = {mark for _, mark, _ in found}
        notes = [
            ", ".join(filter(None, (each.work.name, each.size))) + f": {reason}"
            for each, mark, reason in found
            if mark == "not reached" or (mark == "not measured" and reason != IN_FULL_RUN)
        ]
        is_complete = not notes
        n_left = sum(reason == IN_FULL_RUN for _, _, reason in found)
        if n_left:
            notes.append(f"{n_left} work{'s' * (n_left > 1)} {IN_FULL_RUN}")
        if "not reached" in kinds:
            marks[row] = "not reached", notes
        elif "reached" in kinds and is_complete:
            marks[row] = "reached", notes
        else:
            marks[row] = "not measured", notes
    return marks
