"""The rule of every attack, on sentences."""

import re

import pytest

from infolm_metric.robustness import first_names, word_pools
from infolm_metric.robustness.articles import article_for
from infolm_metric.robustness.attacks import ADEQUACY, ATTACKS, FLUENCY, attack
from infolm_metric.robustness.lexicon import forms, inflected, is_content, tag_of
from infolm_metric.robustness.number_words import cardinal, in_words
from infolm_metric.robustness.numbers import numbers_of

SEEDS = range(12)
TEXTS = [
    "Alan Bean was born in Wheeler, Texas and he spent 100 hours in the large city.",
    "The airport has a runway of 3,400 metres and serves an old town.",
    "She plays the piano for our famous orchestra.",
]


def outcomes(text: str, name: str) -> list[str]:
    """What an attack makes of a text under several seeds."""
    return [made for seed in SEEDS if (made := attack(text, name, seed)) is not None]


def differences(text: str, made: str) -> list[tuple[str, str]]:
    """The words that are not the same, where both texts have as many."""
    return [
        (one, other) for one, other in zip(text.split(), made.split(), strict=True) if one != other
    ]


def test_there_are_nine_attacks_on_adequacy_and_three_on_fluency():
    kinds = [each.kind for each in ATTACKS.values()]
    assert (kinds.count(ADEQUACY), kinds.count(FLUENCY)) == (9, 3)


def test_an_attack_depends_on_nothing_but_text_name_and_seed():
    first = [attack(text, name, 3) for name in ATTACKS for text in TEXTS]
    again = [attack(text, name, 3) for name in reversed(ATTACKS) for text in reversed(TEXTS)]
    assert again == first[::-1]


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("text", ["", " ", "...", "?!", "Ø", "日本語です。"])
def test_no_attack_applies_to_a_text_without_words(name, text):
    assert attack(text, name) is None


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_gives_the_text_itself(name):
    made = [attack(text, name, seed) for text in TEXTS for seed in SEEDS]
    assert not set(made) & set(TEXTS)


# Add, noun, verb, adjective.


def test_add_puts_a_noun_of_the_same_number_after_a_noun():
    for made in outcomes("They saw the city.", "add"):
        (new,) = re.fullmatch(r"They saw the city and (\w+)\.", made).groups()
        assert new in word_pools.NOUNS
    for made in outcomes("They saw the cities.", "add"):
        (new,) = re.fullmatch(r"They saw the cities and (\w+)\.", made).groups()
        assert tag_of(new, "NOUN") == "NNS"


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("Its genre rock is popular.", "genre and"),
        ("The birth place of Ann is small.", "birth and"),
        ("It was made in the year 1999.", "year and"),
        ("Armin van Buuren made the album.", "van and"),
        ('The album "Songs of the city" is sold.', "city and"),
        ("The city-state fell to an army.", "city and"),
        ("The woman who sang, and which song?", "who and"),
    ],
)
def test_add_keeps_out_of_names_and_compounds(text, never):
    assert not any(never in made for made in outcomes(text, "add"))


@pytest.mark.parametrize("text", ["Ann lives in Rome.", "Its genre rock rocks.", "He sings."])
def test_add_and_noun_need_a_noun(text):
    assert not outcomes(text, "add")
    assert not outcomes(text, "noun")


def test_noun_replaces_one_noun_in_its_number_and_repairs_the_article():
    for made in outcomes("An apple lay there.", "noun"):
        article, new = re.fullmatch(r"(An?) (\w+) lay there\.", made).groups()
        assert new in word_pools.NOUNS
        assert article.lower() == article_for(new)
    for made in outcomes("The cities lay there.", "noun"):
        ((_, new),) = differences("The cities lay there.", made)
        assert tag_of(new, "NOUN") == "NNS"


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("The town was founded by Ann.", ("VBD", "VBN")),
        ("Ann wrote it.", ("VBD",)),
        ("It has been written by Ann.", ("VBN", "VBD")),
        ("It is used by Ann for locating them.", ("VBD", "VBN", "VBG")),
    ],
)
def test_verb_replaces_one_verb_in_its_form(text, tag):
    for made in outcomes(text, "verb"):
        ((old, new),) = differences(text, made)
        assert tag_of(new.strip("."), "VERB") in tag
        assert tag_of(old.strip("."), "VERB") in tag


