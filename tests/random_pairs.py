"""Reproducible pairs of made-up sentences."""

import json
import random
from pathlib import Path

TEXT = (
    "the a cat dog old small sat slept ran barked on in by mat chair garden river "
    "rain fell rose cold outside it was days metres city council budget new approved monday"
)
WORDS = TEXT.split()


def random_pairs(count: int, seed: int = 0, longest: int = 9) -> list[dict[str, object]]:
    """Return rows with a prediction and one or two references of 1 to `longest` words each.

    >>> random_pairs(1) == random_pairs(1)
    True
    """
    draw = random.Random(seed)

    def text() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, longest)))

    return [
        {"prediction": text(), "references": [text() for _ in range(draw.choice((1, 1, 2)))]}
        for _ in range(count)
    ]


def write_lines(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write each row as a line of JSON to `path`, and return `path`."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
