"""Compute the panels of a plot of decision regions: regions, samples and titles."""

from collections.abc import Mapping
from itertools import combinations
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dimetric._arrays.namespaces import to_host
from dimetric._arrays.validation import checked_array
from dimetric.classify._decision_regions import (
    DecisionRegions,
    decision_regions,
    feature_names_of,
)
from dimetric.plot._matplotlib import plain_text
from dimetric.quality import before_and_after

MAX_PAIRS = 45  # panels, the number of pairs of 10 features
MAX_TITLE_LENGTH = 60  # characters


class Panel(NamedTuple):
    """Content of one axes: decision regions, and samples on top of them.

    Attributes
    ----------
    regions : DecisionRegions
        The predicted class at each point of a grid.
    samples : ndarray of shape (n_samples, n_features)
        Samples.
    feature_names : list of str
        Names of the features.
    title : str
        Title of the axes.
    """

    regions: DecisionRegions
    samples: np.ndarray
    feature_names: list[str]
    title: str


def region_panels(
    models: Mapping[str, Any],
    X: Any,
    *,
    features: Any = None,
    section: Any = "mean",
    resolution: int | None = None,
) -> list[Panel]:
    """Return one panel for each classifier and each choice of features."""
    samples = to_host(checked_array(X, "X"))
    names = feature_names_of(X, samples.shape[1])
    panels = []
    for name, model in models.items():
        for choice in _varying_features(features, samples.shape[1]):
            regions = decision_regions(
                model, X, features=choice, section=section, resolution=resolution
            )
            title = _title(name, regions, names, section)
            panels.append(Panel(regions, samples, names, title))
    if not panels:
        raise ValueError("estimators is empty. Give at least one classifier.")
    return panels


def mapped_panel(classifier: Any, model: Any, X: Any, y: Any, title: str) -> Panel:
    """Return the panel of a classifier fitted to the samples transformed by a learner."""
    Z = before_and_after(model[:1] if isinstance(model, Pipeline) else model, X)[1]
    if Z.shape[1] > 3:
        raise ValueError(
            f"mapped=True, but the learner has {Z.shape[1]} components. Set its n_components to 1, "
            "2 or 3."
        )
    names = [f"component {j + 1}" for j in range(Z.shape[1])]
    return Panel(decision_regions(clone(classifier).fit(Z, y), Z), Z, names, title)


def _varying_features(features: Any, d: int) -> list[Any]:
    """Return the varying features of each panel."""
    if isinstance(features, str) and features == "pairs":
        pairs = list(combinations(range(d), 2))
        if not 1 <= len(pairs) <= MAX_PAIRS:
            raise ValueError(
                f"features='pairs' would draw {len(pairs)} panels for {d} features, but must draw "
                f"1 to {MAX_PAIRS}. List the pairs to draw, such as [(0, 1), (0, 2)]."
            )
        return pairs
    are_sequences = (
        isinstance(features, list) and features and isinstance(features[0], tuple | list)
    )
    return features if are_sequences else [features]


def _title(name: str, regions: DecisionRegions, names: list[str], section: Any) -> str:
    """Return the title: the name, and the values of the features that do not vary."""
    others = [j for j in range(len(names)) if j not in regions.features]
    if not others:
        return plain_text(name, MAX_TITLE_LENGTH)
    where = {"mean": "the mean", "median": "the median"}.get(str(section), "given values")
    where = f"row {section}" if isinstance(section, Integral) else where
    held = f"{len(others)} other features at {where}"
    if len(others) <= 2:
        held = ",\n".join(f"{plain_text(names[j], 24)} = {regions.section[j]:.3g}" for j in others)
        held += f" ({where})" if where != "given values" else ""
    return f"{plain_text(name, MAX_TITLE_LENGTH)}\n{held}".strip()
