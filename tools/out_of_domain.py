"""Count texts that are out of domain for the bundled models.

    python -m tools.out_of_domain [FILE ...]

A FILE is JSON Lines with the fields prediction and references, or a text file (optionally .gz),
which is split into sentences. Prints the number and fraction of out-of-domain texts for each file
and for each language in tests/texts_by_language.json. Sentences on which the rule was tuned are
listed separately.
"""

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any

from infolm_metric import InfoLMScorer
from tools.data import read_json_lines

TEXTS_BY_LANGUAGE = Path(__file__).parents[1] / "tests/texts_by_language.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*", help="JSON Lines or text files")
    options = parser.parse_args()
    run: Any = InfoLMScorer(model_name_or_path="bundled").prepare()
    sets = {file.name: read_texts(file) for file in options.files}
    for part, kinds in json.loads(TEXTS_BY_LANGUAGE.read_text(encoding="utf-8")).items():
        sets |= {f"{kind}, {part}": texts for kind, texts in kinds.items()}
    for name, texts in sets.items():
        weighted = run.tokenize_and_weight(list(dict.fromkeys(texts)), None)
        count = run.count_warnings(weighted)["out_of_domain"]
        print(f"{name}: {count} of {len(weighted)}, {count / len(weighted):.1%}")


def read_texts(file: Path) -> list[str]:
    """Return all texts of a JSON Lines file, or a text file's distinct sentences of 3+ words."""
    if file.suffix == ".jsonl":
        rows = read_json_lines(file)
        return [text for row in rows for text in [row["prediction"], *row["references"]] if text]
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open(encoding="utf-8") as lines:
        texts = [text for line in lines for text in re.split(r"(?<=[.!?])\s+", line.strip())]
    return [text for text in dict.fromkeys(texts) if len(text.split()) >= 3]


if __name__ == "__main__":
    main()
