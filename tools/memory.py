"""Measure the peak memory for scoring a list and a stream (Linux).

    python -m tools.memory [--pairs 1000 100000]

Scores distinct short pairs with InfoLM, a tiny model and uniform weights. Each list and each stream
is scored in a separate process. The table shows how much the peak memory increased during the call.
"""

import argparse
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from infolm_metric import InfoLMScorer
from tools.tables import show
from tools.timing import in_process, peak_memory, run_worker

REUSE_MEMORY = 1 << 24  # bytes of cached encodings


def pairs(count: int) -> Iterator[tuple[str, str]]:
    for number in range(count):
        yield f"the cat {number}", f"a dog {number}"


def score(folder: str, count: int, form: str) -> dict[str, float]:
    """Score a "list" or a "stream" of pairs, and return the peak memory before and after in MB."""
    scorer = InfoLMScorer(model_name_or_path=folder, idf=False, reuse_memory=REUSE_MEMORY)
    scorer.score(*map(list, zip(*pairs(1000), strict=True)))
    before = peak_memory()
    if form == "stream":
        total = sum(1 for _ in scorer.stream(pairs(count)))
    else:
        total = len(scorer.score(*map(list, zip(*pairs(count), strict=True)))["scores"])
    assert total == count
    return {"before": before, "after": peak_memory()}


def main() -> None:
    if run_worker(score):
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--csv", type=Path, help="folder to save the table in")
    arguments = parser.parse_args()
    from tests import model_families

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model_families.build("bert", Path(folder))
        for form, count in product(("list", "stream"), arguments.pairs):
            job = {"folder": folder, "count": count, "form": form}
            peaks = in_process("tools.memory", job)
            growth = peaks["after"] - peaks["before"]
            rows.append([form, count, f"{peaks['after']:.0f}", f"{growth:.1f}"])
    show("Memory", ["input", "pairs", "peak, MB", "increase, MB"], rows, arguments.csv)


if __name__ == "__main__":
    main()
