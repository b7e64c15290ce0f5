"""Plot of each metric's correlation with human scores, with intervals."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import PurePath

from infolm_metric.core.checks import check_known
from infolm_metric.meta_evaluation.agreement import TITLES, AgreementTable

COLOUR = "#0072B2"  # Okabe and Ito 2008: safe for color-blind readers
PANEL_INCHES = (3.2, 1.2, 0.28)  # width, height without metrics, additional height per metric


def check_plot(path: str | PathLike[str]) -> None:
    """Check that matplotlib is installed and supports the format of the file."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise ImportError(
            "plots require matplotlib, which is not installed. Run: pip install "
            "'matplotlib>=3.9,<4'"
        ) from error
    formats = tuple(FigureCanvasBase.get_supported_filetypes())
    check_known("plot format", PurePath(path).suffix.lower().removeprefix("."), formats)


def plot_agreement(
    table: AgreementTable, path: str | PathLike[str], statistic: str = "pearson"
) -> None:
    """Plot a `statistic` of each metric with its interval, in one panel per level and criterion.

    `table` is the result of `agreement`. The extension of `path` selects the format, such as .png,
    .svg or .pdf. Raises ImportError if matplotlib is missing (the `plots` extra installs it),
    InputError if the format is unknown or the statistic is not in the table, and OSError if the
    file cannot be written.

    >>> import numpy as np, tempfile
    >>> from infolm_metric.meta_evaluation import agreement
    >>> human = np.arange(5.0)[:, None] + np.random.default_rng(0).normal(size=(5, 30))
    >>> table = agreement({"fluency": human}, {"mine": human + 1}, resamples=20)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_agreement(table, f"{folder}/agreement.svg")
    """
    check_plot(path)
    check_known("statistic", statistic, table.names("statistic"))
    from matplotlib.figure import Figure

    levels = list(dict.fromkeys(c.level for c in table.cells if c.statistic == statistic))
    criteria, metrics = map(table.names, ("criterion", "metric"))
    width, height, row = PANEL_INCHES
    size = 1 + width * len(criteria), len(levels) * (height + row * len(metrics))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(levels), len(criteria), squeeze=False, sharex="row", sharey=True)
    for level, level_panels in zip(levels, panels, strict=True):
        for criterion, axes in zip(criteria, level_panels, strict=True):
            cells = [table.find(metric, criterion, level, statistic) for metric in metrics]
            rows = range(len(cells))
            axes.axvline(0, color="0.8", linewidth=1)
            axes.hlines(rows, [c.low for c in cells], [c.high for c in cells], color=COLOUR)
            axes.plot([c.value for c in cells], rows, "o", color=COLOUR)
            axes.set_yticks(rows, metrics)
            axes.set_title(criterion.replace("_", " "))
            axes.set_xlabel(f"{TITLES[statistic]}, {level} level")
            axes.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylim(len(metrics) - 0.5, -0.5)  # shared: the first metric is at the top
    figure.savefig(fspath(path))
