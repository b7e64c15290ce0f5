"""The table of information measures: names, domains of their parameters, and largest values.

p is the reference, q the candidate. Every measure is >= 0, is 0 where p = q, and lower is better.
`MEASURES` is what the documentation, the argument checks and the demo read, without torch: a new
measure is an entry here, and in `measures` a formula of its name and the terms that it is made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from numbers import Real
from typing import Any

from infolm_metric.core.settings import check_known

SYMMETRIZATIONS = ("jeffreys", "jensen", "none", "reverse")
LARGEST_PARAMETER = 1e50  # alpha and beta up to here keep products with log-probabilities finite


@dataclass(frozen=True)
class Parameter:
    """A number that a measure needs: its name, the domain in words, and the domain as a test.

    Attributes:
        name: "alpha" or "beta".
        domain: in words, such as "any number other than 0 and 1".
        accepts: tells of a finite number whether it lies in the domain.
    """

    name: str
    domain: str
    accepts: Callable[[float], bool]


def _at_most(bound: float) -> Callable[..., float]:
    return lambda **parameters: bound


@dataclass(frozen=True)
class Measure:
    """An information measure between two distributions over the vocabulary.

    Attributes:
        name: in full, as results carry it.
        expression: the formula for people to read.
        description: what it attends to, in a sentence.
        parameters: those that the formula needs.
        joint_domain: in words, which parameters go together.
        accepts: tells of the parameters together whether they lie in the domain.
        symmetric: True if D(p,q) = D(q,p).
        upper_bound: the largest value by the parameters, over all pairs of distributions and for
            either order of them; infinity where no bound holds for every vocabulary.
        jensen_bound: likewise of D(p, (p+q)/2).
        source: where it is from.
        formula: formula(log_p, log_q, **parameters) gives float64 [...] from [..., vocab]; None:
            the function of that name in `measures`.
        terms: what each entry adds to the formula, up to a common factor: [..., vocab], >= 0;
            None: the function of the name with "_terms" there.
    """

    name: str
    expression: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    joint_domain: str = ""
    accepts: Callable[..., bool] = lambda **parameters: True
    symmetric: bool = False
    upper_bound: Callable[..., float] = _at_most(math.inf)
    jensen_bound: Callable[..., float] = _at_most(math.inf)
    source: str = "Colombo et al. 2022"
    formula: Callable[..., Any] | None = None
    terms: Callable[..., Any] | None = None


def _alpha_bound(alpha: float) -> float:
    # (1 - S) / (a(1-a)), and S can reach 0; for other alphas S is unbounded.
    return 1.0 / (alpha * (1.0 - alpha)) if 0.0 < alpha < 1.0 else math.inf


def _alpha_jensen_bound(alpha: float) -> float:
    # p/m lies in [0, 2], so the convex (p/m)^a averages at most 2^a / 2; a < 0 makes 0^a infinite.
    if alpha <= 0.0 or alpha > 1000.0:  # 2^a would exceed float64
        return math.inf
    return math.expm1((alpha - 1.0) * math.log(2)) / (alpha * (alpha - 1.0))


def _ab_jensen_bound(alpha: float, beta: float) -> float:
    # Renyi / alpha where a + b = 1. Elsewhere log sum p^(a+b) enters, which grows with the
    # vocabulary, against a different power sum of m: no bound.
    return math.log(2) / alpha if alpha > 0.0 and alpha + beta == 1.0 else math.inf


_CICHOCKI = "Cichocki, Cruces and Amari 2011; Colombo et al. 2022"
_MEASURES = (
    Measure(
        "kl_divergence",
        expression="sum p log(p/q)",
        description="Kullback-Leibler divergence: nats lost by describing p with q",
        jensen_bound=_at_most(math.log(2)),
    ),
    Measure(
        "alpha_divergence",
        expression="(sum p^alpha q^(1-alpha) - 1) / (alpha (alpha-1))",
        description="between KL(q, p) at alpha -> 0 and KL(p, q) at alpha -> 1, and beyond",
        parameters=(Parameter("alpha", "any number but 0 and 1", lambda a: a not in (0.0, 1.0)),),
        upper_bound=_alpha_bound,
        jensen_bound=_alpha_jensen_bound,
    ),
    Measure(
        "renyi_divergence",
        expression="log(sum p^alpha q^(1-alpha)) / (alpha-1)",
        description="KL(p, q) at alpha -> 1; larger alphas weigh the worst ratio p/q more",
        parameters=(Parameter("alpha", "any number > 0 but 1", lambda a: a > 0.0 and a != 1.0),),
        # It grows with alpha towards log max p/m, and p/m <= 2.
        jensen_bound=_at_most(math.log(2)),
    ),
    Measure(
        "beta_divergence",
        expression="ab_divergence with alpha = 1",
        description="the paper's gamma divergence; KL(p, q) at beta -> 0",
        parameters=(Parameter("beta", "any number but 0 and -1", lambda b: b not in (0.0, -1.0)),),
        source=_CICHOCKI,
    ),
    Measure(
        "ab_divergence",
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
        expression="sum |p - q|",
        description="twice the total variation",
        symmetric=True,
        upper_bound=_at_most(2.0),
    ),
    Measure(
        "l2_distance",
        expression="sqrt(sum (p - q)^2)",
        description="Euclidean distance: the likeliest tokens decide",
        symmetric=True,
        upper_bound=_at_most(math.sqrt(2)),
    ),
    Measure(
        "l_infinity_distance",
        expression="max |p - q|",
        description="the largest difference at a single token",
        symmetric=True,
        upper_bound=_at_most(1.0),
    ),
    Measure(
        "fisher_rao_distance",
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
    """The measure of a full name or an alias.

    Args:
        name: either, or a measure, which is given back.

    Returns:
        The measure.

    Raises:
        ValueError: it is unknown; the message names the nearest that is known.

    >>> resolve("fisher_rao").name
    'fisher_rao_distance'
    """
    if isinstance(name, Measure):
        return name
    choices = {name: name for name in MEASURES} | ALIASES
    check_known("information_measure", name, choices, every=True)
    return MEASURES[choices[name]]


def check_parameters(
    measure: str | Measure, alpha: Any = None, beta: Any = None
) -> dict[str, float]:
    """The parameters that `measure` needs, as floats; those it does not use are left out.

    Args:
        measure: a measure, its name or an alias.
        alpha: a Python, numpy or torch scalar.
        beta: likewise.

    Returns:
        The parameters by name.

    Raises:
        ValueError: one is missing, not a finite number, or outside the measure's domain.

    >>> check_parameters("renyi_divergence", alpha=2, beta=7)
    {'alpha': 2.0}
    """
    measure = resolve(measure)
    values = {"alpha": alpha, "beta": beta}
    parameters: dict[str, float] = {}
    for parameter in measure.parameters:
        value = values[parameter.name]
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
        parameters[parameter.name] = number
    if not measure.accepts(**parameters):
        label = ", ".join(f"{name}={value:g}" for name, value in parameters.items())
        raise ValueError(f"{measure.name} needs {measure.joint_domain}; got {label}")
    return parameters


def upper_bound(
    measure: str | Measure, *, symmetrize: str = "jeffreys", alpha: Any = None, beta: Any = None
) -> float:
    """The largest value of `measures.compare` with these arguments; infinity: there is no bound.

    Args:
        measure: a measure, its name or an alias.
        symmetrize: as for `compare`.
        alpha: likewise.
        beta: likewise.

    Returns:
        The bound over all pairs of distributions on any vocabulary.

    Raises:
        ValueError: an unknown name, or a parameter outside its domain.

    >>> round(upper_bound("kl_divergence", symmetrize="jensen"), 4)  # log 2
    0.6931
    """
    measure = resolve(measure)
    parameters = check_parameters(measure, alpha, beta)
    check_known("symmetrize", symmetrize, SYMMETRIZATIONS, every=True)
    if symmetrize == "jensen" and not measure.symmetric:
        return measure.jensen_bound(**parameters)
    # Every measure here is bounded in both directions alike: alpha's bound is that of 1 - alpha.
    return measure.upper_bound(**parameters)


def parameter_grid(
    measure: str | Measure, alphas: Sequence[Any], betas: Sequence[Any]
) -> list[tuple[float | None, float | None]]:
    """Every (alpha, beta) in the measure's domain, with None for a parameter it does not use.

    Args:
        measure: a measure, its name or an alias.
        alphas: the values to combine.
        betas: likewise.

    Returns:
        Each combination once.

    Raises:
        ValueError: a value is missing or not a finite number.

    >>> parameter_grid("ab_divergence", [0, 1], [-1, 2])
    [(1.0, 2.0)]
    >>> parameter_grid("renyi_divergence", [0.5, 1, 2], [None])
    [(0.5, None), (2.0, None)]
    """
    measure = resolve(measure)
    values = {"alpha": alphas, "beta": betas}
    names = [parameter.name for parameter in measure.parameters]
    grid = []
    for combination in product(*(values[name] for name in names)):
        try:
            parameters = check_parameters(measure, **dict(zip(names, combination, strict=True)))
            grid.append((parameters.get("alpha"), parameters.get("beta")))
        except ValueError:
            if any(_number(value) is None for value in combination):
                raise
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
