"""Measure the memory for scoring a list and a stream of pairs with the bundled model (Linux).

    python -m tools.memory [--pairs 1000 10000]

Scores distinct pairs of five words with InfoLM in one pass (masking="none") and the default cache.
Each list and each stream is scored in a separate process. The table shows the process's memory
after the model is loaded, its peak, and its memory after `unload`.
"""

import argparse
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from infolm_metric import InfoLMScorer
from tools.tables import show
from tools.timing import in_process, memory, run_worker

WORDS = "river stone cloud house table dog cat bird tree road lamp chair king queen boat fish"


def pairs(count: int) -> Iterator[tuple[str, str]]:
    generator, words = random.Random(0), WORDS.split()
    for number in range(count):
        first, second = (" ".join(generator.choices(words, k=4)) for _ in range(2))
        yield f"{first} {number}", f"{second} {number + count}"


def score(count: int, form: str, **settings: int) -> dict[str, float]:
    """Score a "list" or a "stream" of pairs, and return the memory in MB at each step."""
    scorer = InfoLMScorer(model_name_or_path="bundled", masking="none", idf=False, **settings)
    scorer.score(["a cat"], ["a dog"])
    loaded = memory("VmRSS")
    if form == "stream":
        total = sum(1 for _ in scorer.stream(pairs(count)))
    else:
        total = len(scorer.score(*map(list, zip(*pairs(count), strict=True)))["scores"])
    assert total == count
    scorer.unload()
    return {"loaded": loaded, "peak": memory("VmHWM"), "unloaded": memory("VmRSS")}


def main() -> None:
    if run_worker(score):
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--csv", type=Path, help="folder to save the table in")
    arguments = parser.parse_args()
    rows = []
    for form, count in product(("list", "stream"), arguments.pairs):
        sizes = in_process("tools.memory", {"count": count, "form": form})
        rows.append([form, count, *(f"{size:.0f}" for size in sizes.values())])
    header = ["input", "pairs", "loaded, MB", "peak, MB", "after unload, MB"]
    show("Memory", header, rows, arguments.csv)


if __name__ == "__main__":
    main()
