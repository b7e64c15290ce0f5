"""AB divergence, accurate near singular parameters and for close distributions.

The KL, alpha, Renyi and beta divergences are functions or limits of the scale-invariant AB
divergence (Cichocki, Cruces and Amari 2011, Entropy 13:134). The published formula subtracts nearly
equal numbers if alpha, beta or their sum is close to 0, or if p is close to q. `_ends` rewrites the
formula as a sum of terms >= 0. `log_p` and `log_q` are normalized log-probabilities, [..., vocab].
Results are float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from infolm_metric.models.determinism import to_float64

SMALLEST_GAP = 1e-70  # within this distance of a singular parameter, the limit is returned
SERIES_BELOW = 2.0**-6  # exp(y) - 1 - y loses 7 bits at this y. 6 terms of its series suffice


def ab_value(log_p: Tensor, log_q: Tensor, a: float, b: float, total: float) -> Tensor:
    """Return the AB divergence, [...]. `total` is a + b without rounding error."""
    parts, width = [], 0.0
    for log_w, log_v, y, step in _ends(log_p, log_q, a, b, total):
        parts.append(_rise(log_w, log_v, y) / step)
        width += step
    return torch.stack(parts).sum(0) / width


def ab_terms(log_p: Tensor, log_q: Tensor, alpha: float, beta: float) -> Tensor:
    """Return the contribution of each entry to the AB divergence, [..., vocab]."""
    parts, width = [], 0.0
    for log_w, log_v, y, step in _ends(log_p, log_q, alpha, beta, alpha + beta):
        # Scaling v and w by a common factor keeps the proportions and prevents overflow of v.
        peak = log_v.amax(-1, keepdim=True).clamp(min=0.0)
        entries = excess(log_w - peak, log_v - peak, y).clamp(min=0.0)
        whole = entries.sum(-1, keepdim=True)
        rise = _rise(log_w, log_v, y).unsqueeze(-1)
        parts.append(torch.where(whole > 0.0, entries / whole, 0.0) * rise / step)
        width += step
    return torch.stack(parts).sum(0) / width


def nonzero(number: float) -> float:
    """Return the nearest number with a magnitude of at least SMALLEST_GAP."""
    return math.copysign(max(abs(number), SMALLEST_GAP), number)


def excess(log_w: Tensor, log_v: Tensor, y: Tensor) -> Tensor:
    """Return v - w - w y (>= 0), where v = w exp(y), without cancellation, [..., vocab]."""
    w = log_w.exp()
    series = (y / 5040).add_(1 / 720)  # in place, because allocation is slower than arithmetic
    for coefficient in (1 / 120, 1 / 24, 1 / 6, 1 / 2):
        series.mul_(y).add_(coefficient)
    tiny = series.mul_(y).mul_(y)
    small = y.clamp(max=1.0).expm1_().sub_(y)
    near = torch.where(y.abs() < SERIES_BELOW, tiny, small).mul_(w)
    # For y >= 1, use v itself, because exp(y) can overflow although w exp(y) does not.
    far = (log_v.exp() - w).addcmul_(w, y, value=-1.0)
    return torch.where(y < 1.0, near, far)


def _rise(log_w: Tensor, log_v: Tensor, y: Tensor) -> Tensor:
    """Return log sum v, [...], >= 0, given v = w exp(y), sum w = 1 and sum w y = 0."""
    total = excess(log_w, log_v, y).sum(-1).clamp(min=0.0)
    rise, far = total.log1p(), ~(total < 1.0)
    if far.any():
        rise[far] = log_v[far].logsumexp(-1)
    return rise.clamp(min=0.0)


def _ends(
    log_p: Tensor, log_q: Tensor, a: float, b: float, total: float
) -> Iterator[tuple[Tensor, Tensor, Tensor, float]]:
    """Yield the two ends (log w, log v, y, step) whose weighted sum is the AB divergence.

    L(x) = log sum p^(a+b-x) q^x is convex. The AB divergence is its second divided difference over
    the nodes 0, b and a + b (p^(a+b), p^a q^b and q^(a+b)), or half its second derivative if the
    nodes coincide. Subtract from L its tangent at the middle node, and let r1 and r2 be the values
    at the outer nodes, whose distances (steps) from the middle node are h1 and h2. All terms of

        AB = (r1/h1 + r2/h2) / (h1 + h2)

    are >= 0, so there is no cancellation, even if nodes are close. w are the normalized weights at
    the middle node, v = w exp(y) are the weights at an outer node after the tangent is subtracted,
    and r = log sum v.
    """
    log_p, log_q = to_float64(log_p), to_float64(log_q)
    p_end, q_end, inner = (total, 0.0), (0.0, total), (a, b)
    if min(a, b) > 0 or max(a, b) < 0:
        middle, ends = inner, ((p_end, -b), (q_end, a))
    elif abs(a) >= abs(b):
        middle, ends = p_end, ((inner, b), (q_end, total))
    else:
        middle, ends = q_end, ((p_end, -total), (inner, -a))
    log_w = middle[0] * log_p + middle[1] * log_q
    level = log_w.logsumexp(-1, keepdim=True)
    log_w = log_w - level
    slope = log_q - log_p
    mean = (log_w.exp() * slope).sum(-1, keepdim=True)
    slope = slope - mean
    for powers, offset in ends:
        step = nonzero(offset)
        log_v = powers[0] * log_p + powers[1] * log_q - (level + step * mean)
        yield log_w, log_v, step * slope, abs(step)
