from ._paper import Reproduction as Reproduction
from ._paper import reproduce as reproduce
from ._protocol import published_set as published_set
