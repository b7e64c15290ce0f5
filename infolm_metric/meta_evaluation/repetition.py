"""Coefficients of samples whose systems were drawn several times, by matrix products."""

from __future__ import annotations

import numpy as np


def repeated(human: np.ndarray, metric: np.ndarray, times: np.ndarray) -> dict[str, np.ndarray]:
    """Each sample's coefficients over systems of which each counts several times, by name.

    Grids [systems, samples], NaN in both where a score is missing; `times` int [resamples, systems]
    -> [resamples, samples]. What `COEFFICIENTS` give for the systems written out as often as
    `times` says, but by matrix products: every coefficient is a ratio of sums over systems or pairs
    of systems, in which a system drawn twice counts twice.

    >>> human, metric = np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [3.0], [2.0]])
    >>> found = repeated(human, metric, np.array([[1, 2, 1]]))
    >>> from infolm_metric.meta_evaluation.correlations import COEFFICIENTS
    >>> direct = COEFFICIENTS["kendall"](human[[0, 1, 1, 2], 0], metric[[0, 1, 1, 2], 0])
    >>> found["kendall"][0, 0] == direct
    np.True_
    """
    grids = (human, metric)
    found = {"pearson": repeated_pearson(human, metric, times)}
    # [samples, systems, systems]: is the score of the first above that of the second?
    signs = [np.nan_to_num(np.sign(g.T[:, :, None] - g.T[:, None, :])) for g in grids]
    # A rank less the mean rank is half of (systems below - systems above).
    ranks = [np.einsum("rj,sij->rsi", times, sign, optimize=True) for sign in signs]
    found["spearman"] = _ratio(
        *(
            np.einsum("ri,rsi->rs", times, one * other)
            for one, other in (ranks, (ranks[0],) * 2, (ranks[1],) * 2)
        )
    )
    first, second = np.triu_indices(len(human), 1)
    pairs = (times[:, first] * times[:, second]).astype(float)
    signs = [sign[:, first, second] for sign in signs]
    found["kendall"] = _ratio(
        *(pairs @ (one * other).T for one, other in (signs, (signs[0],) * 2, (signs[1],) * 2))
    )
    return found


def repeated_pearson(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The "pearson" of `repeated`, for which every system is counted as often as `times` says."""
    sides = [np.nan_to_num(g - np.nanmean(g, 0, keepdims=True)).T for g in (x, y)]
    there = (~np.isnan(x)).astype(float).T  # [samples, systems]
    counts = times @ there.T
    with np.errstate(invalid="ignore", divide="ignore"):
        one, other = sides
        means = [times @ side.T / counts for side in sides]
        return _ratio(
            times @ (one * other).T / counts - means[0] * means[1],
            *(
                times @ (side**2).T / counts - mean**2
                for side, mean in zip(sides, means, strict=True)
            ),
            *(1e-12 * (side**2).max(1) for side in sides),
        )


def _ratio(
    both: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
    least_one: np.ndarray | float = 0.0,
    least_other: np.ndarray | float = 0.0,
) -> np.ndarray:
    """both / sqrt(one other), NaN where a side does not exceed what counts as no variation."""
    varies = (one > least_one) & (other > least_other)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(varies, both / np.sqrt(one * other), np.nan).clip(-1, 1)
