"""Cases made of references, written, read again and scored; what is made of the scores."""

import json
import math
from dataclasses import replace

import pytest
from scipy.stats import binomtest

from infolm_metric import InfoLMScorer, InfoLMSettings, MENLIScorer
from infolm_metric.robustness import (
    Column,
    Item,
    MetricResult,
    Triple,
    make_triples,
    measure,
    read_items,
    read_triples,
    wilson_interval,
)
from infolm_metric.robustness.suite import CaseScores, read_column, summarise
from tests.toy import ToyScorer

NEAR = "The city has 12 rooms and a garden."
LIKE_IT = "The city has 12 rooms and a park."
UNLIKE_IT = "There are twelve rooms with gardens there."
REFERENCES = (NEAR, "There are 12 rooms and one garden there.")
SEPARATE = InfoLMSettings(idf="separate")
CASES = make_triples([Item("1", REFERENCES), Item("2", ("Ann was born in a small town.",))])


def write(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


# Items and cases.


def test_rows_of_several_systems_are_one_item_with_each_reference_once(tmp_path):
    rows = [
        {"system": "A", "id": 7, "prediction": "x", "references": [NEAR, LIKE_IT]},
        {"system": "B", "id": 7, "prediction": "y", "references": [LIKE_IT, UNLIKE_IT]},
        {"system": "A", "id": 8, "prediction": "z", "references": [NEAR]},
        {"system": "B", "id": 8, "prediction": "z", "references": [NEAR], "paraphrase": "So."},
        {"system": "B", "id": 8, "prediction": "z", "references": [NEAR], "paraphrase": ""},
    ]
    assert read_items(write(tmp_path / "rows.jsonl", rows)) == [
        Item("7", (NEAR, LIKE_IT, UNLIKE_IT)),
        Item("8", (NEAR,), "So."),
    ]


def test_rows_without_an_id_are_one_item_for_the_same_references_in_any_order(tmp_path):
    rows = [{"references": [NEAR, LIKE_IT]}, {"references": [LIKE_IT, NEAR]}]
    rows += [{"references": [LIKE_IT]}]
    assert read_items(write(tmp_path / "rows.jsonl", rows)) == [
        Item("1", (NEAR, LIKE_IT)),
        Item("3", (LIKE_IT,)),
    ]


def test_the_paraphrase_is_the_columns_then_the_reference_least_alike_then_numbers_in_words():
    references = (NEAR, LIKE_IT, UNLIKE_IT)
    (given, *_) = make_triples([Item("1", references, "A town of twelve.")], ["neg"])
    assert given.paraphrase == "A town of twelve."
    (other, *_) = make_triples([Item("1", references)], ["num"])
    assert other.paraphrase == UNLIKE_IT
    (words,) = make_triples([Item("1", (NEAR,))], ["num"])
    assert words.paraphrase == NEAR.replace("12", "twelve")
    assert words.paraphrase_adversary is None
    (none,) = make_triples([Item("1", (NEAR,))], ["neg"])
    assert (none.paraphrase, none.paraphrase_adversary) == (None, None)


def test_a_paraphrase_that_is_the_anchor_or_the_adversary_is_none():
    denied = "The city does not have 12 rooms and a garden."
    (first, _) = make_triples([Item("1", (NEAR, denied), NEAR)], ["neg"])
    assert first.adversary == denied
    assert first.paraphrase is None


@pytest.mark.parametrize("nothing", ["", "  "])
def test_an_empty_reference_or_paraphrase_says_nothing(nothing, tmp_path):
    (case,) = make_triples([Item("1", (NEAR, LIKE_IT, nothing))], ["num"])[:1]
    assert case.paraphrase == LIKE_IT
    rows = [{"references": [NEAR], "paraphrase": nothing}]
    assert read_items(write(tmp_path / "rows.jsonl", rows)) == [Item("1", (NEAR,))]


def test_a_paraphrase_is_attacked_as_any_text():
    (first, _) = make_triples([Item("1", (NEAR, "There is a garden."))], ["neg"])
    assert first.paraphrase_adversary == "There is not a garden."


def test_cases_do_not_depend_on_the_order_of_items_and_come_in_that_of_the_attacks():
    items = [Item(str(number), (f"The city has {number} rooms.",)) for number in range(10, 30)]
    one, other = (make_triples(each, seed=4, per_attack=5) for each in (items, items[::-1]))
    assert sorted(map(repr, one)) == sorted(map(repr, other))
    counts = {name: sum(case.attack == name for case in one) for name in ("num", "neg", "pron")}
    assert counts == {"num": 5, "neg": 5, "pron": 0}
    names = [case.attack for case in make_triples(items[:1], ["neg", "num"])]
    assert names == ["num", "neg"]
    assert len(make_triples(items, ["num"])) == 20


def test_a_case_survives_writing_and_reading(tmp_path):
    made = make_triples([Item("1", (NEAR, UNLIKE_IT))], seed=2)
    path = write(tmp_path / "cases.jsonl", [case.as_dict() for case in made])
    assert [case for _, case in read_triples(path)] == made
    assert list(made[0].as_dict()) == [
        "id", "attack", "kind", "anchor", "paraphrase", "adversary", "paraphrase_adversary", "seed",
    ]  # fmt: skip


def test_empty_cells_of_a_csv_are_no_texts(tmp_path):
    (tmp_path / "cases.csv").write_text(
        "attack,kind,anchor,adversary,paraphrase,paraphrase_adversary,seed,m.paraphrase,m.adversary\n"
        'num,adequacy,It has 1.,It has 2.,, ,3,,"0.5"\n'
    )
    ((row, case),) = read_triples(str(tmp_path / "cases.csv"))
    assert (case.paraphrase, case.paraphrase_adversary, case.seed) == (None, None, 3)
    assert case.id.endswith("line 2")
    assert read_column("m", [row]) == Column("m", [(None, 0.5, None)])


# Refusals.

ROW = {
    "id": "1",
    "attack": "num",
    "kind": "adequacy",
    "anchor": "It has 1.",
    "adversary": "It has 2.",
}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"attack": "nums"}, "line 1.*'nums'.*did you mean 'num'"),
        ({"attack": ["num"]}, "line 1"),
        ({"kind": "fluency"}, "line 1.*'kind' must be 'adequacy'"),
        ({"adversary": None}, "line 1.*'adversary'"),
        ({"paraphrase": 5}, "line 1.*'paraphrase'"),
    ],
)
def test_wrong_cases_are_refused_where_they_stand(tmp_path, change, word):
    path = write(tmp_path / "cases.jsonl", [{**ROW, **change}])
    with pytest.raises((TypeError, ValueError), match=word):
        read_triples(path)


