"""That memory does not grow with the number of pairs.

    python -m tools.memory [--metric baryscore] [--pairs 1000 100000]

Scores so many short pairs, all different, with a tiny model, as a list and as a stream, each in a
process of its own, and prints how far the call raised the process's peak memory (Linux).
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import infolm_metric
from tools.data import Pair
from tools.tables import show
from tools.timing import in_process, of_a_worker, peak_memory

REUSE_MEMORY = 1 << 24  # bytes
METRICS = {
    "infolm": ("InfoLMScorer", {"idf": False}),
    "baryscore": ("BaryScorer", {"idf": False, "layers": 2}),
    "menli": ("MENLIScorer", {}),
}


def pairs(count: int) -> Iterator[Pair]:
    """Short pairs, all different."""
    for number in range(count):
        yield f"the cat {number}", f"a dog {number}"


def score(metric: str, folder: str, count: int, way: str) -> dict[str, float]:
    """Peak memory in megabytes before and after the call."""
    kind, settings = METRICS[metric]
    scorer = getattr(infolm_metric, kind)(
        model_name_or_path=folder, reuse_memory=REUSE_MEMORY, **settings
    )
    scorer.score(*(list(side) for side in zip(*pairs(1000), strict=True)))
    before = peak_memory()
    if way == "stream":
        scored = sum(1 for _ in scorer.stream(pairs(count)))
    else:
        predictions, references = (list(side) for side in zip(*pairs(count), strict=True))
        scored = len(scorer.score(predictions, references)["scores"])
    assert scored == count
    return {"before": before, "after": peak_memory()}


def main() -> None:
    """Measure each number of pairs in both ways."""
    if of_a_worker(score):
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--metric", default="infolm", choices=METRICS)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--csv", type=Path, help="folder for the table's rows")
    given = parser.parse_args()
    from tests import model_families, nli_models

    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        model = nli_models.build(made) if given.metric == "menli" else None
        folder = str(model or model_families.build("bert", made))
        for way in ("list", "stream"):
            for count in given.pairs:
                job = {"metric": given.metric, "folder": folder, "count": count, "way": way}
                found = in_process("tools.memory", job)
                grown = found["after"] - found["before"]
                rows.append([way, count, f"{found['after']:.0f}", f"{grown:.1f}"])
    show(f"Memory of {given.metric}", ["way", "pairs", "peak, MB", "grown, MB"], rows, given.csv)


if __name__ == "__main__":
    main()
