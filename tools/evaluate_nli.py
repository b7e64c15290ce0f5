"""Evaluate an NLI model on held-out labeled pairs.

    python -m tools.evaluate_nli NLI/valid.tsv.gz [--model MODEL] [--calibrate]

Prints the accuracy per source in percent, and the expected calibration error of the probabilities
on half of the rows, selected by a hash of the premise. --calibrate first divides the weights of the
classification head by a temperature fitted on the other half, and saves the model.
"""

import argparse
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from infolm_metric.core.settings import BUNDLED_FOLDER
from tools.tables import show
from tools.train_nli import LABELS, nli_loss, pad, read_rows, token_counts

PAIRS_PER_BATCH = 64
TEMPERATURES = np.geomspace(0.5, 4, 121)
BINS = 10


@torch.inference_mode()
def compute_logits(model: Any, tokenizer: Any, rows: pd.DataFrame) -> Tensor:
    """Return the logits in the order of LABELS, float64 [rows, 3]."""
    order = np.argsort(token_counts(tokenizer, rows), kind="stable")
    logits = torch.empty(len(rows), len(LABELS), dtype=torch.float64)
    for start in range(0, len(order), PAIRS_PER_BATCH):
        batch = order[start : start + PAIRS_PER_BATCH]
        logits[batch] = model(**pad(tokenizer, rows.iloc[batch])).logits.double()
    return logits[:, [model.config.label2id[label] for label in LABELS]]


def is_correct(logits: Tensor, labels: np.ndarray) -> np.ndarray:
    """Return whether each prediction is correct, bool [rows]; label -1 means "not entailment"."""
    predictions = logits.argmax(-1).numpy()
    return np.where(labels < 0, predictions != 0, predictions == labels)


def expected_calibration_error(logits: Tensor, labels: np.ndarray) -> float:
    """Return the mean |confidence - accuracy| over bins, weighted by size (Guo et al. 2017)."""
    confidence = torch.softmax(logits, dim=-1).amax(-1).numpy()
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    distances = np.bincount(bins, weights=is_correct(logits, labels) - confidence, minlength=BINS)
    return float(np.abs(distances).sum() / len(labels))


def fit_temperature(logits: Tensor, labels: np.ndarray) -> float:
    """Return the temperature on a grid that minimizes the cross-entropy of the labels."""
    targets = torch.from_numpy(labels)
    return float(min(TEMPERATURES, key=lambda t: nli_loss(logits / t, targets).item()))


def is_for_fitting(premises: Iterable[str]) -> np.ndarray:
    """Return whether each row is used to fit the temperature, based on a hash of the premise."""
    return np.asarray([hashlib.sha256(text.encode()).digest()[0] % 2 == 0 for text in premises])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", type=Path, help="valid.tsv.gz: source, label, premise, hypothesis")
    parser.add_argument("--model", type=Path, default=BUNDLED_FOLDER / "nli", help="model folder")
    parser.add_argument("--calibrate", action="store_true", help="calibrate and save the model")
    args = parser.parse_args()
    rows = read_rows(args.rows)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, dtype=torch.float32)
    logits = compute_logits(model.eval(), tokenizer, rows)
    labels, sources = rows["label"].to_numpy(), rows["source"].to_numpy()
    three_way = ~np.isin(sources, sources[labels < 0])  # HANS has only two labels
    for_fitting = is_for_fitting(rows["premise"])
    temperature = 1.0
    if args.calibrate:
        mask = (labels >= 0) & for_fitting  # includes entailment rows of HANS
        temperature = fit_temperature(logits[mask], labels[mask])
        with torch.no_grad():
            for parameter in model.classifier.parameters():
                parameter /= temperature
        model.half().save_pretrained(args.model)
    correct = is_correct(logits, labels)
    groups = {name: sources == name for name in sorted(set(sources))}
    groups["SNLI (snli_dev, snli_test)"] = np.isin(sources, ["snli_dev", "snli_test"])
    groups["all, three-way"] = three_way
    table = [
        [name, int(mask.sum()), f"{100 * correct[mask].mean():.1f}"]
        for name, mask in groups.items()
        if mask.any()
    ]
    show("Held-out pairs", ["source", "pairs", "accuracy, %"], table)
    mask = three_way & ~for_fitting
    before = expected_calibration_error(logits[mask], labels[mask])
    after = expected_calibration_error(logits[mask] / temperature, labels[mask])
    print(
        f"\nCalibration, {mask.sum()} pairs: temperature {temperature:.3f}, "
        f"expected calibration error {before:.3f}, after calibration {after:.3f}"
    )


if __name__ == "__main__":
    main()
