"""Objectives over pairs of samples, evaluated block by block."""
