"""Exports of a RetrievalAdapter, which maps queries and documents by two matrices.

``sides`` reads the matrices of a fitted adapter. The other modules write them for other programs:
``dense`` for sentence-transformers, ``function`` as Python functions, ``inner_product`` as a faiss
index, ``graph`` as an ONNX graph, and ``search_script`` as SQL.
"""
