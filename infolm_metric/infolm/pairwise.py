"""Measures of all references with all candidates, as products of matrices.

Faster than one formula per pair, but values close to 0 lose their digits; they are NaN here, or
below `NEAR`, and `measures.compare_all` computes them by the formula. The functions take
normalised log-probabilities float64 [references, vocab] and [candidates, vocab] and return
[references, candidates]. Measures without an entry in `PRODUCTS` have no such product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

NEAR = 1e-6  # values below which products of matrices have lost too many digits
SINGULAR = 1e-3  # distance from a singular parameter below which they lose them everywhere
SMALLEST_SUM = 1e-280


def _power_sums(log_p: Tensor, log_q: Tensor, a: float, b: float) -> Tensor:
    """Return log sum p^a q^b of all pairs, [references, candidates]; NaN if it underflows."""
    log_w, log_v = a * log_p, b * log_q
    peak_w, peak_v = log_w.amax(-1, keepdim=True), log_v.amax(-1, keepdim=True)
    sums = (log_w - peak_w).exp() @ (log_v - peak_v).exp().T
    sums = torch.where(sums > SMALLEST_SUM, sums, torch.nan)
    return sums.log() + peak_w + peak_v.T


def _kl_all(log_p: Tensor, log_q: Tensor) -> Tensor:
    p = log_p.exp()
    return (p * log_p).sum(-1)[:, None] - p @ log_q.T


def _ab_all(log_p: Tensor, log_q: Tensor, alpha: float, beta: float) -> Tensor:
    total = alpha + beta
    if min(abs(alpha), abs(beta), abs(total)) < SINGULAR:
        return log_p.new_full((len(log_p), len(log_q)), torch.nan)
    ends = (total * log_p).logsumexp(-1), (total * log_q).logsumexp(-1)
    p_term, q_term = ends[0][:, None] / (beta * total), ends[1] / (alpha * total)
    return p_term + q_term - _power_sums(log_p, log_q, alpha, beta) / (alpha * beta)


def _renyi_all(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    return alpha * _ab_all(log_p, log_q, alpha, 1.0 - alpha)


def _alpha_all(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    factor = alpha * (alpha - 1.0)
    return torch.expm1(factor * _ab_all(log_p, log_q, alpha, 1.0 - alpha)) / factor


def _l2_all(log_p: Tensor, log_q: Tensor) -> Tensor:
    p, q = log_p.exp(), log_q.exp()
    squares = p.square().sum(-1)[:, None] + q.square().sum(-1) - 2 * (p @ q.T)
    return torch.where(squares > NEAR, squares.clamp(min=0.0).sqrt(), torch.nan)


def _fisher_rao_all(log_p: Tensor, log_q: Tensor) -> Tensor:
    cosine = (log_p / 2).exp() @ (log_q / 2).exp().T
    angle = 2 / math.pi * cosine.clamp(max=1.0).arccos()
    return torch.where(1.0 - cosine > NEAR, angle, torch.nan)


PRODUCTS: dict[str, Callable[..., Tensor]] = {
    "kl_divergence": _kl_all,
    "alpha_divergence": _alpha_all,
    "renyi_divergence": _renyi_all,
    "beta_divergence": partial(_ab_all, alpha=1.0),
    "ab_divergence": _ab_all,
    "l2_distance": _l2_all,
    "fisher_rao_distance": _fisher_rao_all,
}
