"""Fits on a cluster: a worker that is killed changes nothing, a client that closes is an error."""

import os
import signal
from threading import Timer

import numpy as np
import pytest
from block_sources import as_dask, made_blocks
from sklearn.exceptions import NotFittedError

from dimetric import NCMML

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
X, y = made_blocks(n=4000)


@pytest.fixture
def client():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="1GB"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def slow_blocks(seconds=0.05):
    """Return collections whose blocks take some seconds to compute."""

    def wait(block):
        from time import sleep

        sleep(seconds)
        return block

    samples = as_dask("dask", X, 400).rechunk((400, 5))
    return samples.map_blocks(wait, dtype=X.dtype), as_dask("dask", y, 400)


def test_killed_worker_changes_nothing(client):
    expected = NCMML(max_iter=8).fit(*slow_blocks())
    pids = client.run(os.getpid)
    killed = []

    def kill():
        killed.append(next(iter(pids.values())))
        os.kill(killed[0], signal.SIGKILL)

    timer = Timer(1.5, kill)
    timer.start()
    learner = NCMML(max_iter=8).fit(*slow_blocks())
    timer.join()
    assert killed
    np.testing.assert_array_equal(learner.components_, expected.components_)
    assert killed[0] not in client.run(os.getpid).values()  # another worker took its place


def test_client_that_closes_is_an_error_and_the_learner_stays_unfitted(client):
    learner, blocks = NCMML(), slow_blocks(seconds=1.0)
    timer = Timer(1.0, client.close)  # in the first pass, which takes 5 seconds
    timer.start()
    with pytest.raises(RuntimeError, match="The Dask client closed"):
        learner.fit(*blocks)
    timer.join()
    with pytest.raises(NotFittedError):
        learner.transform(X)
