"""The data of the page's plots, tables and coloured texts; pandas frames and plain lists.

Plots draw their labels as text; tables have columns of type "str"; nothing here is markup but
`score_card`, which holds numbers and names of this project alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import pandas as pd

from .comparison import Answer, Curve, MeasureRow, TextAnswer

CANDIDATE, REFERENCE, NEUTRAL = "#e07a3f", "#2a9d8f", "#6366f1"  # colours
MORE_IN = ("candidate", "reference")
GAUGE_ROOM = 1.25  # how far the scale of an unbounded measure goes beyond what it shows
BINS = 10
WEIGHTS = ("none", "light", "medium", "heavy", "heaviest")
WEIGHT_COLOURS = dict(
    zip(WEIGHTS, ("#e2e8f0", "#c7d2fe", "#a5b4fc", "#818cf8", "#6366f1"), strict=True)
)
EQUAL = 1e-9  # weights that differ by less of the heaviest are the same


def shown(value: float) -> str:
    """A score as the page shows it: four decimals, or four digits if it is very small or large.

    >>> shown(0.40684), shown(0.00012345), shown(1234567.0), shown(0.0)
    ('0.4068', '0.0001234', '1.235e+06', '0.0000')
    """
    return f"{value:.4f}" if value == 0 or 1e-3 <= value < 1e5 else f"{value:.4g}"


def bars(entries: Sequence[tuple[str, float]]) -> pd.DataFrame:
    """Vocabulary entries and their probabilities in percent, for a bar plot."""
    rows = [(token or "(unused)", 100 * value, "") for token, value in entries]
    return pd.DataFrame(rows, columns=["token", "percent", "text"])


def driver_bars(answer: Answer) -> pd.DataFrame:
    """The entries that drive the score, with their signed share of it in percent."""
    total = answer.score or 1.0
    return pd.DataFrame(
        [
            (
                driver.token,
                100 * driver.signed_share / total,
                MORE_IN[driver.signed_share < 0],
            )
            for driver in answer.drivers
        ],
        columns=["token", "percent", "side"],
    )


def curve_line(curve: Curve, here: float, name: str) -> pd.DataFrame:
    """A curve, and an upright line at the setting chosen, for a line plot."""
    rows = [(x, y, "score") for x, y in curve]
    (height,) = {y for x, y in curve if x == here}
    rows += [(here, 0.0, "your choice"), (here, height, "your choice")]
    return pd.DataFrame(rows, columns=[name, "score", "line"])


def coloured(text: TextAnswer) -> list[tuple[str, str]]:
    """The tokens of a text with the level of their weight; the heaviest has the last of WEIGHTS,
    unless all weigh the same.
    """
    heaviest = max(token.weight for token in text.tokens)
    if heaviest - min(token.weight for token in text.tokens) < EQUAL * heaviest:
        return [(token.token, WEIGHTS[len(WEIGHTS) // 2]) for token in text.tokens]
    steps = len(WEIGHTS) - 1
    return [(token.token, WEIGHTS[round(steps * token.weight / heaviest)]) for token in text.tokens]


def measure_table(rows: Sequence[MeasureRow]) -> list[list[str]]:
    """The table of all measures: name, score, largest value."""
    return [
        [
            row.name,
            shown(row.score),
            "∞" if math.isinf(row.largest) else f"{row.largest:.4g}",
        ]
        for row in rows
    ]


def parameters_note(rows: Sequence[MeasureRow]) -> str:
    """What alpha and beta the table of all measures was made with, in Markdown."""
    by_measure = {row.name: row.parameters for row in rows if row.parameters}
    distinct = {tuple(parameters.items()) for parameters in by_measure.values()}
    values: dict[str, set[float]] = {}
    for name, value in (item for parameters in distinct for item in parameters):
        values.setdefault(name, set()).add(value)
    if all(len(found) == 1 for found in values.values()):
        shared = " and ".join(f"{name} = {min(found):g}" for name, found in sorted(values.items()))
        return f"With {shared} where a measure has them."
    lists = (
        f"{name}: " + ", ".join(f"{key} = {value:g}" for key, value in parameters.items())
        for name, parameters in by_measure.items()
    )
    return "; ".join(lists).replace("_", r"\_") + "."


def histogram(scores: Sequence[float]) -> pd.DataFrame:
    """The number of pairs in equal ranges of the score; each named by its middle."""
    low, high = min(scores), max(scores)
    width = (high - low) / BINS or max(abs(high), 1.0) / BINS
    counts = [0] * BINS
    for score in scores:
        counts[min(BINS - 1, int((score - low) / width))] += 1
    middles = [f"{low + (index + 0.5) * width:.3g}" for index in range(BINS)]
    return pd.DataFrame({"score": middles, "pairs": counts})


def score_card(answer: Answer) -> str:
    """The score in large, where it lies, and what that means, as HTML.

    It holds nothing that a visitor wrote.
    """
    paraphrase, unrelated = answer.anchors
    bounded = math.isfinite(answer.largest)
    end = answer.largest if bounded else GAUGE_ROOM * max(answer.score, unrelated, paraphrase, 1e-9)
    marks = "".join(
        f'<div class="mark {where}" style="left:{place:.2f}%">'
        f'<span style="transform:translateX(-{place:.0f}%)">{label}</span></div>'
        for place, label, where in (
            (100 * min(1.0, paraphrase / end), "example paraphrase", "above"),
            (100 * min(1.0, unrelated / end), "example of an unrelated pair", "below"),
        )
    )
    limit = (
        f"The largest value is {answer.largest:.4g}."
        if bounded
        else "This measure has no largest value."
    )
    place = f"{100 * min(1.0, answer.score / end):.2f}"
    return (
        f'<div class="score-card"><div class="score-line"><span class="score">'
        f"{shown(answer.score)}</span>"
        f'<span class="measure">{escape(answer.choices.information_measure)}</span></div>'
        f'<p class="verdict"><strong>Lower is better.</strong> {_verdict(answer)}</p>'
        f'<div class="gauge" role="img" aria-label="{shown(answer.score)} on a scale from 0 to '
        f'{end:.4g}"><div class="bar"><div class="fill" style="width:{place}%"></div></div>'
        f'{marks}</div><div class="ends"><span>0: a copy</span>'
        f"<span>{f'{end:.4g}: nothing in common' if bounded else 'no limit'}</span></div>"
        f'<p class="fine">{limit} The two marks are example pairs of this page, scored with the '
        "same settings.</p></div>"
    )


def _verdict(answer: Answer) -> str:
    paraphrase, unrelated = answer.anchors
    for bound, words in (
        (0.0, "0 is the best score there is: the texts make the model expect exactly the same."),
        (
            min(paraphrase, unrelated),
            "The model expects much the same of both texts: they are as close as the paraphrase "
            "among the examples, or closer.",
        ),
        (
            max(paraphrase, unrelated),
            "The texts lie between the paraphrase and the unrelated pair among the examples.",
        ),
    ):
        if answer.score <= bound:
            return words
    return "The texts are further apart than the unrelated pair among the examples."
