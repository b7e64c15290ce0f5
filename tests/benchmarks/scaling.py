"""How the rate grows with ranks and with Ray workers, and what the engine costs for each block.

    python tests/benchmarks/scaling.py one   --pairs 64
    python tests/benchmarks/scaling.py ranks --pairs 128
    python tests/benchmarks/scaling.py ray   --pairs 512 --workers 1 2
    python tests/benchmarks/scaling.py blocks --blocks 20

Every pair has 30 tokens on either side, two of them special, and differs from all others; idf is
off, so that every token is masked. Every process has one thread. `one` is a process by itself,
`ranks` are those of torchrun; their rates leave out what comes before the first pair: imports and
loading. Those of `ray` count everything, from the start of the actors to the last score. `blocks`
measures an actor that does nothing, with one block and with many. Prints a line of JSON for each
measurement: `rate` is pairs a second; `cpu_rate` is pairs in a second of the busiest process's CPU
time, which others on the machine disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
WORDS = (
    "people time year government company market city water school house country child night war "
    "river music paper letter morning station field winter summer doctor village officer captain "
    "found built opened carried wrote lost held brought turned followed reached ordered"
)


def make_rows(count: int, tokens: int) -> list[dict[str, str]]:
    """Pairs of texts of so many tokens, each of which is a word of the bundled vocabulary."""
    draw = random.Random(0)
    words = WORDS.split()
    return [
        {side: " ".join(draw.choices(words, k=tokens)) for side in ("prediction", "reference")}
        for _ in range(count)
    ]


def score_share(given: argparse.Namespace) -> None:
    """What a process does in `one` and `ranks`; the main one prints."""
    import torch
    import torch.distributed as dist

    from infolm_metric import InfoLMScorer
    from infolm_metric.kernel.ranks import distributed_score, number_of_ranks

    torch.set_num_threads(1)
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    ranks = number_of_ranks()
    rank = int(os.environ.get("RANK", "0"))
    rows = make_rows(given.pairs, given.tokens)
    edges = [len(rows) * number // ranks for number in (rank, rank + 1)]
    share = rows[slice(*edges)]
    scorer = InfoLMScorer(model_name_or_path=given.model, idf=False, reuse_memory=0)
    scorer.score(["warm up"], ["warm up"])
    if ranks > 1:
        dist.barrier()
    began, busy = time.perf_counter(), [time.process_time()]
    result = distributed_score(
        scorer, [row["prediction"] for row in share], [row["reference"] for row in share]
    )
    seconds, busy = time.perf_counter() - began, [time.process_time() - busy[0]]
    if ranks > 1:
        both = [0.0] * ranks
        dist.all_gather_object(both, busy[0])
        busy = both
    if rank == 0 and result is not None:
        rates = {"rate": given.pairs / seconds, "cpu_rate": given.pairs / max(busy)}
        found = mean(result.scores["fisher_rao_distance"])
        report(given, ranks=ranks, seconds=seconds, **rates, mean=found)
    if ranks > 1:
        dist.destroy_process_group()


def launch_ranks(given: argparse.Namespace) -> None:
    """One rank, then two, and so on, of torchrun."""
    for ranks in given.workers:
        launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks))
        size = ("--pairs", str(given.pairs), "--tokens", str(given.tokens), "--model", given.model)
        subprocess.run([sys.executable, *launcher, __file__, "one", *size], check=True)


def score_on_ray(given: argparse.Namespace) -> None:
    """The whole job, with each number of workers, on one local cluster."""
    import ray

    from infolm_metric.running.ray import score_dataset

    start_ray(max(given.workers))
    rows = make_rows(given.pairs, given.tokens)
    for workers in given.workers:
        dataset = ray.data.from_items(rows, override_num_blocks=-(-given.pairs // given.batch))
        began = time.perf_counter()
        scored = score_dataset(
            dataset,
            workers=workers,
            batch=given.batch,
            model_name_or_path=given.model,
            idf=False,
            reuse_memory=0,
        ).materialize()
        seconds = time.perf_counter() - began
        found = [row["fisher_rao_distance"] for row in scored.take_all()]
        print(scored.stats(), file=sys.stderr)  # among other things, CPU time of the actors
        report(
            given, workers=workers, seconds=seconds, rate=given.pairs / seconds, mean=mean(found)
        )


class Nothing:
    """An actor that gives its rows back."""

    def __call__(self, rows: object) -> object:
        return rows


def time_blocks(given: argparse.Namespace) -> None:
    """What a block costs that is only passed through an actor."""
    import ray

    start_ray(2)
    times = {}
    for blocks in (1, given.blocks):
        rows = make_rows(blocks * given.batch, given.tokens)
        dataset = ray.data.from_items(rows, override_num_blocks=blocks).materialize()
        began = time.perf_counter()
        dataset.map_batches(
            Nothing,
            batch_size=given.batch,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=1),
        ).materialize()
        times[blocks] = time.perf_counter() - began
    overhead = (times[given.blocks] - times[1]) / (given.blocks - 1)
    report(given, start=times[1], seconds_per_block=overhead, blocks=given.blocks)


def start_ray(workers: int) -> None:
    """A local cluster of so many CPUs, without a dashboard and without bars."""
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, address="local", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def report(given: argparse.Namespace, **found: float) -> None:
    """Print a line of JSON."""
    line = {"what": given.what, "pairs": given.pairs, "tokens": given.tokens, **found}
    print(json.dumps(line), flush=True)


WHAT = {"one": score_share, "ranks": launch_ranks, "ray": score_on_ray, "blocks": time_blocks}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=28)  # and two special ones
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--blocks", type=int, default=20)
    given = parser.parse_args()
    WHAT[given.what](given)


if __name__ == "__main__":
    main()
