"""Williams' test: do two metrics, measured on the same systems, agree with people differently?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from infolm_metric.kernel.checks import check_known
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS, EQUAL


@dataclass(frozen=True)
class WilliamsTest:
    """What Williams' test finds; NaN in both where a correlation is not defined.

    Attributes:
        statistic: t, with n - 3 degrees of freedom; above 0 where the first metric agrees better.
        p_value: the two-sided p-value, from 0 to 1.
    """

    statistic: float
    p_value: float


def williams_test(r12: float, r13: float, r23: float, n: int) -> WilliamsTest:
    """Whether the correlations r12 and r13, which share variable 1, differ.

    Variable 1 is people, 2 and 3 are the metrics. With
    K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,

        t(n - 3) = (r12 - r13) sqrt((n - 1)(1 + r23))
                   / sqrt(2K (n - 1)/(n - 3) + (r12 + r13)^2 / 4 (1 - r23)^3).

    Source: Williams 1959; Steiger 1980, equation 7; Graham and Baldwin 2014 for metrics. It is made
    for Pearson's r of normal variables; for rank correlations it is an approximation.

    Args:
        r12: how one metric agrees with people, from -1 to 1, or NaN.
        r13: how the other does, likewise.
        r23: how the metrics agree with each other, likewise.
        n: the number of systems, at least 4.

    Returns:
        The statistic and the p-value.

    Raises:
        ValueError: n is below 4, or a correlation lies outside [-1, 1].

    >>> test = williams_test(0.80, 0.72, 0.89, 26)  # Howell, Statistical Methods for Psychology
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (1.361, 0.187)
    """
    if n < 4:
        raise ValueError(f"Williams' test needs at least 4 systems, got {n}")
    if any(math.isnan(r) for r in (r12, r13, r23)):
        return WilliamsTest(math.nan, math.nan)
    for name, r in (("r12", r12), ("r13", r13), ("r23", r23)):
        if not -1 <= r <= 1:
            raise ValueError(f"{name} must lie in [-1, 1], got {r}")
    # The determinant of the three correlations; rounding can carry it below 0.
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    variance = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    effect = (r12 - r13) * math.sqrt((n - 1) * (1 + r23))
    if abs(r12 - r13) <= EQUAL:
        return WilliamsTest(0.0, 1.0)
    statistic = math.copysign(math.inf, effect) if variance == 0 else effect / math.sqrt(variance)
    return WilliamsTest(statistic, float(2 * student.sf(abs(statistic), n - 3)))


def compare_metrics(
    human: np.ndarray, one: np.ndarray, other: np.ndarray, coefficient: str = "pearson"
) -> WilliamsTest:
    """Williams' test of two metrics' agreement with people, from the systems' means.

    A system that lacks one of the three means takes no part.

    Args:
        human: people's means, float64 [systems], NaN for missing.
        one: those of a metric, likewise, higher is better.
        other: those of another, likewise.
        coefficient: "pearson", "spearman" or "kendall".

    Returns:
        The statistic and the p-value.

    Raises:
        ValueError: fewer than 4 systems have all means, the lists are not equally long, or an
            unknown coefficient.

    >>> human = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> good, bad = human + [0.1, -0.1, 0.1, 0, 0.1, -0.1], np.array([3.0, 1, 2, 6, 4, 5])
    >>> compare_metrics(human, good, bad).p_value < 0.05
    True
    """
    check_known("coefficient", coefficient, tuple(COEFFICIENTS))
    given = [np.asarray(means, dtype=float) for means in (human, one, other)]
    if len({means.shape for means in given}) > 1 or given[0].ndim != 1:
        shapes = " and ".join(str(list(means.shape)) for means in given)
        raise ValueError(f"human, one and other must be equally long lists, got shapes {shapes}")
    means = np.stack(given)
    x, y, z = means[:, ~np.isnan(means).any(0)]
    r = COEFFICIENTS[coefficient]
    return williams_test(float(r(x, y)), float(r(x, z)), float(r(y, z)), len(x))
