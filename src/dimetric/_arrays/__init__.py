"""Array helpers that the rest of the package shares, for arrays of any namespace.

- ``namespaces``: the array-API namespace of an array, moves between host and device, and functions
  that the standard lacks.
- ``validation``: checks of samples, labels and dissimilarities.
- ``blocks``: division of rows into blocks, to bound the memory of a computation.
- ``memory``: a check that an array fits into memory.
- ``threads``: functions that run tasks on several Python threads while BLAS is limited to one
  thread (by ``blas_limit``).
- ``global_state``: a decorator that restores global settings after Ctrl-C.
- ``random_state``: random generators that are independent of NumPy's global one.
- ``squared_distances``: squared Euclidean distances by matrix products.
- ``row_order``: an order of the samples that does not depend on the order of the input, and groups
  of equal samples.
"""
