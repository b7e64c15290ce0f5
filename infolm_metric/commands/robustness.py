"""`infolm robustness`: measure how often metrics detect the attacks of `infolm attack`.

A setting applies to every metric that has it.
With --idf references, IDF is estimated from the distinct anchors in the file.

For example:
  infolm attack outputs.jsonl -o attacked.jsonl
  infolm robustness attacked.jsonl --model bundled --metric infolm
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from infolm_metric.commands import options, outputs
from infolm_metric.commands.parser import Parser
from infolm_metric.core.checks import InputError

if TYPE_CHECKING:
    from infolm_metric.robustness import MetricResult
    from infolm_metric.tables import Row

HEADER = ("kind", "cases", "accuracy", "95% interval", "ties", "sensitivity", "texts")
USAGE = "infolm robustness [options] FILE"
SCORES = (
    "another metric, whose scores against the anchor are in the columns NAME.paraphrase, "
    "NAME.adversary and NAME.paraphrase_adversary (repeatable, replaces the default metric)"
)


def add_options(parser: Parser) -> None:
    group = parser.add_argument_group("test cases")
    text = "output of infolm attack, or - for JSON Lines from standard input"
    group.add_argument("file", metavar="FILE", help=text)
    options.add_repeated(group, "--scores", help=SCORES)
    text = "metric in --scores for which lower is better (repeatable)"
    options.add_repeated(group, "--lower-is-better", help=text)
    options.add_metric(parser, multiple=True)
    outputs.add_output(parser.add_argument_group("output"))
    options.add_common(parser)


def run(arguments: argparse.Namespace) -> None:
    outputs.check_output(arguments, outputs.REPORTS, arguments.file)
    for name in arguments.lower_is_better:
        if name not in arguments.metrics:
            raise InputError(f"--lower-is-better {name} requires --scores {name}")
    settings = options.read_metrics(arguments) if arguments.metric or not arguments.metrics else []

    from infolm_metric.robustness import evaluate_robustness, read_cases

    rows, cases = zip(*read_cases(arguments.file), strict=True)
    columns = {
        name: _column(name, rows, -1 if name in arguments.lower_is_better else 1)
        for name in arguments.metrics
    }
    names = [item.metric if item.several else item.columns()[0] for item in settings]
    scorers = dict(zip(names, map(options.make_scorer, settings), strict=True))
    results = evaluate_robustness(cases, scorers, columns)
    report = {"metrics": {name: result.as_dict() for name, result in results.items()}}
    outputs.write_report(arguments, report, _lines(results, arguments))


def _column(name: str, rows: Sequence[Row], sign: int) -> list[list[float]]:
    """Return sign times NAME.paraphrase, NAME.adversary and NAME.paraphrase_adversary."""
    from infolm_metric.meta_evaluation.ratings import parse_score
    from infolm_metric.robustness.suite import TEXTS

    columns = [f"{name}.{text}" for text in TEXTS[:3]]
    for column in columns[:2]:
        if not any(column in row for _, row in rows):
            raise InputError(f"no column {column!r}. Add {', '.join(columns)}, or omit --scores.")
    return [
        [sign * parse_score(where, key, row.get(key)) for key in columns] for where, row in rows
    ]


def _lines(results: Mapping[str, MetricResult], arguments: argparse.Namespace) -> Iterator[str]:
    """Yield a table per metric, an explanation of the columns, and the signatures."""
    for name, metric in results.items():
        yield from outputs.aligned([name, *HEADER], list(_rows(metric)), left=2)
        yield ""
    yield (
        "Accuracy: fraction of cases in which the paraphrase scores better than the attacked "
        "reference. A tie is a miss. Sensitivity: fraction of texts that score better than their "
        "attacked versions (an easier test). Intervals: Wilson. Means: equal weight per attack."
    )
    for name, metric in results.items():
        short = arguments.short_signature and metric.signature and metric.signature.short()
        yield f"{name}: {short or metric.signature or 'scores from the file'}"


def _rows(metric: MetricResult) -> Iterator[list[str]]:
    """Yield a metric's results for each attack, then the means."""
    for name, result in metric.attacks.items():
        interval = "-" if result.low is None else f"[{result.low:.1%}, {result.high:.1%}]"
        accuracy, *rates = map(_percent, (result.accuracy, result.ties, result.sensitivity))
        yield [name, result.kind, str(result.n), accuracy, interval, *rates, str(result.texts)]
    means = metric.macro("sensitivity")
    for group, mean in metric.macro().items():
        yield ["mean", group, "", _percent(mean), "", "", _percent(means[group]), ""]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
