from ._embedding import EmbeddingQuality as EmbeddingQuality
from ._embedding import embedding_quality as embedding_quality
from ._embedding import trustworthiness as trustworthiness
from ._neighborhood import Neighborhood as Neighborhood
from ._neighborhood import before_and_after as before_and_after
from ._neighborhood import neighborhood as neighborhood
from ._spectrum import eigenvalue_ratios as eigenvalue_ratios
from ._spectrum import residual_variances as residual_variances
