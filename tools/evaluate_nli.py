"""Evaluate an NLI model on held-out labeled pairs.

    python -m tools.evaluate_nli NLI/valid.tsv.gz NLI/more_valid.tsv.gz [--model MODEL]

The files have the columns source, label, premise and hypothesis. Prints the accuracy per source in
percent, and the expected calibration error of the probabilities on half of the rows with three
labels, selected by a hash of the premise. The bundled model was calibrated on the other half.
"""

import argparse
import csv
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from infolm_metric.core.settings import BUNDLED_FOLDER
from tools.tables import show

LABELS = ("entailment", "neutral", "contradiction")
LABEL_IDS = {label: number for number, label in enumerate(LABELS)} | {"not_entailment": -1}
MAX_LENGTH = 192  # maximum tokens per pair in training, including special tokens
PAIRS_PER_BATCH = 64
BINS = 10


def read_rows(file: Path) -> pd.DataFrame:
    """Read a `.tsv.gz` file, and convert labels to indices in LABELS, or -1 for not_entailment."""
    options = {"sep": "\t", "quoting": csv.QUOTE_NONE, "keep_default_na": False, "dtype": str}
    rows = pd.read_csv(file, **options)
    return rows.assign(label=rows["label"].map(LABEL_IDS).astype(np.int64), file=file.name)


@torch.inference_mode()
def compute_logits(model: Any, tokenizer: Any, rows: pd.DataFrame) -> Tensor:
    """Return the logits in the order of LABELS, float64 [rows, 3]."""
    lengths = (rows["premise"] + rows["hypothesis"]).str.len()
    order = np.argsort(np.array(lengths), kind="stable")
    logits = torch.empty(len(rows), len(LABELS), dtype=torch.float64)
    for start in range(0, len(order), PAIRS_PER_BATCH):
        batch = order[start : start + PAIRS_PER_BATCH]
        pairs = (rows[column].iloc[batch].tolist() for column in ("premise", "hypothesis"))
        options = {"truncation": True, "max_length": MAX_LENGTH, "padding": True}
        logits[batch] = model(**tokenizer(*pairs, **options, return_tensors="pt")).logits.double()
    return logits[:, [model.config.label2id[label] for label in LABELS]]


def is_correct(logits: Tensor, labels: np.ndarray) -> np.ndarray:
    """Compare predictions with labels, bool [rows]. Label -1 means "not entailment"."""
    predictions = logits.argmax(-1).numpy()
    return np.where(labels < 0, predictions != 0, predictions == labels)


def expected_calibration_error(logits: Tensor, labels: np.ndarray) -> float:
    """Return the mean |confidence - accuracy| over bins, weighted by size (Guo et al. 2017)."""
    confidence = torch.softmax(logits, dim=-1).amax(-1).numpy()
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    distances = np.bincount(bins, weights=is_correct(logits, labels) - confidence, minlength=BINS)
    return float(np.abs(distances).sum() / len(labels))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", type=Path, nargs="+", help="files such as valid.tsv.gz")
    parser.add_argument("--model", type=Path, default=BUNDLED_FOLDER / "nli", help="model folder")
    args = parser.parse_args()
    rows = pd.concat(map(read_rows, args.rows), ignore_index=True)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, dtype=torch.float32)
    logits = compute_logits(model.eval(), tokenizer, rows)
    labels, sources = rows["label"].to_numpy(), rows["source"].to_numpy()
    three_way = ~np.isin(sources, sources[labels < 0])  # HANS has only two labels
    groups = {name: sources == name for name in sorted(set(sources))}
    groups["SNLI (snli_dev, snli_test)"] = np.isin(sources, ["snli_dev", "snli_test"])
    groups |= {
        f"{file.name}, three-way": three_way & (rows["file"] == file.name) for file in args.rows
    }
    groups["all, three-way"] = three_way
    correct = is_correct(logits, labels)
    table = [
        [name, int(mask.sum()), f"{100 * correct[mask].mean():.1f}"]
        for name, mask in groups.items()
        if mask.any()
    ]
    show("Held-out pairs", ["source", "pairs", "accuracy, %"], table)
    hashes = [hashlib.sha256(text.encode()).digest()[0] % 2 for text in rows["premise"]]
    held_out = three_way & np.array(hashes, dtype=bool)
    error = expected_calibration_error(logits[held_out], labels[held_out])
    print(f"\nExpected calibration error of {held_out.sum()} pairs: {error:.3f}")


if __name__ == "__main__":
    main()