@pytest.mark.parametrize(
    ("rows", "word"),
    [([{"references": [NEAR]}], "infolm attack"), ([], "no rows.*infolm attack")],
)
def test_rows_that_are_no_cases_are_refused_with_how_to_make_them(tmp_path, rows, word):
    with pytest.raises(ValueError, match=word):
        read_triples(write(tmp_path / "cases.jsonl", rows))


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([{"prediction": "a"}], "'references'"),
        ([{"references": []}], "empty list"),
        ([{"reference": None}], "'reference' must be"),
        ([{"reference": "a", "id": 1, "paraphrase": word} for word in "bc"], "line 2.*id '1'"),
        ([], "no rows"),
    ],
)
def test_a_file_without_references_is_refused(tmp_path, rows, word):
    with pytest.raises((TypeError, ValueError), match=word):
        read_items(write(tmp_path / "rows.jsonl", rows))


@pytest.mark.parametrize("references", [NEAR, NEAR.encode(), (NEAR, None)])
def test_the_references_of_an_item_are_texts_and_no_single_string(references):
    with pytest.raises(TypeError, match="references"):
        Item("1", references)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [({"attacks": ["nun"]}, "'nun'"), ({"per_attack": 0}, "per_attack"), ({"seed": -1}, "seed")],
)
def test_wrong_choices_are_refused(arguments, word):
    with pytest.raises(ValueError, match=word):
        make_triples([Item("1", (NEAR,))], **arguments)


