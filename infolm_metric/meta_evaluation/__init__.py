"""Correlation of metrics with human scores: ratings, statistics, tests and a table.

`read_ratings` reads texts with human scores. Statistics take arrays of scores, [systems, samples]
or, if the systems are unknown, [texts]. Higher scores are better, and missing scores are NaN.
"""

from .agreement import Agreement, AgreementTable, agreement
from .correlations import (
    calibrated_accuracy,
    correlation,
    kendall,
    pearson,
    spearman,
)
from .estimation import Interval, MeanEstimate, estimate_mean
from .ratings import Ratings, read_ratings
from .significance import (
    approximate_randomization,
    compare_metrics,
    holm,
    soft_pairwise_accuracy,
    williams_test,
)

__all__ = [
    "Agreement",
    "AgreementTable",
    "Interval",
    "MeanEstimate",
    "Ratings",
    "agreement",
    "approximate_randomization",
    "calibrated_accuracy",
    "compare_metrics",
    "correlation",
    "estimate_mean",
    "holm",
    "kendall",
    "pearson",
    "read_ratings",
    "soft_pairwise_accuracy",
    "spearman",
    "williams_test",
]
