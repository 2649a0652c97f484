"""Metrics from divergences between distributions of differences."""
