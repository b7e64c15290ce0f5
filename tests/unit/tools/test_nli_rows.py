"""Training rows made by rule have the labels that their texts deserve."""

import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tools import nli_edits, nli_rows
from tools.nli_edits import EDITS, Names, collect_names, shorten
from tools.nli_rows import Item, Row
from tools.wordnet import WordNet

TEXTS = (
    "The novel was written by Alice Munro in 1990.",
    "In 1955, the engineer met the teacher in Toronto, and they built 12 bridges.",
    "On 4 March 2020 the council of Oslo approved 3,500 large houses.",
    "Maria visited Jonas in Berlin on Monday because it is not far from Potsdam.",
    "The river rose by 3.5 metres after two days of heavy rain (about 40 km away).",
    "The museum is closed on Mondays, which is often very inconvenient.",
    "However, the old farmer sold 20 kg of apples and pears for $15.",
    "She has increased the temperature to 80 percent of the maximum.",
    "Prince Carl won the first race in the 19th century.",
    "They do not sell tickets at 12:30 on Sundays.",
)
NAMES = collect_names(TEXTS * 20)
SEEDS = range(8)


def edits(name):
    rule = EDITS[name].rule
    pairs = (
        (text, rule(text, Random(f"{seed} {text}"), NAMES)) for text in TEXTS for seed in SEEDS
    )
    return [(text, edited) for text, edited in pairs if edited]


@pytest.mark.parametrize("name", EDITS)
def test_every_edit_applies_and_changes_the_text(name):
    assert edits(name) and all(text != edited for text, edited in edits(name))


@pytest.mark.parametrize("name", ["number", "date"])
def test_numbers_and_dates_are_replaced_without_other_changes(name):
    words = {word.lower() for word in (*nli_edits.MONTHS, *nli_edits.DAYS, *nli_edits.NUMBER_WORDS)}
    words |= {f"{word}s" for word in words}
    for text, edited in edits(name):
        for old, new in zip(text.split(), edited.split(), strict=True):
            changed = {word.lower().strip(".,") for word in (old, new)}
            assert old == new or changed <= words or any(map(str.isdigit, old + new))


def test_roles_are_exchanged_but_lists_are_not():
    for text, edited in edits("role"):
        words = [Counter(re.findall(r"\w+", t.lower())) for t in (text, edited)]
        assert words[0] == words[1]
    assert EDITS["role"].rule("Ann Lee, Bo and Jo met.", Random(0), NAMES) is None


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        (nli_edits.move_adverbial, "In 1955, the boy left.", "The boy left in 1955."),
        (nli_edits.vary_voice, "The song was written by Ann.", "Ann wrote the song."),
        (nli_edits.exchange_listed, "He met Ann and Bo.", "He met Bo and Ann."),
        (nli_edits.drop_connective, "However, it rained.", "It rained."),
        (nli_edits.vary_date, "It began on 4 March 2020.", "It began on March 4, 2020."),
    ],
)
def test_variations_keep_the_meaning(rule, text, expected):
    assert expected in {rule(text, Random(seed), NAMES) for seed in range(20)}


def test_shorter_sentences_consist_of_words_of_the_sentence_in_order():
    found = 0
    for text in TEXTS:
        for seed in SEEDS:
            if short := shorten(text, Random(seed)):
                found += 1
                words = iter(re.findall(r"\w+", text.lower()))
                assert all(word in words for word in re.findall(r"\w+", short.lower()))
                assert len(short) < len(text)
    assert found > 10


def test_sentences_with_a_negation_or_condition_are_not_shortened():
    for text in (
        "It is not very big.",
        "If it rains heavily, we stay.",
        "No very old man ran away.",
    ):
        assert all(shorten(text, Random(seed)) is None for seed in SEEDS)


def rows_of(*texts, seed=0):
    items = [Item(text, "It was a cold year.", "Nothing else is known.") for text in texts]
    return list(nli_rows.make_rows(items, NAMES, seed))


def test_sentences_entail_themselves_and_not_their_edits():
    rows = [row for seed in range(30) for row in rows_of(*TEXTS, seed=seed)]
    labels = {}
    for row in rows:
        labels.setdefault(row.source, Counter())[row.label] += 1
    assert set(labels["rule_copy"]) == set(labels["rule_variant"]) == {"entailment"}
    assert set(labels["rule_sentence"]) == set(labels["rule_paragraph"]) == {"entailment"}
    for name, edit in EDITS.items():
        assert set(labels[f"rule_{name}"]) == {edit.label}
    copies = [row for row in rows if row.premise == row.hypothesis]
    assert copies and {row.label for row in copies} == {"entailment"}
    edited = sum(row.label != "entailment" for row in rows)
    assert 0.4 < edited / len(rows) < 0.75


