"""Errors as messages: what a visitor did wrong is told in words, and shown as text."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import gradio as gr

from infolm_metric.kernel.remarks import FEW, Remarks

EXPECTED = (ValueError, TypeError, OSError)  # what checks raise; anything else is a bug of ours
LONGEST = 600  # characters of a message


@contextmanager
def on_the_page() -> Iterator[None]:
    """Turns an expected error into a message of the page.

    The page renders messages as HTML, and they may quote what a visitor sent: so they are escaped.
    """
    try:
        yield
    except EXPECTED as error:
        raise gr.Error(
            html.escape(sentence(error)),
            title="This cannot be scored",
            duration=20,
            print_exception=False,
        ) from None


@contextmanager
def in_the_answer() -> Iterator[None]:
    """Turns an expected error into the message that a client of the API gets."""
    try:
        yield
    except EXPECTED as error:
        raise gr.Error(str(error)[:LONGEST], print_exception=False) from None


def sentence(error: BaseException) -> str:
    """What is wrong, as text that begins with a capital."""
    text = str(error)
    return text[:1].upper() + text[1:LONGEST]


def notes(remarks: Remarks) -> list[str]:
    """What a visitor has to know of the texts that were scored.

    >>> notes(Remarks(distinct_documents=1))
    ['With one reference all words weigh alike.']
    """
    few = remarks.distinct_documents
    known = replace(remarks, distinct_documents=0).sentences()
    if few == 1:
        known.append("With one reference all words weigh alike.")
    elif 0 < few < FEW:
        known.append(f"Which words are rare is known from {few} references only.")
    return known
