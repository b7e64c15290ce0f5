"""A hundred sentences with a paraphrase each. No two sentences have the same topic."""

from pathlib import Path

FILE = Path(__file__).with_suffix(".tsv")
PARAPHRASES = [tuple(line.split("\t")) for line in FILE.read_text(encoding="utf-8").splitlines()]
