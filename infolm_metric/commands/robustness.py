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
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from infolm_metric import metrics
from infolm_metric.commands import options

if TYPE_CHECKING:
    from infolm_metric.core.tables import Row
    from infolm_metric.robustness import ExternalScores, MetricResult

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
    options.add_metric(parser, types, multiple=True)
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

    from infolm_metric.robustness import evaluate_robustness, read_cases

    rows, cases = zip(*read_cases(arguments.file), strict=True)
    columns = [
        _column(name, rows, name not in arguments.lower_is_better) for name in arguments.scores
    ]
    scorers = {name: options.make_scorer(settings[name]) for name in settings}
    results = evaluate_robustness(cases, scorers, columns)
    if arguments.json:
        report = {"metrics": {name: result.as_dict() for name, result in results.items()}}
        options.write([json.dumps(report, allow_nan=False)], arguments.output)
    else:
        options.write(_lines(results, arguments.layout), arguments.output)


def _column(name: str, rows: Sequence[Row], higher_is_better: bool) -> ExternalScores:
    """The scores in the columns NAME.paraphrase, NAME.adversary and NAME.paraphrase_adversary."""
    from infolm_metric.meta_evaluation.ratings import parse_score
    from infolm_metric.robustness.suite import SCORED_TEXTS, ExternalScores

    columns = [f"{name}.{text}" for text in SCORED_TEXTS]
    for column in columns[:2]:
        if not any(column in row for _, row in rows):
            raise ValueError(f"no column {column!r}; outside scores need {', '.join(columns)}")
    scores = [[parse_score(where, key, row.get(key)) for key in columns] for where, row in rows]
    return ExternalScores(name, scores, higher_is_better)


def _lines(results: Mapping[str, MetricResult], table: Callable[..., list[str]]) -> Iterator[str]:
    """A table for each metric, and what the columns are."""
    for name, metric in results.items():
        yield from table([name, *HEADER], list(_rows(metric)), left=2)
        yield ""
    yield (
        "Accuracy: cases in which the paraphrase scores better than the attacked reference; a tie "
        "is a miss. Sensitivity: texts that score better than the same text attacked, an easier "
        "test. Intervals: Wilson. Each attack counts alike in the means."
    )
    for name, metric in results.items():
        yield f"{name}: {metric.signature or 'scores from the file'}"


def _rows(metric: MetricResult) -> Iterator[list[str]]:
    """How a metric does on each attack, and on average."""
    for name, result in metric.attacks.items():
        interval = "-" if result.low is None else f"[{result.low:.1%}, {result.high:.1%}]"
        accuracy, *shares = map(_percent, (result.accuracy, result.ties, result.sensitivity))
        yield [name, result.kind, str(result.n), accuracy, interval, *shares, str(result.cases)]
    means = metric.macro("sensitivity")
    for group, mean in metric.macro().items():
        yield ["mean", group, "", _percent(mean), "", "", _percent(means[group]), ""]


def _percent(value: float | None) -> str:
    """The share in percent; a dash where there is none."""
    return "-" if value is None else f"{value:.1%}"
