"""Literal implementation of MENLI from its description, one pair at a time.

Chen and Eger, TACL 2023; cyr19/MENLI: softmax of the model for one pair, a formula of the
probabilities averaged over both directions, and a combination of min-max scaled scores.
"""

from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

FORMULAS = {
    "e": lambda e, n, c: e,
    "-c": lambda e, n, c: -c,
    "e-n": lambda e, n, c: e - n,
    "e-c": lambda e, n, c: e - c,
    "e-n-2c": lambda e, n, c: e - n - 2 * c,
}


class ReferenceMENLI:
    """MENLI with a model whose outputs are entailment, neutral and contradiction."""

    def __init__(self, folder: Path, max_length: int) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.max_length = max_length

    def probabilities(self, premise: str, hypothesis: str) -> np.ndarray:
        """Return the probabilities of entailment, neutral and contradiction."""
        options = {"truncation": True, "max_length": self.max_length, "return_tensors": "pt"}
        # As a batch, because a single empty text would be omitted.
        encoded = self.tokenizer([premise], [hypothesis], **options)
        with torch.no_grad():
            return self.model(**encoded).logits[0].double().softmax(-1).numpy()

    def score(self, reference: str, candidate: str, formula: str, direction: str) -> float:
        """Score one pair."""
        rh = self.probabilities(reference, candidate)
        hr = self.probabilities(candidate, reference)
        return FORMULAS[formula](*{"rh": rh, "hr": hr, "avg": (rh + hr) / 2}[direction])


def min_max(scores: list[float]) -> np.ndarray:
    """Scale scores to [0, 1]."""
    array = np.asarray(scores)
    return (array - array.min()) / (array.max() - array.min())


def combine(nli: list[float], metric: list[float], weight: float) -> np.ndarray:
    """Combine scores of two metrics in which higher is better."""
    return weight * min_max(nli) + (1 - weight) * min_max(metric)
