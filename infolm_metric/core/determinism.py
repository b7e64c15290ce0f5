"""What keeps the bits of a score the same, whatever else is read in the same batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PRECISION = "fp32_precision"


def min_rows() -> int:
    """The fewest rows of a matrix product by which a row has the same bits as among any more.

    For fewer a thread, a CPU's libraries compute in other orders, and a score's last bits would
    depend on the batch it is in.
    """
    return max(16, 8 * torch.get_num_threads())


def pad_rows(flat: Tensor) -> Tensor:
    """`flat` [rows, in], with rows of zeros after it until there are enough."""
    padding = min_rows() - len(flat)
    return F.pad(flat, (0, 0, 0, padding)) if padding > 0 else flat


def by_rows(module: Callable[[Tensor], Tensor], states: Tensor) -> Tensor:
    """What a module that treats rows alike gives, [..., in] -> [..., out], for enough rows."""
    flat = states.flatten(0, -2)
    return module(pad_rows(flat))[: len(flat)].view(*states.shape[:-1], -1)


class DeterministicLinear(nn.Linear):
    """A linear layer that computes enough rows, and so the same bits for each."""

    def forward(self, input: Tensor) -> Tensor:
        """The layer of `input` [..., in], [..., out]."""
        enough = input.numel() >= min_rows() * input.shape[-1]
        return super().forward(input) if enough else by_rows(super().forward, input)


def deterministic_linear(model: nn.Module) -> nn.Module:
    """The model, whose linear layers give a row the same bits however few rows come with it.

    >>> layer = deterministic_linear(nn.Linear(64, 64))
    >>> rows = torch.randn(40, 64)
    >>> torch.equal(layer(rows)[:1], layer(rows[:1]))
    True
    """
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = DeterministicLinear
    return model


def repeat_texts(ids: Tensor) -> Tensor:
    """The texts, int64 [texts, tokens], again and again until their tokens are enough rows.

    >>> len(repeat_texts(torch.zeros(2, min_rows(), dtype=torch.int64)))
    2
    """
    return ids.repeat(-(-min_rows() // ids.numel()), 1)


@dataclass
class _Precision:
    """Torch's precision of products, which all threads share: the caller's once all are done."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    threads: int = 0
    precision: str | None = None
    by_backend: list[str] = field(default_factory=list)


_precision = _Precision()


@contextmanager
def deterministic_inference(device: torch.device) -> Iterator[None]:
    """Neither gradients nor the caller's autocast, precision and default device change a score."""
    backends: list[Any] = [torch.backends.cuda, torch.backends.mkldnn]
    # Since torch 2.9 each has a precision of its own.
    products = [backend.matmul for backend in backends if hasattr(torch.backends, PRECISION)]
    # Left out where it is that already, because it costs a little at every call of torch.
    default = nullcontext() if torch.get_default_device().type == device.type else device
    with _precision.lock:
        if not _precision.threads:
            _precision.by_backend = [getattr(product, PRECISION) for product in products]
            try:
                _precision.precision = torch.get_float32_matmul_precision()
            except RuntimeError:  # set by backend, as a Trainer's tf32=True does
                _precision.precision = None
            torch.set_float32_matmul_precision("highest")
        _precision.threads += 1
    try:
        with default, torch.inference_mode(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        with _precision.lock:
            _precision.threads -= 1
            if not _precision.threads:
                if _precision.precision is not None:
                    torch.set_float32_matmul_precision(_precision.precision)
                for product, precision in zip(products, _precision.by_backend, strict=True):
                    setattr(product, PRECISION, precision)
