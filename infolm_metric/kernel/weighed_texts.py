"""Texts as they are to be scored: read by a model that is kept, tokenised, cut and weighed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from infolm_metric.kernel.checkpoints import Checkpoint
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.idf.weights import normalised_log_weights
from infolm_metric.kernel.results import Remarks
from infolm_metric.kernel.reuse import Store
from infolm_metric.kernel.settings import ModelSettings
from infolm_metric.kernel.tokens import TokenizedText, tokenize

Key = tuple[bytes, bytes]
Model = TypeVar("Model")


@dataclass(frozen=True)
class WeighedText:
    """A text as it is to be scored: its tokens and their weights."""

    key: Key  # equal for equal tokens with equal weights
    text: TokenizedText
    log_weights: np.ndarray[Any, np.dtype[np.float64]]  # [maskable]
    weightless: bool = False  # its weights were all 0, so they are uniform: worth a warning

    @classmethod
    def of(cls, text: TokenizedText, table: np.ndarray[Any, Any] | None) -> WeighedText:
        """The reading of a text with the weights of a table [vocab], or uniform ones for None."""
        log_weights = normalised_log_weights(text, table)
        weightless = bool(table is not None and len(text.tokens) and not table[text.tokens].any())
        return cls((text.ids.tobytes(), log_weights.tobytes()), text, log_weights, weightless)


class Reader(ABC, Generic[Model]):
    """A model kept between calls, and texts as it reads them.

    Every method is told the settings of the call. A metric says how its model is opened and loaded.
    """

    def __init__(self) -> None:
        self._store = Store(0)
        self._checkpoint: Checkpoint | None = None
        self._checkpoint_key: tuple[Any, ...] = ()
        self._model: Model | None = None
        self._model_key: tuple[Any, ...] = ()

    @abstractmethod
    def _open(self, name: str, revision: str | None) -> Checkpoint:
        """The tokenizer of a model of the kind that is read with."""

    @abstractmethod
    def _load(self, checkpoint: Checkpoint, device: str | None, dtype: str) -> Model:
        """The model of a checkpoint, in evaluation mode."""

    def unload(self) -> None:
        """Free the model and what is kept of texts; the next call reads its files again."""
        self._model, self._model_key = None, ()
        self._checkpoint, self._checkpoint_key = None, ()  # a trainer may have written another
        self._store = Store(0)

    def checkpoint(self, settings: ModelSettings) -> Checkpoint:
        """The tokenizer with its facts, opened once."""
        key = (settings.model_name_or_path, settings.model_revision)
        if self._checkpoint is None or key != self._checkpoint_key:
            self._checkpoint, self._checkpoint_key = self._open(*key), key
        return self._checkpoint

    def limit(self, settings: ModelSettings) -> int | None:
        """Tokens of the longest text that is read in one piece."""
        return self.checkpoint(settings).text_limit(settings.max_length)

    def model(self, settings: ModelSettings) -> Model:
        """The model, loaded unless the last call used the same one."""
        key = (
            *(settings.model_name_or_path, settings.model_revision),
            *(settings.device, settings.dtype),
        )
        if self._model is not None and key != self._model_key:
            self.unload()
        if self._model is None:
            self._store = Store(0)
            self._model = self._load(self.checkpoint(settings), settings.device, settings.dtype)
            self._model_key = key
        return self._model

    def tokenize(self, texts: Iterable[str], settings: ModelSettings) -> dict[str, TokenizedText]:
        """Each text as the model reads it."""
        tokenizer, limit = self.checkpoint(settings).tokenizer, self.limit(settings)
        distinct = list(dict.fromkeys(texts))
        tokenized = tokenize(tokenizer, distinct, limit, settings.long_text)
        return dict(zip(distinct, tokenized, strict=True))

    def read(
        self,
        sides: Sequence[Sequence[str]],
        weighting: Sequence[IDF | None],
        settings: ModelSettings,
    ) -> list[list[WeighedText]]:
        """The texts of each side, tokenised and weighed."""
        texts = self.tokenize((text for side in sides for text in side), settings)
        weighed_texts: list[list[WeighedText]] = []
        for side, table in zip(sides, weighting, strict=True):
            weights = None if table is None else table.weights
            known = {text: WeighedText.of(texts[text], weights) for text in dict.fromkeys(side)}
            weighed_texts.append([known[text] for text in side])
        return weighed_texts

    def remark(self, weighed_texts: Sequence[WeighedText], settings: ModelSettings) -> Remarks:
        """What there is to remark on some texts."""
        tokens = np.concatenate([weighed_text.text.tokens for weighed_text in weighed_texts])
        lengths = np.asarray([len(weighed_text.log_weights) for weighed_text in weighed_texts])
        unknown = self.checkpoint(settings).tokenizer.unk_token_id
        return Remarks(
            texts=len(weighed_texts),
            too_long=sum(weighed_text.text.too_long for weighed_text in weighed_texts),
            empty=int((lengths == 0).sum()),
            one_token=int((lengths == 1).sum()),
            zero_weight=sum(weighed_text.weightless for weighed_text in weighed_texts),
            unknown_tokens=0 if unknown is None else int((tokens == unknown).sum()),
            tokens=len(tokens),
            limit=self.limit(settings) if settings.long_text == "truncate" else None,
        )
