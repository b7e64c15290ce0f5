"""Cases made of references, written and read again."""

import json
import re
from dataclasses import replace

import pytest

from infolm_metric.robustness import Item, Triple, make_triples, read_items, read_triples
from infolm_metric.robustness.triples import check_kinds, triple_of

NEAR = "The city has 12 rooms and a garden."
LIKE_IT = "The city has 12 rooms and a park."
UNLIKE_IT = "There are twelve rooms with gardens there."


def write(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


def test_rows_of_several_systems_are_one_item_with_each_reference_once(tmp_path):
    rows = [
        {"system": "A", "id": 7, "prediction": "x", "references": [NEAR, LIKE_IT]},
        {"system": "B", "id": 7, "prediction": "y", "references": [LIKE_IT, UNLIKE_IT]},
        {"system": "A", "id": 8, "prediction": "z", "references": [NEAR], "paraphrase": "So."},
        {"system": "B", "id": 8, "prediction": "z", "references": [NEAR], "paraphrase": ""},
    ]
    assert read_items(write(tmp_path / "rows.jsonl", rows)) == [
        Item("7", (NEAR, LIKE_IT, UNLIKE_IT)),
        Item("8", (NEAR,), "So."),
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
    row = {"references": [NEAR], "paraphrase": nothing}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    assert read_items(str(tmp_path / "rows.jsonl")) == [Item("1", (NEAR,))]


def test_a_paraphrase_is_attacked_as_any_text():
    (first, _) = make_triples([Item("1", (NEAR, "There is a garden."))], ["neg"])
    assert first.paraphrase_adversary == "There is not a garden."


def test_cases_do_not_depend_on_the_order_of_items():
    items = [Item(str(number), (f"The city has {number} rooms.",)) for number in range(10, 30)]
    one, other = (make_triples(each, seed=4, most=5) for each in (items, items[::-1]))
    assert sorted(map(repr, one)) == sorted(map(repr, other))
    counts = {name: sum(case.attack == name for case in one) for name in ("num", "neg", "pron")}
    assert counts == {"num": 5, "neg": 5, "pron": 0}


def test_a_case_survives_writing_and_reading(tmp_path):
    made = make_triples([Item("1", (NEAR, UNLIKE_IT))], seed=2)
    path = write(tmp_path / "cases.jsonl", [case.as_dict() for case in made])
    assert [case for _, case in read_triples(path)] == made
    assert list(made[0].as_dict()) == [
        "id", "attack", "kind", "anchor", "paraphrase", "adversary", "paraphrase_adversary", "seed",
    ]  # fmt: skip


ROW = {
    "id": "1",
    "attack": "num",
    "kind": "adequacy",
    "anchor": "It has 1.",
    "adversary": "It has 2.",
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attack": "nums"}, "line 3: unknown attack 'nums'; did you mean 'num'?"),
        ({"attack": ["num"]}, "line 3: 'attack' must be a string, got ['num']"),
        ({"kind": "fluent"}, "line 3: unknown kind 'fluent'; did you mean 'fluency'?"),
        (
            {"kind": "fluency"},
            "line 3: column 'kind' must be 'adequacy', which 'num' is, got 'fluency'",
        ),
        ({"adversary": None}, "line 3: 'adversary' must be a string, got None"),
        ({"paraphrase": 5}, "line 3: 'paraphrase' must be a string, got 5"),
        ({"adversary": "It has 1."}, "line 3: the adversary is the anchor itself; leave the row"),
        ({"seed": "x"}, "line 3: 'seed' must be a whole number, got 'x'"),
    ],
)
def test_wrong_rows_are_refused_where_they_stand(change, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        triple_of("line 3", {**ROW, **change})


def test_an_attack_has_one_kind():
    ours = Triple("1", "typo", "fluency", "a", None, "b", None)
    mine = replace(ours, attack="mine", kind="adequacy")
    check_kinds([ours, mine, mine])
    for wrong, known in (
        (replace(ours, kind="adequacy"), "fluency"),
        (
            replace(mine, kind="fluency"),
            "adequacy",
        ),
    ):
        message = f"kind of triples[2] must be {known!r}, which {wrong.attack!r} is, got"
        with pytest.raises(ValueError, match=re.escape(message)):
            check_kinds([ours, mine, wrong])
    with pytest.raises(ValueError, match=re.escape("unknown kind of triples[0] 'adequate'")):
        check_kinds([replace(mine, kind="adequate")])


@pytest.mark.parametrize("references", ["It has 12 rooms.", b"It has 12 rooms."])
def test_the_references_of_an_item_are_no_single_string(references):
    with pytest.raises(TypeError, match="references must be a tuple of texts, got"):
        Item("1", references)


def test_rows_without_an_id_are_one_item_for_the_same_references_in_any_order(tmp_path):
    rows = [{"references": [NEAR, LIKE_IT]}, {"references": [LIKE_IT, NEAR]}]
    rows += [{"references": [LIKE_IT]}]
    assert read_items(write(tmp_path / "rows.jsonl", rows)) == [
        Item("1", (NEAR, LIKE_IT)),
        Item("3", (LIKE_IT,)),
    ]


@pytest.mark.parametrize("empty", ["", " "])
def test_empty_cells_of_a_csv_are_no_texts(empty):
    cells = {"paraphrase": empty, "paraphrase_adversary": empty, "seed": "0"}
    case = triple_of("line 2", {**ROW, **cells})
    assert (case.paraphrase, case.paraphrase_adversary, case.seed) == (None, None, 0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"prediction": "a"}], "none of the columns 'references' and 'reference'"),
        ([{"references": []}], "'references' is an empty list"),
        ([{"reference": None}], "'reference' must be a string, got None"),
        ([{"reference": "a", "id": [1]}], "'id' must be a name or a number, got [1]"),
        (
            [{"reference": "a", "id": 1, "paraphrase": word} for word in "bc"],
            "line 2: another paraphrase of id '1'; give each paraphrase an id of its own",
        ),
        ([], "has no rows"),
    ],
)
def test_a_file_without_references_is_refused(tmp_path, rows, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        read_items(write(tmp_path / "rows.jsonl", rows))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"attacks": ["nun"]}, "unknown attack 'nun'"), ({"most": 0}, "most must be at least 1")],
)
def test_wrong_choices_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_triples([Item("1", (NEAR,))], **arguments)
