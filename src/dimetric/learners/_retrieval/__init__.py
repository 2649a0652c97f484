"""Parts of :class:`dimetric.learners.RetrievalAdapter`.

- ``vectors``: validation and normalisation of vectors.
- ``function``: the function of the maps that a solver minimises.
- ``solve``: choice of the documents in the softmax, and the minimisation.
- ``choice``: choice of the regularisation by cross-validation over queries.
"""
