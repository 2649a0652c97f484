"""Samples in blocks of rows: Dask collections, memory maps, and iterators of blocks.

A :class:`~dimetric.blocks.source.Source` sums a statistic over blocks. Estimators that need nothing
but such sums learn from any source, and never hold all samples in memory.
"""
