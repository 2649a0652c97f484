"""Objectives: sums over pairs, triplets or centroids, with their gradients.

Read the files in this order:

- ``objective``: the contract of all objectives, and the functions that solvers minimise.
- ``side``: what is known about the points along the rows or the columns of a block.
- ``engine``: rules over blocks of squared distances, and their products in any namespace.
- ``pairwise``: a rule over all pairs of labelled samples.
- ``fast_paths``: in-place NumPy forms of rules over all pairs.
- ``bipartite``: a rule over all pairs of a sample and another point.
- ``centroids``: the log-likelihood of classes around their centroids.
- ``listed``: a rule over a list of pairs.
- ``softmin``: a smooth form of the least distance between classes.
- ``margins``: all parts of LMNN's objective.
"""
