"""Reference models with few trees, to save time."""

from functools import partial

import pytest

from dimetric.advice import _references


@pytest.fixture(scope="package", autouse=True)
def small_references():
    """Let random forests and gradient boosting have few trees."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RandomForestClassifier", "RandomForestRegressor"):
            patch.setattr(_references, name, partial(getattr(_references, name), n_estimators=3))
        patch.setattr(_references, "BOOSTING_STEPS", {"max_iter": 3, "learning_rate": 0.5})
        yield
