"""Files shown on pages of docs/, copied as a reader would copy them, and their data."""

import json
import re
from pathlib import Path

from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines

SHOWN = re.compile(r"^```(?:py|yaml)\n# (?P<name>[\w.]+)\n(?P<content>.*?)^```$", re.DOTALL | re.M)

ANSWERS = [
    {"question": "Who was first on the moon?", "aliases": ["Neil Armstrong", "Armstrong"]},
    {"question": "What is the capital of Australia?", "aliases": ["Canberra"]},
    {"question": "Who painted the Mona Lisa?", "aliases": ["Leonardo da Vinci", "Leonardo"]},
]
FRENCH = "Les astronautes ont marché sur la surface de la Lune en juillet."
# Ten references, and the outputs of a better and a worse system.
CITIES = ["Rome", "Oslo", "Lima", "Cairo", "Paris", "Tokyo", "Delhi", "Quito", "Accra", "Sofia"]
REFERENCES = [f"The train to {city} leaves at {n} in the morning." for n, city in enumerate(CITIES)]
BETTER = [text.replace("leaves", "departs") for text in REFERENCES]
WORSE = [f"A dog barked at {n} black cats." for n in range(10)]


def shown(page: str) -> dict[str, str]:
    """Return the files that a page shows, by name."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return {file["name"]: file["content"] for file in SHOWN.finditer(text)}


def write_shown(folder: Path) -> list[dict[str, object]]:
    """Write the files from integrations.md and their data into the folder. Return the documents."""
    for name, content in shown("integrations.md").items():
        (folder / name).write_text(content)
    rows = random_pairs(10, seed=4, longest=12)
    pairs = [(row["prediction"], row["references"][0]) for row in rows]
    documents = [
        {"text": text, "summary": summary, "summaries": [summary, "it was cold"]}
        for text, summary in pairs
    ]
    write_lines(folder / "documents.jsonl", documents)
    write_lines(folder / "answers.jsonl", ANSWERS)
    (folder / "summaries.json").write_text(json.dumps([[d["text"] for d in documents]] * 3))
    return documents