@pytest.mark.parametrize("text", ["Ann is here.", "It has been there.", "A rock on a hill."])
def test_verb_leaves_auxiliaries_and_doubtful_words_alone(text):
    assert not outcomes(text, "verb")


def test_adj_replaces_an_adjective_in_its_degree():
    for made in outcomes("It is an old town.", "adj"):
        article, new = re.fullmatch(r"It is (an?) (\w+) town\.", made).groups()
        assert new in word_pools.ADJECTIVES
        assert article == article_for(new)
    for made in outcomes("It is the largest town.", "adj"):
        ((_, new),) = differences("It is the largest town.", made)
        assert tag_of(new, "ADJ") == "JJS"


@pytest.mark.parametrize(
    "text", ["Ann was born there.", "She is resident of Rome.", "Other towns have many more."]
)
def test_adj_leaves_verbs_nouns_and_quantities_alone(text):
    assert not outcomes(text, "adj")


@pytest.mark.parametrize(
    ("pool", "part"),
    [(word_pools.NOUNS, "NOUN"), (word_pools.VERBS, "VERB"), (word_pools.ADJECTIVES, "ADJ")],
)
def test_a_pool_has_150_different_words_that_can_be_inflected(pool, part):
    assert len(pool) == len(set(pool)) == 150
    for word in pool:
        found = forms(word, part)
        assert {"NOUN": {"NN", "NNS"}, "ADJ": {"JJ"}}.get(part, {"VB", "VBZ", "VBG"}) <= set(found)
        if part == "VERB":
            assert inflected(word, part, "VBD") == inflected(word, part, "VBN")
        if part == "NOUN":
            assert inflected(word, part, "NNS") != word


# Drop, jumble, typo.


def test_drop_leaves_out_up_to_a_fifth_of_the_words():
    text = " ".join(f"w{number}" for number in range(40))
    for made in outcomes(text, "drop"):
        kept = made.split()
        assert 32 <= len(kept) < 40
        assert kept == [word for word in text.split() if word in kept]
    assert all(len(made.split()) == 4 for made in outcomes("a b c d e", "drop"))
    assert not outcomes("a b c d", "drop")


def test_jumble_keeps_the_words_and_needs_four_different_ones():
    for made in outcomes("a b c d a", "jumble"):
        assert made != "a b c d a"
        assert sorted(made.split()) == ["a", "a", "b", "c", "d"]
    assert not outcomes("a b c a b c", "jumble")


def test_typo_swaps_two_neighbours_but_never_the_first_letter():
    text = "In Rome noon is hot"
    for made in outcomes(text, "typo"):
        ((old, new),) = differences(text, made)
        places = [place for place in range(4) if old[place] != new[place]]
        assert len(places) == 2 and places[0] >= 1 and places[1] == places[0] + 1
        assert sorted(old) == sorted(new)
    assert not outcomes("It is hot in UK", "typo")
    assert not outcomes("Ooooo", "typo")


@pytest.mark.parametrize(
    ("text", "spelling"),
    [("centre", "center"), ("Theatre's", "Theater's"), ("metres", "meters"), ("FIBER", "FIBRE")],
)
def test_typo_gives_no_other_spelling(text, spelling):
    made = {attack(text, "typo", seed) for seed in range(60)}
    assert len(made) > 1 and spelling not in made


