"""Batch-invariant inference: outputs that do not depend on the other texts in a batch."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MKL_MODE = "MKL_CBWR"
_INFERENCE = threading.RLock()

M = TypeVar("M", bound=nn.Module)

# Numbers of rows to probe, including some for which libraries divide the work differently.
PROBED_ROWS = (1, 2, 3, 7, 11, 15, 16, 24, 48, 57, 64, 100, 128, 160, 192, 256)
PROBE_FLOPS = 6e9  # maximum per shape. For large shapes (a vocabulary head), fewer rows are probed
PADDED_ROWS = 16  # rows. Padding to this number is cheap
BLOCK = 64  # rows
COLUMNS = 2048  # outputs per float32 product. Products for a whole vocabulary exceed the caches
DISTINCT_ROWS = 300  # of the probed matrices
SHIFT = 7  # rows by which a block is moved in the probe


@dataclass(frozen=True)
class RowRule:
    """Numbers of rows for which a matrix product computes each row independently of the others."""

    least: int = 1  # minimum. Smaller products are padded with zeros
    block: int = 0  # rows per product. 0: any number >= `least`

    def padded(self, count: int) -> int:
        """Return the number of rows after padding."""
        return count + -count % self.block if self.block else max(count, self.least)

    def apply(
        self, rows: Tensor, weight: Tensor, bias: Tensor, out: Tensor | None = None
    ) -> Tensor:
        """Apply `linear`, [rows, in] -> [rows, outputs]. `out`, if any, has the padded rows."""
        count, total = len(rows), self.padded(len(rows))
        if total > count:
            rows = F.pad(rows, (0, 0, 0, total - count))
        if not self.block:
            return linear(rows, weight, bias, out)[:count]
        out = rows.new_empty(total, len(weight)) if out is None else out
        sides = (torch.split(part, self.block) for part in (rows, out))
        for part, target in zip(*sides, strict=True):
            linear(part, weight, bias, target)
        return out[:count]


@functools.cache
def make_products_reproducible() -> None:
    """Make Intel's MKL compute each row of a product independently of the number of rows.

    By default, MKL divides the sums of a row among threads for some numbers of rows. MKL reads
    MKL_CBWR when the process computes its first product, so the mode remains after the variable is
    removed. This function has no effect if the process has already computed products, and keeps a
    value set by the user.
    """
    if MKL_MODE in os.environ:
        return
    os.environ[MKL_MODE] = "AUTO,STRICT"
    try:
        torch.mm(*torch.ones(2, 4, 4, device="cpu"))
    finally:
        del os.environ[MKL_MODE]


@functools.cache
def uses_onednn(dtype: torch.dtype) -> bool:
    """Return True if products on a CPU run in oneDNN instead of MKL.

    On AMD CPUs with AVX-512, MKL does not use AVX-512 and takes twice as long.
    """
    name = getattr(torch.cpu, "get_capabilities", dict[str, str])().get("cpu_name", "")
    avx512 = torch.backends.cpu.get_cpu_capability() == "AVX512"
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and avx512 and "AMD" in name and dtype == torch.float32


def linear(rows: Tensor, weight: Tensor, bias: Tensor, out: Tensor | None = None) -> Tensor:
    """Return `rows @ weight.t() + bias`, [rows, outputs], in the tensor `out` if it is given."""
    if rows.device.type == "cpu" and uses_onednn(rows.dtype):
        product: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
        return product if out is None else out.copy_(product)
    if rows.device.type != "cpu" or rows.dtype.itemsize < 4 or len(weight) <= COLUMNS:
        return torch.addmm(bias, rows, weight.t(), out=out)
    out = rows.new_empty(len(rows), len(weight)) if out is None else out
    slices = (torch.split(part, COLUMNS, -1) for part in (weight.t(), bias, out))
    for matrix, shift, target in zip(*slices, strict=True):
        torch.addmm(shift, rows, matrix, out=target)
    return out


@functools.cache
def probe_rows(inputs: int, outputs: int, dtype: torch.dtype, threads: int) -> RowRule:
    """Return the rule for products [rows, inputs] -> [rows, outputs] for `threads` CPU threads.

    Products of up to 256 rows are compared with the same rows of a larger product. If no rule
    makes rows bitwise identical, products are not changed.
    """
    most_rows = PROBE_FLOPS / (2 * inputs * outputs)
    totals = itertools.accumulate(PROBED_ROWS)
    counts = [
        count
        for count, total in zip(PROBED_ROWS, totals, strict=True)
        if count <= PADDED_ROWS or total <= most_rows
    ]

    def matrix(sign: int, size: int) -> Tensor:
        distinct, width = min(size, DISTINCT_ROWS), inputs // 2
        half = torch.arange(distinct * width, device="cpu").sin().to(dtype).view(distinct, width)
        rows = torch.cat([half, sign * half.roll(width // 3, 1), half[:, : inputs % 2]], 1)
        return rows.repeat(-(-size // distinct), 1)[:size]

    # Sums are almost 0, so that results show the rounding errors of all terms.
    rows, weight = matrix(-1, max(BLOCK, counts[-1]) + SHIFT), matrix(1, outputs)
    bias = weight[:, 0] * 1e-6

    def product(start: int, count: int) -> Tensor:
        return linear(rows[start : start + count], weight, bias)

    whole = product(0, len(rows))
    starts = ((count, count % SHIFT) for count in counts)
    dependent = [
        count
        for count, start in starts
        if not torch.equal(product(start, count), whole[start : start + count])
    ]
    if max(dependent, default=0) < PADDED_ROWS:
        return RowRule(least=PADDED_ROWS if dependent else 1)
    shared = [product(start, BLOCK)[SHIFT - start : BLOCK - start] for start in range(SHIFT)]
    independent = all(torch.equal(shared[0], other) for other in shared)
    return RowRule(block=BLOCK) if independent else RowRule()


def row_rule(weight: Tensor) -> RowRule:
    """Return the rule for products of rows with a weight [out, in]."""
    if weight.device.type != "cpu":  # not probed
        return RowRule(least=PADDED_ROWS)
    if weight.dtype.itemsize < torch.float32.itemsize:
        return RowRule()  # small blocks take up to three times as long in half precision
    outputs, inputs = weight.shape
    return probe_rows(inputs, outputs, weight.dtype, torch.get_num_threads())


@functools.cache
def limit_threads_of_forks() -> None:
    """Limit forked processes to one thread. OpenMP would wait forever for the parent's threads."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=functools.partial(torch.set_num_threads, 1))


