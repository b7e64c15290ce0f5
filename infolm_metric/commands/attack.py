"""`infolm attack`: references spoiled in twelve ways, as cases for `infolm robustness`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from infolm_metric.commands.options import Command, amount, option, repeated
from infolm_metric.commands.output import OUTPUT, STANDARD_OUTPUT, check_output, write

if TYPE_CHECKING:
    from infolm_metric.robustness import Item, Triple


def _attack(arguments: argparse.Namespace) -> None:
    """Writes the cases, and says how many each attack made."""
    from infolm_metric.robustness import make_triples, read_items

    check_output(arguments)
    items = read_items(arguments.file, arguments.reference_column)
    triples = make_triples(items, arguments.attack, arguments.seed, arguments.per_attack)
    if not triples:
        names = ", ".join(arguments.attack) or "any kind"
        raise ValueError(f"no attack of {names} applies to a text of {arguments.file}")
    rows = (json.dumps(triple.as_dict(), ensure_ascii=False) for triple in triples)
    write(rows, arguments.output)
    if arguments.output != STANDARD_OUTPUT:
        write(_summary(items, triples), STANDARD_OUTPUT)


def _summary(items: Sequence[Item], triples: Sequence[Triple]) -> Iterator[str]:
    """How many cases each attack has, and how many of them a paraphrase."""
    from infolm_metric.meta_evaluation.tables import aligned

    rows = []
    for name, kind in dict.fromkeys((triple.attack, triple.kind) for triple in triples):
        cases = [triple for triple in triples if triple.attack == name]
        paraphrased = sum(triple.paraphrase is not None for triple in cases)
        rows.append([name, kind, str(len(cases)), str(paraphrased)])
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
