"""Token weights, windows of long texts, and batches of texts of equal length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import numpy as np
from transformers import PreTrainedTokenizerBase

from infolm_metric.core.document_counts import TokenizedText
from infolm_metric.core.inputs import batches

# Maximum tokens per forward pass by device type, for batch_size="auto".
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}

Batched = TypeVar("Batched")


@dataclass(frozen=True)
class Template:
    """Special tokens that a tokenizer adds around a text, and the id of its mask token."""

    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    mask: int  # -1 if the tokenizer has none

    @property
    def overhead(self) -> int:
        """Number of special tokens around a text."""
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True)
class Window:
    """Part of a long text that fits the model.

    Windows overlap, but each token of the text is used in only one window.
    """

    ids: np.ndarray  # int64 [tokens]
    indices: np.ndarray  # of the tokens among the tokens of the text, int64 [indices]
    positions: np.ndarray  # of these tokens in `ids`, int64 [indices]


def device_limit(limits: Mapping[str, int], device: str) -> int:
    """Return the limit for a device type. Types without an entry have the CPU's limit.

    >>> device_limit(TOKENS_PER_BATCH, "mps")
    4096
    """
    return limits.get(device, limits["cpu"])


def pack(
    groups: Iterable[Batched], cost: Callable[[Batched], float], limit: float
) -> Iterator[list[Batched]]:
    """Yield lists of consecutive groups that cost at most `limit` in total, or of a single group.

    >>> list(pack([3, 1, 1, 5], cost=float, limit=4))
    [[3, 1], [1], [5]]
    """
    packed: list[Batched] = []
    room = limit
    for group in groups:
        if packed and cost(group) > room:
            yield packed
            packed, room = [], limit
        packed.append(group)
        room -= cost(group)
    if packed:
        yield packed


def packed_batches(
    lengths: Sequence[int], rows: int | None, most_tokens: int
) -> Iterator[list[list[int]]]:
    """Yield batches that consist of groups of indices of equally long texts, longest first.

    No text is padded. A batch has at most `rows` texts. If `rows` is None, it has at most
    `most_tokens` tokens or a single text.

    >>> list(packed_batches([2, 3, 2], 1, 8)), list(packed_batches([2, 3, 2], None, 8))
    ([[[1]], [[0]], [[2]]], [[[1], [0, 2]]])
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    groups = (
        group
        for length, indices in groupby(order, key=lengths.__getitem__)
        for group in batches(indices, rows or max(1, most_tokens // length))
    )
    return pack(
        groups, lambda group: len(group) * (1 if rows else lengths[group[0]]), rows or most_tokens
    )


def find_template(tokenizer: PreTrainedTokenizerBase) -> Template:
    """Tokenize a probe to find the special tokens that `tokenizer` adds around a text."""
    probe = tokenizer("a", return_special_tokens_mask=True)
    ids, special = probe["input_ids"], np.asarray(probe["special_tokens_mask"], dtype=bool)
    positions = np.flatnonzero(~special)
    mask = -1 if tokenizer.mask_token_id is None else int(tokenizer.mask_token_id)
    return Template(tuple(ids[: positions[0]]), tuple(ids[positions[-1] + 1 :]), mask)


def windows(text: TokenizedText, template: Template, max_length: int | None) -> list[Window]:
    """Divide a text with maskable tokens into overlapping windows. A short text is one window."""
    positions = np.flatnonzero(text.maskable)
    if max_length is None or len(text.ids) <= max_length:
        return [Window(text.ids, np.arange(len(positions)), positions)]
    first, last = int(positions[0]), int(positions[-1]) + 1
    body = text.ids[first:last]
    width = max_length - template.overhead
    final = len(body) - width
    starts = np.append(np.arange(0, final, max(1, width // 2)), final)
    # Each token belongs to the window with the nearest center. A search from the left assigns ties
    # to the earlier window.
    centres = starts + (width - 1) / 2
    owner = np.searchsorted((centres[1:] + centres[:-1]) / 2, positions - first, side="left")
    pieces = []
    for number, start in enumerate(starts):
        indices = np.flatnonzero(owner == number)
        if len(indices):
            tokens = body[start : start + width].tolist()
            ids = np.asarray([*template.prefix, *tokens, *template.suffix], dtype=np.int64)
            in_window = positions[indices] - first - start + len(template.prefix)
            pieces.append(Window(ids, indices, in_window))
    return pieces


@dataclass(frozen=True)
class WeightedText:
    """Tokens of a text and their weights."""

    key: tuple[bytes, bytes]  # equal for equal tokens with equal weights
    text: TokenizedText
    log_weights: np.ndarray  # float64 [maskable]
    zero_weight: bool = False  # all IDF weights are 0, so uniform weights are used

    @property
    def few_weighted(self) -> bool:
        """True if fewer than half of the tokens have more than 1% of the largest weight."""
        least = self.log_weights.max(initial=-np.inf) + math.log(0.01)
        return 2 * int((self.log_weights > least).sum()) < len(self.log_weights)

    @property
    def position_weights(self) -> np.ndarray:
        """Log weights of the positions. An empty text has one position, a mask."""
        return self.log_weights if len(self.log_weights) else np.zeros(1)

    @classmethod
    def of(cls, text: TokenizedText, table: np.ndarray | None) -> WeightedText:
        """Weight tokens by the IDF weights in `table`, [vocab], or uniformly if it is None.

        Weights sum to 1 over the maskable positions. If all IDF weights are 0, the weights are
        uniform. The logarithm of a zero weight is -inf.
        """
        tokens = text.tokens
        weights = np.ones(len(tokens)) if table is None else table[tokens]
        zero = bool(len(tokens)) and not weights.any()
        if zero:
            weights = np.ones(len(tokens))
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights / weights.sum())
        return cls((text.ids.tobytes(), log_weights.tobytes()), text, log_weights, zero)
