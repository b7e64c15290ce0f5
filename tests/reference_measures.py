"""Published formulas of the measures, which share no code with the package.

Distributions are arrays of log-probabilities [vocab], p of the reference and q of the candidate,
in float64 or in mpmath's numbers, in which the formulas keep as many digits as `mpmath.mp.dps`
says. They are not stabilized: in float64 they lose digits near their singular parameters,
`fisher_rao_distance` has an error of up to 3e-8 near 0, and equal distributions may give a tiny
number of either sign.
"""

import mpmath
import numpy as np
from mpmath import mp, mpf


def elementwise(name):
    """Return a function of numpy or mpmath by the type of its argument."""
    exact, plain = np.frompyfunc(getattr(mpmath, name), 1, 1), getattr(np, name)
    return lambda array: exact(array) if array.dtype == object else plain(array)


exp, log = elementwise("exp"), elementwise("log")


def log_sum(powers):
    """Compute the logarithm of a sum of exponentials."""
    peak = powers.max()
    return peak + mpmath.log(exp(powers - peak).sum())


def log_s(p, q, s, t):
    """Compute log S(s, t), S(s, t) = sum p^s q^t."""
    return log_sum(s * p + t * q)


def ab_divergence(p, q, alpha, beta):
    both = alpha + beta
    p_term, q_term = log_s(p, q, both, 0) / (beta * both), log_s(p, q, 0, both) / (alpha * both)
    return p_term + q_term - log_s(p, q, alpha, beta) / (alpha * beta)


def fisher_rao_distance(p, q):
    overlap = mpmath.exp(log_s(p, q, mpf(0.5), mpf(0.5)))
    return 2 / mp.pi * mpmath.acos(min(overlap, 1))  # rounding can leave 1 + 1e-50


FORMULAS = {
    "kl_divergence": lambda p, q: (exp(p) * (p - q)).sum(),
    "alpha_divergence": lambda p, q, alpha: (
        (mpmath.exp(log_s(p, q, alpha, 1 - alpha)) - 1) / (alpha * (alpha - 1))
    ),
    "renyi_divergence": lambda p, q, alpha: log_s(p, q, alpha, 1 - alpha) / (alpha - 1),
    "beta_divergence": lambda p, q, beta: ab_divergence(p, q, mpf(1), beta),
    "ab_divergence": ab_divergence,
    "l1_distance": lambda p, q: abs(exp(p) - exp(q)).sum(),
    "l2_distance": lambda p, q: mpmath.sqrt(((exp(p) - exp(q)) ** 2).sum()),
    "l_infinity_distance": lambda p, q: abs(exp(p) - exp(q)).max(),
    "fisher_rao_distance": fisher_rao_distance,
}


def reference_measure(name, p, q, symmetrize="jeffreys", **parameters):
    """Compute a measure of log-probabilities p and q, symmetrized as requested."""
    peak = np.maximum(p, q)
    m = peak + log((exp(p - peak) + exp(q - peak)) / 2)
    pairs = {
        "jeffreys": [(p, q), (q, p)],
        "jensen": [(p, m), (q, m)],
        "none": [(p, q)],
        "reverse": [(q, p)],
    }["none" if name.endswith("_distance") else symmetrize]
    return sum(FORMULAS[name](*pair, **parameters) for pair in pairs) / len(pairs)
