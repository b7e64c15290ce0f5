"""`infolm score`: texts against references, from the arguments or from files."""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infolm_metric import text_files
from infolm_metric.commands.options import (
    SETTINGS,
    Command,
    check_writable,
    given_settings,
    option,
)

if TYPE_CHECKING:
    from infolm_metric.result import Result
    from infolm_metric.settings import Settings

STANDARD_OUTPUT = "-"

Pairs = tuple[list[str], list[list[str]]]
"""Candidates, and the references of each."""


def _score(arguments: argparse.Namespace) -> None:
    """Scores the texts that the arguments name, and writes the result."""
    if arguments.output != STANDARD_OUTPUT:
        check_writable(arguments.output)
    predictions, references = _read_pairs(arguments)

    from infolm_metric.scorer import InfoLMScorer

    scorer = InfoLMScorer(**given_settings(arguments))
    # A flat list where it says the same, as `compute` is called for one reference each.
    single = all(len(group) == 1 for group in references)
    result = scorer.score(predictions, [text for (text,) in references] if single else references)
    if arguments.json:
        text = json.dumps(result.as_dict(), allow_nan=False) + "\n"
    else:
        lines = list(_summary(result, scorer.settings))
        if arguments.per_pair:
            lines = [*_table(result), *("# " + line for line in lines)]
        text = "".join(line + "\n" for line in lines)
    if arguments.output == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        Path(arguments.output).write_text(text, encoding="utf-8", newline="\n")


def _read_pairs(arguments: argparse.Namespace) -> Pairs:
    """Candidates and references from the one way of giving them that was used."""
    files = bool(arguments.candidates or arguments.references)
    if (ways := bool(arguments.texts) + bool(arguments.data) + files) != 1:
        raise ValueError(
            f"{'give either' if ways else 'nothing to score; give'} texts as arguments, "
            "-c FILE and -r FILE, or --data FILE"
        )
    if not arguments.data and (arguments.candidate_column or arguments.reference_column):
        raise ValueError("--candidate-column and --reference-column need --data FILE")
    if arguments.texts:
        return _given_pair(arguments.texts)
    if arguments.data:
        return text_files.read_pairs(
            arguments.data, arguments.candidate_column, arguments.reference_column
        )
    if not (arguments.candidates and arguments.references):
        raise ValueError("give both files: -c FILE with the candidates, -r FILE with references")
    return text_files.read_parallel(arguments.candidates, arguments.references)


def _given_pair(texts: Sequence[str]) -> Pairs:
    """The first text as the candidate and the others as its references; refuses names of files."""
    for text in texts:
        if os.path.isfile(text):
            raise ValueError(
                f"{text!r} is a file, and texts are expected here; give files with options: "
                "-c FILE -r FILE (plain text, one text per line) or --data FILE (a table)"
            )
    candidate, *references = texts
    if not references:
        raise ValueError("got one text; give the candidate, then at least one reference")
    return [candidate], [references]


def _summary(result: Result, settings: Settings) -> Iterator[str]:
    """A line for each measure, with the mean and what it means, and one for the signature."""
    for name, scores in result.scores.items():
        of = f"mean of {len(scores)} pairs; " if len(scores) > 1 else ""
        largest = settings.largest_value(name)
        bound = f"largest {largest:.6g}" if math.isfinite(largest) else "no largest value"
        yield (
            f"{name}: {result.mean(name):.6g} "
            f"({of}lower is better; 0 = the same distribution, {bound})"
        )
        if result.similarities is not None:
            similarity = statistics.fmean(result.similarities[name])
            yield (
                f"{name} similarity: {similarity:.6g} "
                f"({of}higher is better; 1 = the same distribution, smallest 0)"
            )
    yield f"signature: {result.signature}"


def _table(result: Result) -> Iterator[str]:
    """Tab-separated lines: a header, then each pair's number, from 1, and its scores."""
    columns = dict(result.scores)
    for name, similarities in (result.similarities or {}).items():
        columns[f"{name} similarity"] = similarities
    yield "\t".join(["pair", *columns])
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        yield "\t".join([str(number), *(f"{value:.6g}" for value in row)])


COMMAND = Command(
    "score",
    "score texts against references",
    _score,
    {
        "what to score, in one of three ways": (
            option("texts", nargs="*", metavar="TEXT", help="the candidate, then its references"),
            option("-c", "--candidates", metavar="FILE", help="plain text; - is standard input"),
            option(
                "-r",
                "--references",
                metavar="FILE",
                action="append",
                help="plain text with as many lines; repeat for several references each",
            ),
            option(
                "--data",
                metavar="FILE",
                help=f"table of candidates and references ({' '.join(text_files.TABLES)}); - is "
                "JSON Lines on standard input; in JSON Lines the references may be a list",
            ),
            option(
                "--candidate-column",
                metavar="NAME",
                help=f"(default: {' or '.join(text_files.CANDIDATE_COLUMNS)})",
            ),
            option(
                "--reference-column",
                metavar="NAME",
                action="append",
                default=[],
                help=f"repeat for several (default: {' or '.join(text_files.REFERENCE_COLUMNS)})",
            ),
        ),
        "how": SETTINGS,
        "output": (
            option(
                "--per-pair",
                action="store_true",
                help="tab-separated table, a line for each pair; the summary follows after #",
            ),
            option(
                "--json",
                action="store_true",
                help="what compute returns, as one JSON object; holds each pair's scores",
            ),
            option(
                "-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help="write to a file"
            ),
        ),
    },
    epilogue="""\
Arguments without a flag are always texts, files always come with one. Plain text files hold one
text per line, and an empty line is an empty text. Files are UTF-8; .gz is decompressed. Put --
before a text that starts with a dash.

examples:
  infolm score --model bundled "the candidate text" "the reference text" "another reference"
  infolm score -c system.txt -r references.txt -r more_references.txt -m kl -m l1
  infolm score --data outputs.jsonl --reference-column target --per-pair
  generate | infolm score -c - -r references.txt --json
""",
)
