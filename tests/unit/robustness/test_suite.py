"""Attack cases: creation, reading and writing, scoring and summary statistics."""

import math

import pytest

from infolm_metric import InfoLMScorer, InfoLMSettings, InputError, MENLIScorer
from infolm_metric.robustness import (
    AttackCase,
    Item,
    MetricResult,
    evaluate_robustness,
    make_cases,
    read_cases,
    read_items,
)
from infolm_metric.robustness.suite import summarise
from tests.random_pairs import write_lines
from tests.toy import ToyRun, ToyScorer

ANCHOR = "The city has 12 rooms and a garden."
SIMILAR = "The city has 12 rooms and a park."
DISSIMILAR = "There are twelve rooms with gardens there."
REFERENCES = (ANCHOR, "There are 12 rooms and one garden there.")
NAN = math.nan
SEPARATE = InfoLMSettings(idf="separate")
CASES = make_cases([Item("1", REFERENCES), Item("2", ("Ann was born in a small town.",))])


# Items and cases


def test_rows_of_several_systems_are_merged_into_one_item(tmp_path):
    rows = [
        {"system": "A", "id": 7, "prediction": "x", "references": [ANCHOR, SIMILAR]},
        {"system": "B", "id": 7, "prediction": "y", "references": [SIMILAR, DISSIMILAR]},
        {"system": "A", "id": 8, "prediction": "z", "references": [ANCHOR]},
        {"system": "B", "id": 8, "prediction": "z", "references": [ANCHOR], "paraphrase": "So."},
        {"system": "B", "id": 8, "prediction": "z", "references": [ANCHOR], "paraphrase": ""},
    ]
    assert read_items(str(write_lines(tmp_path / "rows.jsonl", rows))) == [
        Item("7", (ANCHOR, SIMILAR, DISSIMILAR)),
        Item("8", (ANCHOR,), "So."),
    ]


def test_rows_without_ids_are_merged_by_references_and_empty_cells_ignored(tmp_path):
    rows = "references,paraphrase\n\"['a', 'b']\",\n\"['b', 'a']\", \nb,\n"
    (tmp_path / "rows.csv").write_text(rows)
    assert read_items(str(tmp_path / "rows.csv")) == [Item("1", ("a", "b")), Item("3", ("b",))]
    header = "attack,anchor,adversary,paraphrase,paraphrase_adversary,seed"
    (tmp_path / "cases.csv").write_text(f"{header}\nnum,A 1.,A 2.,, ,3\n")
    ((_, case),) = read_cases(str(tmp_path / "cases.csv"))
    assert (case.paraphrase, case.paraphrase_adversary) == (None, None)
    assert case.id.endswith("line 2") and case.kind == "adequacy"


def test_paraphrase_comes_from_the_column_or_another_reference():
    references = (ANCHOR, "", SIMILAR, " ", DISSIMILAR)  # empty ones are ignored
    (first, *_) = make_cases([Item("1", references, "A town of twelve.")], ["neg"])
    assert first.paraphrase == "A town of twelve."
    (second, *_) = make_cases([Item("1", references)], ["num"])
    assert second.paraphrase == DISSIMILAR
    (third,) = make_cases([Item("1", (ANCHOR,))], ["neg"])
    assert (third.paraphrase, third.paraphrase_adversary) == (None, None)


def test_paraphrase_equal_to_anchor_or_adversary_is_discarded():
    denied = "The city does not have 12 rooms and a garden."
    (first,) = make_cases([Item("1", (ANCHOR, denied), ANCHOR)], ["neg"])
    assert (first.adversary, first.paraphrase) == (denied, None)
    (first, _) = make_cases([Item("1", (ANCHOR, "There is a garden."))], ["neg"])
    assert first.paraphrase_adversary == "There is not a garden."


