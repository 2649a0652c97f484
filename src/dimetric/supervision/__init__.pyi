from .pairs import Pairs as Pairs
from .triplets import Triplets as Triplets
