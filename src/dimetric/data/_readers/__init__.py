"""Readers of table files, one module for each type of file.

``reader`` defines the interface of all readers. ``source`` finds the files that a user names, and
``content`` detects the type of a file. ``text`` reads CSV files, whose format ``dialect`` detects.
``arrow`` reads Parquet and Feather files, ``arrays`` NumPy files, ``excel`` workbooks,
``json_lines`` JSON records, and ``sql`` the results of queries. ``records`` turns rows of Python
objects into columns, and ``nested`` finds columns of lists. ``header`` finds the column names
below titles and comments. ``compressed`` limits the size of compressed content. ``errors`` names
the file in messages. ``frames`` imports pandas or polars.
"""
