"""`infolm robustness`: which attacks metrics notice, on the cases that `infolm attack` made."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from infolm_metric import metrics
from infolm_metric.commands.options import (
    Command,
    make_scorers,
    metrics_option,
    option,
    repeated,
    several_setting_options,
)
from infolm_metric.commands.output import JSON, MARKDOWN, OUTPUT, check_output, write

if TYPE_CHECKING:
    from infolm_metric.robustness import MetricResult, Robustness

SCORED = ("paraphrase", "adversary", "paraphrase_adversary")
MEANS = ("accuracy", "sensitivity")


def _robustness(arguments: argparse.Namespace) -> None:
    """Scores the cases and writes what each metric notices."""
    from infolm_metric.robustness.suite import measure, read_column, read_triples

    check_output(arguments)
    for name in arguments.lower_is_better:
        if name not in arguments.scores:
            raise ValueError(f"--lower-is-better {name}: no such column; add --scores {name}")
    names = arguments.metric or ([] if arguments.scores else [metrics.DEFAULT])
    cases = read_triples(arguments.file)
    rows = [row for row, _ in cases]
    columns = [
        read_column(name, rows, name not in arguments.lower_is_better)
        for name in dict.fromkeys(arguments.scores)
    ]
    scorers = make_scorers(names, arguments)
    result = measure([triple for _, triple in cases], scorers, columns)
    if arguments.json:
        lines = [json.dumps(result.as_dict(), allow_nan=False)]
    else:
        lines = list(_lines(result, "markdown" if arguments.markdown else "text"))
    write(lines, arguments.output)


def _lines(result: Robustness, layout: str) -> Iterator[str]:
    """A table for each metric, the means of all together, and what the columns are."""
    from infolm_metric.meta_evaluation.tables import LAYOUTS
    from infolm_metric.robustness.suite import GROUPS

    table = LAYOUTS[layout]
    header = ["kind", "cases", "accuracy", "95% interval", "ties", "sensitivity", "of"]
    for name, metric in result.metrics.items():
        yield from table([name, *header], list(_rows(metric)), left=2)
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
        yield f"{name}: {'scores from the file' if metric.signature is None else metric.signature}"


def _rows(metric: MetricResult) -> Iterator[list[str]]:
    """How a metric does on each attack, and on average."""
    for name, each in metric.attacks.items():
        interval = "-"
        if each.low is not None and each.high is not None:
            interval = f"[{each.low:.1%}, {each.high:.1%}]"
        yield [
            name,
            each.kind,
            str(each.n),
            _percent(each.accuracy),
            interval,
            _percent(each.ties),
            _percent(each.sensitivity),
            str(each.cases),
        ]
    sensitivity = metric.macro("sensitivity")
    for group, accuracy in metric.macro().items():
        shown = _percent(accuracy), _percent(sensitivity[group])
        yield ["mean", group, "", shown[0], "", "", shown[1], ""]


def _percent(value: float | None) -> str:
    """The share in percent; a dash where there is none."""
    return "-" if value is None else f"{value:.1%}"


COMMAND = Command(
    "robustness",
    "tell which attacks metrics notice",
    _robustness,
    lambda *types: {
        "what to score": (
            option("file", metavar="FILE", help="what infolm attack wrote; - is standard input"),
            metrics_option(f" (default: {metrics.DEFAULT}, or none beside --scores)"),
            repeated(
                "--scores",
                "another metric's scores against the anchor, in the columns "
                + ", ".join(f"NAME.{text}" for text in SCORED)
                + "; repeat for several",
            ),
            repeated("--lower-is-better", "such a column of which this is true"),
        ),
        **several_setting_options(*types),
        "output": (JSON, MARKDOWN, OUTPUT),
    },
    epilogue="""\
A setting goes to the metrics that have it; --model bundled stands for each one's own bundled model.
With idf the corpus is the anchors of the file, each once. Every pair of texts is scored once.

example:
  infolm attack outputs.jsonl -o attacked.jsonl
  infolm robustness attacked.jsonl --model bundled --metric infolm
""",
)
