"""The report of a metric that draws no curves, and of one that does."""

import re

import numpy as np
import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.meta_evaluation import read_ratings, write_report
from infolm_metric.meta_evaluation.correlations import correlation
from infolm_metric.meta_evaluation.study import make_study, scored
from tests.made_ratings import rated
from tests.toy import ToyScorer


def test_a_study_turns_no_scores_of_which_higher_is_better():
    ratings, scorer = rated(), ToyScorer()
    study = make_study(ratings, scorer, ratings.metrics, ["bleu"], resamples=20)
    scores = scorer.score(ratings.predictions, ratings.references).scores["toy"]
    assert list(study.metrics) == ["toy", "bleu", "length"]
    assert np.array_equal(study.metrics[study.main], ratings.grid(scores))
    assert study.table.find("toy", "fluency", "system", "pearson").value > 0.9
    assert study.table.against == ("bleu", "length")


def test_a_report_without_curves_leaves_out_their_section_and_their_figures(tmp_path):
    page = write_report(rated(), ToyScorer(size=2), tmp_path, against=["bleu"], resamples=20)
    html = page.read_text()
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == [
        "correlation",
        "distributions",
        "metrics",
        "williams",
    ]
    assert "Figure 4." in html and "Figure 5." not in html
    assert "p vs bleu" in html
    assert "metric:toy|size:2|" in html
    assert "given length" in html
    for word in ("temperature", "alpha", "negated", "infolm tune"):
        assert word not in html, word
    assert len(scored(ToyScorer().settings)) == 1


def test_a_report_of_infolm_compares_at_the_scorers_temperature_and_draws_the_others(
    tiny_bert, tmp_path
):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), temperature=0.7)
    ratings, seen = rated(), []
    study = make_study(ratings, scorer, {}, resamples=20, report=seen.append)
    assert sum(seen) == len(scored(scorer.settings)) * len(ratings.predictions)
    for name, grid in study.metrics.items():
        if name == "length":
            continue
        result = scorer.score(ratings.predictions, ratings.references, information_measure=name)
        assert grid == pytest.approx(-ratings.grid(result.scores[name]), abs=1e-5)
        expected = correlation(ratings.human["fluency"], grid)
        (curve,) = [each for each in study.drawn if each.over == ("temperature",)]
        assert {
            each.temperature: study.pearson[each]["fluency"]
            for each in curve.settings
            if each.names == (name,)
        }[0.7] == expected
    ours = ["fisher_rao_distance", "l1_distance", "kl_divergence"]
    assert list(study.metrics) == [*ours, "length"]
    html = write_report(ratings, scorer, tmp_path, resamples=20).read_text()
    assert "<h2>Temperature, alpha and beta</h2>" in html
    assert re.search("infolm, where lower is better, is negated", html)
    assert {"temperature.png", "alpha-beta.png"} <= {path.name for path in tmp_path.iterdir()}


def test_a_report_on_samples_of_one_system_each_has_no_figures_of_texts(tmp_path):
    whole = rated()
    rows = [
        {
            "system": whole.systems[system],
            "id": whole.systems[system],
            "prediction": whole.predictions[row],
            "references": whole.references[row],
            "human": {"fluency": whole.human["fluency"][system, sample]},
        }
        for row, (system, sample) in enumerate(whole.places)
        if sample == 0
    ]
    ratings, more = read_ratings(rows), {"missing": "available", "resamples": 20}
    study = make_study(ratings, ToyScorer(), {}, **more)
    assert np.isnan([cell.value for cell in study.table.cells if cell.level == "text"]).all()
    html = write_report(ratings, ToyScorer(), tmp_path, **more).read_text()
    assert "or too few" in html


def test_length_may_be_named_among_the_rivals():
    ratings = rated()
    study = make_study(ratings, ToyScorer(), ratings.metrics, ["length"], resamples=20)
    assert study.table.against == ("length",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"against": ["blue"]}, "unknown rival 'blue'; did you mean 'bleu'"),
        ({"columns": {"length": rated().metrics["bleu"]}}, "a metric is named 'length'"),
        ({"columns": {"wer": np.ones((5, 6))}}, "'wer': all 30 values are 1"),
        ({"columns": {"wer": np.eye(5)}}, r"'fluency' and 'wer' .* got \[5, 6\] and \[5, 5\]"),
        ({"missing": "omit"}, "unknown missing 'omit'"),
        ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"format": "pdf"}, "unknown format 'pdf'"),
        ({"folder": __file__}, "folder must name a folder, got .* is a file"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_text_is_scored(
    tmp_path, monkeypatch, arguments, message
):
    scorer = ToyScorer()
    monkeypatch.setattr(scorer.inner, "score", lambda *_: pytest.fail("a text was scored"))
    with pytest.raises((ValueError, NotADirectoryError), match=message):
        write_report(rated(), scorer, **{"folder": tmp_path / "out", **arguments})
    assert not (tmp_path / "out").exists()


def noticed(accuracy):
    low, high = (None, None) if accuracy is None else (max(0, accuracy - 0.1), accuracy + 0.1)
    cell = {"n": 9, "accuracy": accuracy, "low": low, "high": high, "ties": 0, "sensitivity": 0.5}
    means = {"all": accuracy, "adequacy": accuracy, "fluency": None}
    return {"signature": "metric:m|x:<1>", "attacks": {"num": cell}, "macro": means}


def test_a_report_tells_which_attacks_metrics_notice(tmp_path):
    found = {"metrics": {"mine": noticed(0.25), "other": noticed(None)}}
    page = write_report(rated(), ToyScorer(), tmp_path, resamples=20, robustness=found)
    html = page.read_text()
    assert (tmp_path / "attacks.png").is_file()
    assert "Which errors do they notice?" in html and "Figure 5." in html
    assert '<td class="text">mine</td><td>25.0%</td>' in html
    assert "metric:m|x:&lt;1&gt;" in html


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({}, "no results of metrics"),
        ({"metrics": {"mine": {}}}, "'mine' has no attacks"),
        ({"metrics": {"mine": {"attacks": {"num": {"n": 3}}}}}, "no accuracy for 'num'"),
    ],
)
def test_results_of_another_kind_are_refused(tmp_path, found, message):
    with pytest.raises(ValueError, match=message):
        write_report(rated(), ToyScorer(), tmp_path, resamples=20, robustness=found)
