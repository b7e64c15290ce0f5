"""How far a metric agrees with people: correlation and significance.

`read_ratings` reads rows of texts with human scores. The functions that judge take plain arrays
[systems, samples], NaN where a score is missing, higher is better on both sides.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agreement_table import Agreement as Agreement
    from .agreement_table import AgreementTable as AgreementTable
    from .agreement_table import agreement as agreement
    from .correlations import correlation as correlation
    from .correlations import kendall as kendall
    from .correlations import pairwise_accuracy as pairwise_accuracy
    from .correlations import pearson as pearson
    from .correlations import spearman as spearman
    from .grid import score_grid as score_grid
    from .grid import turned as turned
    from .partial import partial_correlation as partial_correlation
    from .ratings import Ratings as Ratings
    from .resampling import approximate_randomization as approximate_randomization
    from .resampling import bootstrap_interval as bootstrap_interval
    from .resampling import paired_bootstrap as paired_bootstrap
    from .rows import read_ratings as read_ratings
    from .tie_calibration import CalibratedAccuracy as CalibratedAccuracy
    from .tie_calibration import calibrated_accuracy as calibrated_accuracy
    from .williams import WilliamsTest as WilliamsTest
    from .williams import compare_metrics as compare_metrics
    from .williams import williams_test as williams_test

_NAMES = {
    "agreement_table": ("Agreement", "AgreementTable", "agreement"),
    "correlations": ("correlation", "kendall", "pairwise_accuracy", "pearson", "spearman"),
    "grid": ("score_grid", "turned"),
    "partial": ("partial_correlation",),
    "ratings": ("Ratings",),
    "resampling": ("approximate_randomization", "bootstrap_interval", "paired_bootstrap"),
    "rows": ("read_ratings",),
    "tie_calibration": ("CalibratedAccuracy", "calibrated_accuracy"),
    "williams": ("WilliamsTest", "compare_metrics", "williams_test"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    # On demand: the command line refuses wrong rows without waiting for torch.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
