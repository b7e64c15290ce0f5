"""The information measures: a table of them, and the comparison of distributions by any of them.

p is the reference, q the candidate. Every measure is >= 0, is 0 where p = q, and lower is better.
`MEASURES` is the table that the documentation, the argument checks and the demo read: a new measure
is a formula in `divergences` and an entry here. `compare` is the way in: it renormalises,
symmetrises and bounds, in float64; a value too large for float64 becomes its largest number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import torch
from torch import Tensor

from infolm_metric.infolm import divergences
from infolm_metric.infolm.divergences import (
    LARGEST,
    ab_divergence,
    alpha_divergence,
    beta_divergence,
    fisher_rao_distance,
    kl_divergence,
    l1_distance,
    l2_distance,
    l_infinity_distance,
    renyi_divergence,
)
from infolm_metric.kernel.checks import nearest
from infolm_metric.kernel.wording import spelled

__all__ = [
    "ALIASES",
    "MEASURES",
    "SYMMETRIZATIONS",
    "Asked",
    "Measure",
    "Parameter",
    "ab_divergence",
    "alpha_divergence",
    "beta_divergence",
    "check_parameters",
    "compare",
    "compare_each",
    "fisher_rao_distance",
    "kl_divergence",
    "l1_distance",
    "l2_distance",
    "l_infinity_distance",
    "largest_value",
    "parameter_grid",
    "renyi_divergence",
    "resolve",
    "shares",
]

LOWEST_LOG = -1e50  # stands for log 0: far below any softmax, yet products with it stay finite
LARGEST_PARAMETER = 1e50  # alpha and beta up to here keep those products finite
CHUNK = 2**17  # entries compared at a time: temporaries of 1 MiB stay in the processor's caches
GPU_CHUNK = 2**22  # a GPU wants more to do per kernel; temporaries of 32 MiB


@dataclass(frozen=True)
class Parameter:
    """A number that a measure needs: its name, the domain in words, and the domain as a test."""

    name: str
    domain: str
    accepts: Callable[[float], bool]


def _unbounded(**parameters: float) -> float:
    return math.inf


def _always(**parameters: float) -> bool:
    return True


@dataclass(frozen=True)
class Measure:
    """An information measure between two distributions over the vocabulary.

    `formula(log_p, log_q, **parameters)` gives [...] from [..., vocab], and `terms` what each entry
    adds to it, [..., vocab], >= 0, up to a common factor. `upper_bound(**parameters)` is the
    largest value over all pairs of distributions, the same for either order of them, and
    `jensen_bound` that of D(p, (p+q)/2): infinity where no bound holds for every vocabulary.
    """

    name: str
    formula: Callable[..., Tensor]
    terms: Callable[..., Tensor]
    expression: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    joint_domain: str = ""
    accepts: Callable[..., bool] = _always
    symmetric: bool = False
    upper_bound: Callable[..., float] = _unbounded
    jensen_bound: Callable[..., float] = _unbounded
    source: str = "Colombo et al. 2022"


def _alpha_bound(alpha: float) -> float:
    # (1 - S) / (a(1-a)), and S can reach 0; for other alphas S is unbounded.
    return 1.0 / (alpha * (1.0 - alpha)) if 0.0 < alpha < 1.0 else math.inf


def _alpha_jensen_bound(alpha: float) -> float:
    # p/m lies in [0, 2], so the convex (p/m)^a averages at most 2^a / 2; a < 0 makes 0^a infinite.
    if alpha <= 0.0 or alpha > 1000.0:  # 2^a would exceed float64
        return math.inf
    return math.expm1((alpha - 1.0) * math.log(2)) / (alpha * (alpha - 1.0))


def _renyi_jensen_bound(alpha: float) -> float:
    return math.log(2)  # Renyi grows with alpha towards log max p/m, and p/m <= 2


def _ab_jensen_bound(alpha: float, beta: float) -> float:
    # Renyi / alpha where a + b = 1. Elsewhere log sum p^(a+b) enters, which grows with the
    # vocabulary, against a different power sum of m: no bound.
    return math.log(2) / alpha if alpha > 0.0 and alpha + beta == 1.0 else math.inf


def _at_most(bound: float) -> Callable[..., float]:
    return lambda **parameters: bound


_CICHOCKI = "Cichocki, Cruces and Amari 2011; Colombo et al. 2022"
_MEASURES = (
    Measure(
        "kl_divergence",
        kl_divergence,
        divergences.kl_terms,
        expression="sum p log(p/q)",
        description="Kullback-Leibler divergence: nats lost by describing p with q",
        jensen_bound=_at_most(math.log(2)),
    ),
    Measure(
        "alpha_divergence",
        alpha_divergence,
        divergences.alpha_terms,
        expression="(sum p^alpha q^(1-alpha) - 1) / (alpha (alpha-1))",
        description="between KL(q, p) at alpha -> 0 and KL(p, q) at alpha -> 1, and beyond",
        parameters=(Parameter("alpha", "any number but 0 and 1", lambda a: a not in (0.0, 1.0)),),
        upper_bound=_alpha_bound,
        jensen_bound=_alpha_jensen_bound,
    ),
    Measure(
        "renyi_divergence",
        renyi_divergence,
        divergences.alpha_terms,
        expression="log(sum p^alpha q^(1-alpha)) / (alpha-1)",
        description="KL(p, q) at alpha -> 1; larger alphas weigh the worst ratio p/q more",
        parameters=(Parameter("alpha", "any number > 0 but 1", lambda a: a > 0.0 and a != 1.0),),
        jensen_bound=_renyi_jensen_bound,
    ),
    Measure(
        "beta_divergence",
        beta_divergence,
        divergences.beta_terms,
        expression="ab_divergence with alpha = 1",
        description="the paper's gamma divergence; KL(p, q) at beta -> 0",
        parameters=(Parameter("beta", "any number but 0 and -1", lambda b: b not in (0.0, -1.0)),),
        source=_CICHOCKI,
    ),
    Measure(
        "ab_divergence",
        ab_divergence,
        divergences.ab_terms,
        expression="log S(a+b,0)/(b(a+b)) + log S(0,a+b)/(a(a+b)) - log S(a,b)/(ab), "
        "S(s,t) = sum p^s q^t",
        description="scale-invariant AB divergence: alpha weighs the ratios, alpha + beta the "
        "probabilities",
        parameters=(
            Parameter("alpha", "any number but 0", lambda a: a != 0.0),
            Parameter("beta", "any number but 0", lambda b: b != 0.0),
        ),
        joint_domain="alpha + beta other than 0",
        accepts=lambda alpha, beta: alpha + beta != 0.0,
        jensen_bound=_ab_jensen_bound,
        source=_CICHOCKI,
    ),
    Measure(
        "l1_distance",
        l1_distance,
        divergences.l1_terms,
        expression="sum |p - q|",
        description="twice the total variation",
        symmetric=True,
        upper_bound=_at_most(2.0),
    ),
    Measure(
        "l2_distance",
        l2_distance,
        divergences.l2_terms,
        expression="sqrt(sum (p - q)^2)",
        description="Euclidean distance: the likeliest tokens decide",
        symmetric=True,
        upper_bound=_at_most(math.sqrt(2)),
    ),
    Measure(
        "l_infinity_distance",
        l_infinity_distance,
        divergences.l_infinity_terms,
        expression="max |p - q|",
        description="the largest difference at a single token",
        symmetric=True,
        upper_bound=_at_most(1.0),
    ),
    Measure(
        "fisher_rao_distance",
        fisher_rao_distance,
        divergences.fisher_rao_terms,
        expression="(2/pi) arccos(sum sqrt(p q))",
        description="the angle between sqrt p and sqrt q, scaled to [0, 1]; no parameter",
        symmetric=True,
        upper_bound=_at_most(1.0),
    ),
)
MEASURES: dict[str, Measure] = {measure.name: measure for measure in _MEASURES}
ALIASES: dict[str, str] = {
    "kl": "kl_divergence",
    "alpha": "alpha_divergence",
    "renyi": "renyi_divergence",
    "beta": "beta_divergence",
    "gamma_divergence": "beta_divergence",
    "ab": "ab_divergence",
    "l1": "l1_distance",
    "l2": "l2_distance",
    "linf": "l_infinity_distance",
    "fisher_rao": "fisher_rao_distance",
}


def resolve(name: str | Measure) -> Measure:
    """The measure of a full name or an alias. ValueError, with the nearest known name, if unknown.

    >>> resolve("fisher_rao").name
    'fisher_rao_distance'
    """
    if isinstance(name, Measure):
        return name
    if isinstance(name, str) and ALIASES.get(name, name) in MEASURES:
        return MEASURES[ALIASES.get(name, name)]
    known = {**{full: full for full in MEASURES}, **ALIASES}
    raise ValueError(
        f"unknown {spelled('information_measure')} {name!r}; {nearest(name, known, every=True)}"
    )


def check_parameters(
    measure: str | Measure, alpha: Any = None, beta: Any = None
) -> dict[str, float]:
    """The parameters that `measure` needs, as floats; those it does not use are left out.

    Takes Python, numpy and torch scalars. ValueError for one that is missing, not a finite number,
    or outside the measure's domain.

    >>> check_parameters("renyi_divergence", alpha=2, beta=7)
    {'alpha': 2.0}
    """
    measure = resolve(measure)
    given = {"alpha": alpha, "beta": beta}
    checked: dict[str, float] = {}
    for parameter in measure.parameters:
        value = given[parameter.name]
        number = _number(value)
        if number is None or not parameter.accepts(number):
            raise ValueError(
                f"{measure.name} needs {parameter.name}: {parameter.domain}, such as 0.5; "
                f"got {value!r}"
            )
        if abs(number) > LARGEST_PARAMETER:
            raise ValueError(
                f"{measure.name} needs {parameter.name}: at most {LARGEST_PARAMETER:g} in "
                f"magnitude; got {value!r}"
            )
        checked[parameter.name] = number
    if not measure.accepts(**checked):
        values = ", ".join(f"{name}={value:g}" for name, value in checked.items())
        raise ValueError(f"{measure.name} needs {measure.joint_domain}; got {values}")
    return checked


def parameter_grid(
    measure: str | Measure, alphas: Sequence[Any], betas: Sequence[Any]
) -> list[tuple[float | None, float | None]]:
    """Every (alpha, beta) in the measure's domain, with None for a parameter it does not use.

    ValueError for a value that is missing or not a finite number.

    >>> parameter_grid("ab_divergence", [0, 1], [-1, 2])
    [(1.0, 2.0)]
    >>> parameter_grid("renyi_divergence", [0.5, 1, 2], [None])
    [(0.5, None), (2.0, None)]
    """
    measure = resolve(measure)
    values = {"alpha": alphas, "beta": betas}
    used = [parameter.name for parameter in measure.parameters]
    grid = []
    for combination in product(*(values[name] for name in used)):
        given = dict(zip(used, combination, strict=True))
        try:
            checked = check_parameters(measure, **given)
        except ValueError:
            if all(_number(value) is not None for value in combination):
                continue
            raise
        grid.append((checked.get("alpha"), checked.get("beta")))
    return list(dict.fromkeys(grid))


def _number(value: Any) -> float | None:
    """`value` as a float, or None if it is not a finite real number."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # numpy's and torch's scalars
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:  # an int beyond float64
        return None
    return number if math.isfinite(number) else None


