"""Learners that descend: a start, coordinates to learn in, an objective, a solver."""
