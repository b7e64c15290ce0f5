"""`infolm attack`: references spoiled in twelve ways, as cases for `infolm robustness`.

FILE is a table (.jsonl, .csv, .tsv, .parquet) with a column references or reference, and if they
are there id and paraphrase. Rows of one id are one item, whose different references are attacked
each once. The paraphrase of a reference is the column's, else the item's other reference that has
fewest words in common with it, else, for num, the reference with its numbers in words.

An object a line: id, attack, kind, anchor, paraphrase, adversary (the anchor attacked),
paraphrase_adversary (the paraphrase attacked), seed. The same text is always attacked alike.

For example:
  infolm attack outputs.jsonl -o attacked.jsonl
"""

from __future__ import annotations

import argparse
import json

from infolm_metric.commands import options

USAGE = "infolm attack [options] FILE"
NAMES = (
    "add, drop, num, neg, name, noun, verb, adj, pron (what is said), jumble, typo, agreement (how)"
)


def add_options(parser: argparse.ArgumentParser, types: options.SettingsTypes) -> None:
    """The options of the command."""
    group = parser.add_argument_group("references and attacks")
    add = group.add_argument
    add("file", metavar="FILE", help="table of references; - is JSON Lines")
    options.add_columns(group, candidates=False)
    options.add_repeated(group, "--attack", help=f"{NAMES}; repeat for several (default: all)")
    text = "cases of each at most, drawn by a hash (default: all)"
    add("--per-attack", type=int, metavar="N", help=text)
    add("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    options.add_output(parser.add_argument_group("output"), tables=False)
    options.add_settings(parser, ())


def run(arguments: argparse.Namespace) -> None:
    """Writes the cases, and says how many there are."""
    options.check_output(arguments, arguments.file)
    from infolm_metric.robustness import make_cases, read_items

    items = read_items(arguments.file, arguments.reference_column)
    cases = make_cases(items, arguments.attack, arguments.seed, arguments.per_attack)
    if not cases:
        names = ", ".join(arguments.attack) or "any kind"
        raise ValueError(f"no attack of {names} applies to a text of {arguments.file}")
    rows = (json.dumps(case.as_dict(), ensure_ascii=False) for case in cases)
    options.write(rows, arguments.output)
    if arguments.output != options.STANDARD_OUTPUT:
        anchors = sum(len(item.references) for item in items)
        total = f"{len(cases)} cases of {anchors} references of {len(items)} items"
        options.write([total], options.STANDARD_OUTPUT)
