"""From texts to masked contexts: tokenise, cut, plan equal-length batches, build their tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

SLICE = 1000  # texts tokenised at a time
# What one forward pass may hold, by device, where the caller leaves the choice to us: tokens that
# are read, and logits, which bound memory for large vocabularies.
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}
LOGITS_PER_BATCH = {"cpu": 1 << 24, "cuda": 1 << 28}


@dataclass(frozen=True)
class Template:
    """What a tokenizer puts around a text, found by tokenising a probe."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    mask: int

    @property
    def overhead(self) -> int:
        """Number of special tokens around a text."""
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True)
class TokenizedText:
    """A text as the model reads it, special tokens included, cut to the length allowed."""

    ids: np.ndarray  # int64 [tokens]
    maskable: np.ndarray  # bool [tokens]
    too_long: bool = False  # longer than the model allows, before any cut

    @property
    def tokens(self) -> np.ndarray:
        """Ids of the maskable tokens, int64 [maskable]."""
        return self.ids[self.maskable]


@dataclass(frozen=True)
class Window:
    """A piece of a text that fits the model, and the positions that each of its contexts masks.

    A text can be weighed in several ways, for which the model reads it once. Where a context masks
    fewer than the others it repeats a position, with log weights of -inf.
    """

    text: int  # which text it belongs to
    ids: np.ndarray  # int64 [tokens]
    positions: np.ndarray  # int64 [contexts, masks]
    log_weights: np.ndarray  # float64 [contexts, masks, weightings]


@dataclass(frozen=True)
class Batch:
    """Masked contexts of equal length; those of a text stand side by side."""

    ids: Tensor  # int64 [contexts, tokens]
    positions: Tensor  # int64 [contexts, masks]
    log_weights: Tensor  # float64 [contexts, masks, weightings]
    texts: tuple[int, ...]  # the texts met, in order
    sizes: tuple[int, ...]  # contexts of each of them


def find_template(tokenizer: Any) -> Template:
    """The special tokens that `tokenizer` puts before and after a text."""
    probe = tokenizer("a", return_special_tokens_mask=True)
    ids, special = probe["input_ids"], np.asarray(probe["special_tokens_mask"], dtype=bool)
    inner = np.flatnonzero(~special)
    return Template(
        tuple(ids[: inner[0]]), tuple(ids[inner[-1] + 1 :]), int(tokenizer.mask_token_id)
    )


def tokenize(
    tokenizer: Any, texts: Sequence[str], max_length: int | None, long_text: str
) -> Iterator[TokenizedText]:
    """The tokenised texts, cut to `max_length` tokens, special ones included, if "truncate".

    Positions that the tokenizer flags as special are not maskable; unknown tokens and special
    strings that someone typed are. With "window" nothing is cut; with "error" a text that is too
    long raises ValueError.
    """
    for start in range(0, len(texts), SLICE):
        encoded = tokenizer(
            list(texts[start : start + SLICE]),
            return_special_tokens_mask=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            truncation=False,
            padding=False,
            verbose=False,
        )
        rows = zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
        for offset, (ids, special) in enumerate(rows):
            text = TokenizedText(
                np.asarray(ids, dtype=np.int64),
                ~np.asarray(special, dtype=bool),
                max_length is not None and len(ids) > max_length,
            )
            if text.too_long and long_text == "error":
                raise ValueError(
                    f"a text has {len(ids)} tokens, more than max_length={max_length}: "
                    f"{texts[start + offset][:60]!r}...; shorten it, or set "
                    'long_text="truncate" or "window"'
                )
            if text.too_long and long_text == "truncate":
                assert max_length is not None
                text = _cut(text, max_length, tokenizer.truncation_side)
            yield text


def _cut(text: TokenizedText, max_length: int, side: str) -> TokenizedText:
    """The text without its surplus tokens, which go from the side the tokenizer cuts at."""
    inner = np.flatnonzero(text.maskable)
    first, last = inner[0], inner[-1] + 1
    surplus = len(text.ids) - max_length
    gone = slice(first, first + surplus) if side == "left" else slice(last - surplus, last)
    return TokenizedText(np.delete(text.ids, gone), np.delete(text.maskable, gone), True)


