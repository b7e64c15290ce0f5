"""Evaluates a masked language model on held-out text the way InfoLM uses it: one mask at a time.

    python -m infolm_metric.bundled.evaluate CORPUS [--model MODEL] [--texts 200] [--masks 8]

Prints, for each `NAME.valid.txt.gz` of the folder and pooled over them, the mean cross-entropy in
nats and the top-1 and top-5 accuracy in percent of the tokens that were masked.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForMaskedLM, AutoTokenizer

TEXT_LENGTH = 64
CONTEXTS_PER_BATCH = 64


def masked_copies(
    texts: list[str], tokenizer: Any, masks: int, random: np.random.Generator
) -> list[tuple[list[int], int, int]]:
    """(ids with one mask, its position, the token that stood there) for some positions of each."""
    copies = []
    encoded = tokenizer(texts, truncation=True, max_length=TEXT_LENGTH)["input_ids"]
    for ids in encoded:
        inner = np.arange(1, len(ids) - 1)
        for position in random.permutation(inner)[:masks]:
            masked = list(ids)
            masked[position] = tokenizer.mask_token_id
            copies.append((masked, int(position), ids[position]))
    return copies


@torch.inference_mode()
def judge(model: Any, copies: list[tuple[list[int], int, int]]) -> Tensor:
    """[copies, 3] float64: cross-entropy in nats, and whether the token was first, in the top 5."""
    rows = torch.empty(len(copies), 3, dtype=torch.float64)
    order = sorted(range(len(copies)), key=lambda i: len(copies[i][0]))
    start = 0
    while start < len(order):
        length = len(copies[order[start]][0])
        batch = [
            i for i in order[start : start + CONTEXTS_PER_BATCH] if len(copies[i][0]) == length
        ]
        start += len(batch)
        ids = torch.tensor([copies[i][0] for i in batch])
        at = torch.arange(len(batch)), torch.tensor([copies[i][1] for i in batch])
        target = torch.tensor([copies[i][2] for i in batch])[:, None]
        hidden = model.base_model(ids).last_hidden_state[at]
        log_p = torch.log_softmax(model.cls(hidden).double(), dim=-1)
        chosen = log_p.gather(1, target)
        rank = (log_p > chosen).sum(1, keepdim=True)
        rows[batch] = torch.cat([-chosen, (rank < 1).double(), (rank < 5).double()], dim=1)
    return rows


def main() -> None:
    """Print how well a model predicts the held-out texts, file by file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path, help="folder of NAME.valid.txt.gz")
    parser.add_argument("--model", type=Path, default=Path(__file__).parent, help="BERT-like model")
    parser.add_argument("--texts", type=int, default=200, help="first texts of each file")
    parser.add_argument("--masks", type=int, default=8, help="masked positions of each text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForMaskedLM.from_pretrained(args.model, dtype=torch.float32).eval()
    random = np.random.default_rng(args.seed)
    results = {}
    for file in sorted(args.corpus.glob("*.valid.txt.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            texts = [line.strip() for line in lines if line.strip()][: args.texts]
        results[file.name.split(".")[0]] = judge(
            model, masked_copies(texts, tokenizer, args.masks, random)
        )
    results["pooled"] = torch.cat(list(results.values()))
    table = {
        name: {
            "masks": len(rows),
            "cross_entropy": round(float(rows[:, 0].mean()), 3),
            "top_1": round(100 * float(rows[:, 1].mean()), 1),
            "top_5": round(100 * float(rows[:, 2].mean()), 1),
        }
        for name, rows in results.items()
    }
    if args.json:
        print(json.dumps(table, indent=1))
        return
    print(f"{'file':24}{'masks':>7}{'nats':>8}{'top-1':>7}{'top-5':>7}")
    for name, row in table.items():
        print(
            f"{name:24}{row['masks']:>7}{row['cross_entropy']:>8.3f}"
            f"{row['top_1']:>7.1f}{row['top_5']:>7.1f}"
        )


if __name__ == "__main__":
    main()
