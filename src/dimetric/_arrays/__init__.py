"""What all rooms need for arrays of any namespace.

- ``namespaces``: the array-API namespace of an array, host or device, and what the standard lacks.
- ``validation``: checks of samples, labels and dissimilarities.
- ``blocks``: blocks of rows, so that memory stays small; ``memory``: how much there is.
- ``threads``: work on several threads, with one BLAS thread each.
- ``squared_distances``: squared distances by one matrix product.
- ``row_order``: an order of samples that does not depend on how they were given.
"""
