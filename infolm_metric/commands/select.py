"""`infolm select`: select the best of several candidates by minimum Bayes risk.

FILE is JSON Lines or Parquet. Each row has a list of texts in the column candidates, for example
several outputs of a model for the same input. The command writes the rows with an additional
column, selected, which contains the candidate with the best mean score against the row's other
candidates. Token weights are uniform unless --idf is bundled or names a file.

For example:
  infolm select samples.jsonl --model bundled -o selected.jsonl
"""

from __future__ import annotations

import argparse

from infolm_metric import tables
from infolm_metric.commands import options, outputs
from infolm_metric.commands.parser import Parser
from infolm_metric.core import files
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import check_texts

COLUMN = "candidates"
REMEDY = " Select the column with --candidates-column."
USAGE = "infolm select [options] FILE"


def add_options(parser: Parser) -> None:
    group = parser.add_argument_group("input and output")
    text = "candidate lists, or - for JSON Lines from standard input"
    group.add_argument("file", metavar="FILE", help=text)
    text = f"column of candidate lists (default: {COLUMN})"
    group.add_argument("--candidates-column", metavar="NAME", default=COLUMN, help=text)
    outputs.add_output(group, outputs.JSON_LINES)
    options.add_metric(parser)
    options.add_common(parser)


def run(arguments: argparse.Namespace) -> None:
    outputs.check_output(arguments, outputs.JSON_LINES, arguments.file)
    settings = options.read_settings(arguments.metric, arguments)
    rows = []
    for where, row in tables.read_rows(arguments.file):
        candidates = tables.cell(where, row, arguments.candidates_column, REMEDY)
        tables.check_new_columns(where, row, ["selected"])
        texts = check_texts(f"{where}: {arguments.candidates_column!r}", candidates, least=1)
        rows.append((row, texts))
    if not rows:
        name = files.label(arguments.file)
        raise InputError(f"{name} has no rows. Add one row per list of candidates.")
    scorer = options.make_scorer(settings)
    lines = (files.json_line({**row, "selected": scorer.select(texts)}) for row, texts in rows)
    outputs.write(lines, arguments.output)
