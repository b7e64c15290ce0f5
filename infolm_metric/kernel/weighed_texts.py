"""Texts as they are to be scored: read by a model that is kept, tokenised, cut and weighed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infolm_metric.kernel.checkpoints import Checkpoint
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.idf.weights import normalised_log_weights
from infolm_metric.kernel.kept_model import KeptModel, Model
from infolm_metric.kernel.model_settings import ModelSettings
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.tokens import TokenizedText, tokenize

Key = tuple[bytes, bytes]


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


class Reader(KeptModel[Checkpoint, Model]):
    """A model kept between calls, and texts as it reads them."""

    def limit(self, settings: ModelSettings) -> int | None:
        """Tokens of the longest text that is read in one piece."""
        return self.opened(settings).text_limit(settings.max_length)

    def tokenize(self, texts: Iterable[str], settings: ModelSettings) -> dict[str, TokenizedText]:
        """Each text as the model reads it."""
        tokenizer, limit = self.opened(settings).tokenizer, self.limit(settings)
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
            weights = None
            if table is not None:
                # Again, because the model's files may have changed since they were counted.
                self.opened(settings).check_table(table)
                weights = table.weights
            known = {text: WeighedText.of(texts[text], weights) for text in dict.fromkeys(side)}
            weighed_texts.append([known[text] for text in side])
        return weighed_texts

    def remark(self, weighed_texts: Sequence[WeighedText], settings: ModelSettings) -> Remarks:
        """What there is to remark on some texts."""
        tokens = np.concatenate([weighed_text.text.tokens for weighed_text in weighed_texts])
        lengths = np.asarray([len(weighed_text.log_weights) for weighed_text in weighed_texts])
        source = self.opened(settings)
        unknown = source.tokenizer.unk_token_id
        return Remarks(
            texts=len(weighed_texts),
            too_long=sum(weighed_text.text.too_long for weighed_text in weighed_texts),
            empty=int((lengths == 0).sum()),
            one_token=int((lengths == 1).sum()),
            zero_weight=sum(weighed_text.weightless for weighed_text in weighed_texts),
            unknown_tokens=0 if unknown is None else int((tokens == unknown).sum()),
            tokens=len(tokens),
            unread=source.count_unread(each.text.tokens for each in weighed_texts),
            limit=self.limit(settings) if settings.long_text == "truncate" else None,
        )
