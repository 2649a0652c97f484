"""Embeddings that keep distances, along the data or straight."""
