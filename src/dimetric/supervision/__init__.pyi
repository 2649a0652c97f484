from .pairs import Pairs as Pairs
from .relevance import Relevance as Relevance
from .triplets import Triplets as Triplets