class DeterministicLinear(nn.Linear):
    """A linear layer. With a suitable `rule`, each row is independent of the others."""

    rule: RowRule

    def forward(self, input: Tensor) -> Tensor:
        """Return the layer's output, [..., in] -> [..., out]."""
        rows = input.flatten(0, -2)
        bias = rows.new_zeros(self.out_features) if self.bias is None else self.bias
        output = self.rule.apply(rows, self.weight, bias)
        return output.view(*input.shape[:-1], self.out_features)


def deterministic_linear(model: M) -> M:
    """Replace the linear layers of a model so that its output does not depend on the batch.

    The rules of the layers are chosen here, for the current number of threads. In half precision,
    on a GPU, or if no rule works, outputs can still depend on the batch by rounding errors.

    >>> layer = deterministic_linear(nn.Linear(64, 64))
    >>> rows = torch.randn(40, 64)
    >>> with torch.inference_mode():
    ...     torch.equal(layer(rows)[:1], layer(rows[:1]))
    True
    """
    layer: Any
    for layer in [module for module in model.modules() if type(module) is nn.Linear]:
        layer.__class__ = DeterministicLinear
        layer.rule = row_rule(layer.weight)
    return model


def float64_device(device: torch.device) -> torch.device:
    """Return the device for float64 arithmetic. Apple GPUs do not support it, so use the CPU."""
    return torch.device("cpu") if device.type == "mps" else device


def to_float64(tensor: Tensor) -> Tensor:
    """Return a tensor as float64, on the CPU if its device does not support float64.

    >>> to_float64(torch.zeros(2)).dtype
    torch.float64
    """
    return tensor.to(float64_device(tensor.device)).double()


@contextmanager
def deterministic_inference(device: torch.device) -> Iterator[None]:
    """Run inference in full float32 precision, regardless of the caller's torch settings.

    One thread runs at a time, because the precision is a setting of the whole process.
    """
    backends: list[Any] = [torch.backends.cuda, torch.backends.mkldnn]
    products = [backend.matmul for backend in backends]
    # Only if it is not the default, because setting a device slows down every torch call.
    default = nullcontext() if torch.get_default_device().type == device.type else device
    with _INFERENCE:
        precisions = [product.fp32_precision for product in products]
        for product in products:
            product.fp32_precision = "ieee"
        try:
            with default, torch.inference_mode(), torch.autocast(device.type, enabled=False):
                yield
        finally:
            for product, precision in zip(products, precisions, strict=True):
                product.fp32_precision = precision