def test_a_case_is_of_adequacy_or_fluency():
    with pytest.raises(ValueError, match="did you mean 'fluency'"):
        replace(CASES[0], kind="fluent")


@pytest.mark.parametrize("score", [math.nan, math.inf, "inf", "x", True, 10**400, [1]])
def test_a_score_made_elsewhere_is_a_finite_number(score):
    row = {"m.paraphrase": 0.5, "m.adversary": score}
    with pytest.raises((TypeError, ValueError), match="line 7.*'m.adversary'"):
        read_column("m", [("line 7", row)])
    with pytest.raises((TypeError, ValueError), match="column 'm'"):
        Column("m", [(0.5, score, None)])


@pytest.mark.parametrize("missing", ["m.paraphrase", "m.adversary"])
def test_scores_made_elsewhere_need_two_columns(missing):
    row = {column: 1 for column in ("m.paraphrase", "m.adversary") if column != missing}
    with pytest.raises(ValueError, match=f"no column '{missing}'"):
        read_column("m", [("line 7", row)])


def test_all_that_can_be_refused_is_refused_before_anything_is_scored(monkeypatch):
    monkeypatch.setattr(ToyScorer, "score_chunk", lambda *_: pytest.fail("scored"))
    scores = [(1, 0, None)] * len(CASES)
    toy = {"toy": ToyScorer()}
    for triples, scorers, columns, word in (
        ([], toy, [], "no cases"),
        (CASES, toy, [Column("toy", scores)], "two metrics are called 'toy'"),
        (CASES, toy, [Column("bleu", scores)] * 2, "two metrics are called 'bleu'"),
        (CASES, toy, [Column("bleu", scores[1:])], f"scores of {len(CASES)} cases"),
        (CASES, toy | {"mine": InfoLMScorer(idf="separate")}, [], "separate"),
        (CASES, toy | {"mine": MENLIScorer(combine_with=SEPARATE)}, [], "separate"),
    ):
        with pytest.raises(ValueError, match=word):
            measure(triples, scorers, columns)


# Numbers.


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 40), (17, 40), (40, 40), (3, 7)])
def test_the_interval_is_scipys_wilson_interval(hits, n):
    expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_an_interval_needs_cases(hits, n):
    with pytest.raises(ValueError, match=f"got {hits} of {n}"):
        wilson_interval(hits, n)


def case(attack="num", kind="adequacy"):
    return Triple("1", attack, kind, "a", "b", "c", "d")