def normalised_log_weights(text: TokenizedText, table: np.ndarray | None) -> np.ndarray:
    """Log of the weights of the maskable positions, float64 [maskable], weights summing to 1.

    `table` [vocab] holds the inverse document frequencies; None, or a text whose weights are all
    0, means uniform weights. A weight of 0 is -inf.
    """
    count = int(text.maskable.sum())
    weights = np.ones(count) if table is None else table[text.tokens]
    if not weights.any():
        weights = np.ones(count)
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum()) if count else np.zeros(0)


def split(
    index: int,
    text: TokenizedText,
    log_weights: np.ndarray,
    template: Template,
    max_length: int | None,
    masks: int = 1,
) -> list[Window]:
    """The windows of a text: one if it fits, else overlapping ones that mask each token once.

    `log_weights` [maskable, weightings]. A text without a maskable token is read as a lone mask
    between the special tokens. Positions of weight 0 in all weightings are left out. `masks` is how
    many positions a context masks at most.
    """
    if not text.maskable.any():
        ids = np.asarray([*template.prefix, template.mask, *template.suffix], dtype=np.int64)
        lone = np.zeros((1, 1, log_weights.shape[1]))
        return [Window(index, ids, np.asarray([[len(template.prefix)]]), lone)]
    positions = np.flatnonzero(text.maskable)
    kept = (log_weights > -np.inf).any(1)
    if max_length is None or len(text.ids) <= max_length:
        grouped = _group(positions[kept], log_weights[kept], masks)
        return [Window(index, text.ids, *grouped)]
    first, last = int(positions[0]), int(positions[-1]) + 1
    inner = text.ids[first:last]
    width = max_length - template.overhead
    starts = np.arange(0, len(inner) - width, max(1, width // 2))
    starts = np.append(starts, len(inner) - width)
    # Nearest window centre; searching the midpoints between centres from the left gives ties to
    # the earlier window.
    centres = starts + (width - 1) / 2
    owner = np.searchsorted((centres[1:] + centres[:-1]) / 2, positions - first, side="left")
    windows = []
    for number, start in enumerate(starts):
        mine = (owner == number) & kept
        if mine.any():
            ids = np.concatenate(
                [template.prefix, inner[start : start + width], template.suffix]
            ).astype(np.int64)
            at = positions[mine] - first - start + len(template.prefix)
            windows.append(Window(index, ids, *_group(at, log_weights[mine], masks)))
    return windows


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
    windows: Sequence[Window],
    mask: int,
    contexts_per_batch: int | None,
    vocabulary: int,
    device: str,
) -> Iterator[Batch]:
    """Batches of masked contexts of equal length, longest first; no padding.

    `contexts_per_batch` None chooses by the tokens and the logits that one pass may hold.
    """
    alike: dict[tuple[int, ...], list[Window]] = {}
    for window in windows:
        alike.setdefault((len(window.ids), *window.log_weights.shape[1:]), []).append(window)
    most_tokens = TOKENS_PER_BATCH.get(device, TOKENS_PER_BATCH["cpu"])
    most_logits = LOGITS_PER_BATCH.get(device, LOGITS_PER_BATCH["cpu"])
    for length, masks, weightings in sorted(alike, reverse=True):
        group = alike[length, masks, weightings]
        fitting = min(most_tokens // length, most_logits // (vocabulary * masks))
        size = contexts_per_batch or max(1, fitting)
        counts = np.asarray([len(window.positions) for window in group])
        rows = torch.from_numpy(np.stack([window.ids for window in group]))
        owner = torch.from_numpy(np.repeat(np.arange(len(group)), counts))
        positions = torch.from_numpy(np.concatenate([window.positions for window in group]))
        log_weights = torch.from_numpy(np.concatenate([window.log_weights for window in group]))
        for start in range(0, len(owner), size):
            part = slice(start, start + size)
            ids = rows[owner[part]]
            ids.scatter_(1, positions[part], mask)
            texts, sizes = torch.unique_consecutive(owner[part], return_counts=True)
            yield Batch(
                ids,
                positions[part],
                log_weights[part],
                tuple(group[i].text for i in texts.tolist()),
                tuple(sizes.tolist()),
            )
