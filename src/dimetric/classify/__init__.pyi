from ._decision_regions import DecisionRegions as DecisionRegions
from ._decision_regions import decision_regions as decision_regions
from .centroid import NCMCClassifier as NCMCClassifier
from .centroid import NCMClassifier as NCMClassifier
from .energy import EnergyClassifier as EnergyClassifier
from .knn import KNNClassifier as KNNClassifier
from .knn_regressor import KNNRegressor as KNNRegressor
from .multi_metric import MultiMetricKNNClassifier as MultiMetricKNNClassifier
