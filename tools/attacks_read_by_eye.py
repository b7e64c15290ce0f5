"""Print a sample of attacked references for manual inspection, with the recorded verdicts.

    python -m tools.attacks_read_by_eye webnlg2020.en.jsonl

Each attack is applied to up to 20 suitable references from a random sample of 400 distinct
references. An attack on adequacy is fair if it changes the meaning and the English remains equally
good; "drop" breaks sentences by design, so only the change of meaning counts. An attack on fluency
is fair if it makes the English worse. `results/attacks_read_by_eye.csv` contains the verdicts by
item and reference number. The output ends with the number of unfair cases per attack.
"""

import argparse
import csv
import random
from collections import Counter
from pathlib import Path

from infolm_metric.robustness import ATTACKS, attack, read_items

TEXTS, CASES, SEED = 400, 20, 1
VERDICTS = Path(__file__).parent / "results" / "attacks_read_by_eye.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", help="table with the columns id and references")
    arguments = parser.parse_args()
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        verdicts = {
            (row["attack"], row["id"], int(row["reference"])): row["verdict"]
            for row in csv.DictReader(file)
        }
    texts = {
        text: (item.id, number)
        for item in read_items(arguments.file)
        for number, text in enumerate(item.references, 1)
    }
    sample = random.Random(SEED).sample(list(texts), TEXTS)
    unfair: Counter[str] = Counter()
    for name in ATTACKS:
        attacked = {text: attack(text, name, SEED) for text in sample}
        applies = [text for text in sample if attacked[text] is not None]
        print(f"{name}: applies to {100 * len(applies) / TEXTS:.2f}% of {TEXTS}")
        for text in random.Random(SEED).sample(applies, min(CASES, len(applies))):
            identity, number = texts[text]
            verdict = verdicts.get((name, identity, number), "no verdict")
            unfair[name] += verdict == "unfair"
            print(f"\n{name} {identity}.{number}: {verdict}\n  {text}\n  {attacked[text]}")
    print(f"\nunfair: {dict(+unfair)}")


if __name__ == "__main__":
    main()
