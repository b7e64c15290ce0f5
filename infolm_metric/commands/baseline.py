"""`infolm baseline`: what unrelated texts score, from a corpus into one file.

A plain text file holds one text per line; from a table (.jsonl, .ndjson, .csv, .tsv, .parquet) one
column is taken. Texts like those that are to be scored make the best baseline: scores of unrelated
texts differ between kinds of text. Then, with the same settings:
infolm score --rescale-with-baseline FILE ...

For example:
  infolm baseline references.txt --model bundled -o references.baseline
"""

from __future__ import annotations

import argparse

from infolm_metric.commands import options
from infolm_metric.core.settings import check_at_least, own_fields

LEAST_PAIRS = 20
USAGE = "infolm baseline [options] CORPUS [CORPUS ...] -o FILE"


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """The options of the command; a baseline holds every kind of score."""
    add = options.add_corpus(parser).add_argument
    add("--pairs", type=int, default=500, metavar="N", help="of unrelated texts (default: 500)")
    text = "for 1 to N references (default: 4)"
    add("--references", type=int, default=4, metavar="N", help=text)
    options.add_metric(parser, types, scores=False)
    names = {field.name for settings in types for field in own_fields(settings)}
    options.add_settings(parser, types, names - {settings.names_field for settings in types})


def run(arguments: argparse.Namespace) -> None:
    """Scores texts of the files against others of them, saves how the scores lie, and says so."""
    check_at_least("pairs", arguments.pairs, LEAST_PAIRS)
    check_at_least("references", arguments.references, 1)
    corpus = options.read_corpus(arguments)
    settings = options.read_settings(arguments.metric, arguments)
    texts = [text for text in corpus if text.strip()]
    if len(set(texts)) < 2 * LEAST_PAIRS:
        raise ValueError(
            f"the corpus has {len(set(texts))} distinct texts; a baseline needs at least "
            f"{2 * LEAST_PAIRS}, and 1000 are better"
        )
    scorer = options.scorer_of(settings)
    baseline = scorer.make_baseline(texts, arguments.pairs, arguments.references)
    baseline.save(arguments.output)
    measures = [field for field in own_fields(type(settings)) if field.name == settings.names_field]
    name = next((field.metadata.get("signature", field.name) for field in measures), "metric")
    for (signature, weights, count), stats in baseline.stats.items():
        if count == 1:
            kind = signature.fields[name]
            spread = f"deviation {stats.deviation:.2g}, {stats.pairs} pairs"
            print(f"{kind}, {weights} weights: {stats.mean:.6g} ({spread})")
    print(f"baseline: {baseline}")
