"""The sizes, limits and fractions of time that a comparison uses."""

from dataclasses import dataclass

__all__ = ["SETTINGS", "RaceSettings"]


@dataclass(frozen=True)
class RaceSettings:
    """Sizes, limits and fractions of time that decide how a comparison spends its budget.

    With these values, a comparison on two cores takes about the time of its budget, for tables of
    20 to 100,000 rows.

    Attributes
    ----------
    choice_fraction : float
        Fraction of the budget for the race, the final and the tuning together. The rest is for the
        fitted model, the insight and the report, which are computed later.
    race_fraction : float
        Largest fraction of that time for the race. The final and the tuning use what is left.
    reference_fraction : float
        Fraction of the time of the race for reference models, if the time is short. They get more
        if the learners do not use all of their time.
    fast_fit_seconds : float
        Reference models with shorter fits are not dropped.
    round_fraction : float
        Largest fraction of the remaining time of the race for a round on some of the rows.
    first_fold_fraction : float
        After this fraction of the time of a round, models without a fit are dropped, apart from
        the first few learners.
    min_started : int
        Number of learners that always have a first fit.
    start_fraction : float
        Largest fraction of the time of a round by which it is longer if worker processes start
        slowly.
    reserve_fraction : float
        Fraction of the time after the race that is not planned for fits.
    grace_fraction : float
        A round may exceed its time by at most this fraction, if the time is not enough.
    long_grace_fraction : float
        It may exceed its time by this fraction if all models then have all of their scores.
    second_fold_fraction : float
        No learner is dropped after one fold, if the second fold takes less than this fraction of
        the time that is left. The ranking of a single fold is noisy.
    max_learner_fraction : float
        A learner is dropped if it needs more than this fraction of the time that is left for all.
    min_round_rows : int
        Smallest number of rows in a round. With fewer rows, the ranking of the learners would be
        random.
    min_survivors : int
        Number of learners, with the baseline, that are not dropped to save time.
    min_scores : int
        Smallest number of scores of a learner in the last round, if the time is enough. The
        standard deviation of fewer scores is too noisy.
    max_race_repeats : int
        Largest number of times that the last round of the race splits the rows into folds.
    max_budget : float
        Largest budget, in seconds, that is suggested.
    process_start_seconds : float
        Approximate time for the start of worker processes.
    race_rows_per_root_second : int
        Largest number of rows in the race if there is one second for the race, the final and the
        tuning together. The time of a fit grows with the number of pairs of rows, so the number of
        rows grows with the square root of the time.
    min_race_rows : int
        Smallest number of rows in the race, even for tables with very many features. With fewer
        rows, the ranking of the learners would be random.
    max_race_values : int
        Largest number of values (rows x features) in the race. It limits the copy of the data in
        each worker process to 32 MB.
    min_rows_to_split : int
        With at least this many rows, race and final use disjoint rows. Halves of smaller tables
        would make the scores of both too noisy.
    max_in_process_work : int
        Largest value of rows^2 x features for which fits run in this process. Such fits take less
        time than the start of a worker process.
    max_processes : int
        Largest number of worker processes.
    fit_limit_fraction : float
        Fraction of the race's time after which a single fit is stopped. It leaves time for the
        other learners.
    min_fit_limit_seconds : float
        Smallest time limit of a single fit.
    min_fit_seconds : float
        Shorter fits count as this long when the time of further fits is estimated. This avoids a
        division by 0.
    min_race_folds : int
        Number of folds in which a learner needs scores to be ranked. A standard deviation needs
        two.
    tuning_folds : int
        Number of inner folds used to tune parameters. Three are fast, and enough to choose among
        few values.
    min_tuning_members : int
        Parameters are tuned only if each class has at least this many members: three for each
        inner fold.
    min_tuning_rows : int
        For numbers, parameters are tuned only if there are at least this many rows. R2 of fewer
        rows is too noisy to choose by.
    max_final_repeats : int
        Largest number of times that the final splits the rows into folds. The correlated t-test
        gains little from more.
    curve_fraction : float
        Fraction of the budget that the learning curve may take in any case.
    max_curve_part : float
        Part of what is left of the budget that the learning curve may take.
    insight_fraction : float
        Fraction of the budget that is reserved for the insight while it is not computed.
    min_model_fraction, min_model_seconds : float
        Smallest time limit for fitting the model, as a fraction of the budget and in seconds.
        Otherwise, it is what is left of the budget.
    max_model_values : int
        Largest number of values (rows x features) that the model is fitted to. A nearest-neighbour
        classifier stores all of them.
    max_insight_rows : int
        Largest number of rows used by the insight. More rows would not change its plots.
    insight_test_fraction : float
        Fraction of the rows of the insight that are held out when the distance is learned.
    min_plotted_test_rows : int
        With at least this many test rows, only test rows are plotted. Otherwise, all rows are.
    max_shuffle_seconds : float
        If computing the permutation importance takes longer than this, it is left out.
    n_shuffles : int
        Number of times that each feature is shuffled for the permutation importance.
    max_metric_features : int
        Largest number of features for learners of a full matrix M, which has n_features^2 entries.
    max_linear_features : int
        Largest number of features for linear learners other than PCA. With more features, only PCA
        and kernel learners are compared.
    n_reduced_components : int
        Number of components of a learner when there are too many features to keep them all.
    """

    choice_fraction: float = 0.8
    race_fraction: float = 0.5
    reference_fraction: float = 0.3
    fast_fit_seconds: float = 0.05
    round_fraction: float = 0.4
    first_fold_fraction: float = 0.4
    min_started: int = 8
    start_fraction: float = 0.15
    reserve_fraction: float = 0.05
    grace_fraction: float = 0.1
    long_grace_fraction: float = 0.5
    second_fold_fraction: float = 0.5
    max_learner_fraction: float = 0.5
    min_round_rows: int = 150
    min_survivors: int = 4
    min_scores: int = 5
    max_race_repeats: int = 4
    max_budget: float = 86_400.0
    process_start_seconds: float = 2.5
    race_rows_per_root_second: int = 250
    min_race_rows: int = 200
    max_race_values: int = 4_000_000
    min_rows_to_split: int = 1000
    max_in_process_work: int = 10_000_000
    max_processes: int = 8
    fit_limit_fraction: float = 0.33
    min_fit_limit_seconds: float = 1.0
    min_fit_seconds: float = 1e-3
    min_race_folds: int = 2
    tuning_folds: int = 3
    min_tuning_members: int = 9
    min_tuning_rows: int = 45
    max_final_repeats: int = 10
    curve_fraction: float = 0.08
    max_curve_part: float = 0.4
    insight_fraction: float = 0.08
    min_model_fraction: float = 0.1
    min_model_seconds: float = 2.0
    max_model_values: int = 50_000_000
    max_insight_rows: int = 1500
    insight_test_fraction: float = 0.4
    min_plotted_test_rows: int = 60
    max_shuffle_seconds: float = 3.0
    n_shuffles: int = 3
    max_metric_features: int = 300
    max_linear_features: int = 2000
    n_reduced_components: int = 50


SETTINGS = RaceSettings()
