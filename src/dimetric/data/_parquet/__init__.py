"""Parquet tables that are larger than memory: their row groups, samples of rows, and blocks."""
