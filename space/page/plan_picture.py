"""The transport plan as a picture and a table: which token goes where, how much of it, how far."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from infolm_metric.baryscore.explanation import Explanation, Move

WIDTH, ROW, MARGIN = 360, 26, 118  # of the drawing; the browser scales it
THINNEST, THICKEST = 1.5, 12.0
STEPS = (0.25, 0.5, 0.75, 1.0)  # squared distances at which the colour changes
SMALLEST_MASS = 1e-4  # that is drawn
LISTED = 12
LONGEST = 13  # characters of a token that are drawn


def step_of(distance: float) -> int:
    """Which colour a move has, 0 the nearest.

    >>> step_of(0.1), step_of(0.25), step_of(3.0)
    (0, 1, 4)
    """
    return sum(distance >= edge for edge in STEPS)


def picture(explanation: Explanation) -> str:
    """The tokens of both texts with the moves between them, as HTML; thick is much, red is far."""
    sides = (explanation.candidate.tokens, explanation.reference.tokens)
    height = ROW * (max(map(len, sides)) + 1)
    moves = [move for move in explanation.moves() if move.mass >= SMALLEST_MASS]
    most = max(move.mass for move in moves)
    lines = [_line(move, most) for move in reversed(moves)]  # the costliest on top
    words = [
        _word(token, i, side) for side, tokens in enumerate(sides) for i, token in enumerate(tokens)
    ]
    said = f"{len(moves)} moves from the candidate's tokens to the reference's"
    ranges = [f"{low:g} to {high:g}" for low, high in pairwise((0, *STEPS))]
    legend = "".join(
        f'<li><span class="swatch cost-{index}"></span>{words}</li>'
        for index, words in enumerate([*ranges, f"{STEPS[-1]:g} and more"])
    )
    return (
        '<figure class="plan">'
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{said}">'
        f'<text class="head" x="{MARGIN - 8}" y="16" text-anchor="end">candidate</text>'
        f'<text class="head" x="{WIDTH - MARGIN + 8}" y="16">reference</text>'
        f"{''.join(lines)}{''.join(words)}</svg>"
        f'<figcaption>Squared distance of a move:<ul class="legend">{legend}</ul></figcaption>'
        "</figure>"
    )


def move_table(explanation: Explanation) -> list[list[str]]:
    """The costliest moves: from, to, share of the score; the picture shows how much and how far."""
    total = explanation.score or 1.0
    return [
        [
            explanation.candidate.tokens[move.candidate],
            explanation.reference.tokens[move.reference],
            f"{100 * move.share / total:.1f}%",
        ]
        for move in explanation.moves()[:LISTED]
        if move.share > 0
    ]


def _line(move: Move, most: float) -> str:
    """A move as a curve, as SVG."""
    left, right = MARGIN, WIDTH - MARGIN
    start, end = (ROW * (index + 1) + 12 for index in (move.candidate, move.reference))
    middle = (left + right) / 2
    width = THINNEST + (THICKEST - THINNEST) * move.mass / most
    return (
        f'<path class="cost-{step_of(move.distance)}" stroke-width="{width:.1f}" '
        f'd="M{left},{start} C{middle:.0f},{start} {middle:.0f},{end} {right},{end}"/>'
    )


def _word(token: str, index: int, side: int) -> str:
    """A token beside its end of the curves, as SVG; long ones are cut."""
    shown = token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"
    x, anchor = ((MARGIN - 8, "end"), (WIDTH - MARGIN + 8, "start"))[side]
    y = ROW * (index + 1) + 17
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(shown)}</text>'
