"""Draw the figures of the documentation (requires the `plots` extra).

    python -m tools.figures comparison docs/comparison.svg
    python -m tools.figures trade docs/trade_off.svg --csv results/FILE.csv

`comparison` shows InfoLM's predictions for two paraphrases, with the bundled model and uniform
weights: per token on the left, and on the right the mean for the most probable words of at least
four letters. `trade` plots detected attacks against correlation with human judgments, with one
panel per data set. FILE.csv is written by `python -m tools.study trade`.
"""

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import torch

from infolm_metric import InfoLMScorer

REFERENCE = "A cat was asleep on the couch."
CANDIDATE = "The cat slept on the sofa."
COLOURS = {"reference": "#1f5a92", "candidate": "#c2571a"}
PREDICTIONS, WORDS, LETTERS = 3, 12, 4
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")  # Okabe and Ito 2008


def draw_text(axes: Any, view: Any, name: str, text: str, vocabulary: Any) -> None:
    """Draw the tokens of a text in a row, and the predictions for each token below it."""
    axes.set_axis_off()
    axes.set(xlim=(-0.2, len(view.tokens)), ylim=(-PREDICTIONS - 0.6, 1.6))
    title = f"{name}: “{text}”"
    axes.text(-0.2, 1.35, title, fontsize=11, fontweight="bold", color=COLOURS[name])
    best = view.log_predictions.exp().topk(PREDICTIONS)
    for column, token in enumerate(view.tokens):
        axes.text(column, 0.3, token, fontsize=11, va="center", fontweight="bold")
        for rank in range(PREDICTIONS):
            word = vocabulary[best.indices[column, rank]]
            share = best.values[column, rank].item()
            label = f"{word} {share:.0%}" if share >= 0.005 else f"{word} <1%"
            axes.text(column, -0.65 - rank, label, fontsize=8.5, color="#444444")
    axes.axhline(-0.15, xmin=0.02, color="#bbbbbb", linewidth=0.8)


def draw_distributions(axes: Any, explanation: Any) -> None:
    """Draw a bar chart of the mean probabilities of the most probable words."""
    vocabulary = explanation.vocabulary
    sides = {name: getattr(explanation, name).log_distribution.exp() for name in COLOURS}
    words = torch.tensor([word.isalpha() and len(word) >= LETTERS for word in vocabulary])
    indices = (torch.maximum(*sides.values()) * words).topk(WORDS).indices.flip(0)
    for offset, (name, distribution) in zip((0.2, -0.2), sides.items(), strict=True):
        places = [rank + offset for rank in range(WORDS)]
        axes.barh(places, 100 * distribution[indices], 0.38, color=COLOURS[name], label=name)
    axes.set_yticks(range(WORDS), [vocabulary[index] for index in indices])
    axes.set_xlabel("mean probability over the positions, %")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"Fisher-Rao distance {explanation.score:.2f}", fontsize=11, fontweight="bold")


def comparison() -> Any:
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    explanation = scorer.explain(CANDIDATE, REFERENCE)
    figure = plt.figure(figsize=(11, 4.6), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(2, 2, width_ratios=(2.1, 1))
    for row, (name, text) in enumerate((("reference", REFERENCE), ("candidate", CANDIDATE))):
        view = getattr(explanation, name)
        draw_text(figure.add_subplot(grid[row, 0]), view, name, text, explanation.vocabulary)
    draw_distributions(figure.add_subplot(grid[:, 1]), explanation)
    return figure


def trade(table: pd.DataFrame) -> Any:
    """Plot detected attacks against segment-level tau, for MENLI combined with other metrics."""
    partners = table.index.str.extract("MENLI with (.*) ", expand=False)  # without the weight
    sets = table.columns[1:]
    figure, panels = plt.subplots(1, len(sets), figsize=(2.9 * len(sets), 2.8), squeeze=False)
    for axes, data in zip(panels[0], sets, strict=True):
        points = table[[data, "attacks detected"]]
        for color, partner in zip(OKABE_ITO, partners.dropna().unique(), strict=False):
            combinations = points[partners == partner].to_numpy()
            axes.plot(*combinations.T, "o-", markersize=3, color=color)
            axes.plot(*points.loc[partner], "x", markersize=3, color=color, label=partner)
        axes.set(title=data, xlabel="segment-level tau, x 100")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0, 0].set_ylabel("attacks detected, %")
    panels[0, 0].legend(fontsize=7, frameon=False)
    figure.set_layout_engine("constrained")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("figure", choices=("comparison", "trade"))
    parser.add_argument("output", type=Path, help="output file, such as docs/comparison.svg")
    parser.add_argument("--csv", type=Path, help="input file for `trade`")
    arguments = parser.parse_args()
    plt.rcParams["svg.hashsalt"] = "infolm"  # makes the output deterministic
    if arguments.figure == "comparison":
        figure = comparison()
    else:
        figure = trade(pd.read_csv(arguments.csv, index_col="metric"))
    options = {"metadata": {"Date": None}} if arguments.output.suffix == ".svg" else {}
    figure.savefig(arguments.output, dpi=120, **options)


if __name__ == "__main__":
    main()
