"""The comparison of distributions by any measure of the table: `compare` is the way in.

p is the reference, q the candidate. It renormalises, symmetrises and bounds, in float64; a value
too large for float64 becomes its largest number. The measures themselves are in `measure_table`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
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
from infolm_metric.infolm.measure_table import (
    ALIASES,
    MEASURES,
    Measure,
    Parameter,
    check_parameters,
    parameter_grid,
    resolve,
)
from infolm_metric.kernel.checks import nearest

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
CHUNK = 2**17  # entries compared at a time: temporaries of 1 MiB stay in the processor's caches
GPU_CHUNK = 2**22  # a GPU wants more to do per kernel; temporaries of 32 MiB


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

    Args:
        measure: a measure, its name or an alias.
        symmetrize: as for `compare`.
        alpha: likewise.
        beta: likewise.

    Returns:
        The bound over all pairs of distributions on any vocabulary.

    Raises:
        ValueError: an unknown name, or a parameter outside its domain.

    >>> round(largest_value("kl_divergence", symmetrize="jensen"), 4)  # log 2
    0.6931
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
    return compare_each([Asked(measure, symmetrize, alpha, beta)], log_p, log_q)[0]


class Asked(NamedTuple):
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


def compare_each(asked: Sequence[Asked], log_p: Tensor, log_q: Tensor) -> Tensor:
    """What `compare` gives for each that is asked, float64 [asked, ...]; renormalises once.

    Args:
        asked: what to compare by, at least one.
        log_p: as for `compare`.
        log_q: likewise.

    Returns:
        The values, float64 [asked, ...].

    Raises:
        ValueError: as `compare`.

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
    found = torch.cat(values, dim=1).clamp(min=0.0)
    most = torch.tensor(bounds, dtype=found.dtype, device=found.device).clamp(max=LARGEST)
    return found.minimum(most[:, None]).reshape(len(functions), *shape[:-1])


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
    for name, given in {"log_p": log_p, "log_q": log_q}.items():
        if not isinstance(given, Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, got {type(given).__name__}")
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
