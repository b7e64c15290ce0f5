"""Aggregates predictions into one distribution per text; keeps distributions for reuse."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor


def log_predictions(logits: Tensor, temperature: float) -> Tensor:
    """log softmax(logits / temperature) over the last axis, float64, any shape.

    >>> log_predictions(torch.tensor([0.0, 0.0]), 0.5).exp().tolist()
    [0.5, 0.5]
    """
    return torch.log_softmax(logits.double() / temperature, dim=-1)


def aggregate(
    logits: Tensor, log_weights: Tensor, sizes: Sequence[int], temperatures: Sequence[float]
) -> Tensor:
    """log sum_j weight_j softmax(logits_j / T) of each text: [texts, temperatures, vocab], float64.

    `logits` [contexts, vocab] and `log_weights` [contexts] hold the contexts of a text side by
    side, `sizes[i]` of them for text i. The sum is formed in log space, so nothing underflows.
    """
    log_weights = log_weights.to(logits.device)[:, None]
    columns = []
    for temperature in temperatures:
        weighted = log_predictions(logits, temperature) + log_weights
        columns.append(torch.stack([torch.logsumexp(p, 0) for p in weighted.split(list(sizes))]))
    return torch.stack(columns, dim=1)


class Accumulator:
    """Sums, in log space, what the batches contribute to each text."""

    def __init__(self, temperatures: Sequence[float]) -> None:
        self.temperatures = tuple(temperatures)
        self.log_sums: dict[int, Tensor] = {}  # text -> [temperatures, vocab]

    def add(
        self, logits: Tensor, log_weights: Tensor, texts: Sequence[int], sizes: Sequence[int]
    ) -> None:
        """Adds a batch's contexts; arguments as for `aggregate`, `texts` naming each text."""
        parts = aggregate(logits, log_weights, sizes, self.temperatures)
        for text, part in zip(texts, parts, strict=True):
            known = self.log_sums.get(text)
            # A copy: a view would keep the whole batch alive.
            self.log_sums[text] = part.clone() if known is None else torch.logaddexp(known, part)


class DistributionStore:
    """Log-distributions of texts seen before, the longest unused dropped beyond `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._kept: OrderedDict[Hashable, Tensor] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> Tensor | None:
        """The distribution kept under `key`, or None."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Hashable, distribution: Tensor) -> None:
        """Keeps a distribution as long as there is room; it counts as used just now."""
        if self.get(key) is None and distribution.nbytes <= self.limit:
            if distribution.untyped_storage().nbytes() > distribution.nbytes:
                distribution = distribution.clone()  # a view would keep more alive than is counted
            self._kept[key] = distribution
            self.size += distribution.nbytes
            self.shrink(self.limit)

    def shrink(self, limit: int) -> None:
        """Sets the limit and drops what exceeds it."""
        self.limit = limit
        while self.size > limit:
            _, dropped = self._kept.popitem(last=False)
            self.size -= dropped.nbytes
