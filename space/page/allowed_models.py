"""The models that a visitor can choose from, each loaded once for all visitors."""

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from infolm_metric import IDF, BaryScorer, InfoLMScorer
from infolm_metric.kernel.checks import BUNDLED, idf_source

from .limits import COMPARED_TOKENS

MODELS = {
    "bundled": "bundled: small, English, offline",
    "google-bert/bert-base-uncased": "BERT-base uncased, as in the paper (texts up to "
    f"{COMPARED_TOKENS['google-bert/bert-base-uncased']} tokens)",
}
"""The names that are allowed, the first being the default, and what the page says of each."""

REUSED_BYTES = 1 << 28  # distributions kept for texts that come again


@dataclass(frozen=True)
class AllowedModel:
    """A scorer, which lets one pass run at a time, and a tokenizer of its own for counting.

    The scorer's tokenizer belongs to the pass that is running: a tokenizer cannot be used twice at
    the same time.
    """

    scorer: InfoLMScorer
    tokenizer: Any
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def token_counts(self, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text, special ones included."""
        with self._lock:
            return [len(ids) for ids in self.tokenizer(list(texts), verbose=False)["input_ids"]]

    @functools.cached_property
    def transport(self) -> BaryScorer:
        """The scorer of BaryScore over the same model, loaded when it is first asked for."""
        name = self.scorer.settings.model_name_or_path
        return BaryScorer(model_name_or_path=name, idf=False, reuse_memory=REUSED_BYTES)

    @functools.cached_property
    def rarity(self) -> torch.Tensor:
        """How rare each entry of the vocabulary is in English, [vocab]; 1 where that is unknown.

        Squared, because a function word can be a hundred times as probable as a content word.
        """
        table = idf_source("idf", BUNDLED)
        assert isinstance(table, IDF)
        try:
            table.check_tokenizer(self.tokenizer)
        except ValueError:
            return torch.ones(len(self.tokenizer), dtype=torch.float64)
        weights = torch.tensor(table.weights) ** 2
        weights[self.tokenizer.all_special_ids] = 0  # in no corpus, and so the rarest
        return weights


def check_model(name: object) -> None:
    """Raise ValueError unless a model of that name is allowed."""
    if not isinstance(name, str) or name not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}")


@functools.lru_cache(maxsize=len(MODELS))
def model_named(name: str) -> AllowedModel:
    """The allowed model of that name; ValueError for any other, OSError if it cannot be loaded."""
    check_model(name)
    scorer = InfoLMScorer(model_name_or_path=name, idf=False, reuse_memory=REUSED_BYTES)
    try:
        return AllowedModel(scorer, copy.deepcopy(scorer.tokenizer))
    except OSError:
        raise OSError(
            f"the model {name} cannot be loaded now: the Hugging Face Hub does not answer; "
            "choose the bundled model"
        ) from None
