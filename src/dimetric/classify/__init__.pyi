from .centroid import NCMCClassifier as NCMCClassifier
from .centroid import NCMClassifier as NCMClassifier
from .energy import EnergyClassifier as EnergyClassifier
from .knn import KNNClassifier as KNNClassifier
from .knn import KNNRegressor as KNNRegressor
from .many import KNNScore as KNNScore
from .many import knn_scores as knn_scores
from .multi import MultiMetricKNNClassifier as MultiMetricKNNClassifier
