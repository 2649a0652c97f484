"""Fitting of learners that use a solver.

``iterative`` is the place to start: it takes a learner from its problem to the fitted attributes.
``problem`` defines the problem and its solution. ``mean_loss`` builds the problem of learners that
minimise a mean loss, ``convex`` adds a bound on the distance to the optimum, and ``constrained``
builds the problem of LSI and DML-eig. ``ordering``, ``coordinates`` and ``start`` prepare the
samples and the initial map. ``functions``, ``gain`` and ``divergence`` turn an objective into a
function of a vector, which a solver minimises. ``plateau`` checks whether a solver stopped because
of a poor start. ``verbose`` reports progress.
"""
