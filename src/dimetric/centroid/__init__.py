"""Distances learned for nearest centroids."""
