"""`infolm idf`: counts a corpus and saves the table of inverse document frequencies."""

from __future__ import annotations

import argparse

from infolm_metric import metrics
from infolm_metric.commands.corpus import add_corpus, check_corpus, read_corpus
from infolm_metric.commands.options import (
    SettingsTypes,
    add_metric,
    add_running,
    add_settings,
    chosen,
    scorer_of,
)
from infolm_metric.core.settings import annotations

READING = ("model_revision", "max_length", "long_text", "tokenize_processes")
USAGE = "infolm idf [options] CORPUS [CORPUS ...] -o TABLE"
EPILOG = """\
A plain text file holds one document per line; from a table (.jsonl, .ndjson, .csv, .tsv, .parquet)
one column is taken, and each text of a list is a document. Texts are cut as in scoring: use the
same model, --max-length and --long-text. Then: infolm score --idf TABLE ...

example:
  infolm idf references.txt more.jsonl --column summary --model bundled -o references.idf
"""


def add_options(parser: argparse.ArgumentParser, types: SettingsTypes) -> None:
    """The options of the command."""
    add_corpus(parser.add_argument_group("corpus and table"))
    add_metric(parser, types, scores=False)
    add_running(parser.add_argument_group("running"))
    add_settings(parser, types, READING)


def run(arguments: argparse.Namespace) -> None:
    """Counts the documents of the files, saves the table, and says what it holds."""
    check_corpus(arguments)
    if "idf" not in annotations(metrics.find(arguments.metric).settings_type()):
        raise ValueError(f"{arguments.metric} has no use for a table: it weighs no tokens")
    settings = chosen(arguments, idf="references")
    scorer = scorer_of(settings)
    # Read here and not by load_dataset: its text loader also splits at lone carriage returns and
    # keeps byte order marks, its CSV loader takes "NA" for a missing value. A stream is not cached
    # either, so a file that has changed is counted anew.
    documents = (("", [text]) for text in read_corpus(arguments))
    table = scorer.count(documents, settings).tables["references"]
    table.save(arguments.output)
    print(f"documents: {table.documents}")
    print(f"distinct tokens: {(table.document_frequency > 0).sum()}")
    print(f"fingerprint: {table.fingerprint}")
