"""Faster NumPy implementations of some pairwise objectives.

Each gives the same results as the reference implementation in :mod:`dimetric.objectives.engine`,
which tests check. These implementations are faster for three reasons. Samples are sorted by class,
so that the columns of a class are a slice instead of a mask. The squared distances of a block are
one matrix product into a buffer, and all further steps work in place. Several threads share the
blocks (see :mod:`dimetric._arrays.threads`).

Read the files in this order:

- ``all_pairs``: squared distances in blocks, and the Laplacian product of their weights.
- ``symmetric``: LDML and LSI.
- ``softmin``: the smooth minimum of DML-eig.
- ``kernel_pairs``: softmax weights from the upper triangle of a kernel matrix.
- ``near_pairs``: softmax weights of near pairs only.
"""
