"""Objectives over all pairs of a sample and a reference.

References are a fixed sample of the rows. Every row meets all references instead of all other rows,
so a sum over pairs is a sum over blocks of rows, and its cost is linear in the number of rows.
"""
