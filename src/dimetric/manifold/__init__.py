"""Embeddings of samples: by their distances, straight or along the data, or by neighbours."""
