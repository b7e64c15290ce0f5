"""Readings and single pairs made from token ids alone."""

import numpy as np

from infolm_metric.kernel.single_pairs import SinglePairs
from infolm_metric.kernel.tokens import TokenizedText
from infolm_metric.kernel.weighed_texts import WeighedText


def weighed_text(*tokens, table=None):
    ids = np.array([2, *tokens, 3])
    maskable = np.array([False, *(True for _ in tokens), False])
    return WeighedText.of(TokenizedText(ids, maskable), table)


def singles(*pairs):
    """Each pair is (candidate's token, its references' tokens)."""
    return SinglePairs(
        [weighed_text(candidate) for candidate, _ in pairs],
        [weighed_text(token) for _, references in pairs for token in references],
        np.array([len(references) for _, references in pairs]),
    )
