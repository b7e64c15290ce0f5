"""`infolm idf`: counts a corpus and saves the table of inverse document frequencies."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from infolm_metric.commands.options import (
    LONG_TEXT,
    MAX_LENGTH,
    MODEL,
    REVISION,
    VERBOSE,
    Command,
    check_writable,
    given_settings,
    option,
)
from infolm_metric.kernel import text_files


def _idf(arguments: argparse.Namespace) -> None:
    """Counts the documents of the files, saves the table, and says what it holds."""
    text_files.check_there(arguments.corpus)
    check_writable(arguments.output)

    from datasets import Features, IterableDataset, Value

    from infolm_metric.infolm.masked_lm import load_vocabulary
    from infolm_metric.infolm.settings import Settings
    from infolm_metric.kernel.idf.table import IDF

    settings = Settings.of(**given_settings(arguments))
    vocabulary = load_vocabulary(settings.model, settings.model_revision)
    # Read here and not by load_dataset: its text loader also splits at lone carriage returns and
    # keeps byte order marks, its CSV loader takes "NA" for a missing value. A stream is not cached
    # either, so a file that has changed is counted anew.
    corpus = IterableDataset.from_generator(
        _documents,
        features=Features({"text": Value("string")}),
        gen_kwargs={"paths": arguments.corpus, "column": arguments.column},
    )
    whole = settings.long_text == "window"
    limit = None if whole else vocabulary.text_limit(settings.max_length)
    table = IDF.from_corpus(corpus, vocabulary.tokenizer, max_length=limit)
    table.save(arguments.output)
    print(f"documents: {table.documents}")
    print(f"distinct tokens: {(table.document_frequency > 0).sum()}")
    print(f"fingerprint: {table.fingerprint}")


def _documents(paths: Sequence[str], column: str) -> Iterator[dict[str, str]]:
    """A row for each document, as `datasets` takes them."""
    for path in paths:
        for text in text_files.read_documents(path, column):
            yield {"text": text}


COMMAND = Command(
    "idf",
    "count inverse document frequencies, and save them",
    _idf,
    {
        "corpus and table": (
            option("corpus", nargs="+", metavar="CORPUS", help="file; - is plain text from stdin"),
            option("--column", metavar="NAME", default="text", help="in tables (default: text)"),
            option("-o", "--output", metavar="TABLE", required=True, help="file to save to"),
        ),
        "how": (MODEL, REVISION, MAX_LENGTH, LONG_TEXT, VERBOSE),
    },
    epilogue="""\
A plain text file holds one document per line; from a table (.jsonl, .ndjson, .csv, .tsv) one column
is taken, and each text of a list is a document. Texts are cut as in scoring: use the same model,
--max-length and --long-text. Then: infolm score --idf TABLE ...

example:
  infolm idf references.txt more.jsonl --column summary --model bundled -o references.idf
""",
)
