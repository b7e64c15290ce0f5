"""Errors as messages: what a visitor did wrong is told in words, and shown as text."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager

import gradio as gr

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
            html.escape(_sentence(error)),
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


def _sentence(error: BaseException) -> str:
    text = str(error)
    return text[:1].upper() + text[1:LONGEST]
