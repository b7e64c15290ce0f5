"""The data of the page's plots, tables and coloured texts; pandas frames and plain lists.

Plots draw their labels as text; tables have columns of type "str"; nothing here is markup but the
cards, in which what may come from a visitor is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd

from infolm_metric.kernel.baselines import Spread

from .comparison import Curve, Driver, MaskedToken, MeasureRow
from .judged import Judged
from .messages import notes

CANDIDATE, REFERENCE, NEUTRAL = "#e07a3f", "#2a9d8f", "#6366f1"  # colours
MORE_IN = ("candidate", "reference")
GAUGE_ROOM = 1.25  # how far the scale of an unbounded measure goes beyond what it shows
BLIND_SPOT = "Close does not mean correct: a wrong number or a missing “not” moves it little."
UNKNOWN = (
    "What unrelated texts score with these settings is not known, so there is no verdict. Compare "
    "the score only with others made with the same settings."
)
LOWER = "0 is a copy, lower is closer"
HIGHER = "1: each says the other, higher is closer"
INFERRED = "A small model says so, and it can be wrong; its probabilities stand below."
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


def driver_bars(drivers: Sequence[Driver], score: float) -> pd.DataFrame:
    """The entries that drive the score, with their signed share of it in percent."""
    total = score or 1.0
    rows = [
        (driver.token, 100 * driver.signed_share / total, MORE_IN[driver.signed_share < 0])
        for driver in drivers
    ]
    return pd.DataFrame(rows, columns=["token", "percent", "side"])


def curve_line(curve: Curve, here: float, name: str) -> pd.DataFrame:
    """A curve, and an upright line at the setting chosen, for a line plot."""
    rows = [(x, y, "score") for x, y in curve]
    (height,) = {y for x, y in curve if x == here}
    rows += [(here, 0.0, "your choice"), (here, height, "your choice")]
    return pd.DataFrame(rows, columns=[name, "score", "line"])


def coloured(tokens: Sequence[MaskedToken]) -> list[tuple[str, str]]:
    """The tokens of a text with the level of their weight, one of WEIGHTS.

    The heaviest has the last level, unless all weigh the same.
    """
    heaviest = max(token.weight for token in tokens)
    if heaviest - min(token.weight for token in tokens) < EQUAL * heaviest:
        return [(token.token, WEIGHTS[len(WEIGHTS) // 2]) for token in tokens]
    steps = len(WEIGHTS) - 1
    return [(token.token, WEIGHTS[round(steps * token.weight / heaviest)]) for token in tokens]


def measure_table(rows: Sequence[MeasureRow]) -> list[list[str]]:
    """The table of all measures: name, score, largest value."""
    return [
        [row.label, shown(row.score), "∞" if math.isinf(row.largest) else f"{row.largest:.4g}"]
        for row in rows
    ]


def histogram(scores: Sequence[float]) -> pd.DataFrame:
    """The number of pairs in equal ranges of the score; each named by its middle."""
    low, high = min(scores), max(scores)
    # Wide enough for as many ranges, where all scores are nearly equal.
    width = max(high - low, 1e-9 * max(abs(low), 1.0))
    counts, edges = np.histogram(scores, BINS, (low, low + width))
    middles = [f"{middle:.3g}" for middle in (edges[:-1] + edges[1:]) / 2]
    return pd.DataFrame({"score": middles, "pairs": counts})


def notice(text: str, kind: str = "waiting") -> str:
    """A card that holds a message in the place of an answer, as HTML."""
    role = "alert" if kind == "refused" else "status"
    return f'<div class="score-card {kind}" role="{role}"><p>{escape(text)}</p></div>'


def unrelated_words(spread: Spread) -> str:
    """What unrelated texts score.

    >>> unrelated_words(Spread.of([0.5, 0.75, 1.0]))
    'Unrelated texts score about 0.75 (eight in ten between 0.55 and 0.95).'
    """
    low, high = spread.deciles[0], spread.deciles[-1]
    return (
        f"Unrelated texts score about {spread.mean:.2g} (eight in ten between {low:.2g} and "
        f"{high:.2g})."
    )


def score_card(answer: Judged) -> str:
    """The verdict, the score, where it lies, and what to keep in mind, as HTML."""
    judged, spread = answer.remarks.judged, answer.unrelated
    said = [INFERRED if answer.best else BLIND_SPOT] if judged else []
    if spread is None:
        said.append(UNKNOWN)
    elif judged:
        said.append(unrelated_words(spread))
    said += [escape(note) for note in notes(answer.remarks)]
    sense = HIGHER if answer.best else LOWER
    reading = sense if judged else "says nothing here"
    return (
        f'<div class="score-card"><p class="verdict">{answer.verdict or "No verdict"}</p>'
        f'<div class="score-line"><span class="score">{shown(answer.score)}</span>'
        f'<span class="measure">{reading} ({answer.name})</span></div>'
        f"{_gauge(answer) if judged else ''}"
        f'<ul class="fine">{"".join(f"<li>{each}</li>" for each in said)}</ul></div>'
    )


def _gauge(answer: Judged) -> str:
    """The score as a bar on a scale, and where unrelated texts lie on it, as HTML."""
    spread, bounded = answer.unrelated, math.isfinite(answer.largest)
    low, high = (spread.deciles[0], spread.deciles[-1]) if spread else (0.0, 0.0)
    end = answer.largest if bounded else GAUGE_ROOM * max(answer.score, high, 1e-9)
    start, stop, place = (100 * min(1.0, value / end) for value in (low, high, answer.score))
    band = (
        f'<div class="band" style="left:{start:.1f}%;width:{stop - start:.1f}%"></div>'
        f'<span class="band-name" style="left:{start:.1f}%">unrelated texts</span>'
    )
    first, last = "0: a copy", f"{end:.4g}: the largest possible" if bounded else "no limit"
    if answer.best:
        first, last = "0: neither follows", f"{end:.4g}: each says the other"
    return (
        f'<div class="gauge" role="img" aria-label="{shown(answer.score)} on a scale from 0 to '
        f'{end:.4g}"><div class="bar"><div class="fill" style="width:{place:.2f}%"></div>'
        f'{band if spread else ""}</div></div><div class="ends"><span>{first}</span>'
        f"<span>{last}</span></div>"
    )
