"""MENLI as its authors' program computes it, one pair at a time, written anew from its description.

Chen and Eger, TACL 2023; cyr19/MENLI: softmax of the model for one pair, a formula of the mean of
both directions' probabilities, and a combination of min-max scaled scores.
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
    """The model of a folder, whose outputs are entailment, neutrality and contradiction."""

    def __init__(self, folder: Path, max_length: int) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.max_length = max_length

    def probabilities(self, premise: str, hypothesis: str) -> np.ndarray:
        """e, n and c."""
        encoded = self.tokenizer(  # as a batch, for an empty text alone would be no text
            [premise],
            [hypothesis],
            truncation=True,
            max_length=self.max_length,
            return_tensors="pt",
        )
        with torch.no_grad():
            return self.model(**encoded).logits[0].double().softmax(-1).numpy()

    def score(self, reference: str, candidate: str, formula: str, direction: str) -> float:
        """The score of one pair."""
        rh = self.probabilities(reference, candidate)
        hr = self.probabilities(candidate, reference)
        return FORMULAS[formula](*{"rh": rh, "hr": hr, "avg": (rh + hr) / 2}[direction])


def min_max(scores: list[float]) -> np.ndarray:
    """Scores scaled to [0, 1]."""
    array = np.asarray(scores)
    return (array - array.min()) / (array.max() - array.min())


def combine(nli: list[float], metric: list[float], weight: float) -> np.ndarray:
    """The combination, where higher is better in both."""
    return weight * min_max(nli) + (1 - weight) * min_max(metric)
