"""Evaluate an NLI model on held-out labeled pairs, and on copies and near copies of sentences.

    python -m tools.evaluate_nli NLI/valid.tsv.gz NLI/more_valid.tsv.gz [--model MODEL]
        [--corpus CORPUS] [--calibrate]

Prints the accuracy per source and per file in percent, and the expected calibration error of the
probabilities on half of the rows, selected by a hash of the premise. --calibrate first divides the
weights of the classification head by a temperature fitted on the other half, and saves the model.

With --corpus, also prints the probability of entailment e (the mean of both directions) of copies,
harmless variants and edits of sentences from the corpus's held-out files (see nli_edits.py), and
of the attacks of infolm_metric.robustness on numbers, negations and names.
"""

import argparse
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.robustness import ATTACKS
from tools.nli_edits import EDITS, collect_names, vary
from tools.nli_rows import Item, choose_items, read_lines
from tools.tables import show
from tools.train_nli import LABELS, nli_loss, pad, read_rows, token_counts

PAIRS_PER_BATCH = 64
TEMPERATURES = np.geomspace(0.5, 4, 121)
BINS = 10
ROOT = Path(__file__).parents[1]
SENTENCES = 4000  # sentences from which near copies are made
COPIES = 1000
NEAR_COPIES = 300  # maximum number per edit
LENIENT = ("name", "role", "unit", "word", "order")  # edits that need not be contradictions


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
    """Compare predictions with labels, bool [rows]. Label -1 means "not entailment"."""
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


def entailment_of_pairs(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Return the mean probability of entailment over both directions, float64 [pairs]."""
    both = [*pairs, *((second, first) for first, second in pairs)]
    rows = pd.DataFrame(both, columns=["premise", "hypothesis"])
    probabilities = torch.softmax(compute_logits(model, tokenizer, rows), dim=-1)[:, 0].numpy()
    return probabilities.reshape(2, -1).mean(axis=0)


def near_copies(items: Sequence[Item], most: int) -> dict[str, tuple[float, list[tuple[str, str]]]]:
    """Return pairs of sentences and edited sentences by edit, each with a maximum of e."""
    names, pairs = collect_names(item.sentence for item in items), {}
    found: dict[str, list[tuple[str, str | None]]] = {}
    for text in (item.sentence for item in items):
        for name, edit in EDITS.items():
            found.setdefault(name, []).append((text, edit.rule(text, Random(text), names)))
        for name in ("num", "neg", "name"):
            edited = ATTACKS[name].rule(text, Random(text))
            found.setdefault(f"attack {name}", []).append((text, edited))
    for name, edits in found.items():
        limit = 0.5 if name.removeprefix("attack ") in LENIENT else 0.3
        changed = [(text, edited) for text, edited in edits if edited and edited != text]
        if changed:
            pairs[name] = limit, changed[:most]
    return pairs


def show_copies(model: Any, tokenizer: Any, corpus: Path) -> None:
    """Print tables of e for copies, harmless variants and near copies."""
    paragraphs = list(read_lines(corpus, held_out=True))
    items = choose_items(paragraphs, SENTENCES, seed=0)
    sentences = [item.sentence for item in items[:COPIES]]
    ours = (ROOT / "tests/sentences.txt").read_text(encoding="utf-8").splitlines()
    texts = [item.context() for item in items if item.before or item.after][:COPIES]
    names = collect_names(item.sentence for item in items)
    varied = [(text, vary(text, Random(text), names)) for text in sentences]
    equal = {
        "copies, held-out sentences": [(text, text) for text in sentences],
        "copies, tests/sentences.txt": [(text, text) for text in ours],
        "copies, held-out paragraphs": [(text, text) for text in texts],
        "harmless variants": [(text, variant) for text, variant in varied if variant],
    }
    rows = []
    for name, pairs in ((name, pairs) for name, pairs in equal.items() if pairs):
        e = entailment_of_pairs(model, tokenizer, pairs)
        rows.append([name, len(e), f"{e.mean():.3f}", f"{100 * (e < 0.5).mean():.1f}"])
    show("Copies", ["pairs", "number", "mean e", "e < 0.5, %"], rows)
    rows = []
    for name, (limit, pairs) in near_copies(items, NEAR_COPIES).items():
        e = entailment_of_pairs(model, tokenizer, pairs)
        below = f"{100 * (e < limit).mean():.1f}"
        rows.append([name, len(e), f"{e.mean():.3f}", limit, below])
    show("Near copies", ["edit", "number", "mean e", "limit", "e < limit, %"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rows", type=Path, nargs="+", help="files such as valid.tsv.gz")
    parser.add_argument("--corpus", type=Path, help="folder with .valid.txt.gz files")
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
    if len(args.rows) > 1:
        files = np.repeat(
            [file.name for file in args.rows], [len(read_rows([f])) for f in args.rows]
        )
        groups |= {
            f"{name}, three-way": three_way & (files == name) for name in dict.fromkeys(files)
        }
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
    if args.corpus:
        show_copies(model.float(), tokenizer, args.corpus)


if __name__ == "__main__":
    main()
