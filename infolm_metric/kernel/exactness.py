"""What keeps the bits of a score the same, whatever else is read in the same batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Rows of a matrix product at least: for fewer a thread, a CPU's libraries compute in other orders,
# and a score's last bits would depend on the batch it is in.
ROWS = max(16, 8 * torch.get_num_threads())


def by_rows(module: Callable[[Tensor], Tensor], states: Tensor) -> Tensor:
    """What a module that treats rows alike gives, [..., in] -> [..., out], for ROWS at least."""
    flat = states.flatten(0, -2)
    found = module(F.pad(flat, (0, 0, 0, max(0, ROWS - len(flat)))))
    return found[: len(flat)].view(*states.shape[:-1], -1)


class RowsLinear(nn.Linear):
    """A linear layer that computes ROWS rows at least, and so the same bits for each."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer of `input` [..., in], [..., out]."""
        enough = input.numel() >= ROWS * input.shape[-1]
        return super().forward(input) if enough else by_rows(super().forward, input)


def steady(model: nn.Module) -> nn.Module:
    """The model, whose linear layers give a row the same bits however few rows come with it.

    >>> layer = steady(nn.Linear(64, 64))
    >>> rows = torch.randn(40, 64)
    >>> torch.equal(layer(rows)[:1], layer(rows[:1]))
    True
    """
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = RowsLinear
    return model


def repeated(ids: Tensor) -> Tensor:
    """The texts, int64 [texts, tokens], again and again until they have ROWS tokens.

    >>> len(repeated(torch.zeros(2, ROWS, dtype=torch.int64)))
    2
    """
    return ids.repeat(-(-ROWS // ids.numel()), 1)


@contextmanager
def exactly(device: torch.device) -> Iterator[None]:
    """Neither gradients nor the caller's autocast and matrix precision change a score."""
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        with torch.inference_mode(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
