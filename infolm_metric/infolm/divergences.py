"""The formulas of the information measures, on log-probabilities, without loss of digits.

p is the reference, q the candidate. All functions compute in float64 whatever they are given, take
normalised, finite log-probabilities, and are continuous in their parameters: at a singular
parameter they give the limit. (`measures.compare` is stricter, and renormalises.) A value too large
for float64 becomes the largest finite float64. They are for scoring: gradients through them are
not looked after. The `*_terms` functions say how much each vocabulary entry adds.

Sources: Colombo, Clavel and Piantanida 2022 (arXiv 2112.01589), table of measures; for the
AB divergence Cichocki, Cruces and Amari 2011 (Entropy 13:134), scale-invariant form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

LARGEST = torch.finfo(torch.float64).max
SMALLEST_GAP = 1e-70  # nearer than this to a singular parameter, the limit itself is taken
SERIES_BELOW = 2.0**-6  # where exp(y) - 1 - y has lost 7 bits, and 6 terms of its series suffice


def kl_divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Kullback-Leibler divergence, sum p log(p/q), in nats.

    The paper's "JS" is this measure with `measures.compare`'s symmetrize="jeffreys".

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.

    Returns:
        From 0, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{kl_divergence(p, q):.6f}")
    0.143841
    """
    return kl_terms(log_p, log_q).sum(-1)


def kl_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """p log(p/q) - p + q for each entry, >= 0, summing to KL(p, q). Shape [..., vocab].

    >>> kl_terms(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()).min() >= 0
    tensor(True)
    """
    # sum p = sum q, so adding q - p changes no sum, and leaves no negative term to cancel.
    log_p, log_q = double(log_p), double(log_q)
    return _excess(log_p, log_q, log_q - log_p)


