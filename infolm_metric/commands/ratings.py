"""What the commands that need human scores share: the options that say where these are."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from infolm_metric.commands.options import (
    COLUMNS,
    amount,
    choice,
    known_beside_scores,
    metric_option,
    option,
    repeated,
    settings_given,
)
from infolm_metric.kernel.checks import natural_number, whole_number
from infolm_metric.kernel.lines import check_there

if TYPE_CHECKING:
    from infolm_metric.kernel.settings import Settings
    from infolm_metric.meta_evaluation.ratings import Ratings

ROWS = """\
DATA holds a row for each system and sample, as JSON Lines or a table (.jsonl, .ndjson, .csv, .tsv):

  {"system": "A", "id": "1", "prediction": "...", "references": ["..."], "human": {"fluency": 80}}

In CSV the scores stand in columns such as human.fluency, or in columns named with --criterion.
Scores of other metrics ride along as "metrics": {"bleu": 31.5}, columns such as metrics.bleu, or
columns named with --scores. Leave a score out where there is none. Rows with "is_human": true are
passed over. Rows without systems (prediction, reference, score) are correlated all together, at the
text level."""

DATA = (
    option("data", metavar="DATA", help="table of texts with human scores; - is standard input"),
    repeated(
        "--criterion",
        "human score to agree with; repeat for several (default: every one under human)",
    ),
    repeated(
        "--scores",
        "column with another metric's scores; repeat for several (default: every one under "
        "metrics)",
    ),
    *COLUMNS,
    repeated("--lower-is-better", "such a column of which this is true; it is negated"),
    repeated("--exclude-system", "leave a system out"),
    repeated("--exclude-id", "leave a sample out", metavar="ID"),
    choice(
        "--missing",
        ("drop", "available"),
        "a sample that lacks a score of some system: drop it for all systems (default), or "
        "take the scores that are available",
    ),
)
METRIC = metric_option(known_beside_scores)


def settings(own: type[Settings]) -> list[str]:
    """The settings that can change an agreement: to rescale scores does not."""
    return [name for name in own.choices() if name != "rescale_with_baseline"]


AGAINST = (repeated("--against", "metric that the others are tested against; repeat for several"),)
RESAMPLING = (
    amount("--resamples", "(default: 1000)", 1000),
    amount("--seed", "of resamples (default: 0)", 0),
)


def check_resampling(arguments: argparse.Namespace) -> None:
    """Raise ValueError for numbers that RESAMPLING does not take."""
    whole_number("--resamples", arguments.resamples)
    natural_number("--seed", arguments.seed)


def settings_before(arguments: argparse.Namespace) -> Settings:
    """The settings given, checked before the data are read."""
    check_resampling(arguments)
    check_there([arguments.data])
    return settings_given(arguments)


def read(arguments: argparse.Namespace) -> Ratings:
    """The ratings that the arguments name, checked, and turned so that higher is better."""
    check_resampling(arguments)
    from infolm_metric.meta_evaluation.rows import read_ratings

    ratings = read_ratings(
        arguments.data,
        criteria=arguments.criterion,
        metrics=arguments.scores,
        candidate_column=arguments.candidate_column,
        reference_columns=arguments.reference_column,
        exclude_systems=arguments.exclude_system,
        exclude_ids=arguments.exclude_id,
    )
    for name in arguments.lower_is_better:
        if name not in ratings.metrics:
            raise ValueError(
                f"--lower-is-better {name}: no such metric column; there are "
                f"{', '.join(map(repr, ratings.metrics)) or 'none; name them with --scores'}"
            )
    turned = {name: -ratings.metrics[name] for name in arguments.lower_is_better}
    return replace(ratings, metrics={**ratings.metrics, **turned})
