"""Sums of statistics over blocks of rows."""
