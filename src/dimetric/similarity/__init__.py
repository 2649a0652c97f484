"""Distances learned from similar and dissimilar pairs."""
