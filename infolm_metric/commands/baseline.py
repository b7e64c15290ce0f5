"""`infolm baseline`: score unrelated texts of a corpus and save the statistics of the scores.

CORPUS is plain text with one text per line, or a table (.jsonl, .ndjson, .csv, .tsv, .parquet) with
a column of texts. Choose a corpus from the domain of the texts to be scored. answer_check has no
baseline. To use the baseline, run infolm score --rescale-with-baseline FILE with the same settings.

For example:
  infolm baseline references.txt --model bundled -o references.baseline
"""

from __future__ import annotations

import argparse

from infolm_metric.commands import options
from infolm_metric.commands.parser import Parser
from infolm_metric.core.checks import InputError, check_at_least

LEAST_PAIRS = 20
EXTENSION = ".baseline"
USAGE = "infolm baseline [options] CORPUS [CORPUS ...] -o FILE"


def add_options(parser: Parser) -> None:
    """Add the options of the command. Scores cannot be selected, because all are computed."""
    add = options.add_corpus(parser, EXTENSION).add_argument
    text = "number of pairs of unrelated texts (default: 500)"
    add("--pairs", type=int, default=500, metavar="N", help=text)
    text = "maximum number of references per candidate (default: 4)"
    add("--references", type=int, default=4, metavar="N", help=text)
    options.add_metric(parser)
    options.add_common(parser, scores=False)


def run(arguments: argparse.Namespace) -> None:
    check_at_least("--pairs", arguments.pairs, LEAST_PAIRS)
    check_at_least("--references", arguments.references, 1)
    corpus = options.read_corpus(arguments, EXTENSION)
    settings = options.read_settings(arguments.metric, arguments)
    if settings.verdict_columns:
        raise InputError(
            f"--metric {settings.metric} has no baseline, because its verdicts do not depend on "
            "unrelated texts. Choose another metric."
        )
    texts = [text for text in corpus if text.strip()]
    if len(set(texts)) < 2 * LEAST_PAIRS:
        raise InputError(
            f"CORPUS {' '.join(arguments.corpus)} must have at least {2 * LEAST_PAIRS} distinct "
            f"texts, preferably 1000, got {len(set(texts))}. Add texts."
        )
    scorer = options.make_scorer(settings)
    baseline = scorer.make_baseline([texts], arguments.pairs, arguments.references)
    baseline.save(arguments.output)
    print(f"baseline: {baseline} ({len(baseline.stats)} combinations of scores and settings)")