# Numbers.


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 1,250.5 km long and has 3 of 20.", ["1,250.5", "3", "20"]),
        ("He was born on 15 March 1932 and on March 15, 1932.", []),
        ("In May 1999, on the 3rd of June and on 1999-05-03.", []),
        ("It opened on 03/05/1999 or 3.5.1999 at 12:30.", []),
        ("He was born on the date 1934.01-01.", []),
        ("It weighs 1934.01 kg, or 1934.01-78.25 kg.", ["1934.01", "1934.01", "78.25"]),
        ("It was built in 1999.", []),
        ("It is 1999 metres long.", ["1999"]),
        ("It holds 2000 people and cost $2000.", ["2000", "2000"]),
        ("It has 1850 and 2194 of them.", ["1850", "2194"]),
        ("An A380, a B-2, a 3rd one and the 1980s.", []),
        ("Of 40% and a 16-inch gun.", ["40", "16"]),
        ("ISBN 0-374-53063-6 is a code.", []),
        ("On May 2-3, on 2–3 May and on May 2nd–3rd, 1999 he ran 5-10 km.", ["5", "10"]),
        ("In 1985–86, 1985-86 and 1985/86 he ran 5 km.", ["5"]),
        ("It weighs 1834-86.5 kg.", ["1834", "86.5"]),
    ],
)
def test_numbers_are_those_outside_dates_and_names(text, numbers):
    assert [found[0] for found in numbers_of(text)] == numbers


def test_num_changes_digits_and_nothing_else():
    text = "In 1999 it was 1,250.5 km long, 0.5 km wide and 7 m high; 7 m."
    for made in outcomes(text, "num"):
        assert re.sub(r"\d", "0", made) == re.sub(r"\d", "0", text)
        assert made.startswith("In 1999 ")
        old, new = ([found[0] for found in numbers_of(each)] for each in (text, made))
        assert all(one != other and other[0] != "0" for one, other in zip(old, new, strict=True))
        assert new[-1] == new[-2]
    assert not outcomes("It opened in May 1999 as the B-2.", "num")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (13, "thirteen"),
        (90, "ninety"),
        (342, "three hundred and forty-two"),
        (1_000_001, "one million and one"),
        (27_400, "twenty-seven thousand four hundred"),
        (3_000_000_000, "three billion"),
    ],
)
def test_a_number_in_words(number, words):
    assert cardinal(number) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("12 men.", "Twelve men."),
        ("It has 1,005 men.", "It has one thousand and five men."),
        ("It is 2.05 km long.", "It is two point zero five km long."),
        ("Of 40% in 1999.", "Of forty percent in 1999."),
        ("It cost $5.", None),
        ("It opened on 3 May 1999.", None),
        ("1.234.567 of 007", None),
    ],
)
def test_a_text_with_its_numbers_in_words(text, words):
    assert in_words(text) == words


# Negation.


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("It isn't big.", "It is big."),
        ("He won't go.", "He will go."),
        ("They can’t swim.", "They can swim."),
        ("It is not big.", "It is big."),
        ("He did not go.", "He did go."),
        ("He cannot swim.", "He can swim."),
        ("It is not only big.", None),
        ("I'm not sure.", "I'm sure."),
        ("I am not sure.", "I am sure."),
        ("They’ve not seen it.", "They’ve seen it."),
        ("It's not only big.", None),
        ("It is big.", "It is not big."),
        ("They were born and had died.", "They were not born and had died."),
        ("She has also written it.", "She has not also written it."),
        ("It has run for years.", "It has not run for years."),
        ("The film has run time of 40 minutes.", None),
        ("It has a runway.", "It does not have a runway."),
        ("It had a runway.", "It did not have a runway."),
        ("A can of it will last.", "A can of it will not last."),
        ("Ann did a tour.", "Ann did not do a tour."),
        ("She wrote a book.", "She did not write a book."),
        ("Ann married Bob.", "Ann did not marry Bob."),
        ("Ann writes books.", "Ann does not write books."),
        ("Ann plays for Rome.", "Ann does not play for Rome."),
        ("Ann has no books.", None),
        ("The town founded by Ann.", None),
        ("May in Rome.", None),
        ('The song "This is it".', None),
    ],
)
def test_neg_denies_or_takes_the_denial_away(text, denied):
    assert attack(text, "neg") == denied


