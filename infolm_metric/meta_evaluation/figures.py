"""The paper's figures for any data, with matplotlib; each function draws one and returns it.

Figure numbers are those of Colombo et al. 2022. Nothing here touches matplotlib's global state.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.kernel.settings import Drawn, Settings
from infolm_metric.meta_evaluation.agreement_table import AgreementTable
from infolm_metric.meta_evaluation.correlations import pearson, system_means
from infolm_metric.meta_evaluation.williams import compare_metrics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito 2008: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999")
GOOD, POOR = COLOURS[0], COLOURS[5]
PLAIN: dict[Any, Any] = {  # matplotlib names its settings one by one in its types
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
}
FORMATS = ("png", "svg")
PEARSON = "Pearson, system level"

Agreements = Mapping[Settings, Mapping[str, float]]
"""Settings -> criterion -> correlation."""


def correlation_bars(table: AgreementTable) -> Figure:
    """Figure 1: each metric's correlation with each criterion, with its interval."""
    criteria, bars = table.names("criterion"), {}
    for metric in table.names("metric"):
        cells = [table.find(metric, criterion, "system", "pearson") for criterion in criteria]
        bars[metric] = np.asarray([(cell.value, cell.low, cell.high) for cell in cells]).T
    width = max(4.5, 0.22 * len(criteria) * (len(bars) + 1) + 2.2)
    figure, axes = grouped_bars(bars, PEARSON, width)
    axes.axhline(0, color="#444444", linewidth=0.8)
    axes.set_xticks(np.arange(len(criteria)), [_words(name) for name in criteria])
    lowest = np.nanmin([0.0, *np.ravel([each[:2] for each in bars.values()])])
    axes.set_ylim(max(-1.0, lowest - 0.05), 1.0)
    return figure


def grouped_bars(bars: Mapping[str, np.ndarray], label: str, width: float) -> tuple[Figure, Axes]:
    """Side by side in each group a bar of each name with its interval.

    `bars` holds by name the values and the lower and upper ends of the intervals, [3, groups].
    """
    figure, (axes,) = new_figure(1, width=width)
    room = 0.8 / len(bars)
    for index, (name, (values, low, high)) in enumerate(bars.items()):
        places = np.arange(len(values)) + (index - (len(bars) - 1) / 2) * room
        axes.bar(places, values, 0.9 * room, color=COLOURS[index % len(COLOURS)], label=name)
        # A percentile interval need not hold the value itself.
        reach = np.maximum(0, [values - low, high - values])
        axes.errorbar(places, values, yerr=reach, fmt="none", ecolor="#444444", elinewidth=0.9)
    axes.set_ylabel(label)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    legend_above(figure, axes, len(bars))
    return figure, axes


def metric_matrix(metrics: Mapping[str, np.ndarray]) -> Figure:
    """Figure 2: how the metrics correlate with each other; grids [systems, samples] by name."""
    names = list(metrics)
    means = [system_means(grid) for grid in metrics.values()]
    values = np.asarray([[pearson(x, y) for y in means] for x in means])
    return _heat(values, names, names, "RdBu_r", (-1, 1), "Pearson")[0]


def score_distributions(
    human: np.ndarray, metrics: Mapping[str, np.ndarray], criterion: str, share: float = 0.25
) -> Figure:
    """Figure 3: the scores of the texts that people find best and of those that they find worst.

    The best and the worst `share` of all texts by the criterion's scores; grids [systems, samples].
    """
    figure, panels = new_figure(len(metrics), columns=3, height=2.3)
    for axes, (name, grid) in zip(panels, metrics.items(), strict=True):
        there = ~(np.isnan(human) | np.isnan(grid))
        people, scores = human[there], grid[there]
        low, high = np.quantile(people, [share, 1 - share])
        edges = np.histogram_bin_edges(scores, bins=int(min(25, 4 + len(scores) ** 0.5))).tolist()
        for chosen, colour, label in (
            (people <= low, POOR, f"worst {share:.0%}"),
            (people >= high, GOOD, f"best {share:.0%}"),
        ):
            axes.hist(
                scores[chosen],
                edges,
                density=True,
                color=colour,
                alpha=0.45,
                label=f"{label} by {_words(criterion, ' ')}",
            )
            axes.axvline(scores[chosen].mean(), color=colour, linewidth=1.4)
        axes.set_title(name)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
    panels[0].set_ylabel("density of texts")
    legend_above(figure, panels[0], 2)
    return figure


def setting_curves(drawn: Drawn, pearson: Agreements) -> Figure:
    """Figure 4: correlation with each criterion against a setting, a line for each score."""
    (over,) = drawn.over
    criteria = list(pearson[drawn.settings[0]])
    values = _values(drawn, over)
    names = list(dict.fromkeys(each.describe() for each in drawn.settings))
    figure, panels = new_figure(len(criteria), columns=3, height=2.4, share=True)
    for axes, criterion in zip(panels, criteria, strict=True):
        for index, name in enumerate(names):
            line = [each for each in drawn.settings if each.describe() == name]
            axes.plot(
                [getattr(each, over) for each in line],
                [pearson[each][criterion] for each in line],
                marker="o",
                markersize=3.5,
                color=COLOURS[index % len(COLOURS)],
                label=name,
            )
        axes.set_title(_words(criterion, " "))
        axes.set_xscale("log" if min(values) > 0 else "linear")
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_xlabel(_words(over, " "))
    panels[0].set_ylabel(PEARSON)
    legend_above(figure, panels[0], len(names))
    return figure


