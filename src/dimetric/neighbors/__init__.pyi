from .approximate.search import ApproximateNeighbors as ApproximateNeighbors
