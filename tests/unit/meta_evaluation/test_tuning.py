"""Tuning by people's scores, with a metric by which higher is better."""

import numpy as np
import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.meta_evaluation import read_ratings, tune
from infolm_metric.meta_evaluation.tuning import DEFAULTS, TUNED, candidates
from tests.random_pairs import random_pairs
from tests.toy import ToyScorer


def ratings(sign: float = 1.0):
    """Texts of four systems, which people score as the toy does with size 2, or against it."""
    samples, made = random_pairs(8), random_pairs(32, seed=1)
    rows = [
        {
            "system": f"system {number // 8}",
            "id": number % 8,
            "prediction": row["prediction"],
            "references": samples[number % 8]["references"],
        }
        for number, row in enumerate(made)
    ]
    scores = ToyScorer(size=2).score(
        [row["prediction"] for row in rows], [row["references"] for row in rows]
    )
    return read_ratings(
        [
            {**row, "human": {"fluency": sign * score}}
            for row, score in zip(rows, scores.scores["toy"], strict=True)
        ]
    )


def test_tune_finds_the_size_that_people_agree_with_where_higher_is_better():
    seen = []
    result = tune(ratings(), ToyScorer(), resamples=20, report=seen.append)
    assert [trial.settings.size for trial in result.trials] == [2, 1]
    assert result.trials[0].development == pytest.approx(1.0)
    assert result.held_out_mean(TUNED) == pytest.approx(1.0)
    assert result.held_out_mean(DEFAULTS) < 1.0
    assert sum(seen) == len(candidates(ToyScorer().settings)) * 4 * 4


def test_a_size_that_people_disagree_with_is_the_worst():
    result = tune(ratings(sign=-1.0), ToyScorer(), resamples=20)
    assert result.trials[-1].settings.size == 2
    assert result.trials[-1].development == pytest.approx(-1.0)


def test_grids_that_are_given_take_the_place_of_the_metrics_own():
    grids = [{"size": [3]}, {"size": [2, 3]}]
    result = tune(ratings(), ToyScorer(), grids=grids, resamples=20)
    assert sorted(trial.settings.size for trial in result.trials) == [2, 3]
    assert result.best.chosen() == {"size": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"criteria": ["clarity"]}, "unknown criterion 'clarity'"),
        ({"coefficient": "pearsn"}, "unknown coefficient 'pearsn'; did you mean 'pearson'"),
        ({"level": "sample"}, "unknown level 'sample'"),
        ({"missing": "omit"}, "unknown missing 'omit'"),
        ({"resamples": 0}, "resamples must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"development": 7}, "development must leave both splits at least 2"),
        ({"grids": []}, r"grids hold nothing to try, got \[\]"),
        ({"grids": [{"size": []}]}, "size must be a list of at least one value"),
        ({"grids": {"size": [1]}}, "grids must be a list of dictionaries"),
        ({"grids": [{"size": 2}]}, r"size must be a list of values, got 2; use \[2\]"),
        ({"grids": [{"sise": [2]}]}, "unknown setting 'sise'; did you mean 'size'"),
        ({"grids": [{"size": [0]}]}, "size must be at least 1, got 0"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_text_is_scored(monkeypatch, arguments, message):
    found, scorer = ratings(), ToyScorer()
    monkeypatch.setattr(scorer.inner, "score", lambda *_: pytest.fail("a text was scored"))
    with pytest.raises((TypeError, ValueError), match=message):
        tune(found, scorer, **arguments)


def test_own_settings_that_count_candidates_are_refused_before_a_model_is_loaded():
    scorer = InfoLMScorer(model_name_or_path="no/such/model", idf="separate")
    with pytest.raises(ValueError, match="separate.* counts the candidates too"):
        tune(ratings(), scorer, grids=[{"idf": ["references"]}])


def test_rows_in_another_order_are_tuned_alike():
    found = ratings()
    order = np.random.default_rng(0).permutation(len(found.predictions))
    rows = [
        {
            "system": found.systems[system],
            "id": found.samples[sample],
            "prediction": found.predictions[row],
            "references": list(found.references[row]),
            "human": {"fluency": found.human["fluency"][system, sample]},
        }
        for row in order
        for system, sample in [found.places[row]]
    ]
    one, other = (tune(each, ToyScorer(), resamples=20) for each in (found, read_ratings(rows)))
    assert {t.settings: t.development for t in other.trials} == pytest.approx(
        {t.settings: t.development for t in one.trials}
    )
