"""LMNN's objective and its parts.

Read the files in this order:

- ``targets``: the samples of its class that each sample should be near to.
- ``hinge``: the loss of a margin that is too small, sharp or smooth.
- ``impostors``: the samples of other classes that come too near, found by an in-place NumPy path.
- ``objective``: the sum over targets and impostors of labelled samples.
- ``triplets``: the same sum over given triplets.
- ``bounds``: lower bounds of the sum, which prove how near to its optimum a map is.
"""
