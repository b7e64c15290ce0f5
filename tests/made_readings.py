"""Readings and couples made from token ids alone."""

import numpy as np

from infolm_metric.kernel.couples import Couples
from infolm_metric.kernel.reading import Reading
from infolm_metric.kernel.tokens import TokenizedText


def reading(*tokens, table=None):
    ids = np.array([2, *tokens, 3])
    maskable = np.array([False, *(True for _ in tokens), False])
    return Reading.of(TokenizedText(ids, maskable), table)


def couples(*pairs):
    """Each pair is (candidate's token, its references' tokens)."""
    return Couples(
        [reading(candidate) for candidate, _ in pairs],
        [reading(token) for _, references in pairs for token in references],
        np.array([len(references) for _, references in pairs]),
    )
