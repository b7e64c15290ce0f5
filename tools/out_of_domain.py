"""Count the texts that are classified as out of domain for the bundled models.

    python -m tools.out_of_domain [FILE ...]

A FILE is JSON Lines with `prediction` and `references`, or text (optionally .gz), which is split
into sentences. Prints the fraction out of domain of each file, and of the sentences in
tests/texts_by_language.json, by language and by whether the rule was chosen on them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path

from infolm_metric import InfoLMScorer

TEXTS_BY_LANGUAGE = Path(__file__).parents[1] / "tests/texts_by_language.json"


def main() -> None:
    """Print the number and the fraction of texts out of domain."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="*", help="JSON Lines or text files")
    options = parser.parse_args()
    scorer = InfoLMScorer(model_name_or_path="bundled")
    sets = {file.name: read_texts(file) for file in options.files}
    for part, kinds in json.loads(TEXTS_BY_LANGUAGE.read_text(encoding="utf-8")).items():
        sets |= {f"{kind}, {part}": texts for kind, texts in kinds.items()}
    for name, texts in sets.items():
        weighted = scorer.tokenize_and_weight(list(dict.fromkeys(texts)), None, scorer.settings)
        count = scorer.count_warnings(weighted, scorer.settings)["out_of_domain"]
        print(f"{name}: {count} of {len(weighted)}, {count / len(weighted):.1%}")


def read_texts(file: Path) -> list[str]:
    """Read the texts of a JSON Lines file, or the distinct sentences of at least three words."""
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        if file.suffix != ".jsonl":
            texts = [text for line in lines for text in re.split(r"(?<=[.!?])\s+", line.strip())]
            return [text for text in dict.fromkeys(texts) if len(text.split()) >= 3]
        rows = [json.loads(line) for line in lines]
    return [text for row in rows for text in [row["prediction"], *row["references"]] if text]


if __name__ == "__main__":
    main()
