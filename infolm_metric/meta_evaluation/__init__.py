"""Correlation of metrics with human scores: ratings, statistics, tests and a table.

`read_ratings` reads texts with human scores. Statistics take arrays of scores, [systems, samples]
or, if the systems are unknown, [texts]. Higher scores are better, and missing scores are NaN.
"""

from .agreement import Agreement as Agreement
from .agreement import AgreementTable as AgreementTable
from .agreement import agreement as agreement
from .correlations import calibrated_accuracy as calibrated_accuracy
from .correlations import correlation as correlation
from .correlations import kendall as kendall
from .correlations import pearson as pearson
from .correlations import spearman as spearman
from .estimation import Interval as Interval
from .estimation import MeanEstimate as MeanEstimate
from .estimation import estimate_mean as estimate_mean
from .ratings import Ratings as Ratings
from .ratings import read_ratings as read_ratings
from .significance import approximate_randomization as approximate_randomization
from .significance import compare_metrics as compare_metrics
from .significance import holm as holm
from .significance import soft_pairwise_accuracy as soft_pairwise_accuracy
from .significance import williams_test as williams_test
