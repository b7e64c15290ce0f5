"""Train the bundled NLI model.

    pip install -c requirements.txt -e ".[tools]"
    torchrun --nproc-per-node 2 -m tools.train_nli NLI/train.tsv.gz -o WORK

The file has the columns source, label, premise and hypothesis. The result is a
BertForSequenceClassification. Training should start from a model with an NLI head, because from a
sentence encoder it did not converge. See training.py for the training loop.
"""

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer, BertForSequenceClassification

from tools.training import Step, fit, options, prepare, save_model

LABELS = ("entailment", "neutral", "contradiction")
LABEL_IDS = {label: number for number, label in enumerate(LABELS)}
TWO_WAY = "not_entailment"
MAX_LENGTH = 192  # maximum tokens per pair, including special tokens
# Rows per epoch and row, by the beginning of a source's name. 1 for all others. A source with a
# weight of 0.4 contributes a new random sample of 40% of its rows to each epoch. The sources named
# here have few patterns.
WEIGHTS = {"breaking_nli": 0.4, "conjnli": 0.5, "hans": 0.4, "help": 0.7}


def read_rows(files: Sequence[Path]) -> pd.DataFrame:
    """Read `.tsv.gz` files, and convert labels to indices in LABELS, or -1 for TWO_WAY."""
    options = {"sep": "\t", "quoting": csv.QUOTE_NONE, "keep_default_na": False, "dtype": str}
    rows = pd.concat([pd.read_csv(file, **options) for file in files], ignore_index=True)
    numbers = rows["label"].map(LABEL_IDS | {TWO_WAY: -1})
    return rows.assign(label=numbers.astype(np.int64))


def encode(tokenizer: Any, rows: pd.DataFrame, **options: Any) -> Any:
    """Tokenize pairs. Keyword arguments are passed to the tokenizer."""
    pairs = rows["premise"].tolist(), rows["hypothesis"].tolist()
    return tokenizer(*pairs, truncation=True, max_length=MAX_LENGTH, **options)


def token_counts(tokenizer: Any, rows: pd.DataFrame) -> np.ndarray:
    """Return the number of tokens of each pair, int [rows]."""
    return np.asarray([len(ids) for ids in encode(tokenizer, rows)["input_ids"]])


def pad(tokenizer: Any, rows: pd.DataFrame) -> Any:
    """Return a padded batch of input_ids, attention_mask and token_type_ids, [pairs, tokens]."""
    return encode(tokenizer, rows, padding=True, return_tensors="pt")


def plan_epoch(
    weights: np.ndarray, lengths: np.ndarray, batch_size: int, seed: int
) -> list[np.ndarray]:
    """Return the batches of an epoch as row indices. Pairs in a batch have similar lengths.

    A row with weight 1.4 occurs once or, with probability 0.4, twice.
    """
    random = np.random.default_rng(seed)
    order = np.repeat(
        np.arange(len(weights)), np.floor(weights + random.random(len(weights))).astype(int)
    )
    # With noise, a row shares its batch with different rows in each epoch.
    keys = lengths[order] * random.uniform(0.95, 1.05, len(order)) + random.uniform(
        0, 4, len(order)
    )
    order = order[np.argsort(keys, kind="stable")]
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return [batches[number] for number in random.permutation(len(batches))]


def find_weight(source: str, weights: Mapping[str, float]) -> float:
    """Return the weight of a source's rows."""
    return next((weights[name] for name in weights if source.startswith(name)), 1.0)


def parse_weight(argument: str) -> tuple[str, float]:
    """Read "SOURCE=WEIGHT"."""
    name, _, weight = argument.partition("=")
    return name, float(weight)


def nli_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy, from logits [pairs, 3] and labels [pairs].

    Label -1 means "neutral or contradiction".
    """
    log_p = functional.log_softmax(logits.float(), dim=-1)
    three_way = log_p.gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    two_way = torch.logsumexp(log_p[:, 1:], dim=-1)
    return -torch.where(labels < 0, two_way, three_way).mean()


def warm_start(folder: Path) -> BertForSequenceClassification:
    """Load an encoder from a folder, with its pooler and, if it has one, its head."""
    labels = {"id2label": dict(enumerate(LABELS)), "label2id": LABEL_IDS}
    model = BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32, **labels)
    return model.train()


def train(args: argparse.Namespace) -> None:
    """Train for `args.epochs` epochs, and save the model."""
    rank, workers = prepare(args)
    model = warm_start(args.encoder)
    tokenizer = AutoTokenizer.from_pretrained(args.encoder)
    rows = read_rows(args.rows)
    labels, lengths = torch.tensor(rows["label"].tolist()), token_counts(tokenizer, rows)
    by_source = dict(args.weight) | {k: v for k, v in WEIGHTS.items() if k not in dict(args.weight)}
    weights = np.asarray([find_weight(source, by_source) for source in rows["source"]])
    batches = [
        batch
        for epoch in range(args.epochs)
        for batch in plan_epoch(weights, lengths, args.batch_size, args.seed + epoch)
    ]

    def steps(start: int, _: int) -> Iterator[Step]:
        for step in range(start, len(batches)):
            rate = min((step + 1) / args.warmup, 1 - step / len(batches))
            torch.manual_seed((args.seed + step) * 1_000_003 + rank)  # seed for dropout
            share = batches[step][rank::workers]
            with torch.autocast("cpu", torch.bfloat16, enabled=args.bfloat16):
                logits = model(**pad(tokenizer, rows.iloc[share])).logits
            loss = nli_loss(logits, labels[share])
            yield Step(rate, len(batches[step]), {"of": len(batches)}, loss)

    fit(args, model, "bert.", steps, "pairs", log_every=100, weight_decay=0.01)
    if rank == 0:
        tokenizer.model_max_length = model.config.max_position_embeddings
        save_model(model, tokenizer, args.output / "model")


def main() -> None:
    parser = options(__doc__, body_rate=1.5e-4, head_rate=1.5e-3, warmup=200, seed=20229)
    add = parser.add_argument
    add("rows", type=Path, nargs="+", help="files such as train.tsv.gz")
    add("--weight", type=parse_weight, nargs="*", default=[], help="SOURCE=WEIGHT, as in WEIGHTS")
    add("--epochs", type=int, default=3)
    add("--batch-size", type=int, default=32, help="number of pairs over all processes")
    add("--bfloat16", action="store_true", help="run the forward passes in bfloat16")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
