"""`infolm idf`: counts a corpus and saves the table of inverse document frequencies."""

from __future__ import annotations

import argparse

from infolm_metric import metrics
from infolm_metric.commands.options import (
    Command,
    make_scorer,
    metric_option,
    option,
    setting_options,
)
from infolm_metric.commands.output import check_writable
from infolm_metric.kernel import text_files
from infolm_metric.kernel.lines import check_there

READING = ("model_name_or_path", "model_revision", "max_length", "long_text", "verbose")


def _idf(arguments: argparse.Namespace) -> None:
    """Counts the documents of the files, saves the table, and says what it holds."""
    check_there(arguments.corpus)
    check_writable(arguments)
    if "idf" not in metrics.find(arguments.metric).settings_type().choices():
        raise ValueError(f"{arguments.metric} has no use for a table: it weighs no tokens")
    scorer = make_scorer(arguments, idf="references")
    # Read here and not by load_dataset: its text loader also splits at lone carriage returns and
    # keeps byte order marks, its CSV loader takes "NA" for a missing value. A stream is not cached
    # either, so a file that has changed is counted anew.
    documents = (
        ("", [text])
        for path in arguments.corpus
        for text in text_files.read_documents(path, arguments.column)
    )
    table = scorer.inner.count(documents, scorer.settings).tables["references"]
    table.save(arguments.output)
    print(f"documents: {table.documents}")
    print(f"distinct tokens: {(table.document_frequency > 0).sum()}")
    print(f"fingerprint: {table.fingerprint}")


COMMAND = Command(
    "idf",
    "count inverse document frequencies, and save them",
    _idf,
    lambda own, *_: {
        "corpus and table": (
            option("corpus", nargs="+", metavar="CORPUS", help="file; - is plain text from stdin"),
            option("--column", metavar="NAME", default="text", help="in tables (default: text)"),
            option("-o", "--output", metavar="TABLE", required=True, help="file to save to"),
        ),
        "how": (metric_option(), *setting_options(own, READING)),
    },
    epilogue="""\
A plain text file holds one document per line; from a table (.jsonl, .ndjson, .csv, .tsv) one column
is taken, and each text of a list is a document. Texts are cut as in scoring: use the same model,
--max-length and --long-text. Then: infolm score --idf TABLE ...

example:
  infolm idf references.txt more.jsonl --column summary --model bundled -o references.idf
""",
)
