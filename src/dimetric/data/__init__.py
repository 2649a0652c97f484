"""Data sets to learn from: generated ones with known truth."""

from dimetric.data.toy import Toy, parallel_bands, rings, s_curve, swiss_roll

__all__ = ["Toy", "parallel_bands", "rings", "s_curve", "swiss_roll"]
