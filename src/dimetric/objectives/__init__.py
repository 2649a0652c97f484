"""Objectives: sums over pairs, triplets or centroids, with their gradients.

Read the files in this order:

- ``objective``: the interface of all objectives, and the functions that solvers minimise.
- ``side``: labels, targets and weights of the points along the rows or columns of a block.
- ``engine``: evaluates a rule block by block, in any array namespace.
- ``pairwise``: the sum of a rule over all pairs of samples.
- ``fast``: faster NumPy implementations of some rules.
- ``softmax``: parts of rules in which each sample picks a neighbour at random.
- ``costs``: costs between the targets of two samples.
- ``bipartite``: the sum of a rule over all pairs of a sample and another point.
- ``retrieval``: the loss of queries in a softmax over documents.
- ``centroids``: the log-likelihood of the classes in a softmax over centroids.
- ``listed``: the sum of a rule over a list of pairs.
- ``softmin``: a smooth minimum of the distances between classes.
- ``margins``: LMNN's objective and its parts.
"""
