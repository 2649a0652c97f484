"""Linear reduction by eigenvectors of scatter matrices."""
