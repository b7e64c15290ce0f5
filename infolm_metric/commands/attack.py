"""`infolm attack`: references spoiled in twelve ways, as cases for `infolm robustness`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from infolm_metric.commands.options import Command, amount, option, repeated
from infolm_metric.commands.output import OUTPUT, STANDARD_OUTPUT, aligned, check_output, write

if TYPE_CHECKING:
    from infolm_metric.robustness.items import Item
    from infolm_metric.robustness.triples import Triple


def _attack(arguments: argparse.Namespace) -> None:
    """Writes the cases, and says how many each attack made."""
    from infolm_metric.kernel.checks import natural_number, whole_number
    from infolm_metric.robustness.attacks import check_attacks
    from infolm_metric.robustness.items import read_items
    from infolm_metric.robustness.triples import make_triples

    check_output(arguments)
    names = check_attacks(arguments.attack)
    natural_number("--seed", arguments.seed)
    if arguments.per_attack is not None:
        whole_number("--per-attack", arguments.per_attack)
    items = read_items(arguments.file, arguments.reference_column)
    triples = make_triples(items, names, arguments.seed, arguments.per_attack)
    if not triples:
        raise ValueError(f"no attack of {', '.join(names)} applies to a text of {arguments.file}")
    rows = (json.dumps(triple.as_dict(), ensure_ascii=False) for triple in triples)
    write(rows, arguments.output)
    if arguments.output != STANDARD_OUTPUT:
        write(_summary(items, names, triples), STANDARD_OUTPUT)


def _summary(
    items: Sequence[Item], names: Sequence[str], triples: Sequence[Triple]
) -> Iterator[str]:
    """How many cases each attack has, and how many of them a paraphrase."""
    from infolm_metric.robustness.attacks import ATTACKS

    rows = []
    for name in names:
        own = [triple for triple in triples if triple.attack == name]
        paraphrased = sum(triple.paraphrase is not None for triple in own)
        rows.append([name, ATTACKS[name].kind, str(len(own)), str(paraphrased)])
    yield from aligned(["attack", "kind", "cases", "with a paraphrase"], rows, left=2)
    anchors = sum(len(item.references) for item in items)
    yield f"{len(triples)} cases of {anchors} references of {len(items)} items"


COMMAND = Command(
    "attack",
    "spoil references in twelve ways, as cases for infolm robustness",
    _attack,
    lambda *_: {
        "what to attack": (
            option("file", metavar="FILE", help="table of references; - is JSON Lines"),
            repeated("--reference-column", "repeat for several (default: references or reference)"),
        ),
        "how": (
            repeated(
                "--attack",
                "add, drop, num, neg, name, noun, verb, adj, pron (what is said), jumble, "
                "typo, agreement (how); repeat for several (default: all)",
            ),
            amount(
                "--per-attack", "at most N cases of each attack, drawn by a hash (default: all)"
            ),
            amount("--seed", "(default: 0)", 0),
        ),
        "output": (OUTPUT,),
    },
    epilogue="""\
FILE is a table (.jsonl, .csv, .tsv, .parquet) with a column references or reference, and if they
are there id and paraphrase. Rows of one id are one item, whose different references are attacked
each once. The paraphrase of a reference is the column's, else the item's other reference that has
fewest words in common with it, else, for num, the reference with its numbers in words.

An object a line: id, attack, kind, anchor, paraphrase, adversary (the anchor attacked),
paraphrase_adversary (the paraphrase attacked), seed. The same text is always attacked alike.

example:
  infolm attack outputs.jsonl -o attacked.jsonl
""",
)
