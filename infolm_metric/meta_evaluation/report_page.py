"""The page of a report: HTML that holds its figures; every text of the data is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2
import numpy as np
from scipy.stats import rankdata

from infolm_metric.kernel.settings import Drawn
from infolm_metric.meta_evaluation.agreement_table import AgreementTable
from infolm_metric.meta_evaluation.attack_figure import Noticed, mean_table
from infolm_metric.meta_evaluation.study import Study
from infolm_metric.meta_evaluation.tables import level_table, notes, with_interval

EXAMPLES = 5
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
TEMPLATE = "report.html.jinja"


@dataclass(frozen=True)
class Drawing:
    """A figure's file and its width in inches."""

    path: Path
    width: float

    @property
    def source(self) -> str:
        """The figure as an address that holds it."""
        content = base64.b64encode(self.path.read_bytes()).decode("ascii")
        return f"data:{KINDS[self.path.suffix]};base64,{content}"


def page_of(study: Study, drawings: Mapping[str, Drawing], noticed: Noticed | None = None) -> str:
    """The page as HTML; with `noticed` it tells which attacks the metrics notice."""
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"spoken": _spoken, "listed": _listed}
    criterion = next(iter(study.ratings.human))
    return environment.from_string(files(__package__).joinpath(TEMPLATE).read_text("utf-8")).render(
        study=study,
        title=title,
        drawings=drawings,
        criterion=criterion,
        summary=_summary(study.table),
        levels={level: level_table(study.table, level) for level in study.table.names("level")},
        notes=notes(study.table),
        noticed=noticed,
        means=mean_table(noticed or {}),
        disagreements=list(_disagreements(study, criterion)),
    )


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


def _disagreements(study: Study, criterion: str) -> Iterator[tuple[str, ...]]:
    """The texts that people and the main metric place most differently, with both places."""
    ratings = study.ratings
    rows, columns = ratings.places.T
    people = ratings.human[criterion][rows, columns]
    scores = study.metrics[study.main][rows, columns]
    there = np.flatnonzero(~(np.isnan(people) | np.isnan(scores)))
    # Places among all texts, from 0 (worst) to 1 (best).
    places = [_places(values[there]) for values in (people, scores)]
    for index in np.argsort(-np.abs(places[0] - places[1]), kind="stable")[:EXAMPLES]:
        row = there[index]
        name = f"{ratings.systems[rows[row]]}, {ratings.samples[columns[row]]}"
        shown = (f"{place[index]:.0%}" for place in places)
        yield name, *shown, ratings.predictions[row], ratings.references[row][0]


def _places(values: np.ndarray) -> np.ndarray:
    """Where each value stands among all, from 0 to 1; equal values share their place.

    >>> _places(np.array([3.0, 1.0, 2.0, 2.0])).tolist()
    [1.0, 0.0, 0.5, 0.5]
    """
    return (rankdata(values) - 1) / max(1, len(values) - 1)


def title(drawn: Drawn) -> str:
    """What the figure of these settings is called."""
    return "-".join(drawn.over)


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _listed(names: Iterable[str]) -> str:
    """The words as an enumeration.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    words = list(names)
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
