"""From tokenised texts to masked contexts: which positions are masked, in batches of a length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from infolm_metric.kernel.tokens import Template, TokenizedText, windows

# What one forward pass may hold, by device, where the caller leaves the choice to us: tokens that
# are read, and logits, which bound memory for large vocabularies.
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}
LOGITS_PER_BATCH = {"cpu": 1 << 24, "cuda": 1 << 28}


@dataclass(frozen=True)
class MaskedWindow:
    """A piece of a text that fits the model, and the positions that each of its contexts masks.

    A text can be weighed in several ways, for which the model reads it once. Where a context masks
    fewer than the others it repeats a position, with log weights of -inf.
    """

    text: int  # which text it belongs to
    ids: np.ndarray  # int64 [tokens]
    positions: np.ndarray  # int64 [contexts, masks]
    log_weights: np.ndarray  # float64 [contexts, masks, weightings]
    masked: bool = True  # False: the positions are read as they stand


@dataclass(frozen=True)
class Batch:
    """Masked contexts of equal length; those of a text stand side by side."""

    ids: Tensor  # int64 [contexts, tokens]
    positions: Tensor  # int64 [contexts, masks]
    log_weights: Tensor  # float64 [contexts, masks, weightings]
    texts: Tensor  # int64 [contexts], the text of each


def split(
    index: int,
    text: TokenizedText,
    log_weights: np.ndarray,
    template: Template,
    max_length: int | None,
    masks: int = 1,
) -> list[MaskedWindow]:
    """The windows of a text: one if it fits, else overlapping ones that mask each token once.

    `log_weights` [maskable, weightings]. A text without a maskable token is read as a lone mask
    between the special tokens. Positions of weight 0 in all weightings are left out. `masks` is how
    many positions a context masks at most; 0 masks none, and reads a window's positions at once.
    """
    if not text.maskable.any():
        ids = np.asarray([*template.prefix, template.mask, *template.suffix], dtype=np.int64)
        lone = np.zeros((1, 1, log_weights.shape[1]))
        return [MaskedWindow(index, ids, np.asarray([[len(template.prefix)]]), lone)]
    kept = np.isfinite(log_weights).any(1)
    if not masks:  # so that texts of a length stay alike
        kept[:] = True
    found = []
    for window in windows(text, template, max_length):
        weighed = kept[window.own]
        if weighed.any():
            own = window.own[weighed]
            grouped = _group(window.positions[weighed], log_weights[own], masks or len(own))
            found.append(MaskedWindow(index, window.ids, *grouped, masked=masks > 0))
    return found


def _group(
    positions: np.ndarray, log_weights: np.ndarray, masks: int
) -> tuple[np.ndarray, np.ndarray]:
    """Positions [kept] and log weights [kept, weightings], laid out as [contexts, masks, ...].

    The positions of a context are far apart.
    """
    contexts = -(-len(positions) // masks)
    order = np.arange(contexts)[:, None] + contexts * np.arange(min(masks, len(positions)))
    there = order < len(positions)
    order = np.where(there, order, order[:, :1])
    return positions[order], np.where(there[..., None], log_weights[order], -np.inf)


def batches(
    pieces: Sequence[MaskedWindow],
    mask: int,
    contexts_per_batch: int | None,
    vocabulary: int,
    device: str,
) -> Iterator[Batch]:
    """Batches of masked contexts of equal length, longest first; no padding.

    `contexts_per_batch` None chooses by the tokens and the logits that one pass may hold.
    """
    alike: dict[tuple[int, ...], list[MaskedWindow]] = {}
    for window in pieces:
        key = (len(window.ids), *window.log_weights.shape[1:], window.masked)
        alike.setdefault(key, []).append(window)
    most_tokens = TOKENS_PER_BATCH.get(device, TOKENS_PER_BATCH["cpu"])
    most_logits = LOGITS_PER_BATCH.get(device, LOGITS_PER_BATCH["cpu"])
    for key in sorted(alike, reverse=True):
        group, (length, masks, _, masked) = alike[key], key
        fitting = min(most_tokens // length, most_logits // (vocabulary * masks))
        size = contexts_per_batch or max(1, fitting)
        counts = np.asarray([len(window.positions) for window in group])
        rows = torch.from_numpy(np.stack([window.ids for window in group]))
        owner = torch.from_numpy(np.repeat(np.arange(len(group)), counts))
        texts = torch.from_numpy(np.asarray([window.text for window in group]))
        positions = torch.from_numpy(np.concatenate([window.positions for window in group]))
        log_weights = torch.from_numpy(np.concatenate([window.log_weights for window in group]))
        for start in range(0, len(owner), size):
            part = slice(start, start + size)
            ids = rows[owner[part]]
            if masked:
                ids.scatter_(1, positions[part], mask)
            yield Batch(ids, positions[part], log_weights[part], texts[owner[part]])
