"""How many texts are counted as of another kind than the bundled models' English.

    python -m tools.out_of_domain [FILE ...]

Each FILE is JSON Lines with `prediction` and `references`, or text (also .gz) whose lines are cut
into sentences. Prints the share of each that is unread, then that of the sentences in
tests/texts_by_language.json: those that the rule was chosen on, and others.
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
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="*")
    options = parser.parse_args()
    scorer = InfoLMScorer(model_name_or_path="bundled")
    sets = {file.name: texts_of(file) for file in options.files}
    for part, kinds in json.loads(TEXTS_BY_LANGUAGE.read_text(encoding="utf-8")).items():
        sets |= {f"{kind}, {part}": texts for kind, texts in kinds.items()}
    for name, texts in sets.items():
        weighted = scorer.tokenize_and_weight(list(dict.fromkeys(texts)), None, scorer.settings)
        unread = scorer.count_warnings(weighted, scorer.settings)["out_of_domain"]
        print(f"{name}: {unread} of {len(weighted)}, {unread / len(weighted):.1%}")


def texts_of(file: Path) -> list[str]:
    """The texts of a file of either kind, each once; sentences of three words or more."""
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        if file.suffix != ".jsonl":
            texts = [text for line in lines for text in re.split(r"(?<=[.!?])\s+", line.strip())]
            return [text for text in dict.fromkeys(texts) if len(text.split()) >= 3]
        rows = [json.loads(line) for line in lines]
    return [text for row in rows for text in [row["prediction"], *row["references"]] if text]


if __name__ == "__main__":
    main()
