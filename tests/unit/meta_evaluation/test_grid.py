"""Scores of many settings at once: whose they are, in whose order, and which way is better."""

import warnings

import numpy as np
import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.meta_evaluation.grid import score_grid, score_measures, turned
from tests.random_pairs import random_pairs
from tests.toy import ToyScorer

# Four systems, whose texts for a sample share the references and stand far apart.
SAMPLES = random_pairs(5)
REFERENCES = [row["references"] for row in SAMPLES] * 4
PREDICTIONS = [row["prediction"] for row in random_pairs(20, seed=1)]
ALL_KINDS = [
    {"information_measure": ["fisher_rao", "ab"], "temperature": [0.5, 2.0], "alpha": [0.5],
     "beta": [1.0]},
    {"information_measure": ["kl"], "symmetrize": ["jensen"], "multi_reference": ["mean"]},
    {"information_measure": ["l1"], "idf": ["references", "separate", False]},
]  # fmt: skip


@pytest.fixture(scope="module")
def infolm(tiny_bert):
    return InfoLMScorer(model_name_or_path=str(tiny_bert))


def test_a_grid_holds_what_scoring_one_by_one_gives_in_the_callers_order(infolm):
    settings = [each for lists in ALL_KINDS for each in infolm.settings.grid(lists)]
    seen = []
    found = score_grid(infolm, PREDICTIONS, REFERENCES, settings, report=seen.append)
    assert [each for each, _ in found] == settings
    assert sum(seen) == len(settings) * len(PREDICTIONS)
    for each, scores in found:
        (expected,) = InfoLMScorer(**vars(each)).score(PREDICTIONS, REFERENCES).scores.values()
        assert scores == pytest.approx(expected, abs=5e-6, rel=5e-6)


def test_a_corpus_takes_the_place_of_the_references_that_are_counted(infolm):
    corpus = [text for group in REFERENCES for text in group]
    (part,) = score_grid(infolm, PREDICTIONS[:5], REFERENCES[:5], [infolm.settings], corpus=corpus)
    (whole,) = score_grid(infolm, PREDICTIONS, REFERENCES, [infolm.settings])
    (alone,) = score_grid(infolm, PREDICTIONS[:5], REFERENCES[:5], [infolm.settings])
    assert part[1] == pytest.approx(whole[1][:5], abs=1e-6)
    assert np.abs(part[1] - alone[1]).max() > 1e-4


def test_a_corpus_of_references_is_refused_where_candidates_are_counted(infolm):
    separate = infolm.settings.replace(idf="separate")
    with pytest.raises(ValueError, match="separate"):
        score_grid(infolm, ["a cat"], [["a cat"]], [separate], corpus=["a cat"])


def test_settings_that_count_alike_share_what_is_counted(infolm, monkeypatch):
    counted = []
    plain = infolm.inner.count
    monkeypatch.setattr(
        infolm.inner, "count", lambda pairs, each: counted.append(each) or plain(pairs, each)
    )
    lists = {"temperature": [1.0, 2.0], "idf": ["references", "separate", False]}
    score_grid(infolm, PREDICTIONS, REFERENCES, infolm.settings.grid(lists))
    assert sorted(len(each.counted) for each in counted) == [0, 1, 2]


def test_all_settings_together_warn_once_and_where_they_were_asked_for(infolm):
    settings = infolm.settings.grid({"temperature": [1.0, 2.0], "idf": ["references", False]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        score_grid(infolm, ["", "a cat"], [["a dog"], ["a cat"]], settings)
        score_measures(infolm, ["", "a cat"], [["a dog"], ["a cat"]])
    empty = [warning for warning in caught if "1 of 4 texts without" in str(warning.message)]
    assert [warning.filename for warning in empty] == [__file__] * 2


def test_settings_of_several_scores_are_refused_in_a_grid(infolm):
    several = infolm.settings.replace(information_measure=["l1", "kl"])
    with pytest.raises(ValueError, match="one score"):
        score_grid(infolm, ["a cat"], [["a cat"]], [several])


def test_measures_are_named_with_their_parameters_and_signed_as_score_signs_them(tiny_bert):
    scorer = InfoLMScorer(
        model_name_or_path=str(tiny_bert), information_measure=["l1", "ab"], alpha=0.5, beta=2
    )
    found = score_measures(scorer, PREDICTIONS, REFERENCES)
    expected = scorer.score(PREDICTIONS, REFERENCES)
    assert list(found.scores) == ["l1_distance", "ab_divergence(0.5, 2)"]
    for ours, theirs in zip(found.scores.values(), expected.scores.values(), strict=True):
        assert ours == pytest.approx(theirs, abs=5e-6, rel=5e-6)
    assert found.signature == expected.signature
    assert not found.higher_is_better


# Higher is better by the toy metric, lower by InfoLM


@pytest.mark.parametrize("name", ["toy", "infolm"])
def test_turned_scores_are_highest_for_a_copy_whichever_way_is_better(name, infolm):
    scorer = {"toy": ToyScorer(), "infolm": infolm}[name]
    texts = ["the cat sat", "the cat ran", "budget approved outside"]
    found = score_grid(scorer, texts, [["the cat sat"]] * 3, [scorer.settings])
    [(settings, scores)] = found
    better = turned(scorer, settings, scores)
    assert better.argmax() == 0
    assert (better is scores) == (name == "toy")


def test_the_toys_scores_come_as_they_are_in_the_callers_order():
    scorer = ToyScorer()
    found = score_grid(scorer, PREDICTIONS, REFERENCES, scorer.settings.grid({"size": [1, 3]}))
    for settings, scores in found:
        expected = scorer.score(PREDICTIONS, REFERENCES, size=settings.size)
        assert scores.tolist() == expected.scores["toy"]
    assert score_measures(scorer, PREDICTIONS, REFERENCES).higher_is_better
