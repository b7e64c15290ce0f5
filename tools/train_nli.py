"""Trains the bundled natural-language-inference model on a `train.tsv.gz` of labelled pairs.

    pip install -c requirements.txt -e ".[tools]"
    torchrun --nproc-per-node 2 -m tools.train_nli NLI/train.tsv.gz -o WORK

The file has the columns source, label, premise and hypothesis. The model is a plain
BertForSequenceClassification in the end. A second head over the means of both texts' states learns
beside the plain one and is dropped: from a sentence encoder the plain head alone finds no start.
training.py says how it is trained.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoTokenizer, BertForSequenceClassification

from tools.training import Step, fit, options, prepare, save_model

LABELS = ("entailment", "neutral", "contradiction")
TWO_WAY = "not_entailment"
MAX_LENGTH = 128  # tokens of a pair, special tokens included
CORE = ("snli_", "mnli_", "cad_", "negation_", "textfooler_")
NARROW_SHARE = 0.3  # of an epoch: rows of the other sources, which were made by rule


def read_rows(file: Path) -> pd.DataFrame:
    """The rows of a `.tsv.gz`: source, label (-1 for "not entailment"), premise and hypothesis."""
    rows = pd.read_csv(file, sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False, dtype=str)
    numbers = {label: number for number, label in enumerate(LABELS)} | {TWO_WAY: -1}
    return rows.assign(label=rows["label"].map(numbers).astype(np.int64))


def encode(tokenizer: Any, rows: pd.DataFrame, **options: Any) -> Any:
    """The pairs as the model reads them; the options are the tokenizer's."""
    pairs = rows["premise"].tolist(), rows["hypothesis"].tolist()
    return tokenizer(*pairs, truncation=True, max_length=MAX_LENGTH, **options)


def lengths_of(tokenizer: Any, rows: pd.DataFrame) -> np.ndarray:
    """The number of tokens of each pair, int [rows]."""
    return np.asarray([len(ids) for ids in encode(tokenizer, rows)["input_ids"]])


def pad(tokenizer: Any, rows: pd.DataFrame) -> Any:
    """A batch: input_ids, attention_mask and token_type_ids, each [pairs, tokens]."""
    return encode(tokenizer, rows, padding=True, return_tensors="pt")


def plan_epoch(
    sources: Sequence[str], lengths: np.ndarray, batch_size: int, seed: int
) -> list[np.ndarray]:
    """Row indices of every batch of one epoch, in batches of nearly equal lengths.

    All rows of the core sources, and as many of the others as keep them at NARROW_SHARE.
    """
    random = np.random.default_rng(seed)
    core = np.asarray([source.startswith(CORE) for source in sources])
    narrow = random.permutation(np.flatnonzero(~core))
    narrow = narrow[: int(core.sum() * NARROW_SHARE / (1 - NARROW_SHARE))]
    order = np.concatenate([np.flatnonzero(core), narrow])
    # Noise: so that a row meets other neighbours in every epoch.
    keys = lengths[order] + random.uniform(0, 4, len(order))
    order = order[np.argsort(keys, kind="stable")]
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [batches[number] for number in random.permutation(len(batches))]


class TwoHeads(nn.Module):
    """A sequence classifier, and a second head over both texts' mean states that helps it start."""

    def __init__(self, classifier: BertForSequenceClassification) -> None:
        super().__init__()
        self.classifier = classifier
        width = classifier.config.hidden_size
        self.helper = nn.Sequential(
            nn.Linear(4 * width, width), nn.GELU(), nn.Linear(width, len(LABELS))
        )

    def forward(self, batch: Any) -> tuple[Tensor, Tensor]:
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


def warm_start(folder: Path) -> TwoHeads:
    """The classifier with the encoder and pooler in the folder, and new heads."""
    model = BertForSequenceClassification.from_pretrained(
        folder,
        dtype=torch.float32,
        id2label=dict(enumerate(LABELS)),
        label2id={label: number for number, label in enumerate(LABELS)},
    )
    return TwoHeads(model).train()


def train(args: argparse.Namespace) -> None:
    """Trains for `args.epochs`, then saves the model in float16."""
    rank, workers = prepare(args)
    model = warm_start(args.encoder)
    tokenizer = AutoTokenizer.from_pretrained(args.encoder)
    rows = read_rows(args.rows)
    sources, labels = rows["source"].tolist(), torch.tensor(rows["label"].tolist())
    lengths = lengths_of(tokenizer, rows)
    batches = [
        batch
        for epoch in range(args.epochs)
        for batch in plan_epoch(sources, lengths, args.batch_size, args.seed + epoch)
    ]

    def steps(start: int, _: int) -> Iterator[Step]:
        for step in range(start, len(batches)):
            rate = min((step + 1) / args.warmup, 1 - step / len(batches))
            torch.manual_seed((args.seed + step) * 1_000_003 + rank)  # of dropout
            share = batches[step][rank::workers]
            with torch.autocast("cpu", torch.bfloat16, enabled=args.bfloat16):
                plain, helper = model(pad(tokenizer, rows.iloc[share]))
            loss, second = (nli_loss(logits, labels[share]) for logits in (plain, helper))
            yield Step(rate, len(batches[step]), {"of": len(batches)}, loss, args.helper * second)

    fit(args, model, "classifier.bert.", steps, "pairs", log_every=100, weight_decay=0.01)
    if rank == 0:
        plain_model = model.classifier
        tokenizer.model_max_length = plain_model.config.max_position_embeddings
        save_model(plain_model, tokenizer, args.output / "model")


def main() -> None:
    """Train the bundled model, or go on where the last run was left."""
    about = (__doc__ or "").splitlines()[0]
    parser = options(about, body_rate=1.5e-4, head_rate=1.5e-3, warmup=200, seed=20229)
    add = parser.add_argument
    add("rows", type=Path, help="train.tsv.gz: source, label, premise, hypothesis")
    add("--epochs", type=int, default=3)
    add("--batch-size", type=int, default=32, help="pairs of a batch, over all processes")
    add("--helper", type=float, default=0.5, help="weight of the second head's loss")
    add("--bfloat16", action="store_true", help="run the passes in bfloat16")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
