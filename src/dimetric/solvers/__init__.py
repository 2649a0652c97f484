"""Solvers: they know no algorithm, only functions of a vector."""
