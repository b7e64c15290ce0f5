"""`infolm baseline`: what unrelated texts score, from a corpus into one file."""

from __future__ import annotations

import argparse

from infolm_metric.commands.corpus import add_corpus, check_corpus, read_corpus
from infolm_metric.commands.options import (
    SettingsTypes,
    add_metric,
    add_number,
    add_running,
    add_settings,
    chosen,
    scorer_of,
)
from infolm_metric.core.settings import check_at_least, own_fields

REFERENCES = 4
PAIRS, LEAST_PAIRS = 500, 20
USAGE = "infolm baseline [options] CORPUS [CORPUS ...] -o FILE"
EPILOG = """\
A plain text file holds one text per line; from a table (.jsonl, .ndjson, .csv, .tsv, .parquet) one
column is taken. Texts like those that are to be scored make the best baseline: scores of unrelated
texts differ between kinds of text. Then, with the same settings:
infolm score --rescale-with-baseline FILE ...

example:
  infolm baseline references.txt --model bundled -o references.baseline
"""


def add_options(parser: argparse.ArgumentParser, types: SettingsTypes) -> None:
    """The options of the command; a baseline holds every kind of score."""
    group = parser.add_argument_group("corpus and baseline")
    add_corpus(group)
    add_number(group, "--pairs", f"pairs of unrelated texts (default: {PAIRS})", PAIRS)
    add_number(group, "--references", f"for 1 to N references (default: {REFERENCES})", REFERENCES)
    add_metric(parser, types, scores=False)
    add_running(parser.add_argument_group("running"))
    names = {field.name for settings in types for field in own_fields(settings)}
    add_settings(parser, types, names - {settings.names_field for settings in types})


def run(arguments: argparse.Namespace) -> None:
    """Scores texts of the files against others of them, saves how the scores lie, and says so."""
    check_at_least("pairs", arguments.pairs, LEAST_PAIRS)
    check_at_least("references", arguments.references, 1)
    check_corpus(arguments)
    settings = chosen(arguments)
    texts = [text for text in read_corpus(arguments) if text.strip()]
    if len(set(texts)) < 2 * LEAST_PAIRS:
        raise ValueError(
            f"the corpus has {len(set(texts))} distinct texts; a baseline needs at least "
            f"{2 * LEAST_PAIRS}, and 1000 are better"
        )
    scorer = scorer_of(settings)
    baseline = scorer.make_baseline(texts, arguments.pairs, arguments.references)
    baseline.save(arguments.output)
    label = next(
        (
            field.metadata.get("signature", field.name)
            for field in own_fields(type(settings))
            if field.name == settings.names_field
        ),
        "metric",
    )
    for (signature, weights, count), stats in baseline.stats.items():
        if count == 1:
            fields = dict(part.split(":", 1) for part in signature.split("|"))
            print(
                f"{fields[label]}, {weights} weights: {stats.mean:.6g} "
                f"(deviation {stats.deviation:.2g}, {stats.pairs} pairs)"
            )
    print(f"baseline: {baseline}")
