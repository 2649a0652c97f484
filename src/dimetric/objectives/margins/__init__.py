"""LMNN's objective and its parts.

Read the files in this order:

- ``targets``: target neighbours, samples of the same class that should be near a sample.
- ``hinge``: the hinge loss and a smooth version of it.
- ``impostors``: a fast NumPy sum over impostors, samples of other classes within the margin.
- ``objective``: the sum over targets and impostors of labelled samples.
- ``triplets``: the same sum over triplets.
- ``multi_metric``: the same sum with one metric for each class.
- ``bounds``: lower bounds on the sum, which bound how far a map is from the optimum.
"""
