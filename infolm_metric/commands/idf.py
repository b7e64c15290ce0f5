"""`infolm idf`: count a corpus and save the table of inverse document frequencies.

A plain text file holds one document per line; from a table (.jsonl, .ndjson, .csv, .tsv, .parquet)
one column is taken, and each text of a list is a document. Texts are truncated as in scoring: use
the same model, --max-length and --long-text. Then: infolm score --idf TABLE ...

For example:
  infolm idf references.txt more.jsonl --column summary --model bundled -o references.idf
"""

from __future__ import annotations

import argparse

from infolm_metric import metrics
from infolm_metric.commands import options
from infolm_metric.core.settings import field_types

READING = ("model_revision", "max_length", "long_text", "tokenize_processes")
USAGE = "infolm idf [options] CORPUS [CORPUS ...] -o TABLE"


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """Add the options of the command."""
    options.add_corpus(parser)
    options.add_metric(parser, types, scores=False)
    options.add_settings(parser, types, READING)


def run(arguments: argparse.Namespace) -> None:
    """Count the documents of the files, save the table, and print its size."""
    texts = options.read_corpus(arguments)
    if "idf" not in field_types(metrics.find(arguments.metric).settings_type()):
        raise ValueError(f"{arguments.metric} has no use for a table: it weighs no tokens")
    settings = options.read_settings(arguments.metric, arguments, idf="references")
    # load_dataset is not used, because its text loader also splits at lone carriage returns and
    # keeps byte order marks, and its CSV loader takes "NA" for a missing value. It would also cache
    # the files, and a changed file must be counted again.
    statistics = options.make_scorer(settings).count({"references": texts}, settings)
    table = statistics.tables["references"]
    table.save(arguments.output)
    print(f"documents: {table.documents}")
    print(f"distinct tokens: {(table.document_frequency > 0).sum()}")
    print(f"fingerprint: {table.fingerprint}")
