from ._paper import Reproduction as Reproduction
from ._paper import reproduce as reproduce
from ._protocol import load_published_data_set as load_published_data_set
