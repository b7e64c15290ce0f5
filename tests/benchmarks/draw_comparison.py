"""Draws what InfoLM compares: what the model expects of two texts, position by position and in all.

    python tests/benchmarks/draw_comparison.py docs/comparison.svg

Two texts of one meaning, read by the bundled model with uniform weights. On the left each token of
either text, and below it the likeliest words that the model predicts when it is masked; on the
right the average of these predictions, for the words of at least four letters that either text
makes likely. Needs the extra `plots`.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from infolm_metric import InfoLMScorer

REFERENCE = "A cat was asleep on the couch."
CANDIDATE = "The cat slept on the sofa."
COLOURS = {"reference": "#1f5a92", "candidate": "#c2571a"}
PREDICTIONS, WORDS, LETTERS = 3, 12, 4


def draw_text(axes, view, name, text, vocabulary):
    """The tokens of a text in a row, and under each what is predicted in its place."""
    axes.set_axis_off()
    columns = len(view.tokens)
    axes.set(xlim=(-0.2, columns), ylim=(-PREDICTIONS - 0.6, 1.6))
    title = f"{name}: “{text}”"
    axes.text(-0.2, 1.35, title, fontsize=11, fontweight="bold", color=COLOURS[name])
    best = view.log_predictions.exp().topk(PREDICTIONS)
    for column, token in enumerate(view.tokens):
        axes.text(column, 0.3, token, fontsize=11, va="center", fontweight="bold")
        for rank in range(PREDICTIONS):
            word = vocabulary[best.indices[column, rank]]
            share = best.values[column, rank].item()
            shown = f"{word} {share:.0%}" if share >= 0.005 else f"{word} <1%"
            axes.text(column, -0.65 - rank, shown, fontsize=8.5, color="#444444")
    axes.axhline(-0.15, xmin=0.02, color="#bbbbbb", linewidth=0.8)


def draw_distributions(axes, explanation):
    """The probabilities of the likeliest words in both texts' distributions, as bars."""
    vocabulary = explanation.vocabulary
    sides = {name: getattr(explanation, name).log_distribution.exp() for name in COLOURS}
    words = torch.tensor([word.isalpha() and len(word) >= LETTERS for word in vocabulary])
    shown = (torch.maximum(*sides.values()) * words).topk(WORDS).indices.flip(0)
    for offset, (name, distribution) in zip((0.2, -0.2), sides.items(), strict=True):
        places = [rank + offset for rank in range(WORDS)]
        axes.barh(places, 100 * distribution[shown], 0.38, color=COLOURS[name], label=name)
    axes.set_yticks(range(WORDS), [vocabulary[index] for index in shown])
    axes.set_xlabel("mean probability over the positions, %")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"Fisher-Rao distance {explanation.score:.2f}", fontsize=11, fontweight="bold")


def draw():
    """The figure."""
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    explanation = scorer.explain(CANDIDATE, REFERENCE)
    figure = plt.figure(figsize=(11, 4.6), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(2, 2, width_ratios=(2.1, 1))
    for row, (name, text) in enumerate((("reference", REFERENCE), ("candidate", CANDIDATE))):
        view = getattr(explanation, name)
        draw_text(figure.add_subplot(grid[row, 0]), view, name, text, explanation.vocabulary)
    draw_distributions(figure.add_subplot(grid[:, 1]), explanation)
    return figure


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path, help="the file to write, such as docs/comparison.svg")
    output = parser.parse_args().output
    plt.rcParams["svg.hashsalt"] = "infolm"  # the same file from the same figure
    figure = draw()
    dated = {"metadata": {"Date": None}} if output.suffix == ".svg" else {}
    figure.savefig(output, dpi=120, **dated)


if __name__ == "__main__":
    main()
