"""`infolm correlate`: how far a metric, and scores that ride along, agree with people."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infolm_metric.commands.options import (
    COLUMNS,
    NOT_HERE,
    RESAMPLING,
    Command,
    check_resampling,
    choice,
    columns_of,
    known_beside_scores,
    labels_of,
    metric_option,
    option,
    repeated,
    scorer_of,
    setting_options,
    settings_given,
)
from infolm_metric.commands.output import (
    JSON,
    LAYOUTS,
    MARKDOWN,
    OUTPUT,
    check_output,
    check_writable,
    write,
)
from infolm_metric.kernel.checks import fraction
from infolm_metric.kernel.lines import check_there

if TYPE_CHECKING:
    import numpy as np

    from infolm_metric.kernel.settings import Settings
    from infolm_metric.meta_evaluation import Ratings


def _correlate(arguments: argparse.Namespace) -> None:
    """Scores the rows, correlates, and writes the table."""
    check_output(arguments)
    fraction("--confidence", arguments.confidence)
    check_resampling(arguments)
    check_there([arguments.data])
    settings = None if arguments.no_metric else settings_given(arguments)

    from infolm_metric.meta_evaluation import agreement, plots
    from infolm_metric.meta_evaluation.agreement import (
        comparison_metrics,
        level_rows,
        notes,
        present_levels,
    )

    if arguments.plot:
        check_writable(argparse.Namespace(output=arguments.plot, data=arguments.data))
        plots.check_plot(arguments.plot)
    ratings = _read(arguments)
    levels = present_levels(arguments.level or (), bool(ratings.systems))
    names = [] if settings is None else labels_of(settings)
    if twice := [name for name in names if name in ratings.metrics]:
        raise ValueError(
            f"two metrics are named {twice[0]!r}, a column and one of those scored here; rename "
            "the column"
        )
    if not (names or ratings.metrics):
        raise ValueError(
            "--no-metric leaves no metric: the data has none; name columns by --scores"
        )
    comparison_metrics(arguments.against, [*names, *ratings.metrics], ratings.lengths)
    metrics, signature, remarks = ratings.metrics, None, []
    if ratings.people:
        remarks.append(f"{ratings.people} rows of human texts were passed over.")
    if settings is not None:
        scores, result = _score(settings, names, ratings)
        metrics, signature = {**scores, **metrics}, result["signature"]
        remarks.append(
            f"{', '.join(names)}: higher is better."
            if result["higher_is_better"]
            else f"{', '.join(names)}: lower is better: negated, so that higher is better "
            "everywhere."
        )
        remarks.append(f"signature: {signature}")
    table = agreement(
        ratings.human,
        metrics,
        against=arguments.against,
        length=ratings.lengths,
        levels=levels,
        missing=arguments.missing,
        resamples=arguments.resamples,
        confidence=arguments.confidence,
        seed=arguments.seed,
    )
    if arguments.plot:
        plots.plot_agreement(table, arguments.plot)
    if arguments.json:
        write(
            [json.dumps({**table.as_dict(), "signature": signature}, allow_nan=False)],
            arguments.output,
        )
        return
    lines: list[str] = []
    for level in levels:
        over = f"{table.systems} systems" if table.systems else "all texts together"
        layout = LAYOUTS["markdown" if arguments.markdown else "text"]
        lines += [f"{level.capitalize()} level, {over}", ""]
        lines += [*layout(*level_rows(table, level), left=2), ""]
    write([*lines, *notes(table), *remarks], arguments.output)


def _read(arguments: argparse.Namespace) -> Ratings:
    """The ratings that the arguments name, checked, and such that higher is better."""
    from infolm_metric.meta_evaluation import read_ratings

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
    negated = {name: -ratings.metrics[name] for name in arguments.lower_is_better}
    return replace(ratings, metrics={**ratings.metrics, **negated})


def _score(
    settings: Settings, names: list[str], ratings: Ratings
) -> tuple[dict[str, np.ndarray], Mapping[str, Any]]:
    """The metric's grids by name, negated where lower is better, and its result."""
    import numpy as np

    # The texts of a sample together: their references are read once.
    order = np.argsort(ratings.places[:, 1], kind="stable")
    result = scorer_of(settings).score(
        [ratings.predictions[row] for row in order],
        [list(ratings.references[row]) for row in order],
    )
    grids, sign = {}, 1 if result["higher_is_better"] else -1
    for name, column in columns_of(result, names).items():
        values = np.empty(len(order))
        values[order] = column
        grids[name] = sign * ratings.grid(values)
    return grids, result


COMMAND = Command(
    "correlate",
    "correlate metrics with human scores",
    _correlate,
    lambda own, *_: {
        "what people said": (
            option(
                "data", metavar="DATA", help="table of texts with human scores; - is standard input"
            ),
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
        ),
        "how to correlate": (
            option(
                "--level",
                action="append",
                choices=("system", "text"),
                help="correlate the systems' means, or the texts of each sample (default: both; "
                "without systems all texts together)",
            ),
            repeated("--against", "metric that the others are tested against; repeat for several"),
            option(
                "--confidence",
                type=float,
                default=0.95,
                metavar="C",
                help="of the intervals (default: 0.95)",
            ),
            *RESAMPLING,
            option(
                "--no-metric",
                action="store_true",
                help="only the scores in the data; no model is loaded",
            ),
        ),
        "how to score": (
            metric_option(known_beside_scores),
            *setting_options(own, [name for name in own.choices() if name not in NOT_HERE]),
        ),
        "output": (
            JSON,
            MARKDOWN,
            OUTPUT,
            option(
                "--plot",
                metavar="FILE",
                help="draw Pearson with its intervals (.png, .svg, .pdf; needs matplotlib)",
            ),
        ),
    },
    epilogue="""\
DATA holds a row for each system and sample, as JSON Lines or a table (.jsonl, .ndjson, .csv, .tsv):

  {"system": "A", "id": "1", "prediction": "...", "references": ["..."], "human": {"fluency": 80}}

In CSV the scores stand in columns such as human.fluency, or in columns named with --criterion.
Scores of other metrics ride along as "metrics": {"bleu": 31.5}, columns such as metrics.bleu, or
columns named with --scores. Leave a score out where there is none. Rows with "is_human": true are
passed over. Rows without systems (prediction, reference, score) are correlated all together, at the
text level.

examples:
  infolm correlate ratings.jsonl --model bundled -m fisher_rao -m l1 --against bleu
  infolm correlate ratings.csv --criterion fluency --scores bleu --no-metric --markdown
""",
)
