"""Vocabulary distributions of texts: batches of masked contexts, and aggregated predictions.

The predictions of a text are added up in an order that depends only on the text. With a
batch-invariant model, its distribution is therefore bitwise identical regardless of other texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric.infolm.masked_lm import MaskedLM
from infolm_metric.infolm.settings import InfoLMSettings
from infolm_metric.models.checkpoints import non_finite_error
from infolm_metric.models.determinism import float64_device, to_float64
from infolm_metric.models.tokenization import (
    TOKENS_PER_BATCH,
    Template,
    WeightedText,
    device_limit,
    pack,
    windows,
)

TextKey = tuple[bytes, bytes]
# Index of the text, int64 [positions], log weights, float64 [positions], logits [positions, vocab].
Predictions = Iterator[tuple[Tensor, Tensor, Tensor]]

# Logits aggregated per step, by device type. On a CPU, they should fit into the caches.
ELEMENTS = {"cpu": 1 << 20, "cuda": 1 << 26}
# Limits of x up to which exp(-x) is a normal number.
REPRESENTABLE = {torch.float32: 87.0, torch.float64: 700.0}


def distributions(
    texts: Sequence[WeightedText], predicted: Predictions, settings: InfoLMSettings
) -> dict[TextKey, Tensor]:
    """Aggregate the predictions for texts: text key -> log-probabilities, float64 [vocab]."""
    sums = Accumulator(settings.temperature)
    for owner, log_weights, logits in predicted:
        sums.add(logits, log_weights, owner)
    by_key = {text.key: sums.log_sums(index) for index, text in enumerate(texts)}
    # One NaN makes its whole row NaN.
    if any(log_p[0].isnan() for log_p in by_key.values()):
        raise non_finite_error(
            "predictions",
            settings.dtype,
            f" and temperature={settings.temperature:g}",
            " Otherwise, increase the temperature.",
        )
    return by_key


def predictions(
    texts: Sequence[WeightedText], model: MaskedLM, settings: InfoLMSettings, limit: int | None
) -> Predictions:
    """Encode texts and yield their predictions in chunks, in a fixed order for each text."""
    template, device = model.checkpoint.template, model.device.type
    masked = settings.masking == "token"
    pieces: list[MaskedWindow] = []
    for index, text in enumerate(texts):
        pieces += split(index, text, template, limit, masked)
    rows = settings.rows_per_batch
    most = rows or device_limit(TOKENS_PER_BATCH, device)
    parts = batches(pieces, template.mask if masked else None, rows, device)
    for batch in pack(parts, attrgetter("cost"), most):
        owner = torch.cat([part.texts.repeat_interleave(part.positions.shape[1]) for part in batch])
        weights = torch.cat([part.log_weights.flatten() for part in batch])
        start = 0
        for logits in model.logits([part.ids for part in batch], [x.positions for x in batch]):
            selected = slice(start, start + len(logits))
            logits = logits.to(float64_device(logits.device))  # for the aggregation
            yield owner[selected], weights[selected], logits
            start += len(logits)


def all_logits(
    texts: Sequence[WeightedText], model: MaskedLM, settings: InfoLMSettings, limit: int | None
) -> dict[bytes, Tensor]:
    """Return the logits at all positions of texts by token ids, [positions, vocab] each."""
    # Windows are not always in order. Position numbers, passed as weights, sort the logits.
    numbered = {
        text.key[0]: WeightedText(text.key, text.text, np.arange(len(text.log_weights)) * 1.0)
        for text in texts
    }
    if not numbered:
        return {}
    parts = predictions(list(numbered.values()), model, settings, limit)
    owner, numbers, logits = map(torch.cat, zip(*parts, strict=True))
    order = torch.from_numpy(np.lexsort((numbers.numpy(), owner.numpy())))
    rows = logits[order.to(logits.device)].split(owner.bincount().tolist())
    return dict(zip(numbered, rows, strict=True))


def stored_predictions(
    texts: Sequence[WeightedText], logits: Mapping[bytes, Tensor]
) -> Predictions:
    """Yield the predictions for texts whose logits were returned by `all_logits`."""
    for index, text in enumerate(texts):
        rows = logits[text.key[0]]
        yield torch.full((len(rows),), index), torch.from_numpy(text.position_weights), rows


# Masked contexts.


@dataclass(frozen=True)
class MaskedWindow:
    """A window of a text, and the positions that its contexts mask or predict.

    With masks, there is one context per position. Without, a single context predicts all positions.
    """

    text: int  # index of the text
    ids: np.ndarray  # int64 [tokens]
    positions: np.ndarray  # int64 [contexts, positions]
    log_weights: np.ndarray  # float64 [contexts, positions]


@dataclass(frozen=True)
class Batch:
    """Masked contexts of equal length. The contexts of a text are adjacent."""

    ids: Tensor  # int64 [contexts, tokens]
    positions: Tensor  # int64 [contexts, positions]
    log_weights: Tensor  # float64 [contexts, positions]
    texts: Tensor  # int64 [contexts], index of the text
    cost: int  # contexts or, if batches are limited by tokens, tokens


def split(
    index: int, text: WeightedText, template: Template, max_length: int | None, masked: bool = True
) -> list[MaskedWindow]:
    """Split a text into windows, which may overlap but predict each token once.

    If `masked`, positions of weight 0 are skipped. Otherwise each window is a context without
    masks. A text without maskable tokens becomes a single mask token between the special tokens.
    """
    if not text.text.maskable.any():
        ids = np.asarray([*template.prefix, template.mask, *template.suffix], dtype=np.int64)
        return [MaskedWindow(index, ids, np.asarray([[len(template.prefix)]]), np.zeros((1, 1)))]
    # Without masks, all positions are used, so that texts of equal length have equal shapes.
    included = np.isfinite(text.log_weights) | (not masked)
    pieces = []
    for window in windows(text.text, template, max_length):
        part = included[window.indices]
        if part.any():
            positions, weights = window.positions[part], text.log_weights[window.indices[part]]
            axis = 1 if masked else 0
            positions, weights = np.expand_dims(positions, axis), np.expand_dims(weights, axis)
            pieces.append(MaskedWindow(index, window.ids, positions, weights))
    return pieces


def batches(
    pieces: Sequence[MaskedWindow], mask: int | None, contexts_per_batch: int | None, device: str
) -> Iterator[Batch]:
    """Yield batches of contexts of equal length, longest first, without padding.

    `mask` is the id of the mask token, or None if the positions keep their tokens.
    """
    groups: dict[tuple[int, int], list[MaskedWindow]] = {}
    for window in pieces:
        groups.setdefault((len(window.ids), window.positions.shape[1]), []).append(window)
    most_tokens = device_limit(TOKENS_PER_BATCH, device)
    for (length, _), group in sorted(groups.items(), key=itemgetter(0), reverse=True):
        size = contexts_per_batch or max(1, most_tokens // length)
        counts = [len(window.positions) for window in group]
        rows = torch.from_numpy(np.stack([window.ids for window in group]))
        owner = torch.from_numpy(np.repeat(np.arange(len(group)), counts))
        texts = torch.from_numpy(np.asarray([window.text for window in group]))
        positions = torch.from_numpy(np.concatenate([window.positions for window in group]))
        log_weights = torch.from_numpy(np.concatenate([window.log_weights for window in group]))
        for start in range(0, len(owner), size):
            part = slice(start, start + size)
            ids = rows[owner[part]]
            if mask is not None:
                ids.scatter_(1, positions[part], mask)
            cost = len(ids) if contexts_per_batch else ids.numel()
            yield Batch(ids, positions[part], log_weights[part], texts[owner[part]], cost)


# Aggregation.


def log_predictions(logits: Tensor, temperature: float) -> Tensor:
    """Return log softmax(logits / temperature) over the last axis, float64, any shape.

    >>> log_predictions(torch.tensor([0.0, 0.0]), 0.5).exp().tolist()
    [0.5, 0.5]
    """
    return torch.log_softmax(to_float64(logits) / temperature, dim=-1)


@dataclass(frozen=True)
class Accumulator:
    """Weighted sums of softmax(logits / T) over the positions of texts.

    The probabilities at a position are computed in float32 if it can represent all of them, and in
    float64 otherwise. Positions that would underflow float64 are accumulated in log space. The
    choice does not depend on other positions. Normalizers and sums are float64.
    """

    temperature: float
    _sums: dict[int, Tensor] = field(default_factory=dict)  # by text, [vocab]
    _log_space: dict[int, Tensor] = field(default_factory=dict)  # sums in log space, [vocab]

    def add(self, logits: Tensor, log_weights: Tensor, texts: Tensor) -> None:
        """Add `logits` [positions, vocab] with `log_weights` [positions].

        `texts` (int64 [positions]) contains the index of the text of each position. The order
        of a text's positions must not depend on the other texts.
        """
        vocab = logits.shape[-1]
        log_weights = log_weights.to(logits.device)
        distinct, owner = torch.unique(texts, return_inverse=True)
        indices, owner = distinct.tolist(), owner.to(logits.device)
        sums = torch.zeros(len(indices), vocab, dtype=torch.float64, device=logits.device)
        for index, text in enumerate(indices):
            if text in self._sums:
                sums[index] = self._sums[text]
            self._sums[text] = sums[index]
        step = max(1, device_limit(ELEMENTS, logits.device.type) // vocab)
        for start in range(0, len(logits), step):
            part = slice(start, start + step)
            far = self._add_rows(logits[part], log_weights[part], owner[part], sums)
            for row in (start + far.nonzero().flatten()).tolist():
                log_p = log_predictions(logits[row], self.temperature) + log_weights[row]
                text = indices[int(owner[row])]
                if text in self._log_space:
                    log_p = torch.logaddexp(self._log_space[text], log_p)
                self._log_space[text] = log_p

    def _add_rows(self, rows: Tensor, log_weights: Tensor, owner: Tensor, sums: Tensor) -> Tensor:
        """Add logits [positions, vocab] to `sums` [texts, vocab].

        Return the mask [positions] of positions skipped due to underflow.
        """
        rows = rows.float()
        high = rows.amax(-1, keepdim=True)
        reach = (high - rows.amin(-1, keepdim=True)).double().flatten() / self.temperature
        # The smallest probability is at least exp(-reach) / vocab.
        wide = reach + math.log(rows.shape[-1]) >= REPRESENTABLE[torch.float32]
        scaled = rows if self.temperature == 1.0 else (rows - high) / self.temperature
        likelihoods = torch.softmax(scaled, -1).double()
        if wide.any():
            scaled = (rows[wide].double() - high[wide]) / self.temperature
            likelihoods[wide] = torch.softmax(scaled, -1)
        far = (reach - log_weights >= REPRESENTABLE[torch.float64]) & (log_weights > -torch.inf)
        weights = torch.where(far, 0.0, log_weights.exp() / likelihoods.sum(-1))
        sums.index_add_(0, owner, likelihoods.mul_(weights[:, None]))
        return far

    def log_sums(self, text: int) -> Tensor:
        """Remove a text's sums, and return their logarithms, float64 [vocab]."""
        log_sums = self._sums.pop(text).log()
        if text in self._log_space:
            log_sums = torch.logaddexp(log_sums, self._log_space[text])
        return log_sums


def interpolate(
    texts: Sequence[WeightedText], encodings: Mapping[Any, Tensor], weight: float
) -> Tensor:
    """Return log((1 - weight) p + weight m), float64 [texts, vocab].

    m is the distribution of a text's own tokens by their weights. Texts without tokens keep their
    p. This is Jelinek-Mercer interpolation (Zhai and Lafferty 2004).
    """
    log_p = torch.stack([encodings[text.key] for text in texts])
    if not weight:
        return log_p
    for row, text in zip(log_p, texts, strict=True):
        if not len(text.log_weights):
            continue
        tokens, owner = np.unique(text.text.tokens, return_inverse=True)
        with np.errstate(divide="ignore"):  # of log 0
            log_mass = np.log(np.bincount(owner, np.exp(text.log_weights))) + math.log(weight)
            row += np.log(1.0 - weight)
        index = torch.from_numpy(tokens).to(row.device)
        row[index] = torch.logaddexp(row[index], torch.from_numpy(log_mass).to(row.device))
    return log_p
