"""`infolm baseline`: what unrelated texts score, from a corpus into one file."""

from __future__ import annotations

import argparse

from infolm_metric.commands.options import (
    Command,
    amount,
    make_scorer,
    metric_option,
    option,
    setting_options,
)
from infolm_metric.commands.output import check_writable
from infolm_metric.kernel import text_files
from infolm_metric.kernel.checks import whole_number
from infolm_metric.kernel.lines import check_there
from infolm_metric.kernel.settings import Settings

REFERENCES = 4
PAIRS, LEAST_PAIRS = 500, 20


def taken(own: type[Settings]) -> list[str]:
    """The settings that the command takes: not those of which a baseline holds every one."""
    choices = own.choices().items()
    return [name for name, each in choices if name != "rescale_with_baseline" and not each.repeated]


def _baseline(arguments: argparse.Namespace) -> None:
    """Scores texts of the files against others of them, saves how the scores lie, and says so."""
    pairs = whole_number("--pairs", arguments.pairs, LEAST_PAIRS)
    references = whole_number("--references", arguments.references)
    check_there(arguments.corpus)
    check_writable(arguments)
    texts = [
        text
        for path in arguments.corpus
        for text in text_files.read_documents(path, arguments.column)
        if text.strip()
    ]
    if len(set(texts)) < 2 * LEAST_PAIRS:
        raise ValueError(
            f"the corpus has {len(set(texts))} distinct texts; a baseline needs at least "
            f"{2 * LEAST_PAIRS}, and 1000 are better"
        )
    scorer = make_scorer(arguments)

    from infolm_metric.kernel.rescaling import make_baseline

    baseline = make_baseline(scorer.inner, scorer.settings, texts, pairs, references)
    baseline.save(arguments.output)
    choices = scorer.settings.choices().items()
    kinds = [each.label or name for name, each in choices if each.repeated]
    for (signature, weights, count), spread in baseline.spreads.items():
        if count == 1:
            fields = dict(part.split(":", 1) for part in signature.split("|"))
            kind = next((fields[label] for label in kinds), scorer.settings.metric)
            print(
                f"{kind}, {weights} weights: {spread.mean:.6g} "
                f"(deviation {spread.deviation:.2g}, {spread.pairs} pairs)"
            )
    print(f"baseline: {baseline}")


COMMAND = Command(
    "baseline",
    "score unrelated texts, to tell what a score means",
    _baseline,
    lambda own, *_: {
        "corpus and baseline": (
            option("corpus", nargs="+", metavar="CORPUS", help="file; - is plain text from stdin"),
            option("--column", metavar="NAME", default="text", help="in tables (default: text)"),
            option("-o", "--output", metavar="FILE", required=True, help="file to save to"),
            amount("--pairs", f"pairs of unrelated texts (default: {PAIRS})", PAIRS),
            amount("--references", f"for 1 to N references (default: {REFERENCES})", REFERENCES),
        ),
        "how": (metric_option(), *setting_options(own, taken(own))),
    },
    epilogue="""\
A plain text file holds one text per line; from a table (.jsonl, .ndjson, .csv, .tsv) one column is
taken. Texts like those that are to be scored make the best baseline: scores of unrelated texts
differ between kinds of text. Then, with the same settings:
infolm score --rescale-with-baseline FILE ...

example:
  infolm baseline references.txt --model bundled -o references.baseline
""",
)
