"""A hundred sentences and what each says in other words; no two lines are about the same thing."""

from pathlib import Path

FILE = Path(__file__).with_suffix(".tsv")
PARAPHRASES = [tuple(line.split("\t")) for line in FILE.read_text(encoding="utf-8").splitlines()]
