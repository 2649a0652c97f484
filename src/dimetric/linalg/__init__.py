"""Linear algebra for the learners, in any array namespace unless stated otherwise.

- ``reductions``: sums of a statistic over blocks of rows.
- ``scatter``: means and scatter matrices of samples by class, and of neighbour differences.
- ``psd``: positive semidefinite matrices, and conversion between a metric M and a map L.
- ``spectral``: eigenproblems of scatter matrices, whitening, truncated SVD, signs of vectors.
- ``principal_axes``: principal axes of samples, from moments or by iteration.
- ``sample_span``: the subspace spanned by the differences between samples.
- ``symmetric``: packed symmetric matrices and products with them, on the host.
- ``centred_products``: products of centred symmetric matrices with vectors.
- ``krylov``: the largest eigenpairs of a matrix given by its products with vectors, on the host.
- ``smallest_eigenvectors``: eigenvectors of a sparse matrix with constant null vector, on the host.
- ``classical_scaling``: coordinates from dissimilarities, also for new samples.
- ``correlation``: Pearson's correlation from sums over blocks.
"""
