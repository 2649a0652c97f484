"""The tuned numbers of a comparison, in one place."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "RaceSettings"]


@dataclass(frozen=True)
class RaceSettings:
    """Sizes and shares of time that decide how a comparison spends its budget.

    They were chosen so that a comparison ends in about the time that it was given, from a table of
    20 rows to one of 100,000, on two cores.

    Attributes
    ----------
    choosing_share : float
        Share of the budget for race, final and tuning. The rest is for the fitted model and the
        insight, which are computed afterwards.
    race_share, final_share : float
        Shares of the choosing time. What is left over, 0.15, is for the last tuning and for fits
        that end after their deadline.
    race_rows_per_root_second : int
        Rows of the race for a budget of one second. A fit looks at pairs of rows, so the number
        of rows grows with the square root of the time.
    min_race_rows : int
        Rows of the race that even a very wide table gets: fewer would rank learners by chance.
    max_race_values : int
        Rows times features of the race, at most, so that workers copy at most 32 MB.
    split_from_rows : int
        From this number of rows on, the final uses other rows than the race. Halves of smaller
        tables would make both too noisy.
    in_process_work : int
        Up to this value of rows^2 x features, fits run in this process: they are faster than a
        worker process starts.
    max_processes : int
        Worker processes, at most: there are only about ten learners to fit at once.
    fit_limit_share : float
        Share of the race's time after which one fit is stopped, so that a slow learner cannot use
        up the time of the others.
    min_fit_limit_seconds : float
        A fit is never stopped earlier than this.
    min_race_folds : int
        A learner needs scores in this many folds to be ranked: a spread needs two.
    tuning_folds : int
        Folds inside a fold, by which parameters are tuned. Three cost little, and are enough to
        choose among few values.
    min_tuning_members : int
        Members of the smallest class from which on parameters are tuned: three for each tuning
        fold.
    max_final_repeats : int
        How often the final splits the rows, at most. The correlated t-test gains little from more.
    model_share : float
        Share of the choosing time that the fit of the final model may take, about. It decides how
        many rows the model is fitted to.
    min_model_seconds : float
        The fit of the final model may take at least this long.
    max_model_rows : int
        Rows that the final model is fitted to, at most: nearest neighbours keep them all.
    max_insight_rows : int
        Rows that the insight looks at, at most: more would not change the pictures.
    insight_test_share : float
        Share of these rows that the distance is not learned from.
    min_drawn_test_rows : int
        If there are at least this many test rows, only these are drawn; otherwise all rows are.
    max_shuffle_seconds : float
        If shuffling all features takes longer than this, no importance is given.
    n_shuffles : int
        How often each feature is shuffled.
    max_metric_features : int
        Up to this number of features, learners of a full matrix M take part: M has its square
        entries.
    max_linear_features : int
        Up to this number of features, learners of directions among them take part. Above, only
        PCA and kernels do.
    n_reduced_components : int
        Components of learners that cannot have all of them, because there are too many features.
    """

    choosing_share: float = 0.7
    race_share: float = 0.45
    final_share: float = 0.4
    race_rows_per_root_second: int = 250
    min_race_rows: int = 200
    max_race_values: int = 4_000_000
    split_from_rows: int = 1000
    in_process_work: int = 10_000_000
    max_processes: int = 8
    fit_limit_share: float = 0.25
    min_fit_limit_seconds: float = 1.0
    min_race_folds: int = 2
    tuning_folds: int = 3
    min_tuning_members: int = 9
    max_final_repeats: int = 4
    model_share: float = 0.1
    min_model_seconds: float = 2.0
    max_model_rows: int = 20_000
    max_insight_rows: int = 1500
    insight_test_share: float = 0.4
    min_drawn_test_rows: int = 60
    max_shuffle_seconds: float = 3.0
    n_shuffles: int = 3
    max_metric_features: int = 300
    max_linear_features: int = 2000
    n_reduced_components: int = 50


SETTINGS = RaceSettings()
