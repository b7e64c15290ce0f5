"""How far a metric agrees with people: correlation, significance, tuning, figures.

`read_ratings` reads rows of texts with human scores. The functions that judge take plain arrays
[systems, samples], NaN where a score is missing, higher is better on both sides.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infolm_metric.meta_evaluation.agreement_table import (
        Agreement,
        AgreementTable,
        agreement,
    )
    from infolm_metric.meta_evaluation.correlations import (
        correlation,
        kendall,
        pairwise_accuracy,
        pearson,
        spearman,
    )
    from infolm_metric.meta_evaluation.grid import score_grid, turned
    from infolm_metric.meta_evaluation.report import write_report
    from infolm_metric.meta_evaluation.resampling import (
        approximate_randomization,
        bootstrap_interval,
        paired_bootstrap,
    )
    from infolm_metric.meta_evaluation.rows import Ratings, read_ratings
    from infolm_metric.meta_evaluation.splits import split_samples
    from infolm_metric.meta_evaluation.tuning import Tuning, tune
    from infolm_metric.meta_evaluation.williams import (
        WilliamsTest,
        compare_metrics,
        williams_test,
    )

__all__ = [
    "Agreement",
    "AgreementTable",
    "Ratings",
    "Tuning",
    "WilliamsTest",
    "agreement",
    "approximate_randomization",
    "bootstrap_interval",
    "compare_metrics",
    "correlation",
    "kendall",
    "pairwise_accuracy",
    "paired_bootstrap",
    "pearson",
    "read_ratings",
    "score_grid",
    "spearman",
    "split_samples",
    "tune",
    "turned",
    "williams_test",
    "write_report",
]

_HOMES = {
    "Agreement": "agreement_table",
    "AgreementTable": "agreement_table",
    "Ratings": "rows",
    "Tuning": "tuning",
    "WilliamsTest": "williams",
    "agreement": "agreement_table",
    "approximate_randomization": "resampling",
    "bootstrap_interval": "resampling",
    "compare_metrics": "williams",
    "correlation": "correlations",
    "kendall": "correlations",
    "pairwise_accuracy": "correlations",
    "paired_bootstrap": "resampling",
    "pearson": "correlations",
    "read_ratings": "rows",
    "score_grid": "grid",
    "spearman": "correlations",
    "split_samples": "splits",
    "tune": "tuning",
    "turned": "grid",
    "williams_test": "williams",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    # On demand: the command line refuses wrong rows without waiting for torch.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
