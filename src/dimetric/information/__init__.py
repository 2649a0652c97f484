"""Distances learned by comparing distributions."""
