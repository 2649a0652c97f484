"""Distances learned for nearest neighbours."""
