"""That a pair scores the same, bit for bit, in whatever company it is scored (float32, CPU).

    OMP_NUM_THREADS=1 python tests/benchmarks/same_in_any_company.py [--pairs 300] [--masks 1]

The same pairs are scored together, alone, shuffled, in batches of 1, 3 and 64 masked contexts, as a
stream, as the shards of a job, and on two ranks of one thread each: for a tiny model of every
family and the bundled one. Prints for each model and way how many scores differ in any bit, and by
how much at most; exits with 1 if any does where it is promised that none will.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.multiprocessing as multiprocessing

ROOT = Path(__file__).resolve().parents[2]
NAME = "fisher_rao_distance"
WITHIN_BOUND_ONLY = ("modernbert",)  # runs its own encoder, whose kernels depend on the batch

Columns = tuple[list[str], list[list[str]]]


def on_rank(rank: int, port: int, model: str, columns: Columns, output: str, masks: int) -> None:
    """Score this rank's half of the pairs; the first one writes the scores of all."""
    sys.path.insert(0, str(ROOT))
    import torch

    from infolm_metric import InfoLMScorer
    from infolm_metric.kernel.ranks import distributed_score

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    result = distributed_score(
        InfoLMScorer(model_name_or_path=model, idf=False, masks_per_pass=masks),
        *columns,
        ranks="same",
    )
    if rank == 0:
        Path(output).write_text(json.dumps(result["scores"]))
    dist.destroy_process_group()


def ways(model: str, columns: Columns, folder: Path, masks: int) -> dict[str, list[float]]:
    """The scores of the pairs by each way to score them."""
    from infolm_metric import InfoLMScorer
    from infolm_metric.running.files import PairSource
    from infolm_metric.running.resume import run_job

    def fresh(**settings: Any) -> Any:
        return InfoLMScorer(model_name_or_path=model, idf=False, masks_per_pass=masks, **settings)

    pairs = list(zip(*columns, strict=True))
    order = random.Random(0).sample(range(len(pairs)), len(pairs))
    mixed = fresh().score(*zip(*(pairs[i] for i in order), strict=True))["scores"]
    shuffled = [0.0] * len(pairs)
    for position, score in zip(order, mixed, strict=True):
        shuffled[position] = score
    alone = fresh(reuse_memory=0)
    source = PairSource("pairs", lambda: iter(pairs))
    run_job(fresh(), source, folder / "scores.jsonl", chunk=37, progress=False)
    rows = [json.loads(line) for line in (folder / "scores.jsonl").open()]
    port = 20_000 + random.SystemRandom().randrange(20_000)
    ranks = str(folder / "ranks.json")
    multiprocessing.spawn(on_rank, (port, model, columns, ranks, masks), nprocs=2)
    return {
        "together": fresh().score(*columns)["scores"],
        "alone": [alone.score([one], [other])["infolm"] for one, other in pairs],
        "shuffled": shuffled,
        **{f"batches of {n}": fresh(batch_size=n).score(*columns)["scores"] for n in (1, 3, 64)},
        "stream": [row[NAME] for row in fresh().stream(pairs)],
        "shards": [row[NAME] for row in rows],
        "two ranks": json.loads(Path(ranks).read_text()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--longest", type=int, default=20, help="words of the longest text")
    parser.add_argument("--masks", type=int, default=1, help="masks_per_pass")
    parser.add_argument("--only", metavar="FAMILY", help="one family, or bundled")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    import torch

    from tests.model_families import FAMILIES, build
    from tests.random_pairs import random_pairs

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows: list[Any] = random_pairs(options.pairs, longest=options.longest)
    columns = ([row["prediction"] for row in rows], [row["references"] for row in rows])
    broken = False
    for family in [options.only] if options.only else [*FAMILIES, "bundled"]:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder)
            model = family if family == "bundled" else str(build(family, made / "model"))
            found = ways(model, columns, made, options.masks)
        expected = found.pop("together")
        for way, scores in found.items():
            gaps = [abs(a - b) for a, b in zip(expected, scores, strict=True)]
            differing = sum(gap > 0 for gap in gaps)
            broken |= bool(differing) and family not in WITHIN_BOUND_ONLY
            print(f"{family:12} {way:14} {differing:4} of {len(gaps)} differ, at most {max(gaps)}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
