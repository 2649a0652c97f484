"""Objectives: sums over pairs, triplets or centroids, with their gradients."""