def test_accuracy_counts_ties_as_misses():
    scores = [CaseScores(2, 1, 0), CaseScores(1, 1 + 1e-12, 0), CaseScores(0, 1, 5)]
    found = summarise([case()] * 3, scores)["num"]
    assert (found.n, found.accuracy, found.ties) == (3, pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert found.sensitivity == pytest.approx(2 / 3)
    assert (found.low, found.high) == wilson_interval(1, 3)


@pytest.mark.parametrize(
    ("one", "other", "hit"), [(1, 1 - 1e-7, 0), (1, 1 - 1e-5, 1), (1e-9, 0, 0)]
)
def test_scores_that_float32_cannot_tell_apart_tie(one, other, hit):
    found = summarise([case()], [CaseScores(one, other, None)])["num"]
    assert (found.accuracy, found.ties) == (hit, 1 - hit)


def test_sensitivity_takes_the_anchor_where_the_paraphrase_cannot_be_attacked():
    scores = [CaseScores(None, 1, None, copy=2), CaseScores(3, 1, None, copy=0.5)]
    found = summarise([case()] * 2, scores)["num"]
    assert (found.n, found.accuracy, found.cases, found.sensitivity) == (1, 1.0, 2, 0.5)


def test_without_a_paraphrase_there_is_no_accuracy():
    found = summarise([case()], [CaseScores(None, 1, None, copy=2)])["num"].as_dict()
    assert found == {
        "n": 0, "accuracy": None, "low": None, "high": None, "ties": None, "sensitivity": 1.0,
    }  # fmt: skip


def test_an_attack_of_the_users_own_comes_after_ours():
    triples = [case("mine", "fluency"), case("typo", "fluency")]
    found = summarise(triples, [CaseScores(2, 1, 0), CaseScores(1, 2, 0)])
    assert [(name, each.accuracy) for name, each in found.items()] == [("typo", 0), ("mine", 1)]
    assert MetricResult(None, found).macro()["fluency"] == 0.5


def test_infinite_scores_tie_and_lose():
    scores = [CaseScores(-math.inf, -math.inf, 0), CaseScores(1, -math.inf, 0)]
    found = summarise([case()] * 2, scores)["num"]
    assert (found.accuracy, found.ties) == (0.5, 0.5)


def test_every_attack_counts_alike_in_the_means_of_its_kind():
    triples = [case(), case(), case("neg"), case("typo", "fluency"), case("adj")]
    scores = [
        CaseScores(1, 0, 2),
        CaseScores(0, 1, 2),
        CaseScores(1, 0, 0),
        CaseScores(0, 1, 0),
        CaseScores(None, None, None),
    ]
    result = MetricResult(None, summarise(triples, scores))
    assert list(result.attacks) == ["num", "neg", "adj", "typo"]
    assert result.macro() == {"all": 0.5, "adequacy": 0.75, "fluency": 0.0}
    assert result.macro("sensitivity") == pytest.approx(
        {"all": 1 / 3, "adequacy": 0.5, "fluency": 0}
    )
    assert MetricResult(None, {}).macro() == {"all": None, "adequacy": None, "fluency": None}


# Metrics.


def test_a_metric_scores_every_different_pair_once(monkeypatch):
    seen = []
    score = ToyScorer.score_chunk

    def spied(self, pairs, *how):
        seen.extend((candidate, *group) for candidate, group in pairs)
        return score(self, pairs, *how)

    monkeypatch.setattr(ToyScorer, "score_chunk", spied)
    result = measure(CASES, {"toy": ToyScorer(size=2)}).metrics["toy"]
    needed = {(case.adversary, case.anchor) for case in CASES}
    needed |= {(case.paraphrase, case.anchor) for case in CASES if case.paraphrase is not None}
    needed |= {(case.paraphrase_adversary or case.anchor, case.anchor) for case in CASES}
    assert len(seen) == len(set(seen))
    assert set(seen) == needed
    assert set(result.attacks) == {case.attack for case in CASES}
    assert result.signature == ToyScorer(size=2).signature()


def test_accuracy_and_sensitivity_are_what_single_scores_say():
    scorer = ToyScorer(size=3)

    def better(one, other, anchor):
        scores = [scorer.score([text], [anchor])["toy"] for text in (one, other)]
        return scores[0] > scores[1]

    result = measure(CASES, {"toy": scorer}).metrics["toy"]
    for name, found in result.attacks.items():
        own = [case for case in CASES if case.attack == name]
        hits = [
            better(case.paraphrase, case.adversary, case.anchor)
            for case in own
            if case.paraphrase is not None
        ]
        noticed = [
            better(case.anchor, case.adversary, case.anchor)
            if case.paraphrase_adversary is None
            else better(case.paraphrase, case.paraphrase_adversary, case.anchor)
            for case in own
        ]
        assert (found.n, found.accuracy) == (len(hits), sum(hits) / len(hits) if hits else None)
        assert found.sensitivity == sum(noticed) / len(noticed)


def test_scores_of_which_lower_is_better_are_turned(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=False)
    own = [each for each in CASES if each.id == "2"]
    assert all(
        each.sensitivity == 1
        for each in measure(own, {"infolm": scorer}).metrics["infolm"].attacks.values()
    )


def test_idf_is_counted_on_the_anchors_each_once(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert))
    with pytest.warns(UserWarning, match="known from 3 distinct texts"):
        measure(CASES, {"infolm": scorer})
    with pytest.warns(UserWarning):
        one, other = (measure(each, {"infolm": scorer}) for each in (CASES, [*CASES, *CASES]))
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


def test_a_model_that_is_not_there_is_an_error():
    with pytest.raises(OSError, match="no/such"):
        measure(CASES, {"mine": InfoLMScorer(model_name_or_path="/no/such/model")})
