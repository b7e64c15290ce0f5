"""The weights of a text's tokens.

Which table they come from `statistics.weighting` says, and `IDF.weights` how a table has them.
"""

from __future__ import annotations

import numpy as np

from infolm_metric.kernel.tokens import TokenizedText


def normalised_log_weights(text: TokenizedText, table: np.ndarray | None) -> np.ndarray:
    """Log of the weights of the maskable positions, float64 [maskable], weights summing to 1.

    `table` [vocab] holds the inverse document frequencies; None, or a text whose weights are all
    0, means uniform weights. A weight of 0 is -inf.
    """
    count = int(text.maskable.sum())
    weights = np.ones(count) if table is None else table[text.tokens]
    if not weights.any():
        weights = np.ones(count)
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum()) if count else np.zeros(0)
