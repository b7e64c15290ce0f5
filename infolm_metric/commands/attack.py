"""`infolm attack`: perturb references in twelve ways to create cases for `infolm robustness`.

FILE is a table (.jsonl, .ndjson, .csv, .tsv, .parquet) with English texts in a column references
(or reference) and optional columns id and paraphrase. Rows with the same id form one item. Each
attack is applied to every distinct reference of an item, called the anchor. The anchor's paraphrase
is the value in the column paraphrase, or else the item's other reference with the least similar
sequence of words.

The output is JSON Lines with one case per row: id, attack, kind (adequacy or fluency), anchor,
paraphrase, adversary (the attacked anchor), paraphrase_adversary (the attacked paraphrase) and
seed. Missing texts are null. The result of an attack depends only on the text and the seed.
infolm robustness reports the fraction of cases in which the paraphrase scores better than the
adversary (accuracy, where a tie is a miss), and the fraction of texts that score better than their
attacked versions (sensitivity, usually much higher).

For example:
  infolm attack outputs.jsonl -o attacked.jsonl
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from infolm_metric.commands import options, outputs
from infolm_metric.commands.parser import Parser
from infolm_metric.core.checks import InputError

USAGE = "infolm attack [options] FILE"
NAMES = (
    "add, drop, num, neg, name, noun, verb, adj, pron (adequacy), jumble, typo, agreement (fluency)"
)


def add_options(parser: Parser) -> None:
    group = parser.add_argument_group("references and attacks")
    add = group.add_argument
    add("file", metavar="FILE", help="table of references, or - for JSON Lines from standard input")
    options.add_columns(group, candidates=False)
    options.add_repeated(group, "--attack", help=f"{NAMES} (repeatable, default: all)")
    text = "maximum number of cases per attack, sampled at random (default: all)"
    add("--per-attack", type=int, metavar="N", help=text)
    add("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    outputs.add_output(parser.add_argument_group("output"), outputs.JSON_LINES)
    options.add_running(parser.add_argument_group("running"))


def run(arguments: argparse.Namespace) -> None:
    """Write the cases, and print their number if they are written to a file."""
    outputs.check_output(arguments, outputs.JSON_LINES, arguments.file)
    from infolm_metric.robustness import make_cases, read_items

    items = read_items(arguments.file, arguments.reference_columns)
    cases = make_cases(items, arguments.attack, arguments.seed, arguments.per_attack)
    if not cases:
        names = ", ".join(arguments.attack) or "any attack"
        raise InputError(f"FILE {arguments.file}: no text can be attacked with {names}. Add texts.")
    rows = (json.dumps(asdict(case), ensure_ascii=False) for case in cases)
    outputs.write(rows, arguments.output)
    if arguments.output != outputs.STANDARD_OUTPUT:
        anchors = sum(len(item.references) for item in items)
        print(f"{len(cases)} cases from {anchors} references of {len(items)} items")
