"""`infolm idf`: compute the inverse document frequencies of a corpus and save them.

CORPUS is plain text with one document per line, or a table (.jsonl, .ndjson, .csv, .tsv, .parquet)
with one column of texts or lists of texts; each text is a document. Use the model, --max-length and
--long-text with which you will score, because texts are truncated as in scoring. To use the
result, run infolm score --idf FILE.

For example:
  infolm idf references.txt more.jsonl --column summary --model bundled -o references.idf
"""

from __future__ import annotations

import argparse

from infolm_metric import metrics
from infolm_metric.commands import options
from infolm_metric.core.settings import field_types

TOKENIZATION_FIELDS = ("model_revision", "max_length", "long_text", "tokenize_processes")
USAGE = "infolm idf [options] CORPUS [CORPUS ...] -o FILE"


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """Add the options of the command."""
    options.add_corpus(parser)
    options.add_metric(parser, types, scores=False)
    options.add_settings(parser, types, TOKENIZATION_FIELDS)


def run(arguments: argparse.Namespace) -> None:
    """Count the documents of the corpus, save the table and print its size."""
    texts = options.read_corpus(arguments)
    if "idf" not in field_types(metrics.find(arguments.metric).settings_type()):
        raise ValueError(
            f"--metric {arguments.metric} has no token weights; use infolm or baryscore"
        )
    settings = options.read_settings(arguments.metric, arguments, idf="references")
    # Not load_dataset: its text loader splits at lone carriage returns and keeps byte order marks,
    # its CSV loader reads "NA" as a missing value, and its cache could hide changes of a file.
    statistics = options.make_scorer(settings).count({"references": texts}, settings)
    table = statistics.tables["references"]
    table.save(arguments.output)
    print(f"documents: {table.documents}")
    print(f"distinct tokens: {(table.document_frequency > 0).sum()}")
    print(f"fingerprint: {table.fingerprint}")
