"""The figure: values, intervals and labels, and invalid arguments."""

import numpy as np
import pytest
from matplotlib import axes

from infolm_metric import InputError
from infolm_metric.meta_evaluation import agreement, plot_agreement


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    human = np.arange(5.0)[:, None] + random.normal(size=(5, 12))
    metrics = {name: human + random.normal(size=human.shape) for name in ("mine", "bleu")}
    length = random.integers(5, 40, size=human.shape).astype(float)
    criteria = {"fluency": human, "data_coverage": human[::-1]}
    return agreement(criteria, metrics, length=length, resamples=30)


@pytest.mark.parametrize("statistic", ["pearson", "partial", "soft_accuracy"])
def test_every_value_and_interval_is_drawn(table, statistic, tmp_path, monkeypatch):
    points, intervals = [], []
    plot, hlines = axes.Axes.plot, axes.Axes.hlines
    monkeypatch.setattr(axes.Axes, "plot", lambda *a, **k: points.append(a[1]) or plot(*a, **k))
    monkeypatch.setattr(
        axes.Axes, "hlines", lambda *a, **k: intervals.append(a[2:4]) or hlines(*a, **k)
    )
    plot_agreement(table, tmp_path / "figure.png", statistic)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    panels = iter(zip(points, intervals, strict=True))
    for level in ("system", "segment") if statistic != "soft_accuracy" else ("system",):
        for criterion in ("fluency", "data_coverage"):
            metrics = ("mine", "bleu", "length")
            cells = [table.find(metric, criterion, level, statistic) for metric in metrics]
            values, (lows, highs) = next(panels)
            np.testing.assert_equal(values, [cell.value for cell in cells])
            np.testing.assert_equal(lows, [cell.low for cell in cells])
            np.testing.assert_equal(highs, [cell.high for cell in cells])
    assert next(panels, None) is None


def test_figure_contains_the_names(table, tmp_path, monkeypatch):
    from matplotlib import rcParams

    monkeypatch.setitem(rcParams, "svg.fonttype", "none")  # do not convert text to paths
    plot_agreement(table, str(tmp_path / "figure.SVG"))
    words = (tmp_path / "figure.SVG").read_text()
    for name in ("mine", "bleu", "length", "fluency", "data coverage", "Pearson, segment level"):
        assert f">{name}<" in words


INVALID = [
    ("figure.pgn", "pearson", "unknown plot format 'pgn'. Did you mean 'png'"),
    ("figure", "pearson", "unknown plot format ''"),
    ("figure.png", "pearsn", "unknown statistic 'pearsn'. Did you mean 'pearson'"),
]


@pytest.mark.parametrize(("file", "statistic", "message"), INVALID)
def test_invalid_plots_are_rejected(table, tmp_path, file, statistic, message):
    with pytest.raises(InputError, match=message):
        plot_agreement(table, tmp_path / file, statistic)
    assert not list(tmp_path.iterdir())