def alpha_divergence(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    """Alpha divergence, (sum p^a q^(1-a) - 1) / (a(a-1)).

    KL(p, q) in the limit alpha -> 1, KL(q, p) in the limit alpha -> 0.

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.
        alpha: any number.

    Returns:
        From 0, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{alpha_divergence(p, q, 2):.6f}")
    0.166667
    """
    # S(a,1-a) = exp(a(a-1) AB), and AB keeps its digits where S is nearly 1.
    factor = _away_from_zero(alpha * (alpha - 1.0))
    value = torch.expm1(factor * _curvature(log_p, log_q, alpha, 1.0 - alpha, 1.0)) / factor
    return value.clamp(max=LARGEST)


def renyi_divergence(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    """Renyi divergence, log(sum p^a q^(1-a)) / (a-1), in nats, alpha > 0.

    KL(p, q) in the limit alpha -> 1.

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.
        alpha: > 0.

    Returns:
        From 0, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{renyi_divergence(p, q, 0.5):.6f}")
    0.069336
    """
    return alpha * _curvature(log_p, log_q, alpha, 1.0 - alpha, 1.0)


def beta_divergence(log_p: Tensor, log_q: Tensor, beta: float) -> Tensor:
    """Beta divergence: `ab_divergence` with alpha = 1.

    The paper also calls it gamma divergence. KL(p, q) in the limit beta -> 0.

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.
        beta: any number.

    Returns:
        From 0, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{beta_divergence(p, q, 1):.6f}")
    0.111572
    """
    return ab_divergence(log_p, log_q, 1.0, beta)


def ab_divergence(log_p: Tensor, log_q: Tensor, alpha: float, beta: float) -> Tensor:
    """Scale-invariant AB divergence.

    With S(s,t) = sum p^s q^t:
    log S(a+b,0) / (b(a+b)) + log S(0,a+b) / (a(a+b)) - log S(a,b) / (ab).
    Equals Renyi / alpha where alpha + beta = 1.

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.
        alpha: any number.
        beta: likewise.

    Returns:
        From 0, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{ab_divergence(p, q, 0.5, 0.5):.6f}")
    0.138673
    """
    return _curvature(log_p, log_q, alpha, beta, alpha + beta)


def ab_terms(log_p: Tensor, log_q: Tensor, alpha: float, beta: float) -> Tensor:
    """What each entry adds to the AB divergence, >= 0. Shape [..., vocab].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{ab_terms(p, q, 0.5, 0.5).sum():.6f}")
    0.138673
    """
    return _curvature_terms(log_p, log_q, alpha, beta, alpha + beta)


def l1_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """L1 distance, sum |p - q|.

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.

    Returns:
        From 0 to 2, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{l1_distance(p, q):.6f}")
    0.500000
    """
    return l1_terms(log_p, log_q).sum(-1)


def l1_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """|p - q| for each entry. Shape [..., vocab].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{l1_terms(p, q)[0]:.6f}")
    0.250000
    """
    log_p, log_q = double(log_p), double(log_q)
    return torch.maximum(log_p, log_q).exp() * -torch.expm1(-(log_q - log_p).abs())


def l2_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """L2 distance, the root of sum (p - q)^2.

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.

    Returns:
        From 0 to the root of 2, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{l2_distance(p, q):.6f}")
    0.353553
    """
    return l1_terms(log_p, log_q).square().sum(-1).sqrt()


def l_infinity_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """L-infinity distance, max |p - q|.

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.

    Returns:
        From 0 to 1, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{l_infinity_distance(p, q):.6f}")
    0.250000
    """
    return l1_terms(log_p, log_q).amax(-1)


def l_infinity_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """|p - q| for the entries where it is largest, 0 for the others. Shape [..., vocab].

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.1, 0.5, 0.4]).log()
    >>> (l_infinity_terms(p, q) > 0).tolist()
    [True, False, False]
    """
    terms = l1_terms(log_p, log_q)
    return torch.where(terms == terms.amax(-1, keepdim=True), terms, 0.0)


def fisher_rao_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Fisher-Rao distance, (2/pi) arccos(sum sqrt(pq)).

    Args:
        log_p: the references' log-probabilities, [..., vocab].
        log_q: the candidates', likewise.

    Returns:
        From 0 to 1, float64 [...].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{fisher_rao_distance(p, q):.6f}")
    0.166667
    """
    # arccos loses half the digits near 1. sqrt p and sqrt q lie on the unit sphere: the angle
    # between them is 2 arcsin(chord / 2), and the chord keeps its digits.
    chord = fisher_rao_terms(log_p, log_q).sum(-1).sqrt()
    return (4 / math.pi * torch.arcsin((chord / 2).clamp(max=math.sqrt(0.5)))).clamp(max=1.0)


def fisher_rao_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """(sqrt p - sqrt q)^2 for each entry, up to a common factor its part. Shape [..., vocab].

    >>> p, q = torch.tensor([0.25, 0.75]).log(), torch.tensor([0.75, 0.25]).log()
    >>> print(f"{fisher_rao_terms(p, q)[0]:.6f}")
    0.133975
    """
    return l1_terms(double(log_p) / 2, double(log_q) / 2).square()


def double(log_p: Tensor) -> Tensor:
    """`log_p` in float64; on the CPU if it lies on Apple's GPUs, which have no float64.

    >>> double(torch.zeros(2)).dtype
    torch.float64
    """
    return (log_p.cpu() if log_p.device.type == "mps" else log_p).double()


def _away_from_zero(number: float) -> float:
    return math.copysign(max(abs(number), SMALLEST_GAP), number)


def _excess(log_w: Tensor, log_v: Tensor, y: Tensor) -> Tensor:
    """v - w - w y where v = w exp(y): per entry >= 0, [..., vocab], with its digits for any y."""
    w = log_w.exp()
    series = (y / 5040).add_(1 / 720)  # in place: fresh memory costs more than the arithmetic
    for coefficient in (1 / 120, 1 / 24, 1 / 6, 1 / 2):
        series.mul_(y).add_(coefficient)
    tiny = series.mul_(y).mul_(y)
    small = y.clamp(max=1.0).expm1_().sub_(y)
    near = torch.where(y.abs() < SERIES_BELOW, tiny, small).mul_(w)
    # exp(y) can overflow where w exp(y) does not, so beyond 1 take v as it stands.
    far = (log_v.exp() - w).addcmul_(w, y, value=-1.0)
    return torch.where(y < 1.0, near, far)


def _curvature(log_p: Tensor, log_q: Tensor, a: float, b: float, total: float) -> Tensor:
    """The AB divergence, `total` being a + b (more exactly than their float sum). Shape [...]."""
    parts, width = [], 0.0
    for log_w, log_v, y, step in _ends(log_p, log_q, a, b, total):
        parts.append(_rise(log_w, log_v, y) / step)
        width += step
    return torch.stack(parts).sum(0) / width


def _curvature_terms(log_p: Tensor, log_q: Tensor, a: float, b: float, total: float) -> Tensor:
    """What each entry adds to `_curvature`, [..., vocab]: its part of the excess at either end."""
    parts, width = [], 0.0
    for log_w, log_v, y, step in _ends(log_p, log_q, a, b, total):
        # A common factor of v and w leaves the proportions and keeps exp(log v) from overflowing.
        most = log_v.amax(-1, keepdim=True).clamp(min=0.0)
        excess = _excess(log_w - most, log_v - most, y).clamp(min=0.0)
        whole = excess.sum(-1, keepdim=True)
        rise = _rise(log_w, log_v, y).unsqueeze(-1)
        parts.append(torch.where(whole > 0.0, excess / whole, 0.0) * rise / step)
        width += step
    return torch.stack(parts).sum(0) / width


def _rise(log_w: Tensor, log_v: Tensor, y: Tensor) -> Tensor:
    """log sum v, where v = w exp(y), sum w = 1 and sum w y = 0: >= 0. [..., vocab] -> [...]."""
    excess = _excess(log_w, log_v, y).sum(-1).clamp(min=0.0)
    rise, far = excess.log1p(), ~(excess < 1.0)
    if far.any():
        rise[far] = log_v[far].logsumexp(-1)
    return rise.clamp(min=0.0)


def _ends(
    log_p: Tensor, log_q: Tensor, a: float, b: float, total: float
) -> Iterator[tuple[Tensor, Tensor, Tensor, float]]:
    """The two ends (log w, log v, y, step) that the AB divergence is the weighted sum of.

    Let L(x) = log sum p^(a+b-x) q^x, which is convex. The AB divergence is L's second divided
    difference over the nodes 0, b and a + b, which stand for p^(a+b), p^a q^b and q^(a+b); where
    nodes meet, the limit is half the curvature of L. Seen from the middle node, and with L's slope
    there taken out, L rises by r1 and r2 to the outer nodes at distances h1 and h2, and

        AB = (r1/h1 + r2/h2) / (h1 + h2)

    has no negative term: nothing cancels, however close the nodes. w is the normalised weight at
    the middle node, v = w exp(y) that at an end with the slope taken out: r = log sum v.
    """
    log_p, log_q = double(log_p), double(log_q)
    p_end, q_end, between = (total, 0.0), (0.0, total), (a, b)
    if min(a, b) > 0 or max(a, b) < 0:
        middle, ends = between, ((p_end, -b), (q_end, a))
    elif abs(a) >= abs(b):
        middle, ends = p_end, ((between, b), (q_end, total))
    else:
        middle, ends = q_end, ((p_end, -total), (between, -a))
    log_w = middle[0] * log_p + middle[1] * log_q
    level = log_w.logsumexp(-1, keepdim=True)
    log_w = log_w - level
    slope = log_q - log_p
    mean = (log_w.exp() * slope).sum(-1, keepdim=True)
    slope = slope - mean
    for powers, offset in ends:
        step = _away_from_zero(offset)
        log_v = powers[0] * log_p + powers[1] * log_q - (level + step * mean)
        yield log_w, log_v, step * slope, abs(step)
