"""Linear algebra that the learners share, in any array namespace unless a module says otherwise.

- ``reductions``: one statistic over blocks of rows, summed like a tree.
- ``scatter``: means and scatter matrices of samples by class, and of neighbour differences.
- ``psd``: positive semidefinite matrices, and the way between a metric M and a map L.
- ``spectral``: eigenproblems of scatter matrices, whitening, truncated SVD, the sign rule.
- ``principal_axes``: principal axes of samples, from moments or by iteration.
- ``sample_span``: the subspace of the differences between samples.
- ``symmetric``: symmetric matrices of which half is kept, and products with them, on the host.
- ``krylov``: the largest eigenvectors of a matrix given by its products, on the host.
- ``smallest_eigenvectors``: those of a sparse matrix that maps constants to 0, on the host.
- ``classical_scaling``: coordinates from dissimilarities, and places for new samples.
- ``correlation``: Pearson's correlation from sums over blocks.
"""
