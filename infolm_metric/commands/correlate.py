"""`infolm correlate`: how far a metric, and scores that ride along, agree with people."""

from __future__ import annotations

import argparse
import json

from infolm_metric.commands import ratings as shared
from infolm_metric.commands.options import Command, option, scorer_of, setting_options
from infolm_metric.commands.output import JSON, MARKDOWN, OUTPUT, check_output, write
from infolm_metric.kernel.checks import fraction


def _correlate(arguments: argparse.Namespace) -> None:
    """Scores the rows, correlates, and writes the table."""
    check_output(arguments)
    fraction("--confidence", arguments.confidence)
    settings = None if arguments.no_metric else shared.settings_before(arguments)
    found = shared.read(arguments)
    compared = found.metrics
    if settings is None and not compared:
        raise ValueError(
            "--no-metric leaves no metric: the data has none; name columns by --scores"
        )

    from infolm_metric.meta_evaluation.agreement_table import agreement
    from infolm_metric.meta_evaluation.checks import check_levels, rivals
    from infolm_metric.meta_evaluation.tables import agreement_lines

    levels = check_levels(arguments.level or (), bool(found.systems))
    signature, remarks = None, []
    if found.people:
        remarks.append(f"{found.people} rows of human texts were passed over.")
    if settings is not None:
        from infolm_metric.meta_evaluation.grid import score_measures

        scorer = scorer_of(settings)
        names = [*map(scorer.settings.label, scorer.settings.names), *compared]
        rivals(arguments.against, names, found.lengths)
        scored = score_measures(scorer, found.predictions, found.references)
        ours = {name: found.grid(values) for name, values in scored.scores.items()}
        if scored.higher_is_better:
            remarks.append(f"{arguments.metric}: higher is better.")
        else:
            ours = {name: -grid for name, grid in ours.items()}
            lower = f"{arguments.metric}: lower is better"
            remarks.append(f"{lower}: negated, so that higher is better everywhere.")
        compared = {**ours, **compared}
        signature = scored.signature
        remarks.append(f"signature: {signature}")
    table = agreement(
        found.human,
        compared,
        against=arguments.against,
        length=found.lengths,
        levels=levels,
        missing=arguments.missing,
        resamples=arguments.resamples,
        confidence=arguments.confidence,
        seed=arguments.seed,
    )
    if arguments.json:
        lines = [json.dumps({**table.as_dict(), "signature": signature}, allow_nan=False)]
    else:
        layout = "markdown" if arguments.markdown else "text"
        lines = [*agreement_lines(table, layout), *remarks]
    write(lines, arguments.output)


COMMAND = Command(
    "correlate",
    "correlate metrics with human scores",
    _correlate,
    lambda own, *_: {
        "what people said": shared.DATA,
        "how to correlate": (
            option(
                "--level",
                action="append",
                choices=("system", "text"),
                help="correlate the systems' means, or the texts of each sample (default: both; "
                "without systems all texts together)",
            ),
            *shared.AGAINST,
            option(
                "--confidence",
                type=float,
                default=0.95,
                metavar="C",
                help="of the intervals (default: 0.95)",
            ),
            *shared.RESAMPLING,
            option(
                "--no-metric",
                action="store_true",
                help="only the scores in the data; no model is loaded",
            ),
        ),
        "how to score": (shared.METRIC, *setting_options(own, shared.settings(own))),
        "output": (JSON, MARKDOWN, OUTPUT),
    },
    epilogue=f"""\
{shared.ROWS}

examples:
  infolm correlate ratings.jsonl --model bundled -m fisher_rao -m l1 --against bleu
  infolm correlate ratings.csv --criterion fluency --scores bleu --no-metric --markdown
""",
)
