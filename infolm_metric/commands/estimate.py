"""`infolm estimate`: estimate mean human scores from a few ratings and a metric, with intervals.

RATINGS has one row per system and sample, as for infolm correlate, but only some rows have human
scores. Leave the other human scores empty (null in JSON). The rated rows must be a random sample of
all rows: if only difficult or recent texts are rated, the intervals are wrong. If no row has a
system, all rows count as one system. Select other columns with --system-column and --id-column.

For each system and criterion, the command prints the mean of the ratings and the prediction-powered
estimate (PPI++), both with 95% intervals, and the number of ratings that, without the metric, would
give an equally narrow interval. It also prints the differences between systems, paired by sample.
With several metrics, decide which one counts before you look at the intervals.

For example:
  infolm estimate rated.jsonl --metric baryscore --model bundled
  infolm estimate rated.csv --criterion fluency --scores bleu
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.commands import options, outputs
from infolm_metric.commands.correlate import read_ratings, score_ratings
from infolm_metric.commands.parser import Parser
from infolm_metric.core.checks import InputError, warn_user

if TYPE_CHECKING:
    from infolm_metric.meta_evaluation import Interval, MeanEstimate, Ratings

USAGE = "infolm estimate [options] RATINGS"
FEW = 30  # with fewer ratings, the measured coverage of the intervals was lower
# A system or two systems, criterion, metric and estimate.
Estimate = tuple[tuple[str, ...], str, str, "MeanEstimate"]


def add_options(parser: Parser) -> None:
    group = parser.add_argument_group("ratings")
    text = "table of texts, some with human scores, or - for standard input"
    group.add_argument("data", metavar="RATINGS", help=text)
    text = "human score to estimate (repeatable, default: all)"
    options.add_repeated(group, "--criterion", help=text)
    text = "column with another metric's scores, used instead of --metric"
    group.add_argument("--scores", dest="metrics", metavar="NAME", help=text)
    options.add_rating_columns(group)
    options.add_metric(parser, multiple=True)
    outputs.add_output(parser.add_argument_group("output"))
    options.add_common(parser)


def run(arguments: argparse.Namespace) -> None:
    """Score all rows, then estimate the mean human scores."""
    outputs.check_output(arguments, outputs.REPORTS, arguments.data)
    columns = [arguments.metrics] if arguments.metrics else []
    settings = [] if columns else options.read_metrics(arguments)
    ratings = read_ratings(arguments, columns, texts=not columns, correlated=False)
    if columns:
        _check_scores(ratings)
    grids, results = score_ratings(settings, ratings, arguments)
    scores = grids or ratings.metrics
    means, differences = (_estimate(ratings, scores, size) for size in (1, 2))
    _warn_of_few([result.rated for *_, result in means + differences])
    report = {**_report(means, differences), "metrics": outputs.describe_metrics(results)}
    lines = [*_lines(means, differences), *outputs.signature_lines(results, arguments)]
    outputs.write_report(arguments, report, lines)


def _check_scores(ratings: Ratings) -> None:
    """Check that every row has a score in the column of scores."""
    ((name, grid),) = ratings.metrics.items()
    missing = int(np.isnan(np.atleast_2d(grid)[tuple(ratings.indices.T)]).sum())
    if missing:
        raise InputError(
            f"{missing} of {len(ratings.indices)} rows have no score in column {name!r}. Unrated "
            "rows also require a score, so add the scores or remove the rows."
        )


def _estimate(ratings: Ratings, grids: Mapping[str, np.ndarray], size: int) -> list[Estimate]:
    """Estimate the mean of each system, or each pair's difference if `size` is 2."""
    from infolm_metric.meta_evaluation import estimate_mean

    systems = ratings.systems or ("all texts",)
    subjects = list(combinations(range(len(systems)), size))
    estimates: list[Estimate] = []
    for criterion, subject, metric in product(ratings.human, subjects, grids):
        sides = [np.atleast_2d(grid) for grid in (ratings.human[criterion], grids[metric])]
        human, scores = (np.subtract.reduce(grid[[*subject]]) for grid in sides)
        present = ~np.isnan(scores)  # a system may have no row for a sample
        estimate = estimate_mean(human[present], scores[present])
        estimates.append((tuple(systems[row] for row in subject), criterion, metric, estimate))
    return estimates


def _warn_of_few(counts: list[int]) -> None:
    """Warn once if there are fewer ratings than needed for the nominal coverage."""
    if few := sum(count < FEW for count in counts):
        warn_user(
            f"{few} of {len(counts)} estimates have fewer than {FEW} ratings (minimum: "
            f"{min(counts)}), so 95% coverage is not guaranteed. With 20 ratings, the measured "
            "coverage was 86% to 97% (docs/estimating.md). Rate more texts."
        )


def _report(means: Sequence[Estimate], differences: Sequence[Estimate]) -> dict[str, Any]:
    systems: dict[str, dict[str, dict[str, Any]]] = {}
    for (name,), criterion, metric, result in means:
        values = asdict(result)
        values["lambda"] = values.pop("metric_weight")
        systems.setdefault(name, {}).setdefault(criterion, {})[metric] = values
    fields = ("systems", "criterion", "metric", "estimate")
    rows = ((*key, vars(result.estimate)) for *key, result in differences)
    return {"systems": systems, "differences": [dict(zip(fields, x, strict=True)) for x in rows]}


def _lines(means: Sequence[Estimate], differences: Sequence[Estimate]) -> list[str]:
    header = ["system", "criterion", "metric", "rated", "rows", "ratings", "estimate"]
    table = [
        [
            *(name, criterion, metric, str(result.rated), str(result.rows)),
            *(_cell(result.ratings), _cell(result.estimate)),
            "-" if math.isnan(result.equivalent_ratings) else f"{result.equivalent_ratings:.0f}",
        ]
        for (name,), criterion, metric, result in means
    ]
    lines = [*outputs.aligned([*header, "equivalent ratings"], table, left=3), ""]
    if differences:
        table = [
            [" - ".join(names), criterion, metric, str(result.rated), _cell(result.estimate)]
            for names, criterion, metric, result in differences
        ]
        header = ["systems", "criterion", "metric", "rated", "difference"]
        lines += [*outputs.aligned(header, table, left=3), ""]
    return [
        *lines,
        "Brackets: 95% intervals. The rated rows must be a random sample. -: not defined, because "
        "there are too few ratings or all are equal.",
    ]


def _cell(interval: Interval) -> str:
    """Format a mean with its interval. A dash replaces an undefined mean or interval.

    >>> from infolm_metric.meta_evaluation import Interval
    >>> _cell(Interval(4.0, 3.5, 4.5)), _cell(Interval(4.0))
    ('4.000 [3.500, 4.500]', '4.000 [-]')
    """
    if math.isnan(interval.mean):
        return "-"
    ends = "-" if math.isnan(interval.low) else f"{interval.low:.3f}, {interval.high:.3f}"
    return f"{interval.mean:.3f} [{ends}]"
