"""Kinds of columns other than numbers and categories, and how they become features."""
