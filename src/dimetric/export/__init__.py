"""A learned distance on its way to other places: files, other programs, search engines."""
