"""Evaluates a natural-language-inference model on held-out labelled pairs, source by source.

    python -m tools.evaluate_nli NLI/valid.tsv.gz [--model MODEL] [--calibrate]

Prints the accuracy of each source in percent, and how well the probabilities are calibrated.
`--calibrate` first divides the head of the model in the folder by one temperature. That is fitted
on the rows whose premise falls into one half by its hash, and only the others are reported.
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

import infolm_metric
from tools.tables import show
from tools.train_nli import LABELS, lengths_of, nli_loss, pad, read_rows

BUNDLED = Path(infolm_metric.__file__).parent / "bundled" / "nli"

PAIRS_PER_BATCH = 64
TEMPERATURES = np.geomspace(0.5, 4, 121)
BINS = 10


@torch.inference_mode()
def read_logits(model: Any, tokenizer: Any, rows: pd.DataFrame) -> Tensor:
    """Logits of every row in the order of LABELS, float64 [rows, 3]."""
    order = np.argsort(lengths_of(tokenizer, rows), kind="stable")
    logits = torch.empty(len(rows), len(LABELS), dtype=torch.float64)
    for start in range(0, len(order), PAIRS_PER_BATCH):
        batch = order[start : start + PAIRS_PER_BATCH]
        logits[batch] = model(**pad(tokenizer, rows.iloc[batch])).logits.double()
    return logits[:, [model.config.label2id[label] for label in LABELS]]


def is_right(logits: Tensor, labels: np.ndarray) -> np.ndarray:
    """Whether each row's most probable label is its own, bool [rows]; -1 is "not entailment"."""
    answers = logits.argmax(-1).numpy()
    return np.where(labels < 0, answers != 0, answers == labels)


def has_three_labels(sources: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each row's source tells neutral from contradiction, bool [rows]; HANS does not."""
    return ~np.isin(sources, sources[labels < 0])


def expected_calibration_error(logits: Tensor, labels: np.ndarray) -> float:
    """Mean distance of confidence and accuracy over ten bins, weighed by rows (Guo et al. 2017)."""
    confidence = torch.softmax(logits, dim=-1).amax(-1).numpy()
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    distances = np.bincount(bins, weights=is_right(logits, labels) - confidence, minlength=BINS)
    return float(np.abs(distances).sum() / len(labels))


def fit_temperature(logits: Tensor, labels: np.ndarray) -> float:
    """The temperature, of a grid, under which the labels have the smallest cross entropy."""
    targets = torch.from_numpy(labels)
    return float(min(TEMPERATURES, key=lambda t: nli_loss(logits / t, targets).item()))


def is_for_fitting(premises: Iterable[str]) -> np.ndarray:
    """Whether each row is one that temperatures are fitted on, by its premise's hash, bool."""
    return np.asarray([hashlib.sha256(text.encode()).digest()[0] % 2 == 0 for text in premises])


def main() -> None:
    """Print what the model gets right, by source, after calibrating it if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", type=Path, help="valid.tsv.gz: source, label, premise, hypothesis")
    parser.add_argument("--model", type=Path, default=BUNDLED, help="its folder")
    parser.add_argument("--calibrate", action="store_true", help="fit the head's temperature first")
    args = parser.parse_args()
    rows = read_rows(args.rows)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForSequenceClassification.from_pretrained(args.model, dtype=torch.float32)
    logits = read_logits(model.eval(), tokenizer, rows)
    labels, sources = rows["label"].to_numpy(), rows["source"].to_numpy()
    three_way, for_fitting = has_three_labels(sources, labels), is_for_fitting(rows["premise"])
    temperature = 1.0
    if args.calibrate:
        mask = (labels >= 0) & for_fitting  # HANS's entailed rows among them
        temperature = fit_temperature(logits[mask], labels[mask])
        with torch.no_grad():
            for parameter in model.classifier.parameters():
                parameter /= temperature
        model.half().save_pretrained(args.model)
    correct = is_right(logits, labels)
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
    before, after = (
        expected_calibration_error(logits[mask] / divisor, labels[mask])
        for divisor in (1.0, temperature)
    )
    print(
        f"\nCalibration, {mask.sum()} pairs: temperature {temperature:.3f}, "
        f"expected error {before:.3f}, after it {after:.3f}"
    )


if __name__ == "__main__":
    main()