def setting_map(drawn: Drawn, pearson: Agreements) -> Figure:
    """Figure 16: correlation, averaged over the criteria, by the values of two settings."""
    rows, columns = (_values(drawn, over) for over in drawn.over)
    if drawn.symmetric:
        rows = columns = list(dict.fromkeys([*rows, *columns]))
    values = np.full((len(rows), len(columns)), np.nan)
    for each in drawn.settings:
        row, column = (getattr(each, over) for over in drawn.over)
        place = rows.index(row), columns.index(column)
        values[place] = np.mean(list(pearson[each].values()))
        if drawn.symmetric:
            values[place[::-1]] = values[place]
    spread = np.nanmin(values), np.nanmax(values)
    texts = [f"{value:g}" for value in columns], [f"{value:g}" for value in rows]
    # Upwards, as an axis of numbers runs.
    figure, axes = _heat(values[::-1], texts[1][::-1], texts[0], "viridis", spread, PEARSON)
    axes.set_ylabel(_words(drawn.over[0], " "))
    axes.set_xlabel(_words(drawn.over[1], " "))
    axes.set_xticks(range(len(columns)), texts[0], rotation=0, ha="center")
    return figure


def p_value_matrix(human: np.ndarray, metrics: Mapping[str, np.ndarray]) -> Figure:
    """Figure 22: Williams' test of every two metrics; grids [systems, samples]."""
    names = list(metrics)
    people = system_means(human)
    means = [system_means(grid) for grid in metrics.values()]
    values = np.full((len(names), len(names)), np.nan)
    for row, column in itertools.permutations(range(len(names)), 2):
        values[row, column] = compare_metrics(people, means[row], means[column]).p_value
    return _heat(values, names, names, "Blues_r", (0, 0.2), "p-value")[0]


def save(figure: Figure, path: Path) -> None:
    """Writes the figure in the format that the name ends in, the same bytes each time."""
    from matplotlib import rc_context

    metadata = {"Date": None} if path.suffix == ".svg" else {}
    with rc_context({**PLAIN, "svg.hashsalt": path.name}):
        figure.savefig(path, dpi=150, bbox_inches="tight", metadata=metadata)


def need_matplotlib() -> None:
    """Raise ImportError, which names the extra, unless matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "figures need matplotlib; install it with: pip install matplotlib"
        ) from error


def new_figure(
    panels: int, width: float = 0.0, columns: int = 1, height: float = 3.0, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels in rows of `columns`."""
    need_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    across = 2 if panels == 4 and columns > 1 else min(columns, panels)
    down = -(-panels // across)
    with rc_context(PLAIN):
        figure = Figure((width or 2.9 * across + 0.4, height * down), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharey=share)
    axes = list(grid.flat)
    for empty in axes[panels:]:
        empty.set_visible(False)
    return figure, axes[:panels]


def _heat(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    colours: str,
    limits: tuple[float, float],
    label: str,
) -> tuple[Figure, Axes]:
    """A matrix as colours with its numbers."""
    size = 0.62 * max(values.shape) + 1.8
    figure, (axes,) = new_figure(1, width=size + 1.2, height=size)
    image = axes.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="equal")
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
            axes.text(
                column,
                row,
                _cell(value),
                ha="center",
                va="center",
                fontsize=7.5,
                color="black" if light else "white",
            )
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    extend = "max" if np.nanmax(values) > limits[1] + 1e-9 else "neither"
    figure.colorbar(image, ax=axes, label=label, shrink=0.8, extend=extend)
    return figure, axes


def _cell(value: float) -> str:
    """A number that fits a cell: two digits, without the leading zero of a fraction.

    >>> _cell(0.504), _cell(-0.5), _cell(1.0), _cell(0.0004)
    ('.50', '-.50', '1.0', '<.01')
    """
    if 0 < value < 0.005:
        return "<.01"
    text = f"{value:.2f}"
    return "1.0" if text == "1.00" else text.replace("0.", ".", 1) if abs(value) < 1 else text


def _values(drawn: Drawn, over: str) -> list[Any]:
    """The values of a setting that are drawn, in order."""
    return list(dict.fromkeys(getattr(each, over) for each in drawn.settings))


def _words(name: str, between: str = "\n") -> str:
    """A column's name as words, for a narrow place.

    >>> _words("data_coverage", " ")
    'data coverage'
    """
    return name.replace("_", between)


def legend_above(figure: Figure, axes: Axes, entries: int) -> None:
    """The legend over the figure, clear of what is drawn."""
    handles, labels = axes.get_legend_handles_labels()
    longest = max(map(len, labels))
    across = max(1, min(entries, int(figure.get_figwidth() * 13 / (longest + 6))))
    figure.legend(handles, labels, loc="outside upper left", ncols=across, frameon=False)
