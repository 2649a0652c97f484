"""Explanations of the neighbours that a learned distance changes."""

import numpy as np
import pandas as pd
from estimators import samples
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from dimetric import LDA, KNNClassifier
from dimetric.quality._neighborhood import explained_neighbors

X, y = samples()


def test_nearest_changed_neighbours_are_explained():
    frame = pd.DataFrame(X, columns=list("abcd"))
    for data in (X, frame):
        model = make_pipeline(MinMaxScaler(), KNNClassifier(5, learner=LDA())).fit(data, y)
        euclidean = make_pipeline(MinMaxScaler(), KNNClassifier(5)).fit(data, y)
        Z = model[0].transform(data)
        before, after = (each[-1].kneighbors(Z)[1][0] for each in (euclidean, model))
        x = data[0] if data is X else data.iloc[0]
        removed, added = explained_neighbors(model, x, data, before, after)
        assert removed.row == next(row for row in before if row not in after)
        assert added.row == next(row for row in after if row not in before)
        assert (removed.is_new, added.is_new) == (False, True)
        for each in (removed, added):
            distance = model[-1].learner_.pair_distance([[0, each.row]], Z)[0]
            assert_allclose(each.parts.sum(), distance**2)


def test_no_change():
    rows = np.arange(3)
    assert explained_neighbors(LDA().fit(X, y), X[0], X, rows, rows[::-1]) == []
