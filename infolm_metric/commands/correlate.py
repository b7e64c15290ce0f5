"""`infolm correlate`: how far a metric, and scores that ride along, agree with people.

DATA holds a row for each system and sample, as JSON Lines or a table (.jsonl, .ndjson, .csv, .tsv):

  {"system": "A", "id": "1", "prediction": "...", "references": ["..."], "human": {"fluency": 80}}

In CSV the scores stand in columns such as human.fluency, or in columns named with --criterion.
Scores of other metrics ride along as "metrics": {"bleu": 31.5}, columns such as metrics.bleu, or
columns named with --scores. Leave a score out where there is none. Rows with "is_human": true are
passed over. Rows without systems (prediction, reference, score) are correlated all together, at the
text level.

For example:
  infolm correlate ratings.jsonl --model bundled -m fisher_rao -m l1 --against bleu
  infolm correlate ratings.csv --criterion fluency --scores bleu --no-metric --markdown
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infolm_metric.commands import options
from infolm_metric.core.files import check_writable

if TYPE_CHECKING:
    import numpy as np

    from infolm_metric.core.results import Result
    from infolm_metric.meta_evaluation import Ratings

USAGE = "infolm correlate [options] DATA"
REPEATED = {
    "--criterion": "human score to agree with; repeat for several (default: all)",
    "--scores": "column with another metric's scores; repeat (default: all under metrics)",
    "--lower-is-better": "such a column of which this is true; it is negated",
    "--exclude-system": "leave a system out",
    "--exclude-id": "leave a sample out",
    "--against": "metric that the others are tested against; repeat for several",
}


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """The options of the command."""
    group = parser.add_argument_group("what people said")
    text = "table of texts with human scores; - is standard input"
    group.add_argument("data", metavar="DATA", help=text)
    for flag, text in REPEATED.items():
        options.add_repeated(group, flag, help=text)
    options.add_columns(group, types)
    options.add_metric(parser, types)
    group = parser.add_argument_group("output")
    options.add_output(group)
    text = "draw Pearson with its intervals (.png, .svg, .pdf; needs matplotlib)"
    group.add_argument("--plot", metavar="FILE", help=text)
    group = parser.add_argument_group("how to correlate")
    add = group.add_argument
    text = "of the systems' means, or of the texts of each sample (default: both)"
    add("--level", action="append", choices=("system", "text"), help=text)
    options.add_resampling(group)
    add("--no-metric", action="store_true", help="only the scores in the data; loads no model")
    options.add_settings(parser, types)


def run(arguments: argparse.Namespace) -> None:
    """Scores the rows, correlates, and writes the table."""
    options.check_output(arguments, arguments.data)
    options.check_resampling(arguments)
    settings = None if arguments.no_metric else options.read_settings(arguments.metric, arguments)

    from infolm_metric.meta_evaluation import agreement, plots
    from infolm_metric.meta_evaluation.agreement import (
        comparison_metrics,
        level_rows,
        notes,
        present_levels,
    )

    if arguments.plot:
        check_writable(arguments.plot, [arguments.data])
        plots.check_plot(arguments.plot)
    ratings = _read(arguments)
    levels = present_levels(arguments.level or (), bool(ratings.systems))
    names = [settings.label(name) for name in settings.names] if settings else []
    if duplicates := [name for name in names if name in ratings.metrics]:
        raise ValueError(
            f"two metrics are named {duplicates[0]!r}, a column and one of those scored here; "
            "rename the column"
        )
    if not (names or ratings.metrics):
        raise ValueError(
            "--no-metric leaves no metric: the data has none; name columns by --scores"
        )
    comparison_metrics(arguments.against, [*names, *ratings.metrics], ratings.lengths)
    metrics, signature, remarks = dict(ratings.metrics), None, []
    if ratings.people:
        remarks.append(f"{ratings.people} rows of human texts were passed over.")
    if settings is not None:
        grids, result = score_ratings(settings, ratings, arguments)
        metrics, signature = {**dict(zip(names, grids, strict=True)), **metrics}, result.signature
        direction = "higher is better."
        if not result.higher_is_better:
            direction = "lower is better: negated, so that higher is better everywhere."
        remarks += [f"{', '.join(names)}: {direction}", f"signature: {signature}"]
    table = agreement(
        ratings.human,
        metrics,
        against=arguments.against,
        length=ratings.lengths,
        levels=levels,
        resamples=arguments.resamples,
        seed=arguments.seed,
    )
    if arguments.plot:
        plots.plot_agreement(table, arguments.plot)
    if arguments.json:
        report = {**table.as_dict(), "signature": signature}
        options.write([json.dumps(report, allow_nan=False)], arguments.output)
        return
    lines: list[str] = []
    for level in levels:
        scope = f"{table.systems} systems" if table.systems else "all texts together"
        rows = options.layout_of(arguments)(*level_rows(table, level), left=2)
        lines += [f"{level.capitalize()} level, {scope}", "", *rows, ""]
    options.write([*lines, *notes(table), *remarks], arguments.output)


def _read(arguments: argparse.Namespace) -> Ratings:
    """The ratings that the arguments name, checked, and such that higher is better."""
    from infolm_metric.meta_evaluation import read_ratings

    ratings = read_ratings(
        arguments.data,
        criteria=arguments.criterion,
        metrics=arguments.scores,
        candidate_column=arguments.candidate_column,
        reference_columns=options.target_columns(arguments),
        exclude_systems=arguments.exclude_system,
        exclude_ids=arguments.exclude_id,
    )
    for name in arguments.lower_is_better:
        if name not in ratings.metrics:
            raise ValueError(
                f"--lower-is-better {name}: no such metric column; there are "
                f"{', '.join(map(repr, ratings.metrics)) or 'none; name them with --scores'}"
            )
    negative_grids = {name: -ratings.metrics[name] for name in arguments.lower_is_better}
    return replace(ratings, metrics={**ratings.metrics, **negative_grids})


def score_ratings(
    settings: Any, ratings: Ratings, arguments: argparse.Namespace
) -> tuple[list[np.ndarray], Result]:
    """The metric's grid of each score, negated where lower is better, and its result."""
    import numpy as np

    # The texts of a sample together: their references are read once.
    order = np.argsort(ratings.places[:, 1], kind="stable")
    ranks = np.argsort(order)
    side = "sources" if getattr(arguments, "source_column", None) else "references"
    targets = {side: [list(ratings.references[row]) for row in order]}
    result = options.scorer_of(settings).score(
        [ratings.predictions[row] for row in order],
        **targets,
        verbose=options.shows_progress(arguments),
    )
    sign = 1 if result.higher_is_better else -1
    columns = map(np.asarray, result.scores.values())
    return [sign * ratings.grid(column[ranks]) for column in columns], result
