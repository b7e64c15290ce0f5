"""Tokenised and weighted texts made of given tokens, for tests that need no tokenizer."""

import numpy as np

from infolm_metric.core.idf import WeightedText
from infolm_metric.core.tokenization import Template, TokenizedText

CLS, SEP, MASK = 2, 3, 4
BERT = Template((CLS,), (SEP,), MASK)


def text_of(tokens, template=BERT):
    """The text of the given ordinary tokens, special ones around them."""
    ids = [*template.prefix, *tokens, *template.suffix]
    maskable = np.zeros(len(ids), dtype=bool)
    maskable[len(template.prefix) : len(template.prefix) + len(tokens)] = True
    return TokenizedText(np.array(ids), maskable)


def weighted_text(*tokens, table=None):
    """The same, weighed by a table [vocab], or uniformly."""
    return WeightedText.of(text_of(tokens), table)
