"""Data sets to learn from: by name, from files, and generated ones with known truth."""

from dimetric.data.columns import DataSet
from dimetric.data.encoder import TableEncoder
from dimetric.data.keel import read_keel, write_keel
from dimetric.data.named import data_set_names, load_data_set
from dimetric.data.tables import read_table
from dimetric.data.toy import Toy, parallel_bands, rings, s_curve, swiss_roll

__all__ = [
    "DataSet",
    "TableEncoder",
    "Toy",
    "data_set_names",
    "load_data_set",
    "parallel_bands",
    "read_keel",
    "read_table",
    "rings",
    "s_curve",
    "swiss_roll",
    "write_keel",
]
