"""A report on agreement with people: figures in a folder, and a page that reads like a short paper.

The page holds its figures and needs nothing beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.kernel.checks import check_known
from infolm_metric.kernel.scorer import MetricScorer, Report, silent
from infolm_metric.meta_evaluation import figures
from infolm_metric.meta_evaluation.attack_figure import ATTACKS, Noticed, attack_bars, noticed_of
from infolm_metric.meta_evaluation.ratings import Ratings
from infolm_metric.meta_evaluation.report_page import Drawing, page_of, title
from infolm_metric.meta_evaluation.resampling import RESAMPLES
from infolm_metric.meta_evaluation.study import Study, make_study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE = "index.html"


def write_report(
    ratings: Ratings,
    scorer: MetricScorer,
    folder: str | Path,
    *,
    columns: Mapping[str, np.ndarray] | None = None,
    against: Sequence[str] = (),
    format: str = "png",
    missing: str = "drop",
    resamples: int = RESAMPLES,
    seed: int = 0,
    robustness: Mapping[str, Any] | None = None,
    report: Report = silent,
) -> Path:
    """Writes the figures and the page of a report.

    What is scored are `study.scored` settings, as `score_grid` does it.

    Args:
        ratings: texts of systems with human scores.
        scorer: the metric, with its settings.
        folder: where the page and its figures go; it is made if it is not there.
        columns: other metrics' grids by name, float64 [systems, samples], higher is better
            (default: those of the ratings).
        against: the rivals, names of metrics that the others are tested against.
        format: "png" or "svg", of the figures.
        missing: "drop" or "available", as in `pair`.
        resamples: how many, for intervals and p-values, at least 1.
        seed: the same gives the same draws.
        robustness: what `infolm robustness --json` gives for some metrics, if the page is to
            tell of it.
        report: told of the scores done, as by `score_grid`.

    Returns:
        The path of the page, "index.html" in the folder.

    Raises:
        ImportError: matplotlib is missing.
        TypeError, ValueError: a name, a number, a grid or what `robustness` holds is wrong; nothing
            was scored yet.
        OSError: the model cannot be found, or the folder cannot be written to.
    """
    figures.need_matplotlib()
    check_known("format", format, figures.FORMATS)
    columns = ratings.metrics if columns is None else columns
    noticed = None if robustness is None else noticed_of(robustness)
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"folder must name a folder, got {str(folder)!r}, which is a file")
    study = make_study(ratings, scorer, columns, against, missing, resamples, seed, report=report)
    folder.mkdir(parents=True, exist_ok=True)
    drawings = {}
    for name, figure in _figures(study, noticed):
        path = folder / f"{name}.{format}"
        figures.save(figure, path)
        drawings[name] = Drawing(path, figure.get_figwidth())
    page = folder / PAGE
    page.write_text(page_of(study, drawings, noticed), encoding="utf-8", newline="\n")
    return page


def _figures(study: Study, noticed: Noticed | None) -> Iterator[tuple[str, Figure]]:
    """The name and the drawing of each figure, in the page's order."""
    criterion = next(iter(study.ratings.human))
    human = study.ratings.human[criterion]
    yield "correlation", figures.correlation_bars(study.table)
    yield "metrics", figures.metric_matrix(study.metrics)
    if len(human) >= 4:  # Williams' test needs as many systems
        yield "williams", figures.p_value_matrix(human, study.metrics)
    yield "distributions", figures.score_distributions(human, study.metrics, criterion)
    for drawn in study.drawn:
        draw = figures.setting_curves if len(drawn.over) == 1 else figures.setting_map
        yield title(drawn), draw(drawn, study.pearson)
    if noticed is not None:
        yield ATTACKS, attack_bars(noticed)
