"""How learners with a solver are fitted.

Read in this order. ``iterative`` holds the one way from a problem to the fitted attributes, and
``problem`` the records on that way. ``mean_loss`` states the problem of learners that minimise a
mean loss (``convex``: with a proven gap), ``constrained`` that of LSI and DML-eig. ``ordering``,
``coordinates`` and ``start`` prepare the samples and the first map. ``functions``, ``gain`` and
``divergence`` turn an objective into a function of a vector, which a solver minimises. ``verbose``
reports progress.
"""
