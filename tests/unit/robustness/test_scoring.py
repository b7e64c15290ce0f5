"""Metrics on cases: each pair once, on the anchors' own counts."""

import math
import re
from dataclasses import replace

import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.robustness import Column, Item, make_triples, measure
from tests.toy import Overlap, ToyScorer

REFERENCES = ("The city has 12 rooms and a garden.", "There are 12 rooms and one garden there.")
CASES = make_triples([Item("1", REFERENCES), Item("2", ("Ann was born in a small town.",))])


def test_a_metric_scores_every_different_pair_once(monkeypatch):
    seen = []
    score = Overlap.score

    def spied(self, pairs, settings, statistics):
        seen.extend((candidate, *group) for candidate, group in pairs)
        return score(self, pairs, settings, statistics)

    monkeypatch.setattr(Overlap, "score", spied)
    result = measure(CASES, {"toy": ToyScorer(size=2)}).metrics["toy"]
    assert len(seen) == len(set(seen))
    assert set(result.attacks) == {case.attack for case in CASES}
    assert result.signature == ToyScorer(size=2).signature()


def test_accuracy_and_sensitivity_are_what_single_scores_say():
    scorer = ToyScorer(size=3)

    def scored(text, anchor):
        return scorer.score([text], [anchor])["toy"]

    result = measure(CASES, {"toy": scorer}).metrics["toy"]
    for name, found in result.attacks.items():
        own = [case for case in CASES if case.attack == name]
        there = [case for case in own if case.paraphrase is not None]
        hits = [
            scored(case.paraphrase, case.anchor) > scored(case.adversary, case.anchor)
            for case in there
        ]
        assert (found.n, found.accuracy) == (len(there), sum(hits) / len(hits) if hits else None)
        noticed = []
        for case in own:
            attacked = case.paraphrase_adversary
            couple = (case.anchor, case.adversary)
            if attacked is not None:
                couple = (case.paraphrase, attacked)
            one, other = (scored(text, case.anchor) for text in couple)
            noticed.append(one > other)
        assert found.sensitivity == sum(noticed) / len(noticed)


def test_scores_of_which_lower_is_better_are_turned(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    (case,) = [each for each in CASES if each.attack == "typo" and each.id == "2"]
    copy, spoiled = scorer.score([case.anchor, case.adversary], [case.anchor] * 2)["scores"]
    assert copy < spoiled
    own = [each for each in CASES if each.id == "2"]
    assert all(
        each.sensitivity == 1
        for each in measure(own, {"infolm": scorer}).metrics["infolm"].attacks.values()
    )


def test_idf_is_counted_on_the_anchors_each_once(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert))
    with pytest.warns(UserWarning, match="known from 3 distinct texts"):
        measure(CASES, {"infolm": scorer})
    many = [*CASES, *CASES]
    with pytest.warns(UserWarning):
        one, other = (measure(each, {"infolm": scorer}) for each in (CASES, many))
    for name, found in one.metrics["infolm"].attacks.items():
        assert found.accuracy == other.metrics["infolm"].attacks[name].accuracy


def test_a_metric_with_several_scores_has_an_entry_for_each(tiny_bert):
    scorer = InfoLMScorer(
        model_name_or_path=str(tiny_bert), idf=False, information_measure=["l1", "l2"]
    )
    assert list(measure(CASES, {"mine": scorer}).metrics) == [
        "mine l1_distance", "mine l2_distance",
    ]  # fmt: skip


def test_scores_made_elsewhere_ride_along():
    scores = [(0.2, 0.1, None) for _ in CASES]
    lower = Column("ter", scores, higher_is_better=False)
    result = measure(CASES, {}, [Column("bleu", scores), lower])
    assert result.metrics["bleu"].macro()["all"] == 1
    assert result.metrics["ter"].macro()["all"] == 0
    assert result.metrics["ter"].attacks["num"].sensitivity is None
    assert result.metrics["ter"].signature is None


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([(1, 0, None)], "column 'bleu' has 1 rows of scores for 2 cases"),
        ([(1, 0, None), (1, 0)], "column 'bleu': scores[1] must be paraphrase, adversary, "),
        (
            [(1, 0, None), (1, math.nan, None)],
            "column 'bleu': scores[1], that of the adversary, must be finite, got nan",
        ),
        ([(math.inf, 0, None)] * 2, "scores[0], that of the paraphrase, must be finite, got inf"),
        ([(1, 0, "0.5")] * 2, "that of the paraphrase_adversary, must be a number, got '0.5'"),
    ],
)
def test_a_column_needs_finite_scores_for_each_case(scores, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        measure(CASES[:2], {}, [Column("bleu", scores)])


def test_all_that_can_be_refused_is_refused_before_anything_is_scored(monkeypatch, tiny_bert):
    monkeypatch.setattr(Overlap, "score", lambda *_: pytest.fail("scored"))
    scores = [(1, 0, None)] * len(CASES)
    toy = {"toy": ToyScorer()}
    both = InfoLMScorer(
        model_name_or_path=str(tiny_bert), idf=False, information_measure=["l1", "l2"]
    )
    for scorers, columns, message in (
        (toy, [Column("toy", scores)], "two metrics are called 'toy'"),
        (toy, [Column("bleu", scores)] * 2, "two metrics are called 'bleu'"),
        (
            toy | {"mine": both},
            [Column("mine l2_distance", scores)],
            "two metrics are called 'mine l2_distance'",
        ),
        (toy, [Column("bleu", scores[1:])], "column 'bleu' has"),
        (toy | {"mine": InfoLMScorer(idf="separate")}, [], "weighs candidates by a corpus"),
    ):
        with pytest.raises(ValueError, match=message):
            measure(CASES, scorers, columns)
    with pytest.raises(OSError):
        measure(CASES, toy | {"mine": InfoLMScorer(model_name_or_path="/no/such/model")})
    wrong = replace(CASES[0], kind="fluency" if CASES[0].kind == "adequacy" else "adequacy")
    with pytest.raises(ValueError, match=r"kind of triples\[1\] must be"):
        measure([CASES[1], wrong], toy)


def test_what_cannot_be_measured_is_refused(tiny_bert):
    with pytest.raises(ValueError, match="there are no cases"):
        measure([], {"toy": ToyScorer()})
    with pytest.raises(ValueError, match="two metrics are called 'toy'"):
        measure(CASES, {"toy": ToyScorer()}, [Column("toy", [(1, 0, None)] * len(CASES))])
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf="separate")
    with pytest.raises(ValueError, match="weighs candidates by a corpus of attacked texts"):
        measure(CASES, {"infolm": scorer})
