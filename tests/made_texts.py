"""Tokenized and weighted texts made from given tokens, for tests without a tokenizer."""

import numpy as np

from infolm_metric.core.document_counts import TokenizedText
from infolm_metric.models.tokenization import Template, WeightedText

CLS, SEP, MASK = 2, 3, 4
BERT = Template((CLS,), (SEP,), MASK)


def make_text(tokens, template=BERT):
    """Return the text with these tokens between the special tokens of the template."""
    ids = [*template.prefix, *tokens, *template.suffix]
    maskable = np.zeros(len(ids), dtype=bool)
    maskable[len(template.prefix) : len(template.prefix) + len(tokens)] = True
    return TokenizedText(np.array(ids), maskable)


def weighted_text(*tokens, table=None):
    """Return the text with the weights of a table [vocab], or with uniform weights."""
    return WeightedText.of(make_text(tokens), table)
