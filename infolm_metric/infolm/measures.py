"""The information measures: formulas on log-probabilities, and `compare`, which bounds them.

p is the reference, q the candidate. All functions compute in float64 whatever they are given, and
are continuous in their parameters: at a singular parameter they give the limit. The formulas take
normalised, finite log-probabilities; `compare` is stricter, renormalises, symmetrises and bounds. A
value too large for float64 becomes the largest finite float64. They are for scoring: gradients
through them are not looked after. The `*_terms` functions say how much each vocabulary entry adds.
Names, domains and bounds are in `measure_table`.

Sources: Colombo, Clavel and Piantanida 2022 (arXiv 2112.01589), table of measures; for the
AB divergence Cichocki, Cruces and Amari 2011 (Entropy 13:134), scale-invariant form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from infolm_metric.infolm.measure_table import (
    ALIASES,
    MEASURES,
    SYMMETRIZATIONS,
    Measure,
    Parameter,
    check_parameters,
    parameter_grid,
    resolve,
    upper_bound,
)

__all__ = [
    "ALIASES",
    "MEASURES",
    "SYMMETRIZATIONS",
    "MeasureSpec",
    "Measure",
    "Parameter",
    "ab_divergence",
    "alpha_divergence",
    "beta_divergence",
    "check_parameters",
    "compare",
    "compare_all",
    "compare_each",
    "fisher_rao_distance",
    "kl_divergence",
    "l1_distance",
    "l2_distance",
    "l_infinity_distance",
    "upper_bound",
    "parameter_grid",
    "renyi_divergence",
    "resolve",
    "shares",
]

LARGEST = torch.finfo(torch.float64).max
SMALLEST_GAP = 1e-70  # nearer than this to a singular parameter, the limit itself is taken
SERIES_BELOW = 2.0**-6  # where exp(y) - 1 - y has lost 7 bits, and 6 terms of its series suffice
NEAR = 1e-6  # values below which products of matrices have lost too many digits
SINGULAR = 1e-3  # nearer than this to a singular parameter they lose them everywhere
SMALLEST_SUM = 1e-280
WAYS = {"jeffreys": ("none", "reverse")}
LOWEST_LOG = -1e50  # stands for log 0: far below any softmax, yet products with it stay finite
CHUNK = 2**17  # entries compared at a time: temporaries of 1 MiB stay in the processor's caches
GPU_CHUNK = 2**22  # a GPU wants more to do per launch; temporaries of 32 MiB


# The comparison.


def _mean(x: Tensor, y: Tensor) -> Tensor:
    saturated = torch.maximum(x, y) >= LARGEST  # half of a saturated value means nothing
    return torch.where(saturated, LARGEST, x / 2 + y / 2)


def _jensen(divergence: Callable[..., Tensor], log_p: Tensor, log_q: Tensor) -> Tensor:
    # log((p+q)/2) seen from the larger of the two: exactly log p where p = q, and no overflow.
    log_m = torch.maximum(log_p, log_q)
    log_m = log_m + (torch.expm1(-(log_q - log_p).abs()) / 2).log1p()
    return _mean(divergence(log_p, log_m), divergence(log_q, log_m))


_SYMMETRIZE: dict[str, Callable[..., Tensor]] = {
    "jeffreys": lambda divergence, p, q: _mean(divergence(p, q), divergence(q, p)),
    "jensen": _jensen,
    "none": lambda divergence, p, q: divergence(p, q),
    "reverse": lambda divergence, p, q: divergence(q, p),
}


def compare(
    measure: str | Measure,
    log_p: Tensor,
    log_q: Tensor,
    *,
    symmetrize: str = "jeffreys",
    alpha: Any = None,
    beta: Any = None,
) -> Tensor:
    """The measure between references p and candidates q, float64, in [0, `upper_bound`].

    Both sides are renormalised first; leading axes broadcast.

    Args:
        measure: a measure, its name or an alias.
        log_p: log-probabilities of the references, [..., vocab]; -inf counts as -1e50.
        log_q: those of the candidates.
        symmetrize: "jeffreys", the mean of D(p,q) and D(q,p); "jensen", the mean of D(p,m) and
            D(q,m) with m = (p+q)/2; "none", D(p,q); "reverse", D(q,p). The distances ignore it.
        alpha: for the measures that need it, in their domain.
        beta: likewise.

    Returns:
        The values, float64 [...].

    Raises:
        ValueError: an unknown name, a parameter outside its domain, vocabularies that differ, and
            NaN, +inf or a row of nothing but -inf.

    >>> reference = torch.tensor([[0.5, 0.5], [0.5, 0.5]]).log()
    >>> candidate = torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    >>> print(", ".join(f"{x:.6f}" for x in compare("kl", reference, candidate)))
    0.137327, 0.000000
    >>> print(", ".join(f"{x:.6f}" for x in compare("fisher_rao", reference, candidate)))
    0.166667, 0.000000
    """
    return compare_each([MeasureSpec(measure, symmetrize, alpha, beta)], log_p, log_q)[0]


class MeasureSpec(NamedTuple):
    """A measure to compare by; what each is, `compare` says.

    Attributes:
        measure: a measure, its name or an alias.
        symmetrize: "jeffreys", "jensen", "none" or "reverse".
        alpha: for the measures that need it, in their domain.
        beta: likewise.
    """

    measure: str | Measure
    symmetrize: str = "jeffreys"
    alpha: Any = None
    beta: Any = None


def compare_each(specs: Sequence[MeasureSpec], log_p: Tensor, log_q: Tensor) -> Tensor:
    """What `compare` gives for each spec, float64 [specs, ...]; renormalises once.

    Args:
        specs: what to compare by, at least one.
        log_p: as for `compare`.
        log_q: likewise.

    Returns:
        The values, float64 [specs, ...].

    Raises:
        ValueError: as `compare`.

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> specs = [MeasureSpec("kl"), MeasureSpec("l1")]
    >>> print(", ".join(f"{x:.3f}" for x in compare_each(specs, p, q)))
    0.137, 0.500
    """
    functions, bounds = [], []
    for spec in specs:
        measure = resolve(spec.measure)
        parameters = check_parameters(measure, spec.alpha, spec.beta)
        bounds.append(upper_bound(measure, symmetrize=spec.symmetrize, **parameters))
        formula = measure.formula or globals()[measure.name]
        way = "none" if measure.symmetric else spec.symmetrize
        functions.append(partial(_SYMMETRIZE[way], partial(formula, **parameters)))
    for name, value in {"log_p": log_p, "log_q": log_q}.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    shape = None
    if log_p.ndim and log_q.ndim and log_p.shape[-1] == log_q.shape[-1] > 0:
        with suppress(RuntimeError):  # raised where the leading axes do not broadcast
            shape = torch.broadcast_shapes(log_p.shape, log_q.shape)
    if shape is None:
        raise ValueError(
            "log_p and log_q need one vocabulary as their last axis, and leading axes that "
            f"broadcast; got shapes {list(log_p.shape)} and {list(log_q.shape)}"
        )
    log_p = log_p.expand(shape).reshape(-1, shape[-1])
    log_q = log_q.expand(shape).reshape(-1, shape[-1])
    step = max(1, (CHUNK if log_p.device.type == "cpu" else GPU_CHUNK) // shape[-1])
    chunks = []
    for start in range(0, max(1, len(log_p)), step):
        rows = slice(start, start + step)
        p, q = _normalised("log_p", log_p[rows]), _normalised("log_q", log_q[rows])
        chunks.append(torch.stack([function(p, q) for function in functions]))
    values = torch.cat(chunks, dim=1).clamp(min=0.0)
    limits = torch.tensor(bounds, dtype=values.dtype, device=values.device).clamp(max=LARGEST)
    return values.minimum(limits[:, None]).reshape(len(functions), *shape[:-1])


def compare_all(spec: MeasureSpec, log_p: Tensor, log_q: Tensor) -> Tensor:
    """What `compare` gives for all references with all candidates, within 1e-9.

    Measures that are sums of products of powers are products of matrices. Pairs nearer than 1e-6,
    for which these lose digits, parameters within 1e-3 of a singular one, and other measures are
    computed by the formula.

    Args:
        spec: what to compare by.
        log_p: log-probabilities of the references, [references, vocab].
        log_q: those of the candidates, [candidates, vocab].

    Returns:
        The values, float64 [references, candidates].

    Raises:
        ValueError: as `compare`.

    >>> p, q = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75], [0.5, 0.5]]).log()
    >>> print(", ".join(f"{x:.3f}" for x in compare_all(MeasureSpec("kl"), p, q)[0]))
    0.137, 0.000
    """
    measure = resolve(spec.measure)
    parameters = check_parameters(measure, spec.alpha, spec.beta)
    bound = upper_bound(measure, symmetrize=spec.symmetrize, **parameters)
    p, q = _normalised("log_p", log_p), _normalised("log_q", log_q)
    product = _PRODUCTS.get(measure.name)
    jensen = spec.symmetrize == "jensen" and not measure.symmetric
    values = torch.full((len(p), len(q)), torch.nan, dtype=torch.float64, device=p.device)
    if product is not None and not jensen:
        divergence = partial(product, **parameters)
        ways = ("none",) if measure.symmetric else WAYS.get(spec.symmetrize, (spec.symmetrize,))
        terms = [divergence(p, q) if way == "none" else divergence(q, p).T for way in ways]
        values = torch.stack(terms).mean(0)
    near = ~(values.isfinite() & (values > NEAR))
    rows, columns = near.nonzero(as_tuple=True)
    step = max(1, 8 * CHUNK // p.shape[-1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        pairs = rows[part], columns[part]
        values[pairs] = compare_each([spec], p[pairs[0]], q[pairs[1]])[0]
    return values.clamp(min=0.0, max=min(bound, LARGEST))


def shares(
    measure: str | Measure,
    log_p: Tensor,
    log_q: Tensor,
    *,
    symmetrize: str = "jeffreys",
    alpha: Any = None,
    beta: Any = None,
) -> Tensor:
    """What each vocabulary entry adds to `compare` with these arguments, >= 0, float64.

    Args:
        measure: as for `compare`.
        log_p: likewise.
        log_q: likewise.
        symmetrize: likewise.
        alpha: likewise.
        beta: likewise.

    Returns:
        Their parts, float64 [..., vocab]; the sum over the last axis is `compare`'s value.

    Raises:
        ValueError: as `compare`.

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.5, 0.2, 0.3]).log()
    >>> print(", ".join(f"{x:.3f}" for x in shares("l1_distance", p, q)))
    0.000, 0.100, 0.100
    """
    measure = resolve(measure)
    value = compare(measure, log_p, log_q, symmetrize=symmetrize, alpha=alpha, beta=beta)
    parameters = check_parameters(measure, alpha, beta)
    formula = measure.formula or globals()[measure.name]
    entry_terms = measure.terms or globals()[f"{measure.name}_terms"]

    def divide(log_p: Tensor, log_q: Tensor) -> Tensor:
        terms = entry_terms(log_p, log_q, **parameters)
        total = terms.sum(-1, keepdim=True)
        whole = formula(log_p, log_q, **parameters).unsqueeze(-1)
        return torch.where(total > 0.0, terms / total, 0.0) * whole

    p, q = _normalised("log_p", log_p), _normalised("log_q", log_q)
    parts = _SYMMETRIZE["none" if measure.symmetric else symmetrize](divide, p, q)
    largest = parts.amax(-1, keepdim=True)
    parts = torch.where(largest > 0.0, parts / largest, 0.0)  # saturated parts overflow in a sum
    return parts / parts.sum(-1, keepdim=True).clamp(min=1.0) * value.unsqueeze(-1)


def _normalised(name: str, log_p: Tensor) -> Tensor:
    """log_p less its log-sum, float64, [..., vocab], no entry below LOWEST_LOG."""
    log_p = double(log_p).log_softmax(-1).clamp(min=LOWEST_LOG)
    if log_p[..., 0].isnan().any():  # one such entry makes its whole row NaN
        raise ValueError(f"{name} holds NaN, +inf or a row of only -inf; log-probabilities needed")
    return log_p


# The formulas as products of matrices, [references, vocab] and [candidates, vocab].


def _power_sums(log_p: Tensor, log_q: Tensor, a: float, b: float) -> Tensor:
    """log sum p^a q^b of all pairs, [references, candidates]; NaN where it underflows."""
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


_PRODUCTS: dict[str, Callable[..., Tensor]] = {
    "kl_divergence": _kl_all,
    "alpha_divergence": _alpha_all,
    "renyi_divergence": _renyi_all,
    "beta_divergence": partial(_ab_all, alpha=1.0),
    "ab_divergence": _ab_all,
    "l2_distance": _l2_all,
    "fisher_rao_distance": _fisher_rao_all,
}


# The formulas.


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
    return kl_divergence_terms(log_p, log_q).sum(-1)


def kl_divergence_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """p log(p/q) - p + q for each entry, >= 0, summing to KL(p, q). Shape [..., vocab].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> kl_divergence_terms(p, q).min() >= 0
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


