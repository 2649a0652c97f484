"""Approximate nearest neighbours, for data too large to compare all pairs of samples.

- ``search``: the settings of a search by faiss (``ApproximateNeighbors``), and the check of the
  parameter ``search`` of estimators.
- ``faiss_index`` and ``model_index``: candidates for neighbours, found by faiss, or by an object
  such as scikit-learn's KNeighborsTransformer.
- ``index``: the nearest of these candidates, by exact distances (``ApproximateIndex``).
- ``log``: the searches of a fit, and their recall (``SearchLog``).
- ``roles``: friends and enemies.
"""
