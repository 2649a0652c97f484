"""Neighbours: who is near whom."""
