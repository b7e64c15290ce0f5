"""The page of a report: HTML that holds its figures; every text of the data is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from infolm_metric.kernel.settings import Drawn
from infolm_metric.meta_evaluation.agreement_table import AgreementTable
from infolm_metric.meta_evaluation.study import Study
from infolm_metric.meta_evaluation.tables import TITLES, notes, p_value, with_interval

EXAMPLES = 5
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
STYLE = """
body { font: 16px/1.55 Georgia, serif; color: #1a1a1a; background: #fff; max-width: 60rem;
       margin: 2.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .3rem; }
p, ul { max-width: 44rem; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p.about { color: #555; margin-top: 0; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; font: 13px/1.4 system-ui, sans-serif; margin: .8rem 0; }
caption, figcaption { text-align: left; font: 13px/1.45 system-ui, sans-serif; color: #444; }
caption { padding-bottom: .4rem; }
th, td { padding: .25rem .7rem .25rem 0; text-align: right; vertical-align: top;
         font-variant-numeric: tabular-nums; white-space: nowrap; }
th { border-bottom: 1px solid #1a1a1a; }
tr.first td { border-top: 1px solid #ddd; }
th.text, td.text { text-align: left; }
td.long { white-space: normal; min-width: 14rem; }
figure { margin: 1.4rem 0; }
img { max-width: 100%; height: auto; display: block; }
code { font-size: .85em; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Drawing:
    """A figure's file and its width in inches."""

    path: Path
    width: float


def page_lines(study: Study, drawings: Mapping[str, Drawing]) -> Iterator[str]:
    """The page, line by line."""
    ratings, table = study.ratings, study.table
    criterion = next(iter(ratings.human))
    spoken = _spoken(criterion)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Agreement with people</title>\n<style>{STYLE}</style>\n</head>\n<body>"
    yield "<h1>Do the metrics agree with people?</h1>"
    yield (
        f'<p class="about">{len(ratings.systems)} systems, {len(ratings.samples)} samples, '
        f"{len(ratings.predictions)} texts; human scores of "
        f"{escape(_listed([_spoken(name) for name in ratings.human]))}.</p>"
    )
    yield "<h2>Summary</h2>"
    yield "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in _summary(table)) + "</ul>"

    turned = f"; {escape(study.ours)}, where lower is better, is negated" if study.negated else ""
    yield "<h2>Agreement</h2>"
    yield (
        "<p>At the system level the mean scores of the systems are correlated with their mean "
        "human scores: does the metric rank systems as people do? At the text level the scores of "
        "the systems' texts for one sample are correlated, and the samples averaged: does it rank "
        f"texts? Higher is better for every metric here{turned}.</p>"
    )
    for level in table.names("level"):
        yield from _agreement_table(table, level)
    yield f"<p>{escape(' '.join(notes(table)))}</p>"
    yield from _figure(
        drawings,
        "correlation",
        "Pearson's correlation of the systems' means with each criterion, with intervals.",
    )

    yield "<h2>Do the metrics say the same?</h2>"
    yield (
        "<p>Two metrics that order the systems alike cannot differ much in their agreement with "
        "people. Where they do differ, Williams' test says whether so few systems can show it.</p>"
    )
    yield from _figure(
        drawings, "metrics", "Pearson's correlation between the metrics, over the systems' means."
    )
    if "williams" in drawings:
        yield from _figure(
            drawings,
            "williams",
            f"Williams' test of the difference between two metrics' correlations with {spoken}: "
            "the two-sided p-value, not corrected for the number of pairs. Dark: they differ.",
        )

    yield "<h2>Good and poor texts</h2>"
    yield (
        "<p>The further apart the two histograms, the better a single score tells a good text from "
        "a poor one.</p>"
    )
    yield from _figure(
        drawings,
        "distributions",
        f"Scores of the texts in the best and the worst quarter by {spoken}; lines mark means.",
    )
    yield from _disagreements(study, criterion)

    if study.drawn:
        over = dict.fromkeys(_spoken(name) for drawn in study.drawn for name in drawn.over)
        yield f"<h2>{escape(_listed(list(over)).capitalize())}</h2>"
        yield (
            "<p>The same texts, scored with other settings. To choose settings by such curves and "
            "then to report what they say is to fool oneself: <code>infolm tune</code> chooses on "
            "one part of the samples and reports on another.</p>"
        )
    for drawn in study.drawn:
        by = _listed([_spoken(name) for name in drawn.over])
        of = _spoken("+".join(drawn.settings[0].names))
        yield from _figure(
            drawings,
            title(drawn),
            f"Correlation with each criterion by {by}."
            if len(drawn.over) == 1
            else f"Correlation of {of} by {by}, averaged over the criteria.",
        )

    yield "<h2>How it was made</h2>"
    yield f"<p>The signature of {escape(study.ours)}: <code>{escape(study.signature)}</code></p>"
    yield (
        "<p>Figures: after Colombo, Clavel and Piantanida 2022, InfoLM: A New Metric to Evaluate "
        "Summarization &amp; Data2Text Generation, AAAI. Williams' test for metrics: Graham and "
        "Baldwin 2014. Resampling of systems and samples: Deutsch, Dror and Roth 2021.</p>"
    )
    yield "</body>\n</html>"


def _summary(table: AgreementTable) -> Iterator[str]:
    """What the figures say, in sentences."""
    for criterion in table.names("criterion"):
        cells = [
            table.find(metric, criterion, "system", "pearson") for metric in table.names("metric")
        ]
        cells = [cell for cell in cells if not np.isnan(cell.value)]
        if not cells:
            yield f"For {_spoken(criterion)} no correlation is defined."
            continue
        best = max(cells, key=lambda cell: cell.value)
        within = [cell for cell in cells if cell is not best and cell.high >= best.value]
        yield (
            f"{_spoken(criterion).capitalize()} is predicted best by {best.metric} (Pearson "
            f"{with_interval(best)} over systems)"
            + (
                f", which lies within the interval of {_listed([c.metric for c in within])}."
                if within
                else "."
            )
        )
    few = " With so few systems the intervals are wide." if table.systems < 30 else ""
    yield (
        "Intervals that overlap do not prove that two metrics agree with people alike, nor that "
        "they differ: see the tests below." + few
    )


def _agreement_table(table: AgreementTable, level: str) -> Iterator[str]:
    statistics = list(dict.fromkeys(c.statistic for c in table.cells if c.level == level))
    yield f'<div class="wide"><table><caption>{level.capitalize()} level</caption><tr>'
    yield '<th class="text">criterion</th><th class="text">metric</th>'
    yield "".join(f"<th>{TITLES.get(name, name)}</th>" for name in statistics)
    yield "".join(f"<th>p vs {escape(name)}</th>" for name in table.against) + "</tr>"
    for criterion in table.names("criterion"):
        for index, metric in enumerate(table.names("metric")):
            cells = [table.find(metric, criterion, level, name) for name in statistics]
            tests = [p_value(cells[0].p_values.get(name)) for name in table.against]
            shown = "" if index else escape(_spoken(criterion))
            yield (
                f'<tr{"" if index else " class=first"}><td class="text">{shown}</td>'
                f'<td class="text">{escape(metric)}</td>'
                + "".join(f"<td>{with_interval(cell)}</td>" for cell in cells)
                + "".join(f"<td>{escape(test)}</td>" for test in tests)
                + "</tr>"
            )
    yield "</table></div>"


def _disagreements(study: Study, criterion: str) -> Iterator[str]:
    """The texts that people and the main metric place most differently."""
    ratings = study.ratings
    rows, columns = ratings.places.T
    people = ratings.human[criterion][rows, columns]
    scores = study.metrics[study.main][rows, columns]
    there = np.flatnonzero(~(np.isnan(people) | np.isnan(scores)))
    if not len(there):
        return
    # Places among all texts, from 0 (worst) to 1 (best).
    places = [_places(values[there]) for values in (people, scores)]
    order = np.argsort(-np.abs(places[0] - places[1]), kind="stable")[:EXAMPLES]
    yield (
        '<div class="wide"><table><caption>The texts that people and '
        f"{escape(study.main)} place most differently, by {escape(_spoken(criterion))}: 0% is the "
        "worst of all texts, 100% the best.</caption>"
    )
    yield (
        '<tr><th class="text">system, id</th><th>people</th><th>metric</th>'
        '<th class="text">text</th><th class="text">a reference</th></tr>'
    )
    for index in order:
        row = there[index]
        name = f"{ratings.systems[rows[row]]}, {ratings.samples[columns[row]]}"
        texts = (ratings.predictions[row], ratings.references[row][0])
        yield (
            f'<tr class="first"><td class="text">{escape(name)}</td>'
            + "".join(f"<td>{place[index]:.0%}</td>" for place in places)
            + "".join(f'<td class="text long">{escape(text)}</td>' for text in texts)
            + "</tr>"
        )
    yield "</table></div>"


def _places(values: np.ndarray) -> np.ndarray:
    """Where each value stands among all, from 0 to 1; equal values share their place.

    >>> _places(np.array([3.0, 1.0, 2.0, 2.0])).tolist()
    [1.0, 0.0, 0.5, 0.5]
    """
    from scipy.stats import rankdata

    return (rankdata(values) - 1) / max(1, len(values) - 1)


def _figure(drawings: Mapping[str, Drawing], name: str, caption: str) -> Iterator[str]:
    path, width = drawings[name].path, drawings[name].width
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    index = list(drawings).index(name) + 1
    yield (
        f'<figure><img src="data:{KINDS[path.suffix]};base64,{content}" alt="{escape(caption)}" '
        f'style="width:{width:.1f}in">'
        f"<figcaption>Figure {index}. {escape(caption)}</figcaption></figure>"
    )


def title(drawn: Drawn) -> str:
    """What the figure of these settings is called."""
    return "-".join(drawn.over)


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _listed(words: Sequence[str]) -> str:
    """The words as an enumeration.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
