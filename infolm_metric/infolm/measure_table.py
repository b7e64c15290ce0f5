"""Table of the information measures: names, parameter domains, symmetrizations and upper bounds.

p is the reference and q the candidate. All measures are >= 0 and 0 if p = q. Lower is better. The
functions accept a `measure` as a `Measure`, a name or an alias, and `alpha` and `beta` as Python,
numpy or torch scalars. This module does not import torch, so that settings and documentation can
use it. To add a measure, add an entry here and one to `measures.FORMULAS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from infolm_metric.core.checks import InputError, check_known, check_value

SYMMETRIZATIONS = {  # pairs (x, y) over which D(x, y) is averaged, with m = (p + q) / 2
    "jeffreys": (("p", "q"), ("q", "p")),
    "jensen": (("p", "m"), ("q", "m")),
    "none": (("p", "q"),),
    "reverse": (("q", "p"),),
}
LARGEST_PARAMETER = 1e50  # for |alpha| and |beta|, to keep products with log-probabilities finite


@dataclass(frozen=True)
class Parameter:
    """A parameter of a measure.

    Attributes:
        name: "alpha" or "beta".
        domain: description of the domain, such as "any number except 0 and 1".
        accepts: function that returns True for a finite number in the domain.
    """

    name: str
    domain: str
    accepts: Callable[[float], bool]


@dataclass(frozen=True)
class Measure:
    """An information measure between two distributions over the vocabulary.

    Attributes:
        name: full name, as in results.
        expression: formula, for documentation.
        description: short explanation, for documentation.
        parameters: parameters of the formula.
        joint_domain: description of the valid combinations of parameters.
        accepts: function that returns True for a valid combination of parameters. None accepts all.
        symmetric: True if D(p,q) = D(q,p).
        upper_bound: upper bound of D(p,q) and D(q,p), or a function of the parameters.
        jensen_bound: upper bound of D(p, (p+q)/2), or a function of the parameters.
    """

    name: str
    expression: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    joint_domain: str = ""
    accepts: Callable[..., bool] | None = None
    symmetric: bool = False
    upper_bound: float | Callable[..., float] = math.inf
    jensen_bound: float | Callable[..., float] = math.inf

    def check(self, alpha: object, beta: object) -> dict[str, float]:
        """Check the parameters that the measure uses, and return them by name.

        >>> MEASURES["renyi_divergence"].check(alpha=2, beta=7)
        {'alpha': 2.0}
        """
        numbers: dict[str, float] = {}
        for parameter in self.parameters:
            name, value = parameter.name, {"alpha": alpha, "beta": beta}[parameter.name]
            with suppress(InputError):
                numbers[name] = check_value(name, value, float)
            number = numbers.get(name, math.inf)
            if not (parameter.accepts(number) and abs(number) <= LARGEST_PARAMETER):
                raise InputError(
                    f"{self.name} requires {name} ({parameter.domain}, magnitude at most "
                    f"{LARGEST_PARAMETER:g}), got {value!r}. Set {name}=0.5, for example.",
                    setting=name,
                )
        if self.accepts is not None and not self.accepts(**numbers):
            labels = ", ".join(f"{name}={number:g}" for name, number in numbers.items())
            raise InputError(f"{self.name} requires {self.joint_domain}, got {labels}. Change one.")
        return numbers

    def bound(self, symmetrize: str, parameters: Mapping[str, float]) -> float:
        """Return the upper bound for valid `parameters` and `symmetrize`, or infinity."""
        # D(p,q) and D(q,p) have equal bounds. For the alpha divergence, a and 1 - a have equal
        # bounds.
        is_jensen = symmetrize == "jensen" and not self.symmetric
        bound = self.jensen_bound if is_jensen else self.upper_bound
        return bound(**parameters) if callable(bound) else bound


def _distance(name: str, expression: str, description: str, bound: float) -> Measure:
    return Measure(name, expression, description, symmetric=True, upper_bound=bound)


def _alpha_bound(alpha: float) -> float:
    # D = (1 - S) / (a(1-a)), and S can be 0. For other alphas, S is unbounded.
    return 1.0 / (alpha * (1.0 - alpha)) if 0.0 < alpha < 1.0 else math.inf


def _alpha_jensen_bound(alpha: float) -> float:
    # p/m lies in [0, 2] and has mean 1. (p/m)^a is convex for a > 1, so its mean is at most
    # 2^a / 2, and concave for 0 < a < 1, so its mean is at least 2^a / 2. For a < 0, it is infinite
    # at p = 0.
    if alpha <= 0.0 or alpha > 1000.0:  # 2^a would exceed float64
        return math.inf
    return math.expm1((alpha - 1.0) * math.log(2)) / (alpha * (alpha - 1.0))


def _ab_jensen_bound(alpha: float, beta: float) -> float:
    # Equals Renyi / alpha if a + b = 1. Otherwise there is no bound, because log sum p^(a+b) grows
    # with the vocabulary, and the power sums of m do not compensate for it.
    return math.log(2) / alpha if alpha > 0.0 and alpha + beta == 1.0 else math.inf


_MEASURES = (
    Measure(
        "kl_divergence",
        expression="sum p log(p/q)",
        description="Kullback-Leibler divergence: extra nats per token if q is used to encode p",
        jensen_bound=math.log(2),
    ),
    Measure(
        "alpha_divergence",
        expression="(sum p^alpha q^(1-alpha) - 1) / (alpha (alpha-1))",
        description="KL(q, p) as alpha -> 0 and KL(p, q) as alpha -> 1",
        parameters=(
            Parameter("alpha", "any number except 0 and 1", lambda a: a not in (0.0, 1.0)),
        ),
        upper_bound=_alpha_bound,
        jensen_bound=_alpha_jensen_bound,
    ),
    Measure(
        "renyi_divergence",
        expression="log(sum p^alpha q^(1-alpha)) / (alpha-1)",
        description="KL(p, q) as alpha -> 1, large alphas emphasize the largest ratio p/q",
        parameters=(Parameter("alpha", "any number > 0 except 1", lambda a: a > 0.0 and a != 1.0),),
        # Increases with alpha to log max p/m, and p/m <= 2.
        jensen_bound=math.log(2),
    ),
    Measure(
        "beta_divergence",
        expression="ab_divergence with alpha = 1",
        description="the paper's gamma divergence, KL(p, q) as beta -> 0",
        parameters=(
            Parameter("beta", "any number except 0 and -1", lambda b: b not in (0.0, -1.0)),
        ),
    ),
    Measure(
        "ab_divergence",
        expression="log S(a+b,0)/(b(a+b)) + log S(0,a+b)/(a(a+b)) - log S(a,b)/(ab), "
        "S(s,t) = sum p^s q^t",
        description="scale-invariant AB divergence: alpha weights the ratios p/q, "
        "and alpha + beta weights the probabilities",
        parameters=(
            Parameter("alpha", "any number except 0", lambda a: a != 0.0),
            Parameter("beta", "any number except 0 and -alpha", lambda b: b != 0.0),
        ),
        joint_domain="alpha + beta other than 0",
        accepts=lambda alpha, beta: alpha + beta != 0.0,
        jensen_bound=_ab_jensen_bound,
    ),
    _distance("l1_distance", "sum |p - q|", "twice the total variation distance", 2.0),
    _distance(
        "l2_distance",
        "sqrt(sum (p - q)^2)",
        "Euclidean distance, dominated by the most likely tokens",
        math.sqrt(2),
    ),
    _distance("l_infinity_distance", "max |p - q|", "largest difference for a single token", 1.0),
    _distance(
        "fisher_rao_distance",
        "(2/pi) arccos(sum sqrt(p q))",
        "angle between sqrt p and sqrt q, scaled to [0, 1]",
        1.0,
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


def known_names() -> dict[str, str]:
    """Return the name of the measure for each name and alias, including measures added later."""
    return {name: name for name in MEASURES} | ALIASES


def resolve(name: str | Measure) -> Measure:
    """Return a measure by its full name or alias. A `Measure` is returned unchanged.

    Raises InputError with the closest known name if `name` is unknown.

    >>> resolve("fisher_rao").name
    'fisher_rao_distance'
    """
    if isinstance(name, Measure):
        return name
    names = known_names()
    check_known("information_measure", name, names, every=True)
    return MEASURES[names[name]]


def parameter_grid(
    measure: str | Measure, alphas: Sequence[object], betas: Sequence[object]
) -> list[tuple[float | None, float | None]]:
    """Return the distinct pairs of `alphas` and `betas` in a measure's domain.

    A parameter that the measure does not use is None. Raises InputError if a value is missing or
    not a finite number.

    >>> parameter_grid("renyi_divergence", [0.5, 1, 2], [None])
    [(0.5, None), (2.0, None)]
    """
    measure, grid = resolve(measure), dict[tuple[float | None, float | None], None]()
    columns = {"alpha": alphas, "beta": betas}
    for parameter in measure.parameters:
        for value in columns[parameter.name]:
            check_value(f"each value of {parameter.name}s", value, float)
    for alpha, beta in product(alphas, betas):
        with suppress(InputError):  # outside the domain
            used = measure.check(alpha, beta)
            grid[used.get("alpha"), used.get("beta")] = None
    return list(grid)
