from ._rank import rank_documents as rank_documents
from ._scores import average_precision as average_precision
from ._scores import grouped_means as grouped_means
from ._scores import mrr as mrr
from ._scores import ndcg as ndcg
from ._scores import precision as precision
from ._scores import recall as recall
