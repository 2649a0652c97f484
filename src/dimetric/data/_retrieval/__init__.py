"""Read queries, documents and relevance for retrieval.

- ``items``: ids, vectors and texts of queries or documents, from one file.
- ``vectors``: the vectors of a table, in one column of lists or in many columns of numbers.
- ``judgements``: relevance and click tables.
- ``join``: the data set, with positions instead of ids. It leaves out what cannot be used.
- ``beir``: folders in the layout of BEIR.
"""