def _mean(one: Tensor, other: Tensor) -> Tensor:
    saturated = torch.maximum(one, other) >= LARGEST  # half of a saturated value means nothing
    return torch.where(saturated, LARGEST, one / 2 + other / 2)


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
SYMMETRIZATIONS: tuple[str, ...] = tuple(_SYMMETRIZE)


def largest_value(
    measure: str | Measure, *, symmetrize: str = "jeffreys", alpha: Any = None, beta: Any = None
) -> float:
    """The largest value of `compare` with these arguments; infinity where there is no bound.

    >>> largest_value("kl_divergence", symmetrize="jensen") == math.log(2)
    True
    """
    measure = resolve(measure)
    parameters = check_parameters(measure, alpha, beta)
    if not isinstance(symmetrize, str) or symmetrize not in SYMMETRIZATIONS:
        known = nearest(symmetrize, SYMMETRIZATIONS, every=True)
        raise ValueError(f"unknown symmetrize {symmetrize!r}; {known}")
    if symmetrize == "jensen" and not measure.symmetric:
        return measure.jensen_bound(**parameters)
    # Every measure here is bounded in both directions alike: alpha's bound is that of 1 - alpha.
    return measure.upper_bound(**parameters)


def compare(
    measure: str | Measure,
    log_p: Tensor,
    log_q: Tensor,
    *,
    symmetrize: str = "jeffreys",
    alpha: Any = None,
    beta: Any = None,
) -> Tensor:
    """The measure between references p and candidates q, float64, in [0, `largest_value`].

    Shapes [..., vocab] (leading axes broadcast) -> [...]. Both sides are renormalised first.

    Args:
        measure: a measure, its name or an alias.
        log_p: log-probabilities of the references; -inf counts as -1e50.
        log_q: those of the candidates.
        symmetrize: "jeffreys", the mean of D(p,q) and D(q,p); "jensen", the mean of D(p,m) and
            D(q,m) with m = (p+q)/2; "none", D(p,q); "reverse", D(q,p). The distances ignore it.
        alpha: for the measures that need it, in their domain.
        beta: likewise.

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
    return compare_each([Asked(measure, symmetrize, alpha, beta)], log_p, log_q)[0]


class Asked(NamedTuple):
    """A measure to compare by; what each is, `compare` says."""

    measure: str | Measure
    symmetrize: str = "jeffreys"
    alpha: Any = None
    beta: Any = None


def compare_each(asked: Sequence[Asked], log_p: Tensor, log_q: Tensor) -> Tensor:
    """What `compare` gives for each that is asked, float64 [asked, ...]; renormalises once.

    ValueError as `compare`.

    >>> p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    >>> print(", ".join(f"{x:.3f}" for x in compare_each([Asked("kl"), Asked("l1")], p, q)))
    0.137, 0.500
    """
    functions, bounds = [], []
    for each in asked:
        measure = resolve(each.measure)
        given = {"alpha": each.alpha, "beta": each.beta}
        bounds.append(largest_value(measure, symmetrize=each.symmetrize, **given))
        divergence = partial(measure.formula, **check_parameters(measure, **given))
        functions.append(partial(_direction(measure, each.symmetrize), divergence))
    shape = _common_shape(log_p, log_q)
    log_p = log_p.expand(shape).reshape(-1, shape[-1])
    log_q = log_q.expand(shape).reshape(-1, shape[-1])
    step = max(1, (CHUNK if log_p.device.type == "cpu" else GPU_CHUNK) // shape[-1])
    values = []
    for start in range(0, max(1, len(log_p)), step):
        rows = slice(start, start + step)
        p, q = _normalised("log_p", log_p[rows]), _normalised("log_q", log_q[rows])
        values.append(torch.stack([function(p, q) for function in functions]))
    most = torch.tensor(bounds, dtype=torch.float64).clamp(max=LARGEST)
    found = torch.cat(values, dim=1).clamp(min=0.0)
    return found.minimum(most.to(found.device)[:, None]).reshape(len(functions), *shape[:-1])


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

    Shapes [..., vocab] -> [..., vocab]; the sum over the last axis is `compare`'s value.
    ValueError as `compare`.

    >>> p, q = torch.tensor([0.5, 0.3, 0.2]).log(), torch.tensor([0.5, 0.2, 0.3]).log()
    >>> print(", ".join(f"{x:.3f}" for x in shares("l1_distance", p, q)))
    0.000, 0.100, 0.100
    """
    measure = resolve(measure)
    value = compare(measure, log_p, log_q, symmetrize=symmetrize, alpha=alpha, beta=beta)
    parameters = check_parameters(measure, alpha, beta)

    def divided(log_p: Tensor, log_q: Tensor) -> Tensor:
        terms = measure.terms(log_p, log_q, **parameters)
        total = terms.sum(-1, keepdim=True)
        whole = measure.formula(log_p, log_q, **parameters).unsqueeze(-1)
        return torch.where(total > 0.0, terms / total, 0.0) * whole

    p, q = _normalised("log_p", log_p), _normalised("log_q", log_q)
    parts = _direction(measure, symmetrize)(divided, p, q)
    largest = parts.amax(-1, keepdim=True)
    parts = torch.where(largest > 0.0, parts / largest, 0.0)  # saturated parts overflow in a sum
    return parts / parts.sum(-1, keepdim=True).clamp(min=1.0) * value.unsqueeze(-1)


def _direction(measure: Measure, symmetrize: str) -> Callable[..., Tensor]:
    return _SYMMETRIZE["none" if measure.symmetric else symmetrize]


def _common_shape(log_p: Tensor, log_q: Tensor) -> torch.Size:
    if log_p.ndim and log_q.ndim and log_p.shape[-1] == log_q.shape[-1] > 0:
        with suppress(RuntimeError):  # raised where the leading axes do not broadcast
            return torch.Size((*(log_p[..., 0] + log_q[..., 0]).shape, log_p.shape[-1]))
    raise ValueError(
        "log_p and log_q need one vocabulary as their last axis, and leading axes that broadcast; "
        f"got shapes {list(log_p.shape)} and {list(log_q.shape)}"
    )


def _normalised(name: str, log_p: Tensor) -> Tensor:
    """log_p less its log-sum, float64, [..., vocab], no entry below LOWEST_LOG."""
    log_p = divergences.double(log_p).log_softmax(-1).clamp(min=LOWEST_LOG)
    if log_p[..., 0].isnan().any():  # one such entry makes its whole row NaN
        raise ValueError(f"{name} holds NaN, +inf or a row of only -inf; log-probabilities needed")
    return log_p
