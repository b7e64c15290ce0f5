"""What a long job does beside running the model: how many pairs a second each part of it takes.

    python tests/benchmarks/around_the_model.py

On one thread, with the bundled tokenizer and pairs whose texts have 30 tokens each, all distinct:
reading them from JSON Lines, counting them for idf, adding up the counts (what the driver of a
cluster does, a table for every 4,096 pairs), tokenising them and laying out their batches, and
forcing a chunk of scores to the disk. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")

import torch
from scaling import make_rows

from infolm_metric.infolm.masked_lm import open_masked_lm
from infolm_metric.infolm.masking import batches, split
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.statistics import count as count_documents
from infolm_metric.kernel.idf.weights import normalised_log_weights
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.tokens import tokenize
from infolm_metric.running import resume
from infolm_metric.running.files import from_table
from infolm_metric.running.shards import SHARD, Shard

REPEATS = 3


def pairs_per_second(pairs: int, work: Callable[[], object]) -> float:
    """The best of a few tries, after one that is not counted."""
    work()
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return pairs / min(seconds)


def measure_parts(count: int, folder: Path) -> dict[str, float]:
    """Pairs a second of each part, by what it does."""
    rows = make_rows(count, tokens=28)  # and two special ones
    file = folder / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    texts = [row["prediction"] for row in rows], [row["reference"] for row in rows]
    pairs = Pairs(texts[0], [[text] for text in texts[1]], False)
    settings = Settings(model_name_or_path="bundled", idf="references")
    checkpoint = open_masked_lm("bundled")
    tokenizer, template = checkpoint.tokenizer, checkpoint.template
    statistics = count_documents(pairs, settings, checkpoint)

    def read() -> None:
        assert sum(1 for _ in from_table(str(file)).read()) == count

    def plan() -> None:
        windows = []
        found = tokenize(tokenizer, [*texts[0], *texts[1]], 512, "truncate")
        for number, text in enumerate(found):
            weights = normalised_log_weights(text, None)[:, None]
            windows += split(number, text, weights, template, 512)
        for batch in batches(windows, template.mask, None, len(tokenizer), "cpu"):
            assert batch.ids.shape[1] == 30

    def write() -> None:
        lines = b'{"pair": 100000, "fisher_rao_distance": 0.1234567890123456}\n' * resume.CHUNK
        Shard("5f2e", lines).write(folder / SHARD.format(1))

    return {
        "reading JSON Lines": pairs_per_second(count, read),
        "counting for idf": pairs_per_second(
            count, lambda: count_documents(pairs, settings, checkpoint)
        ),
        "adding up counts": pairs_per_second(resume.COUNTED, lambda: statistics + statistics),
        "tokenising and laying out batches": pairs_per_second(count, plan),
        "forcing a chunk to the disk": pairs_per_second(resume.CHUNK, write),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=4096)
    parser.add_argument("--folder", help="where to write, on the disk to measure", default=None)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = measure_parts(given.pairs, Path(folder))
    print("| beside the model, one thread | pairs a second |\n|---|---:|")
    for part, rate in found.items():
        print(f"| {part} | {rate:,.0f} |")


if __name__ == "__main__":
    main()
