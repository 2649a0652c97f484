"""Functions that the array-API standard lacks."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dimetric._arrays.namespaces import smallest_in_rows, to_host


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    m=st.integers(1, 900),
    k=st.integers(1, 9),
    levels=st.sampled_from([1, 2, 30, 10**6]),
    seed=st.integers(0, 99),
)
@pytest.mark.parametrize("hidden", [False, True])
def test_smallest_in_rows_matches_sort(m, k, levels, seed, hidden, namespace):
    # Few levels give many ties. Long rows are searched in groups of columns.
    rng = np.random.default_rng(seed)
    D = rng.integers(0, levels, size=(5, m)).astype(float)
    D[rng.random(D.shape) < 0.5 * hidden] = np.inf
    k = min(k, m)
    values, columns = (to_host(a) for a in smallest_in_rows(namespace.asarray(D), k))
    np.testing.assert_array_equal(values, np.sort(D, axis=1)[:, :k])
    np.testing.assert_array_equal(values, np.take_along_axis(D, columns, axis=1))
    assert all(len(set(row)) == k for row in columns.tolist())


@pytest.mark.parametrize("shape", [(1, 3000), (9, 900), (40, 1500), (3, 9000)])
@pytest.mark.parametrize("levels", [3, 2000, None])
def test_all_partitions_find_the_smallest(shape, levels, rng):
    # Shapes are partitioned by indices, by values and in groups. Few levels give many ties.
    D = rng.normal(size=shape) if levels is None else rng.integers(levels, size=shape) * 1.0
    D[-1, ::7] = np.inf
    values, columns = smallest_in_rows(D, 8)
    np.testing.assert_array_equal(values, np.sort(D, axis=1)[:, :8])
    np.testing.assert_array_equal(values, np.take_along_axis(D, columns, axis=1))
    assert all(len(set(row)) == 8 for row in columns.tolist())
