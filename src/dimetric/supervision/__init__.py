"""Supervision: class labels, pairs and triplets of samples, and relevance of documents.

- ``labels``: class labels, and the union type ``Supervision`` of all kinds.
- ``pairs``, ``triplets``: constraints on pairs and triplets of samples, built from labels,
  neighbours, graphs or scores.
- ``relevance``: the documents that are relevant to queries, from pairs, labels, triplets or
  identifiers, which ``_relevance_input`` checks.
- ``_constraints``: base class of pairs and triplets, and checks of row indices.
- ``_sampling``: enumeration and random sampling of pairs and triplets.
- ``_folds``: folds of pairs or triplets for cross-validation.
- ``_validation``: checks of the supervision given to a learner.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
