"""Draws attacked references to be read by eye, and prints them; what was judged is in a table.

    python -m tools.attacks_read_by_eye webnlg2020.en.jsonl
    python -m tools.attacks_read_by_eye webnlg2020.en.jsonl --verdicts

400 distinct references of a table with the columns id and references are drawn, and of each attack
20 of those that it applies to. An attack of adequacy is fair if the text says something else and is
as good English as before; "drop" breaks sentences by its rule, so that of it only the first is
asked. One of fluency is fair if the English is worse. The verdicts, in
`results/attacks_read_by_eye.csv`, name a reference by its item and its number there, not its text.
With --verdicts the exit code is 1 if those are not the drawn cases, or more than one of an
attack of adequacy is unfair.
"""

import argparse
import csv
import random
import sys
from collections import Counter
from pathlib import Path

from infolm_metric.robustness import ATTACKS, attack, read_items

TEXTS, CASES, SEED = 400, 20, 1
VERDICTS = Path(__file__).parent / "results" / "attacks_read_by_eye.csv"


def main() -> int:
    """Print the cases, or check the verdicts on them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--verdicts", action="store_true", help="check those of the table")
    arguments = parser.parse_args()
    texts = {
        text: (item.id, number)
        for item in read_items(arguments.file)
        for number, text in enumerate(item.references, 1)
    }
    sample = random.Random(SEED).sample(list(texts), TEXTS)
    cases = {}
    for name in ATTACKS:
        applies = [text for text in sample if attack(text, name, SEED) is not None]
        print(f"{name}: applies to {100 * len(applies) / TEXTS:.2f}% of {TEXTS}")
        for text in random.Random(SEED).sample(applies, min(CASES, len(applies))):
            cases[name, *texts[text]] = text, attack(text, name, SEED)
    if not arguments.verdicts:
        for (name, identity, number), (text, attacked) in cases.items():
            print(f"\n{name} {identity}.{number}\n  {text}\n  {attacked}")
        return 0
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    unfair = Counter(row["attack"] for row in rows if row["verdict"] == "unfair")
    verdicts = [(row["attack"], row["id"], int(row["reference"])) for row in rows]
    print(f"unfair: {dict(unfair)}")
    adequacy = [unfair[name] for name in ATTACKS if ATTACKS[name].kind == "adequacy"]
    return int(max(adequacy) > 1 or verdicts != list(cases))


if __name__ == "__main__":
    sys.exit(main())