# Agreement.


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("It is big.", "It are big."),
        ("They were here.", "They was here."),
        ("It has a runway.", "It have a runway."),
        ("They have one.", "They has one."),
        ("They would have one.", None),
        ("It did not have one.", None),
        ("He wants to do it.", "He want to do it."),
        ("Ann plays the piano.", "Ann play the piano."),
        ("It makes them.", "It make them."),
        ("The plays of Ann.", None),
        ("Ann wrote it.", None),
    ],
)
def test_agreement_breaks_the_first_finite_verb(text, wrong):
    assert attack(text, "agreement") == wrong


# Pronouns.


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("He met her in his house.", "She met him in her house."),
        ("She lost her old hat, and he lost his.", "He lost his old hat, and she lost hers."),
        ("Ann saw her.", "Ann saw him."),
        ("His remaining books are hers.", "Her remaining books are his."),
        ("We saw them with our dog.", "They saw us with their dog."),
        ("I am glad, and I was sad.", "You are glad, and you were sad."),
        ("You are glad.", "I am glad."),
        ("This is for you.", "This is for me."),
        ("They gave me my coat.", "We gave you your coat."),
        ("He's here and they're gone.", "She's here and we're gone."),
        ("You’ll find it; I'm sure.", "I’ll find it; you're sure."),
        ("He hurt himself.", "She hurt herself."),
        ("Cole Porter wrote Kiss Me Kate.", None),
        ("The album Turn Me On is new.", None),
        ("It ended World War I in Europe.", None),
        ("Ann Boleyn met Elizabeth I.", None),
        ("It is sold in the US and has its price.", None),
        ('The song "She loves him" is old.', None),
    ],
)
def test_pron_swaps_persons_but_not_in_titles(text, swapped):
    assert attack(text, "pron") == swapped


# Names.


def test_name_calls_one_person_by_another_name_of_the_same_gender_everywhere():
    text = "Alan Bean met Mary. Alan's boat sank, and Mary’s too."
    seen = set()
    for made in outcomes(text, "name"):
        changes = differences(text, made)
        assert len(changes) == 2
        ((old, new),) = {tuple(re.split("['’.]", word)[0] for word in change) for change in changes}
        names = first_names.MALE if old == "Alan" else first_names.FEMALE
        assert new in names and new not in ("Alan", "Mary")
        seen.add(old)
    assert seen == {"Alan", "Mary"}


@pytest.mark.parametrize("text", ["Aleksandr left.", "alan left.", "Jean-Paul left.", "Alanya"])
def test_name_needs_a_name_of_the_lists(text):
    assert not outcomes(text, "name")


def test_there_are_70_first_names_a_list_and_none_in_both():
    assert len(set(first_names.MALE)) == len(set(first_names.FEMALE)) == 70
    assert not set(first_names.MALE) & set(first_names.FEMALE)


# Words.


@pytest.mark.parametrize(
    ("word", "article"),
    [
        ("apple", "an"), ("lamp", "a"), ("hour", "an"), ("honest", "an"), ("university", "a"),
        ("unimportant", "an"), ("European", "a"), ("once", "a"), ("umbrella", "an"),
        ("useful", "a"), ("urban", "an"), ("uniform", "a"), ("unit", "a"), ("unique", "a"),
    ],
)  # fmt: skip
def test_the_article_goes_by_the_sound(word, article):
    assert article_for(word) == article


@pytest.mark.parametrize(
    ("word", "content"),
    [("city", True), ("rock", False), ("City", False), ("ox", False), ("which", False)],
)
def test_a_content_word_can_be_nothing_else(word, content):
    assert is_content(word, "NOUN") is content


# Wrong input.


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("A cat.", "nun"), ValueError, "unknown attack 'nun'; did you mean 'noun'?"),
        ((None, "num"), TypeError, "text must be a string, got None"),
        (("A cat.", "num", -1), ValueError, "seed must be at least 0, got -1"),
        (("A cat.", "num", "x"), TypeError, "seed must be a whole number, got 'x'"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        attack(*arguments)
