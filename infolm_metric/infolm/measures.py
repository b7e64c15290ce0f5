"""Information measures between distributions over a vocabulary.

The nine measures compare normalized, finite log-probabilities [..., vocab] of any floating-point
type: `log_p` of the reference and `log_q` of the candidate. Leading axes broadcast. Values are
float64 [...], >= 0, and 0 if p = q. Lower is better. They are continuous in `alpha` (a) and `beta`
(b), which may be any numbers (Renyi: a > 0). At singular values, the limit is returned. Results
that exceed float64 are replaced by the largest finite float64. Gradients are not supported.

`compare` normalizes its input, checks parameters, symmetrizes the measure and applies its bounds.
The `*_terms` functions return the contribution of each vocabulary entry up to a common factor,
float64 [..., vocab], >= 0. Formulas use S(s,t) = sum p^s q^t. Sources: Colombo, Clavel and
Piantanida 2022 (arXiv 2112.01589, table of measures), and Cichocki, Cruces and Amari 2011 (Entropy
13:134, scale-invariant AB divergence).

>>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
>>> print(f"{kl_divergence(p, q):.6f}, {ab_divergence(p, q, alpha=0.5, beta=0.5):.6f}")
0.143841, 0.138673
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import NamedTuple

import torch
from torch import Tensor

from infolm_metric.core.checks import InputError, check_known
from infolm_metric.infolm.ab_divergence import ab_terms, ab_value, excess, nonzero
from infolm_metric.infolm.measure_table import (
    ALIASES,
    MEASURES,
    SYMMETRIZATIONS,
    Measure,
    Parameter,
    parameter_grid,
    resolve,
)
from infolm_metric.models.determinism import to_float64
from infolm_metric.models.tokenization import device_limit

__all__ = ["Plan", "compare", "parameter_grid", "plan", "resolve", "shares"]
__all__ += ["ALIASES", "MEASURES", "SYMMETRIZATIONS", "Measure", "Parameter"]
__all__ += ["FORMULAS", "Formula", "kl_divergence", "alpha_divergence", "renyi_divergence"]
__all__ += ["beta_divergence", "ab_divergence", "l1_distance", "l2_distance"]
__all__ += ["l_infinity_distance", "fisher_rao_distance"]

MAX_FLOAT64 = torch.finfo(torch.float64).max
LOWEST_LOG = -1e50  # replaces log 0: lower than any log-softmax, but products with it stay finite
# Entries per step. On a CPU, temporaries of 1 MiB fit into the caches. A GPU needs more work per
# kernel launch.
ENTRIES_PER_STEP = {"cpu": 2**17, "cuda": 2**22}


# Comparison.


def compare(
    measure: str | Measure,
    log_p: Tensor,
    log_q: Tensor,
    *,
    symmetrize: str = "jeffreys",
    alpha: object = None,
    beta: object = None,
) -> Tensor:
    """Compare references with candidates, float64 [...], at most `Plan.bound`.

    `measure` is a `Measure`, its name or an alias. `log_p` and `log_q` are normalized first, and
    -inf is replaced by -1e50. `symmetrize` is "jeffreys" (the mean of D(p,q) and D(q,p)), "jensen"
    (the mean of D(p,m) and D(q,m) with m = (p+q)/2), "none" (D(p,q)) or "reverse" (D(q,p)).
    Distances are symmetric and ignore it. `alpha` is a parameter of the alpha, Renyi and AB
    divergences, and `beta` of the beta and AB divergences.

    Raises InputError if a name is unknown, a parameter is outside its domain, `log_p` or `log_q` is
    not a tensor, vocabularies differ, leading axes do not broadcast, or a row contains NaN, +inf or
    only -inf.

    >>> reference = torch.tensor([[0.5, 0.5], [0.5, 0.5]]).log()
    >>> candidate = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    >>> print(", ".join(f"{x:.6f}" for x in compare("kl", reference, candidate)))
    0.137327, 0.000000
    """
    return compare_plans([plan(measure, symmetrize, alpha, beta)], log_p, log_q)[0]


def compare_plans(plans: Sequence[Plan], log_p: Tensor, log_q: Tensor) -> Tensor:
    """Compare with measures whose parameters have been checked, float64 [plans, ...]."""
    shape = _broadcast_shape(log_p, log_q)
    log_p = log_p.expand(shape).reshape(-1, shape[-1])
    log_q = log_q.expand(shape).reshape(-1, shape[-1])
    step = max(1, device_limit(ENTRIES_PER_STEP, log_p.device.type) // shape[-1])
    chunks = []
    for start in range(0, max(1, len(log_p)), step):
        rows = slice(start, start + step)
        p, q = _normalize("log_p", log_p[rows]), _normalize("log_q", log_q[rows])
        chunks.append(torch.stack([plan.symmetrize(plan.formula.value, p, q) for plan in plans]))
    values = torch.cat(chunks, dim=1).clamp(min=0.0)
    bounds = torch.tensor([plan.bound for plan in plans], dtype=values.dtype, device=values.device)
    return values.minimum(bounds[:, None]).reshape(len(plans), *shape[:-1])


def shares(
    measure: str | Measure,
    log_p: Tensor,
    log_q: Tensor,
    *,
    symmetrize: str = "jeffreys",
    alpha: object = None,
    beta: object = None,
) -> Tensor:
    """Return each vocabulary entry's contribution to a measure, float64 [..., vocab], >= 0.

    The contributions add up to `compare` with the same `measure`, `symmetrize` and parameters.

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.5, 0.2, 0.3]).log()
    >>> print(", ".join(f"{x:.3f}" for x in shares("l1_distance", p, q)))
    0.000, 0.100, 0.100
    """
    resolved = plan(measure, symmetrize, alpha, beta)
    value = compare_plans([resolved], log_p, log_q)[0]

    def divide(log_p: Tensor, log_q: Tensor, **parameters: float) -> Tensor:
        terms = resolved.formula.terms(log_p, log_q, **parameters)
        total = terms.sum(-1, keepdim=True)
        whole = resolved.formula.value(log_p, log_q, **parameters).unsqueeze(-1)
        return torch.where(total > 0.0, terms / total, 0.0) * whole

    p, q = _normalize("log_p", log_p), _normalize("log_q", log_q)
    parts = resolved.symmetrize(divide, p, q)
    largest = parts.amax(-1, keepdim=True)
    parts = torch.where(largest > 0.0, parts / largest, 0.0)  # sums of saturated parts overflow
    return parts / parts.sum(-1, keepdim=True).clamp(min=1.0) * value.unsqueeze(-1)


class Plan(NamedTuple):
    """A measure with checked parameters.

    Attributes:
        formula: the functions of the measure.
        parameters: the parameters that the measure uses, by name.
        directions: pairs of distributions, as in SYMMETRIZATIONS.
        bound: upper bound of the values.
    """

    formula: Formula
    parameters: dict[str, float]
    directions: Sequence[tuple[str, str]]
    bound: float

    def symmetrize(self, divergence: Callable[..., Tensor], p: Tensor, q: Tensor) -> Tensor:
        """Return the mean of a `divergence` of two distributions `p` and `q` over directions."""
        sides = {"p": p, "q": q}
        if ("p", "m") in self.directions:
            # log((p+q)/2), without overflow, and bitwise identical to log p if p = q.
            sides["m"] = torch.maximum(p, q) + (torch.expm1(-(q - p).abs()) / 2).log1p()
        values = (divergence(sides[x], sides[y], **self.parameters) for x, y in self.directions)
        return reduce(_mean, values)


def plan(
    measure: str | Measure, symmetrize: str = "jeffreys", alpha: object = None, beta: object = None
) -> Plan:
    """Check a measure and its parameters, and return them for `compare_plans`.

    `measure` is a `Measure`, its name or an alias. `symmetrize`, `alpha`, `beta` and the errors are
    as in `compare`.

    >>> plan("kl", "jensen").bound
    0.6931...
    """
    measure = resolve(measure)
    check_known("symmetrize", symmetrize, list(SYMMETRIZATIONS), every=True)
    parameters = measure.check(alpha, beta)
    bound = measure.bound(symmetrize, parameters)
    directions = SYMMETRIZATIONS["none" if measure.symmetric else symmetrize]
    return Plan(FORMULAS[measure.name], parameters, directions, min(bound, MAX_FLOAT64))


def _mean(x: Tensor, y: Tensor) -> Tensor:
    saturated = torch.maximum(x, y) >= MAX_FLOAT64  # the true mean is unknown and may be larger
    return torch.where(saturated, MAX_FLOAT64, x / 2 + y / 2)


def _broadcast_shape(log_p: Tensor, log_q: Tensor) -> torch.Size:
    """Check that both sides are tensors of compatible shapes, and return their common shape."""
    for name, value in {"log_p": log_p, "log_q": log_q}.items():
        if not isinstance(value, Tensor):
            raise InputError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if log_p.ndim and log_q.ndim and log_p.shape[-1] == log_q.shape[-1] > 0:
        with suppress(RuntimeError):  # raised if the leading axes do not broadcast
            return torch.broadcast_shapes(log_p.shape, log_q.shape)
    raise InputError(
        "log_p and log_q must have the same vocabulary on the last axis and leading axes that "
        f"broadcast, got shapes {list(log_p.shape)} and {list(log_q.shape)}"
    )


def _normalize(name: str, log_p: Tensor) -> Tensor:
    """Normalize log-probabilities, float64 [..., vocab], all entries >= LOWEST_LOG."""
    log_p = to_float64(log_p).log_softmax(-1).clamp(min=LOWEST_LOG)
    if log_p[..., 0].isnan().any():  # one invalid entry makes its whole row NaN
        raise InputError(f"{name} must contain log-probabilities, got NaN, +inf or a row of -inf")
    return log_p


# Measures.


def kl_divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Kullback-Leibler divergence, sum p log(p/q), in nats. With "jeffreys", the paper's "JS"."""
    return kl_terms(log_p, log_q).sum(-1)


