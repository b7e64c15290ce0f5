"""`infolm idf`: compute the inverse document frequencies of a corpus and save them.

CORPUS is plain text with one document per line, or a table (.jsonl, .ndjson, .csv, .tsv, .parquet)
with a column of texts or lists of texts. Each text is a document. Use the same --metric, --model,
--max-length and --long-text as for scoring, so that documents are tokenized and truncated in the
same way. To use the result, run infolm score --idf FILE. menli and answer_check have no token
weights.

For example:
  infolm idf references.txt more.jsonl --column summary --model bundled -o references.idf
"""

from __future__ import annotations

import argparse

from infolm_metric import metrics
from infolm_metric.commands import options
from infolm_metric.commands.parser import Parser
from infolm_metric.core.checks import InputError
from infolm_metric.core.settings import field_types

EXTENSION = ".idf"
USAGE = "infolm idf [options] CORPUS [CORPUS ...] -o FILE"


def add_options(parser: Parser) -> None:
    group = options.add_corpus(parser, EXTENSION)
    text = "number of processes (default: 1)"
    group.add_argument("--num-proc", type=int, metavar="N", help=text)
    options.add_metric(parser)
    options.add_common(parser, ("model_revision", "max_length", "long_text"))


def run(arguments: argparse.Namespace) -> None:
    texts = options.read_corpus(arguments, EXTENSION)
    if "idf" not in field_types(metrics.find(arguments.metric).settings_type()):
        raise InputError(
            f"--metric {arguments.metric} has no token weights. Use infolm, baryscore or bertscore."
        )
    settings = options.read_settings(arguments.metric, arguments, idf="references")
    # load_dataset is not used: its text loader splits lines at lone carriage returns and keeps byte
    # order marks, its CSV loader reads "NA" as a missing value, and its cache can be stale.
    run = options.make_scorer(settings).prepare()
    corpus = texts if arguments.num_proc is None else list(texts)
    table = run.count({"references": corpus}, arguments.num_proc).tables["references"]
    table.save(arguments.output)
    print(f"documents: {table.documents}")
    print(f"distinct tokens: {(table.document_frequency > 0).sum()}")
    print(f"fingerprint: {table.fingerprint}")
