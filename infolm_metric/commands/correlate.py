"""`infolm correlate`: correlate a metric, and scores in the data, with human scores.

DATA is a table (.jsonl, .ndjson, .csv, .tsv, .parquet) with one row per system and sample:

  {"system": "A", "id": "1", "prediction": "...", "references": ["..."], "human": {"fluency": 80}}

In CSV, human scores are in columns named like human.fluency, or in columns selected with
--criterion. Scores of other metrics are optional: write "metrics": {"bleu": 31.5}, name columns
like metrics.bleu, or select columns with --scores. Leave missing scores empty. Rows with
"is_human": true are skipped. If no row has a system, human scores are by default read from the
column score, and all texts are correlated as one group, at the segment level. Texts for the same
sample are not independent, so the command rejects a table without the column system if an id occurs
twice or another column seems to contain systems: select it with --system-column.

For example:
  infolm correlate ratings.jsonl --model bundled -m fisher_rao -m l1 --against bleu
  infolm correlate ratings.csv --criterion fluency --scores bleu --no-metric
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from infolm_metric.commands import options, outputs
from infolm_metric.commands.parser import Parser
from infolm_metric.core.checks import InputError, warn_user
from infolm_metric.core.results import Result
from infolm_metric.core.settings import Settings

if TYPE_CHECKING:
    from infolm_metric.meta_evaluation import AgreementTable, Ratings

USAGE = "infolm correlate [options] DATA"
# With fewer systems, or fewer texts without systems, intervals often covered less than 91%.
FEW_SYSTEMS, FEW_TEXTS = 4, 20
REPEATED = {
    "--criterion": "human score to correlate with (repeatable, default: all)",
    "--scores": "column with another metric's scores (repeatable, default: all metrics.*)",
    "--lower-is-better": "metric in the data for which lower is better (repeatable)",
    "--against": "metric to test the other metrics against (repeatable)",
}


def add_options(parser: Parser) -> None:
    group = parser.add_argument_group("human scores")
    text = "table of texts with human scores, or - for standard input"
    group.add_argument("data", metavar="DATA", help=text)
    for flag, text in REPEATED.items():
        options.add_repeated(group, flag, help=text)
    options.add_rating_columns(group)
    options.add_metric(parser, multiple=True)
    outputs.add_output(parser.add_argument_group("output"))
    group = parser.add_argument_group("correlation")
    options.add_resampling(group)
    text = "correlate only the scores in the data, without a model"
    group.add_argument("--no-metric", action="store_true", help=text)
    options.add_common(parser)


def run(arguments: argparse.Namespace) -> None:
    outputs.check_output(arguments, outputs.REPORTS, arguments.data)
    options.check_resampling(arguments)
    settings = [] if arguments.no_metric else options.read_metrics(arguments)

    from infolm_metric.meta_evaluation import agreement
    from infolm_metric.meta_evaluation.agreement import comparison_metrics, level_rows, notes

    ratings = _read(arguments)
    names = [column for item in settings for column in item.columns()]
    if not (names or ratings.metrics):
        raise InputError("no metric. Omit --no-metric, or name a column with --scores.")
    if duplicates := [name for name in names if name in ratings.metrics]:
        raise InputError(f"{duplicates[0]!r} is both a metric and a column. Rename the column.")
    comparison_metrics(arguments.against, [*names, *ratings.metrics], ratings.lengths)
    grids, results = score_ratings(settings, ratings, arguments)
    remarks = []
    if ratings.human_texts:
        remarks.append(f"Skipped {ratings.human_texts} human-written texts.")
    if results:
        remarks.append(f"{outputs.describe_directions(results)} (negated if lower).")
    remarks += outputs.signature_lines(results, arguments)
    table = agreement(
        ratings.human,
        {**grids, **ratings.metrics},
        against=arguments.against,
        length=ratings.lengths,
        resamples=arguments.resamples,
        seed=arguments.seed,
    )
    _warn_of_few(table)
    lines: list[str] = []
    for level in table.names("level"):
        scope = f"{table.systems} systems" if table.systems else "all texts together"
        rows = outputs.aligned(*level_rows(table, level), left=2)
        lines += [f"{level.capitalize()} level, {scope}", "", *rows, ""]
    report = {**table.as_dict(), "metrics": outputs.describe_metrics(results)}
    outputs.write_report(arguments, report, [*lines, *notes(table), *remarks])


def _warn_of_few(table: AgreementTable) -> None:
    """Warn if there are too few systems, or texts without systems, for intervals and tests."""
    unit, least = ("systems", FEW_SYSTEMS) if table.systems else ("texts", FEW_TEXTS)
    if (number := table.systems or min(table.samples.values())) < least:
        warn_user(
            f"got {number} {unit}. With fewer than {least}, intervals are too narrow and "
            f"p-values are unreliable. Add {unit}."
        )


def _read(arguments: argparse.Namespace) -> Ratings:
    """Read the ratings, and negate the scores of metrics for which lower is better."""
    ratings = read_ratings(arguments, arguments.metrics)
    for name in arguments.lower_is_better:
        if name not in ratings.metrics:
            raise InputError(
                f"--lower-is-better {name} must be among the scores that were read from the data: "
                f"{', '.join(map(repr, ratings.metrics)) or 'none'}. Select columns with --scores."
            )
    negative_grids = {name: -ratings.metrics[name] for name in arguments.lower_is_better}
    return replace(ratings, metrics={**ratings.metrics, **negative_grids})


def read_ratings(arguments: argparse.Namespace, metrics: list[str], **keywords: bool) -> Ratings:
    """Read the ratings from the columns that the options select, with the scores of `metrics`."""
    from infolm_metric import meta_evaluation

    system = arguments.system_column
    return meta_evaluation.read_ratings(
        arguments.data,
        criteria=arguments.criteria,
        metrics=metrics,
        system_column=False if system == "none" else system,
        id_column=arguments.id_column,
        candidate_column=arguments.candidate_column,
        reference_columns=arguments.reference_columns,
        **keywords,
    )


def score_ratings(
    settings: Sequence[Settings], ratings: Ratings, arguments: argparse.Namespace
) -> tuple[dict[str, np.ndarray], list[Result]]:
    """Return a grid per score, negated if lower is better, and the result of each metric."""
    if not settings:
        return {}, []
    # Group texts by sample, so that shared references are encoded once.
    order = np.argsort(ratings.indices[:, 1], kind="stable")
    ranks = np.argsort(order)
    predictions = [ratings.predictions[row] for row in order]
    references = [list(ratings.references[row]) for row in order]
    verbose = options.progress_enabled(arguments.quiet)
    grids, results = {}, []
    for metric_settings in settings:
        scorer = options.make_scorer(metric_settings)
        result = scorer.score(predictions, references, verbose=verbose)
        sign = 1 if result.higher_is_better else -1
        for name, scores in result.scores.items():
            grids[metric_settings.column(name)] = sign * ratings.grid(np.asarray(scores)[ranks])
        results.append(result)
    return grids, results
