"""Print a sample of attacked references for manual inspection, or check the recorded verdicts.

    python -m tools.attacks_read_by_eye webnlg2020.en.jsonl
    python -m tools.attacks_read_by_eye webnlg2020.en.jsonl --verdicts

The input is a table with the columns id and references. From 400 random distinct references, each
attack gets up to 20 that it applies to. An attack on adequacy is fair if it changes the meaning and
the English remains equally good. The attack "drop" breaks sentences by design, so only the change
of meaning counts. An attack on fluency is fair if it makes the English worse.

`results/attacks_read_by_eye.csv` contains the verdicts; it identifies a reference by its item and
its number. With --verdicts, the exit code is 1 if the verdicts and the sampled cases do not match,
or if an attack on adequacy has more than one unfair case.
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
    """Print the sampled cases, or check the verdicts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", help="table with the columns id and references")
    parser.add_argument("--verdicts", action="store_true", help="check the recorded verdicts")
    arguments = parser.parse_args()
    texts = {
        text: (item.id, number)
        for item in read_items(arguments.file)
        for number, text in enumerate(item.references, 1)
    }
    sample = random.Random(SEED).sample(list(texts), TEXTS)
    cases = {}
    for name in ATTACKS:
        attacked = {text: attack(text, name, SEED) for text in sample}
        applies = [text for text in sample if attacked[text] is not None]
        print(f"{name}: applies to {100 * len(applies) / TEXTS:.2f}% of {TEXTS}")
        for text in random.Random(SEED).sample(applies, min(CASES, len(applies))):
            cases[name, *texts[text]] = text, attacked[text]
    if not arguments.verdicts:
        for (name, identity, number), (text, changed) in cases.items():
            print(f"\n{name} {identity}.{number}\n  {text}\n  {changed}")
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
