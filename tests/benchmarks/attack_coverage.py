"""To which share of a file's references each attack applies, beside what it was.

    python tests/benchmarks/attack_coverage.py webnlg2020.en.jsonl

Takes the first 400 distinct references of a table with the column references. The exit code is 1 if
an attack applies to a share that is more than five points below what it was on the WebNLG 2020
references when the attacks were last changed.
"""

import argparse
import sys
from itertools import islice

from infolm_metric.kernel.tables import read_rows
from infolm_metric.kernel.text_files import references_of
from infolm_metric.robustness.attacks import ATTACKS, attack

TEXTS = 400
POINTS_BELOW = 5
EXPECTED = {
    "add": 50, "drop": 100, "num": 33, "neg": 98, "name": 21, "noun": 73, "verb": 40, "adj": 18,
    "pron": 11, "jumble": 100, "typo": 100, "agreement": 67,
}  # fmt: skip
"""Percent."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    every = (text for where, row in read_rows(arguments.file) for text in references_of(where, row))
    texts = list(islice(dict.fromkeys(every), TEXTS))
    print(f"| attack | applies to % of {len(texts)} references | expected |\n|---|---|---|")
    short = []
    for name in ATTACKS:
        count = sum(attack(text, name, arguments.seed) is not None for text in texts)
        share = 100 * count / len(texts)
        print(f"| {name} | {share:.2f} | {EXPECTED[name]} |")
        if 100 * count < (EXPECTED[name] - POINTS_BELOW) * len(texts):
            short.append(name)
    if short:
        print(f"more than {POINTS_BELOW} points below: {', '.join(short)}", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