def ab_divergence_terms(log_p: Tensor, log_q: Tensor, alpha: float, beta: float) -> Tensor:
    """What each entry adds to the AB divergence, >= 0. Shape [..., vocab].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{ab_divergence_terms(p, q, 0.5, 0.5).sum():.6f}")
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
    return l1_distance_terms(log_p, log_q).sum(-1)


def l1_distance_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """|p - q| for each entry. Shape [..., vocab].

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(f"{l1_distance_terms(p, q)[0]:.6f}")
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
    return l1_distance_terms(log_p, log_q).square().sum(-1).sqrt()


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
    return l1_distance_terms(log_p, log_q).amax(-1)


def l_infinity_distance_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """|p - q| for the entries where it is largest, 0 for the others. Shape [..., vocab].

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.1, 0.5, 0.4]).log()
    >>> (l_infinity_distance_terms(p, q) > 0).tolist()
    [True, False, False]
    """
    terms = l1_distance_terms(log_p, log_q)
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
    chord = fisher_rao_distance_terms(log_p, log_q).sum(-1).sqrt()
    return (4 / math.pi * torch.arcsin((chord / 2).clamp(max=math.sqrt(0.5)))).clamp(max=1.0)


def fisher_rao_distance_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """(sqrt p - sqrt q)^2 for each entry, up to a common factor its part. Shape [..., vocab].

    >>> p, q = torch.tensor([0.25, 0.75]).log(), torch.tensor([0.75, 0.25]).log()
    >>> print(f"{fisher_rao_distance_terms(p, q)[0]:.6f}")
    0.133975
    """
    return l1_distance_terms(double(log_p) / 2, double(log_q) / 2).square()


def alpha_divergence_terms(log_p: Tensor, log_q: Tensor, alpha: float) -> Tensor:
    """What each entry adds, up to a common factor, >= 0. Shape [..., vocab]."""
    return ab_divergence_terms(log_p, log_q, alpha, 1.0 - alpha)


def beta_divergence_terms(log_p: Tensor, log_q: Tensor, beta: float) -> Tensor:
    """What each entry adds to the beta divergence, >= 0. Shape [..., vocab]."""
    return ab_divergence_terms(log_p, log_q, 1.0, beta)


def l2_distance_terms(log_p: Tensor, log_q: Tensor) -> Tensor:
    """(p - q)^2 for each entry. Shape [..., vocab]."""
    return l1_distance_terms(log_p, log_q).square()


renyi_divergence_terms = alpha_divergence_terms


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
        peak = log_v.amax(-1, keepdim=True).clamp(min=0.0)
        excess = _excess(log_w - peak, log_v - peak, y).clamp(min=0.0)
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
        step = _away_from_zero(offset)
        log_v = powers[0] * log_p + powers[1] * log_q - (level + step * mean)
        yield log_w, log_v, step * slope, abs(step)
