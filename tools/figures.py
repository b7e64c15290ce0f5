"""Draw the figure of the documentation (requires the `tools` extra).

    python -m tools.figures docs/trade_off.svg --csv results/FILE.csv

It plots detected attacks against correlation with human judgments, with one panel per data set.
FILE.csv is written by `python -m tools.study trade`.
"""

import argparse
import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from tools.study import NLI, UNIFORM

LABELLED_PARTNER, LABELLED_WEIGHTS = UNIFORM, (0, 0.2, 0.4, 0.5, 0.6, 0.8)
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")  # Okabe and Ito 2008


def trade(table: pd.DataFrame) -> Any:
    """Plot detected attacks against segment-level tau, for MENLI combined with other metrics.

    A line starts at the other metric alone (weight 0) and ends at MENLI alone (weight 1).
    """
    parts = table.index.str.extract(r"MENLI with (?P<partner>.*) (?P<weight>[\d.]+)$")
    sets = table.columns[1:]
    rows = math.ceil(len(sets) / 2)
    figure, panels = plt.subplots(rows, 2, figsize=(9, 3.7 * rows), squeeze=False, sharey=True)
    for axes in panels.flat[len(sets) :]:
        axes.set_axis_off()
    for axes, data in zip(panels.flat, sets, strict=False):
        points = table[[data, "attacks detected"]]
        for color, partner in zip(OKABE_ITO, parts["partner"].dropna().unique(), strict=False):
            inner = points[(parts["partner"] == partner).to_numpy()]
            line = pd.concat([points.loc[[partner]], inner, points.loc[[NLI]]]).to_numpy()
            if np.isnan(line).any():  # the metric was not run on the whole data set
                continue
            axes.plot(*line.T, "o-", markersize=3, color=color, label=partner_name(partner))
            if partner == LABELLED_PARTNER:
                weights = [0.0, *parts["weight"][parts["partner"] == partner].astype(float), 1.0]
                label_weights(axes, line, weights, color)
        axes.plot(*points.loc[NLI], "k*", markersize=10, label="MENLI alone (weight 1)")
        axes.set(title=data, xlabel="segment-level Kendall's tau, x 100")
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(0.1)
    for axes in panels[:, 0]:
        axes.set_ylabel("errors detected, %")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    title = (
        "MENLI combined with another metric. Points: weights of MENLI from 0 (the other metric "
        "alone) to 1"
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, title=title)
    figure.set_layout_engine("constrained")
    return figure


def partner_name(name: str) -> str:
    """Return the name of a metric in the documentation."""
    return name.replace("BaryScore uniform", "BaryScore, uniform weights")


def label_weights(axes: Any, line: np.ndarray, weights: list[float], color: str) -> None:
    """Write some of the weights next to the points of a line, [weights, 2]."""
    style = {"textcoords": "offset points", "fontsize": 8, "color": color}
    for point, weight in zip(line, weights, strict=True):
        if weight in LABELLED_WEIGHTS:  # small weights are close to other lines
            axes.annotate(
                f"{weight:g}", point, xytext=(6, 3) if weight > 0.3 else (-3, -11), **style
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path, help="output file, such as docs/trade_off.svg")
    parser.add_argument("--csv", type=Path, required=True, help="input file")
    arguments = parser.parse_args()
    plt.rcParams["svg.hashsalt"] = "infolm"  # makes the output deterministic
    figure = trade(pd.read_csv(arguments.csv, index_col="metric"))
    options = {"metadata": {"Date": None}} if arguments.output.suffix == ".svg" else {}
    figure.savefig(arguments.output, dpi=120, **options)


if __name__ == "__main__":
    main()