def test_cases_are_ordered_by_attack_regardless_of_the_order_of_items():
    items = [Item(str(number), (f"The city has {number} rooms.",)) for number in range(10, 30)]
    cases = make_cases(items, seed=4, per_attack=5)
    reverse_cases = make_cases(items[::-1], seed=4, per_attack=5)
    assert sorted(map(repr, cases)) == sorted(map(repr, reverse_cases))
    counts = {name: sum(case.attack == name for case in cases) for name in ("num", "neg", "pron")}
    assert counts == {"num": 5, "neg": 5, "pron": 0}
    names = [case.attack for case in make_cases(items[:1], ["neg", "num"])]
    assert names == ["num", "neg"]
    assert len(make_cases(items, ["num"])) == 20
    assert make_cases(items, ["num"]) == make_cases(items, ["num"], seed=0)


# Invalid input

ROW = {"id": "1", "attack": "num", "anchor": "It has 1.", "adversary": "It has 2."}


def read_rows(read, rows):
    return lambda folder: read(str(write_lines(folder / "rows.jsonl", rows)))


INVALID = [
    (read_rows(read_cases, [{**ROW, "attack": "nums"}]), "line 1.*'nums'.*mean 'num'"),
    (read_rows(read_cases, [{**ROW, "adversary": None}]), "line 1.*'adversary'"),
    (read_rows(read_cases, [{**ROW, "paraphrase": 5}]), "line 1.*'paraphrase'"),
    (read_rows(read_cases, [{"references": [ANCHOR]}]), "infolm attack"),
    (read_rows(read_cases, []), "no rows.*infolm attack"),
    (read_rows(read_items, [{"prediction": "a"}]), "'references'"),
    (read_rows(read_items, [{"reference": "a", "id": 1, "paraphrase": p} for p in "bc"]), "Keep"),
    (read_rows(read_items, []), "no rows"),
    (lambda _: Item("1", ANCHOR), "references"),
    (lambda _: make_cases([Item("1", (ANCHOR,))], per_attack=0), "per_attack"),
]


@pytest.mark.parametrize(("call", "word"), INVALID)
def test_invalid_input_is_rejected(tmp_path, call, word):
    with pytest.raises(InputError, match=word):
        call(tmp_path)


def test_invalid_arguments_are_rejected_before_scoring(monkeypatch):
    monkeypatch.setattr(ToyRun, "score_chunk", lambda *_: pytest.fail("scored"))
    scores = [(1, 0, NAN)] * len(CASES)
    toy = {"toy": ToyScorer()}
    for cases, scorers, columns, word in (
        ([], toy, {}, "no attack applies"),
        (CASES, toy, {"toy": scores}, "two metrics are named 'toy'"),
        (CASES, {"x": InfoLMScorer(information_measure=["l1"])}, {"x_l1_distance": scores}, "x_l1"),
        (CASES, toy, {"bleu": scores[1:]}, f"'bleu' must have shape .{len(CASES)}, 3."),
        (CASES, toy | {"mine": InfoLMScorer(idf="separate")}, {}, "separate"),
        (CASES, toy | {"mine": MENLIScorer(combine_with=SEPARATE)}, {}, "separate"),
    ):
        with pytest.raises(InputError, match=word):
            evaluate_robustness(cases, scorers, columns)


# Statistics


def case(attack="num", kind="adequacy"):
    return AttackCase("1", attack, kind, "a", "b", "c", "d")


def test_differences_within_float32_error_are_ties_and_count_as_misses():
    for first, second, hit in ((1, 1 - 1e-7, 0), (1, 1 - 1e-5, 1), (1e-9, 0, 0), (1, -math.inf, 1)):
        result = summarise([case()], [(first, second, NAN, NAN)])["num"]
        assert (result.accuracy, result.ties) == (hit, 1 - hit)
    assert summarise([case()], [(-math.inf, -math.inf, 0, NAN)])["num"].ties == 1
    scores = [(2, 1, 0, NAN), (1, 1 + 1e-12, 0, NAN), (0, 1, 5, NAN)]
    result = summarise([case()] * 3, scores)["num"]
    rates = result.accuracy, result.ties, result.sensitivity
    assert result.n == 3 and rates == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    # Wilson 1927: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), z = 1.959964
    assert (result.low, result.high) == pytest.approx((0.061492, 0.792340), abs=1e-6)


