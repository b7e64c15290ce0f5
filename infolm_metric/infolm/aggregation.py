"""Aggregates a text's predictions into one distribution over the vocabulary."""

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


def aggregate(
    logits: Tensor, log_weights: Tensor, sizes: Sequence[int], temperatures: Sequence[float]
) -> Tensor:
    """log sum_j weight_j softmax(logits_j / T) of each text, for each weighting and temperature.

    `logits` [masks, vocab] and `log_weights` [masks, weightings] hold the masks of a text side by
    side, `sizes[i]` of them for text i; gives float64 [texts, weightings, temperatures, vocab].
    Nothing underflows: not the sum, and not a text's total weight.
    """
    device = logits.device
    counts = torch.tensor(sizes, device=device)
    owner = torch.repeat_interleave(counts, output_size=len(logits))
    log_weights = log_weights.to(device)
    weightings = log_weights.shape[1]
    heaviest = torch.full((len(sizes), weightings), -torch.inf, dtype=torch.float64, device=device)
    heaviest.scatter_reduce_(0, owner[:, None].expand_as(log_weights), log_weights, "amax")
    heaviest.masked_fill_(heaviest == -torch.inf, 0.0)  # of a text without any weight here
    log_weights = log_weights - heaviest[owner]
    shape = (len(sizes), weightings, len(temperatures), logits.shape[-1])
    result = torch.full(shape, -torch.inf, dtype=torch.float64, device=device)
    step = max(1, ELEMENTS.get(device.type, ELEMENTS["cpu"]) // logits.shape[-1])
    for start in range(0, len(logits), step):
        part = slice(start, start + step)
        met, lengths = torch.unique_consecutive(owner[part], return_counts=True)
        rows = logits[part].double()
        rows -= rows.amax(-1, keepdim=True)
        reach = float(-rows.amin())
        for number, temperature in enumerate(temperatures):
            mix = _mix_representable if reach / temperature < REPRESENTABLE else _mix_in_log_space
            sums = result[met, :, number]
            mixed = mix(rows, log_weights[part], lengths.tolist(), temperature)
            result[met, :, number] = torch.logaddexp(sums, mixed)
    return result + heaviest[..., None, None]


def _mix_representable(
    rows: Tensor, log_weights: Tensor, sizes: Sequence[int], temperature: float
) -> Tensor:
    """log sum_j weight_j softmax(row_j / T), [texts, weightings, vocab]: one exponential a logit.

    `rows` [masks, vocab], with largest value 0, must not reach below -REPRESENTABLE * T.
    """
    likelihoods = rows.div(temperature).exp_()
    shares = (log_weights.exp() / likelihoods.sum(-1, keepdim=True)).split(list(sizes))
    mixed = torch.block_diag(*(share.t() for share in shares)).mm(likelihoods).log_()
    return mixed.unflatten(0, (len(sizes), -1))


def _mix_in_log_space(
    rows: Tensor, log_weights: Tensor, sizes: Sequence[int], temperature: float
) -> Tensor:
    """The same for rows that reach further down."""
    weighed = log_predictions(rows, temperature)[:, None] + log_weights[..., None]
    return torch.stack([torch.logsumexp(own, 0) for own in weighed.split(list(sizes))])


class Accumulator:
    """Sums, in log space, what the batches contribute to each text."""

    def __init__(self, temperatures: Sequence[float]) -> None:
        self.temperatures = tuple(temperatures)
        self.log_sums: dict[int, Tensor] = {}  # text -> [weightings, temperatures, vocab]

    def add(
        self, logits: Tensor, log_weights: Tensor, texts: Sequence[int], sizes: Sequence[int]
    ) -> None:
        """Adds a batch's contexts, `sizes[i]` of them for text `texts[i]`.

        logits [contexts, masks, vocab], log_weights [contexts, masks, weightings].
        """
        masks = log_weights.shape[1]
        parts = aggregate(
            logits.flatten(0, 1),
            log_weights.flatten(0, 1),
            [masks * size for size in sizes],
            self.temperatures,
        )
        for text, part in zip(texts, parts, strict=True):
            known = self.log_sums.get(text)
            # A copy: a view would keep the whole batch alive.
            self.log_sums[text] = part.clone() if known is None else torch.logaddexp(known, part)