@pytest.mark.parametrize("kind", nli_rows.ANSWER_LABELS)
def test_templates_of_answers_mention_the_values_that_they_assert_or_deny(kind):
    for template in nli_edits.TABLES["answers"][kind]:
        right, wrong = ("{y}" in template, "{x}" in template)
        expected = {"corrections": (1, 1), "denials": (0, 1), "assertions": (1, 0), "both": (1, 1)}
        assert kind == "doubts" or (right, wrong) == expected[kind], template


def value(row):
    return re.sub(r"^(?:It is|It was|The answer is) |\.$", "", row.hypothesis)


@pytest.mark.parametrize(
    ("pattern", "label_of_y"),
    [
        (r"It is not (?P<x>[^.]+)\. It is (?P<y>[^.]+)\.", "entailment"),
        (r"It (?:is|was) (?P<y>[^,.]+)(?:, not| instead of) (?P<x>[^.]+)\.", "entailment"),
        (r"(?:It isn't|It is not|The answer is not) (?P<x>[\w ]+)\.", "neutral"),
    ],
)
def test_denied_values_are_contradicted_and_asserted_values_entailed(pattern, label_of_y):
    rows = [row for seed in range(60) for row in rows_of(*TEXTS, seed=seed)]
    found = [(match, row) for row in rows if (match := re.fullmatch(pattern, row.premise))]
    found = [(match, row) for match, row in found if row.source == "rule_denial"]
    for match, row in found:
        assert row.label == ("contradiction" if value(row) == match["x"] else label_of_y)
    assert {row.label for _, row in found} == {"contradiction", label_of_y}


def test_the_same_seed_gives_the_same_rows():
    assert rows_of(*TEXTS, seed=3) == rows_of(*TEXTS, seed=3)
    assert rows_of(*TEXTS, seed=3) != rows_of(*TEXTS, seed=4)


def test_held_out_sentences_are_not_used_for_training():
    excluded = frozenset(map(nli_rows.key, TEXTS[:5]))
    paragraphs = [f"{first} {second}" for first in TEXTS for second in TEXTS if first != second]
    items = nli_rows.choose_items(paragraphs, 100, 0, excluded)
    assert {item.sentence for item in items} == set(TEXTS[5:])


def test_sentences_keep_their_neighbors():
    (item, *_) = nli_rows.find_items(" ".join(TEXTS[:3]), Random(5))
    assert item.sentence == TEXTS[0] and item.context().startswith(TEXTS[0])
    assert item.context("") == item.after
    assert nli_rows.split_sentences(" ".join(TEXTS)) == list(TEXTS)


def test_verdicts_of_answers_become_two_way_labels(tmp_path):
    records = [
        {"prediction": "It is Rome.", "references": ["Rome", "Roma"], "human": {"correct": 1}},
        {"prediction": "It is Oslo.", "references": ["Rome"], "human": {"correct": 0}},
        {"prediction": " ", "references": ["Rome"], "human": {"correct": 0}},
    ]
    file = Path(tmp_path / "answers.jsonl")
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = list(nli_rows.answer_rows(file, 0))
    assert [(row.label, row.premise) for row in rows] == [
        ("entailment", "It is Rome."),
        ("entailment", "It is Rome."),
        ("not_entailment", "It is Oslo."),
    ]
    assert all(isinstance(row, Row) for row in rows)


def test_words_are_replaced_by_words_in_the_same_form():
    names = Names(NAMES.names, {("NOUN", "NNS"): ["lamps"]})
    assert EDITS["word"].rule("Farmers grew apples.", Random(0), names) == "Farmers grew lamps."


def test_related_words_are_read_from_wordnet(tmp_path):
    license = "  1 This is a license.\n"
    for part in ("noun", "verb", "adj"):
        for name in ("index", "data"):
            (tmp_path / f"{name}.{part}").write_text(license)
    (tmp_path / "data.noun").write_text(
        license + "00000001 05 n 01 animal 0 001 ~ 00000002 n 0000 | a living organism\n"
        "00000002 05 n 02 puppy 0 pup 0 001 @ 00000001 n 0000 | a young dog\n"
        "00000003 05 n 01 kitten 0 001 @ 00000001 n 0000 | a young cat\n"
        "00000004 05 n 01 pup 0 000 | a young seal, say\n"
    )
    (tmp_path / "index.noun").write_text(
        license + "animal n 1 1 ~ 1 1 00000001\n"
        "puppy n 1 1 @ 1 1 00000002\n"
        "kitten n 1 1 @ 1 1 00000003\n"
        "pup n 2 1 @ 2 0 00000002 00000004\n"
    )
    names = Names({}, {}, WordNet.load(tmp_path))
    text = "She fed the puppies, and"
    assert nli_edits.vary_word(text, Random(0), names) == "She fed the pups, and"
    assert nli_edits.widen(f"{text} left.", Random(0), names) == "She fed the animals, and left."
    assert nli_edits.widen("No puppies left.", Random(0), names) is None
    edited = {EDITS["word"].rule(text, Random(seed), names) for seed in SEEDS}
    assert edited == {None, "She fed the kittens, and"}