def test_sensitivity_uses_the_anchor_if_the_paraphrase_cannot_be_attacked():
    scores = [(NAN, 1, NAN, 2), (3, 1, NAN, 0.5)]
    result = summarise([case()] * 2, scores)["num"]
    assert (result.n, result.accuracy, result.texts, result.sensitivity) == (1, 1.0, 2, 0.5)
    attacks = summarise([case()], scores[:1])
    gaps = dict.fromkeys(("accuracy", "low", "high", "ties"))
    report = MetricResult(None, attacks).as_dict()["attacks"]
    counts = {"kind": "adequacy", "texts": 1, "n": 0}
    assert report == {"num": {**counts, **gaps, "sensitivity": 1.0}}


def test_macro_averages_weight_attacks_equally():
    cases = [case(), case(), case("neg"), case("typo", "fluency"), case("adj")]
    scores = [(1, 0, 2), (0, 1, 2), (1, 0, 0), (0, 1, 0), (NAN, NAN, NAN)]
    result = MetricResult(None, summarise(cases, [(*row, NAN) for row in scores]))
    assert list(result.attacks) == ["num", "neg", "adj", "typo"]
    assert result.macro() == {"all": 0.5, "adequacy": 0.75, "fluency": 0.0}
    means = {"all": 1 / 3, "adequacy": 0.5, "fluency": 0}
    assert result.macro("sensitivity") == pytest.approx(means)
    assert MetricResult(None, {}).macro() == {"all": None, "adequacy": None, "fluency": None}


# Metrics


def test_each_distinct_pair_is_scored_once_as_if_alone(monkeypatch):
    scored_pairs, score = [], ToyRun.score_chunk

    def record_pairs(self, pairs, *how):
        scored_pairs.extend((candidate, *group) for candidate, group in pairs)
        return score(self, pairs, *how)

    monkeypatch.setattr(ToyRun, "score_chunk", record_pairs)
    scorer = ToyScorer(size=3)
    result = evaluate_robustness(CASES, {"toy": scorer})["toy"]
    assert len(scored_pairs) == len(set(scored_pairs)) and result.signature == scorer.signature()
    pairs = {(case.adversary, case.anchor) for case in CASES}
    pairs |= {(case.paraphrase, case.anchor) for case in CASES if case.paraphrase is not None}
    pairs |= {(case.paraphrase_adversary or case.anchor, case.anchor) for case in CASES}
    assert set(scored_pairs) == pairs

    def prefers(text, adversary, anchor):
        scores = [scorer.score([candidate], [anchor])["toy"] for candidate in (text, adversary)]
        return scores[0] > scores[1]

    assert set(result.attacks) == {case.attack for case in CASES}
    for name, numbers in result.attacks.items():
        cases = [case for case in CASES if case.attack == name]
        sensitivity = [
            prefers(case.anchor, case.adversary, case.anchor)
            if case.paraphrase_adversary is None
            else prefers(case.paraphrase, case.paraphrase_adversary, case.anchor)
            for case in cases
        ]
        assert numbers.n == sum(case.paraphrase is not None for case in cases)
        assert numbers.sensitivity == sum(sensitivity) / len(sensitivity)


def test_idf_counts_each_distinct_anchor_once(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert))
    with pytest.warns(UserWarning, match="only 3 distinct documents"):
        evaluate_robustness(CASES, {"infolm": scorer})
    with pytest.warns(UserWarning):
        single, double = (
            evaluate_robustness(cases, {"infolm": scorer}) for cases in (CASES, [*CASES, *CASES])
        )
    for name, numbers in single["infolm"].attacks.items():
        assert numbers.accuracy == double["infolm"].attacks[name].accuracy
