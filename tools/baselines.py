"""Make the package's baselines from a corpus of prose, and test them on other texts.

For example:
  python -m tools.baselines make CORPUS
  python -m tools.baselines rates TEXTS.txt.gz TABLE.jsonl

`make` writes bundled/*_baseline.json. CORPUS is a folder with the files in SOURCES, which have one
paragraph per line. Both texts of a pair are complete sentences of one file, not of one paragraph,
and have about the same length. `rates` prints how many unrelated texts of other files are called
closer and far closer. The texts are sentences of paragraphs, or the first references of a table.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from infolm_metric.core.baselines import Baseline, package_baseline, stable_hash, unrelated_pairs
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.metrics import find

NOVELS = "standard_ebooks_pd"
SOURCES = ("docs", "factbook", NOVELS, "usgov_web")
LENGTHS = (6, 10, 16, 25, 40, 63, 100)  # tokens
LONG = 50  # longer texts take too long with InfoLM's default settings, so they come from NOVELS
TOLERANCE = 1.15  # largest ratio of a text's tokens to one of LENGTHS
TEXTS, PAIRS, REFERENCES = 18, 54, 4  # texts and pairs of each source and length
TESTED = 60  # texts of a file on which the rates are measured
SENTENCE_END = re.compile(r"(?<=[a-z]{3}[.!?])\s+(?=[A-Z])")  # not after initials, Dr. or Mr.
COMPLETE = re.compile(r"[A-Z].*[a-z]{3}[.!?]$")
# Pairs of texts that begin with an article are closer than other pairs.
BEGINNING = re.compile("(The|A|An) ")
IDF: dict[str, Any] = {"idf": "bundled"}
ONE_PASS = {"masking": "none", "temperature": 2.0, "interpolation": 0.1}
# Combinations use the baselines of the metrics before them.
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("baryscore", IDF),
    ("bertscore", IDF),
    ("menli", {}),
    *(("menli", {"combine_with": name}) for name in ("baryscore", "bertscore")),
    ("infolm", ONE_PASS | IDF),
    ("infolm", IDF),
]


def paragraphs(path: Path) -> Iterator[list[str]]:
    """Yield the complete sentences of each paragraph, in a random order of paragraphs."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    random.Random(0).shuffle(lines)
    for line in lines:
        if complete := [text for text in SENTENCE_END.split(line) if COMPLETE.match(text)]:
            yield complete


def passages(path: Path, tokenizer: Any) -> dict[int, list[str]]:
    """Draw passages of each of LENGTHS from different paragraphs."""
    groups: dict[int, list[str]] = {length: [] for length in LENGTHS}
    draw = random.Random(0)
    for sentences in paragraphs(path):
        lengths = [length for length in LENGTHS if len(groups[length]) < TEXTS]
        if not lengths:
            break
        starts = [index for index, text in enumerate(sentences) if BEGINNING.match(text)]
        length, start = draw.choice(lengths), draw.choice(starts or [len(sentences)])
        for end in range(start + 1, len(sentences) + 1):
            text = " ".join(sentences[start:end])
            tokens = len(tokenizer.tokenize(text))
            if tokens >= length / TOLERANCE:
                groups[length] += [text] * (tokens <= length * TOLERANCE)
                break
    # Smaller groups have too few combinations.
    return {length: texts for length, texts in groups.items() if len(texts) > 2 * REFERENCES}


def make(corpus: Path) -> None:
    """Write the baselines of all metrics. Entries of other models are kept."""
    scorers = {name: find(name).scorer_type()(model_name_or_path="bundled") for name, _ in SETTINGS}
    tokenizer = scorers["infolm"].tokenizer
    groups = {name: passages(corpus / f"{name}.txt.gz", tokenizer) for name in SOURCES}
    entries = {name: package_baseline(name).stats.items() for name in scorers}
    stats = {
        name: {key: each for key, each in kept if "model:bundled@" not in key[0]}
        for name, kept in entries.items()
    }
    for name, changes in SETTINGS:
        longest = LONG if (name, changes) == ("infolm", IDF) else max(LENGTHS)
        sources = [
            texts
            for source, by_length in groups.items()
            for length, texts in by_length.items()
            if length <= longest or source == NOVELS
        ]
        stats[name] |= scorers[name].make_baseline(sources, PAIRS, REFERENCES, **changes).stats
        Baseline(stats[name]).save(BUNDLED_FOLDER / f"{name}_baseline.json")
        package_baseline.cache_clear()
        print(f"{name} {changes}: {len(stats[name])} entries", flush=True)


def read_texts(path: Path) -> list[str]:
    """Read sentences of different paragraphs, or the first references of a table."""
    if path.suffix == ".gz":
        draw = random.Random(0)
        texts = [draw.choice(sentences) for sentences in paragraphs(path)]
    else:
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        texts = [row["references"][0] for row in rows]
    return sorted(set(texts), key=stable_hash)[:TESTED]


def rates(paths: Sequence[Path]) -> None:
    """Print the percentages of unrelated texts that are called closer and far closer."""
    for path in paths:
        pairs = Pairs.of(unrelated_pairs(read_texts(path), 2 * TESTED, 1))
        for name, changes in SETTINGS:
            for weights in ({"idf": False}, IDF) if "idf" in changes else ({},):
                options: dict[str, Any] = changes | weights
                scorer = find(name).scorer_type()(model_name_or_path="bundled", **options)
                run = scorer.prepare()
                ((key, scores),) = run.score(pairs).scores.items()
                stats, best = run.unrelated([1])[1][key], scorer.best(run.settings, key)
                lengths = zip(scores, run.pair_tokens(pairs), strict=True)
                ranks = [stats.percentile(score, best, tokens) for score, tokens in lengths]
                closer, far = (sum(x < level for x in ranks) / len(ranks) for level in (5, 1))
                print(f"{path.name}, {name} {options}: {closer:.1%}, {far:.1%}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make").add_argument("corpus", type=Path)
    commands.add_parser("rates").add_argument("texts", type=Path, nargs="+")
    arguments = parser.parse_args()
    make(arguments.corpus) if arguments.command == "make" else rates(arguments.texts)


if __name__ == "__main__":
    main()
