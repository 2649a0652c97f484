from ._neighbor_scan import NeighborScan as NeighborScan
from ._neighbor_scan import scan_neighbors as scan_neighbors
from .isomap import Isomap as Isomap
from .lle import LLE as LLE
from .mds import MDS as MDS