def alpha_divergence(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    """Alpha divergence, (S(a,1-a) - 1) / (a(a-1)). KL(p, q) at a = 1, KL(q, p) at a = 0."""
    # S(a,1-a) = exp(a(a-1) AB), and AB is accurate even if S is close to 1.
    factor = nonzero(alpha * (alpha - 1.0))
    value = torch.expm1(factor * ab_value(log_p, log_q, alpha, 1.0 - alpha, 1.0)) / factor
    return value.clamp(max=MAX_FLOAT64)


def renyi_divergence(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    """Renyi divergence, log S(a,1-a) / (a-1) = a AB(a,1-a), in nats, a > 0. KL(p, q) at a = 1."""
    return alpha * ab_value(log_p, log_q, alpha, 1.0 - alpha, 1.0)


def beta_divergence(log_p: Tensor, log_q: Tensor, beta: float) -> Tensor:
    """Beta divergence (the paper's gamma divergence), AB with a = 1. KL(p, q) at b = 0."""
    return ab_divergence(log_p, log_q, 1.0, beta)


def ab_divergence(log_p: Tensor, log_q: Tensor, alpha: float, beta: float) -> Tensor:
    """AB divergence, log S(a+b,0)/(b(a+b)) + log S(0,a+b)/(a(a+b)) - log S(a,b)/(ab)."""
    return ab_value(log_p, log_q, alpha, beta, alpha + beta)


def l1_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """L1 distance, sum |p - q|, at most 2."""
    return l1_terms(log_p, log_q).sum(-1)


def l2_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """L2 distance, sqrt(sum (p - q)^2), at most sqrt 2."""
    return l1_terms(log_p, log_q).square().sum(-1).sqrt()


def l_infinity_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """L-infinity distance, max |p - q|, at most 1."""
    return l1_terms(log_p, log_q).amax(-1)


def fisher_rao_distance(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Fisher-Rao distance, (2/pi) arccos(S(1/2,1/2)), at most 1."""
    # arccos loses half of the digits near 1. The angle between the unit vectors sqrt p and sqrt q
    # is therefore computed from their distance, as 2 arcsin(chord / 2).
    chord = fisher_rao_terms(log_p, log_q).sum(-1).sqrt()
    return (4 / math.pi * torch.arcsin((chord / 2).clamp(max=math.sqrt(0.5)))).clamp(max=1.0)


def kl_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return p log(p/q) - p + q."""
    # Adding q - p makes every term >= 0 without changing the sum, because sum p = sum q.
    log_p, log_q = to_float64(log_p), to_float64(log_q)
    return excess(log_p, log_q, log_q - log_p)


def alpha_terms(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    """Return the terms of the AB divergence with b = 1 - a."""
    return ab_terms(log_p, log_q, alpha, 1.0 - alpha)


def l1_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return |p - q|."""
    log_p, log_q = to_float64(log_p), to_float64(log_q)
    return torch.maximum(log_p, log_q).exp() * -torch.expm1(-(log_q - log_p).abs())


def l2_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return (p - q)^2."""
    return l1_terms(log_p, log_q).square()


def l_infinity_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return |p - q| for the entries with the maximum |p - q|, otherwise 0."""
    terms = l1_terms(log_p, log_q)
    return torch.where(terms == terms.amax(-1, keepdim=True), terms, 0.0)


def fisher_rao_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """Return (sqrt p - sqrt q)^2."""
    return l1_terms(to_float64(log_p) / 2, to_float64(log_q) / 2).square()


class Formula(NamedTuple):
    """The functions of a measure, which take (log_p, log_q, **parameters).

    Attributes:
        value: the measure, [..., vocab] -> [...].
        terms: each entry's contribution up to a factor, [..., vocab] -> [..., vocab], >= 0.
    """

    value: Callable[..., Tensor]
    terms: Callable[..., Tensor]


FORMULAS = {
    "kl_divergence": Formula(kl_divergence, kl_terms),
    "alpha_divergence": Formula(alpha_divergence, alpha_terms),
    "renyi_divergence": Formula(renyi_divergence, alpha_terms),
    "beta_divergence": Formula(beta_divergence, partial(ab_terms, alpha=1.0)),
    "ab_divergence": Formula(ab_divergence, ab_terms),
    "l1_distance": Formula(l1_distance, l1_terms),
    "l2_distance": Formula(l2_distance, l2_terms),
    "l_infinity_distance": Formula(l_infinity_distance, l_infinity_terms),
    "fisher_rao_distance": Formula(fisher_rao_distance, fisher_rao_terms),
}
