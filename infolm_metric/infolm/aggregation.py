"""Aggregates a text's predictions into one distribution over the vocabulary.

A text's positions are added one after the other, in their own order, so that a distribution has the
same bits in whatever batches its contexts were read, and whatever else was in them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

# Logits turned into float64 at a time, by device: on a CPU what its caches hold.
ELEMENTS = {"cpu": 1 << 20, "cuda": 1 << 26}
REPRESENTABLE = 700.0  # exp(-700) is still a normal float64


def log_predictions(logits: Tensor, temperature: float) -> Tensor:
    """log softmax(logits / temperature) over the last axis, float64, any shape.

    >>> log_predictions(torch.tensor([0.0, 0.0]), 0.5).exp().tolist()
    [0.5, 0.5]
    """
    return torch.log_softmax(logits.double() / temperature, dim=-1)


class Accumulator:
    """sum_j weight_j softmax(logits_j / T) of texts, for each weighting and temperature.

    What float64 can represent is summed as it is; positions that reach further down, or weigh too
    little, are summed in log space. Which way a position goes depends on it alone.
    """

    def __init__(self, temperatures: Sequence[float]) -> None:
        self.temperatures = tuple(temperatures)
        self._sums: dict[int, Tensor] = {}  # text -> [weightings, temperatures, vocab]
        self._far: dict[int, dict[tuple[int, int], Tensor]] = {}  # text -> what is in log space

    def add(self, logits: Tensor, log_weights: Tensor, texts: Tensor) -> None:
        """Add positions of some texts, in the order that each text has them.

        logits [positions, vocab], log_weights [positions, weightings], texts int64 [positions].
        """
        vocab = logits.shape[-1]
        log_weights = log_weights.to(logits.device)
        met, owner = torch.unique(texts, return_inverse=True)
        names, owner = met.tolist(), owner.to(logits.device)
        shape = (log_weights.shape[1], len(self.temperatures), vocab)
        sums = torch.zeros((len(names), *shape), dtype=torch.float64, device=logits.device)
        for index, text in enumerate(names):
            if text in self._sums:
                sums[index] = self._sums[text]
            self._sums[text] = sums[index]
        step = max(1, ELEMENTS.get(logits.device.type, ELEMENTS["cpu"]) // vocab)
        for start in range(0, len(logits), step):
            part = slice(start, start + step)
            rows = logits[part].double()
            rows -= rows.amax(-1, keepdim=True)
            far = self._add_rows(rows, log_weights[part], owner[part], sums)
            for position, weighting, number in far.nonzero().tolist():
                heat = self.temperatures[number]
                weighed = log_predictions(logits[start + position], heat)
                weighed += log_weights[start + position, weighting]
                known = self._far.setdefault(names[int(owner[start + position])], {})
                before = known.get((weighting, number))
                known[weighting, number] = (
                    weighed if before is None else torch.logaddexp(before, weighed)
                )

    def _add_rows(self, rows: Tensor, log_weights: Tensor, owner: Tensor, sums: Tensor) -> Tensor:
        """Add positions to `sums` [texts, weightings, temperatures, vocab], but those too far down.

        `rows` [positions, vocab] have the largest value 0, and are overwritten. Gives which were
        left out, bool [positions, weightings, temperatures].
        """
        reach = -rows.amin(-1, keepdim=True)
        weighed = log_weights > -torch.inf
        left_out = []
        for number, heat in enumerate(self.temperatures):
            last = number == len(self.temperatures) - 1
            likelihoods = (rows.div_(heat) if last else rows.div(heat)).exp_()
            totals = likelihoods.sum(-1, keepdim=True)
            far = (reach / heat - log_weights >= REPRESENTABLE) & weighed
            shares = torch.where(far, 0.0, log_weights.exp() / totals)
            for weighting, share in enumerate(shares.unbind(1)):
                once = shares.shape[1] == 1
                parts = likelihoods.mul_(share[:, None]) if once else likelihoods * share[:, None]
                sums[:, weighting, number].index_add_(0, owner, parts)
            left_out.append(far)
        return torch.stack(left_out, -1)

    def log_sums(self, text: int) -> Tensor:
        """The logarithms of a text's sums, float64 [weightings, temperatures, vocab]."""
        found = self._sums[text].log()
        for place, far in self._far.get(text, {}).items():
            found[place] = torch.logaddexp(found[place], far)
        return found
