"""Fixtures of the tests of samples in blocks."""

import pytest


@pytest.fixture(autouse=True)
def in_this_thread():
    """Run Dask's tasks in this thread, and treat all memory maps as blocks."""
    import dimetric.learners._block_fit as block_fit

    try:
        import dask
    except ImportError:
        dask = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_fit, "MIN_BYTES_OF_BLOCKS", 0)
        if dask is None:
            yield
            return
        with dask.config.set(scheduler="synchronous"):
            yield
