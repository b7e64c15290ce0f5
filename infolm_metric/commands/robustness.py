"""`infolm robustness`: which attacks metrics notice, on the cases that `infolm attack` made.

A setting goes to the metrics that have it; --model bundled stands for each one's own bundled model.
With idf the corpus is the anchors of the file, each once. Every pair of texts is scored once.

For example:
  infolm attack outputs.jsonl -o attacked.jsonl
  infolm robustness attacked.jsonl --model bundled --metric infolm
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from infolm_metric import metrics
from infolm_metric.commands import options

if TYPE_CHECKING:
    from infolm_metric.robustness import MetricResult, Robustness

MEANS = ("accuracy", "sensitivity")
HEADER = ("kind", "cases", "accuracy", "95% interval", "ties", "sensitivity", "of")
USAGE = "infolm robustness [options] FILE"
SCORES = (
    "another metric's scores against the anchor, in the columns NAME.paraphrase, NAME.adversary, "
    "NAME.paraphrase_adversary; repeat for several"
)


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """The options of the command."""
    group = parser.add_argument_group("what to score")
    text = "what infolm attack wrote; - is standard input"
    group.add_argument("file", metavar="FILE", help=text)
    options.add_repeated(group, "--scores", help=SCORES)
    text = "such a column of which this is true"
    options.add_repeated(group, "--lower-is-better", help=text)
    options.add_metric(parser, types, several=True, columns=True)
    options.add_output(parser.add_argument_group("output"))
    options.add_settings(parser, types)


def run(arguments: argparse.Namespace) -> None:
    """Scores the cases and writes what each metric notices."""
    options.check_output(arguments, arguments.file)
    for name in arguments.lower_is_better:
        if name not in arguments.scores:
            raise ValueError(f"--lower-is-better {name}: no such column; add --scores {name}")
    names = arguments.metric or ([] if arguments.scores else [metrics.DEFAULT])
    settings = {name: options.read_settings(name, arguments) for name in names}

    from infolm_metric.robustness.suite import measure, read_column, read_triples

    cases = read_triples(arguments.file)
    rows = [row for row, _ in cases]
    columns = [
        read_column(name, rows, name not in arguments.lower_is_better)
        for name in dict.fromkeys(arguments.scores)
    ]
    scorers = {name: options.scorer_of(each) for name, each in settings.items()}
    result = measure([triple for _, triple in cases], scorers, columns)
    if arguments.json:
        options.write([json.dumps(result.as_dict(), allow_nan=False)], arguments.output)
    else:
        options.write(_lines(result, options.layout_of(arguments)), arguments.output)


def _lines(result: Robustness, table: Callable[..., list[str]]) -> Iterator[str]:
    """A table for each metric, the means of all together, and what the columns are."""
    from infolm_metric.robustness.suite import GROUPS

    for name, metric in result.metrics.items():
        yield from table([name, *HEADER], list(_rows(metric)), left=2)
        yield ""
    if len(result.metrics) > 1:
        heads = [f"{what}, {group}" for what in MEANS for group in GROUPS]
        rows = [
            [name, *(_percent(metric.macro(what)[group]) for what in MEANS for group in GROUPS)]
            for name, metric in result.metrics.items()
        ]
        yield from table(["mean over attacks", *heads], rows)
        yield ""
    yield (
        "Accuracy: cases in which the paraphrase scores better than the attacked reference; a tie "
        "is a miss. Sensitivity: texts that score better than the same text attacked, an easier "
        "test. Intervals: Wilson. Each attack counts alike in the means."
    )
    for name, metric in result.metrics.items():
        yield f"{name}: {metric.signature or 'scores from the file'}"


def _rows(metric: MetricResult) -> Iterator[list[str]]:
    """How a metric does on each attack, and on average."""
    for name, each in metric.attacks.items():
        known = each.low is not None and each.high is not None
        interval = f"[{each.low:.1%}, {each.high:.1%}]" if known else "-"
        shares = [_percent(share) for share in (each.accuracy, each.ties, each.sensitivity)]
        yield [name, each.kind, str(each.n), shares[0], interval, *shares[1:], str(each.cases)]
    means = metric.macro("sensitivity")
    for group, mean in metric.macro().items():
        yield ["mean", group, "", _percent(mean), "", "", _percent(means[group]), ""]


def _percent(value: float | None) -> str:
    """The share in percent; a dash where there is none."""
    return "-" if value is None else f"{value:.1%}"
