"""Denials, doubts and lists of candidates."""

import re

import pytest

from infolm_metric.answer_check.denial_rules import CHOICES, DENIALS, DOUBTS, OUTDONE
from infolm_metric.answer_check.denials import (
    find_denial,
    is_about_another,
    is_corrected_to,
    mark_mentions,
    mark_statements,
    marks_another,
    offers_candidates,
)
from infolm_metric.answer_check.statements import split_statements
from infolm_metric.answer_check.tokens import reference_tokens
from tests.linear_time import assert_linear_time

DENIED = [  # in all of them, Leeds is the reference
    "I can't say for certain whether it is Leeds.",
    "Leeds comes to mind, but I really don't know.",
    "It is in Leeds, I think, with low confidence.",
    "One might think of Leeds, yet the evidence is inconclusive.",
    "Perhaps Leeds, perhaps not.",
    "I cannot determine this, but some would say Leeds.",
    "As an AI, I can't answer. You could search for 'Leeds'.",
    "I can't answer that. Leeds has a museum.",
    "It is Leeds' rival Hull.",
    "Leeds's successor, Hull.",
    "It opened in Hull, long before Leeds.",
    "Before Leeds, the seat was Hull.",
    "The second largest after Leeds is Hull.",
    "There is some chance that it is in Leeds.",
    "Between Leeds and Hull, Hull is larger.",
    "Between Hull and Leeds, the larger one is Hull.",
    "Leeds bought it from Hull. So the seller was Hull.",
    "Leeds is the buyer. The seller is therefore Hull.",
    "Leeds bought it from Hull, so the seller is Hull.",
    "Leeds has a large library. The larger one in Hull is my answer.",
    "Leeds gets the glory. Given the dates, I'd credit Hull.",
    "Leeds has a famous bridge. The one you asked about crosses the Humber.",
    "I can't confirm where it is. One site lists Leeds among others.",
    "As an AI I'm not able to say. Leeds took part in it.",
    "Common myth:\nLeeds has the oldest bridge.\nFact:\nIt is in Hull.",
    "Hull or Leeds?\nHull, in 1901.",
    "Leeds. Psych! It is Hull.",
    "The match was postponed from Leeds to Hull.",
    "They met in Hull instead of the usual Leeds.",
    "Everyone thinks it is in Leeds. It never was.",
    "It is often called Leeds, but it is Hull.",
    "The bridge was long thought to be in Leeds.",
    "I would have said Leeds.",
    "It is a myth that the bridge is in Leeds.",
    "While some maps show Leeds, the correct city is Hull.",
    "I expected Leeds; it turned out to be Hull.",
    "The city must not be confused with Leeds.",
    "Leeds used to be the seat, but now it is Hull.",
    "Leeds would be a wrong choice.",
    "Leeds. Oops, Hull.",
    "It is in Leeds. Actually, let me recheck: it is in Hull.",
    "The text mentions Leeds. The final answer is Hull.",
    "The document does not mention Leeds.",
    "I have no access to data on the city of Leeds.",
    "I would guess Hull, but it could well be Leeds.",
    "Maybe Leeds, although it is more likely Hull.",
    "It is hardly Leeds.",
    "It is neither York nor Leeds.",
    "Anywhere but Leeds.",
    "Leeds was my first thought, and Hull is right.",
    "Leeds is ruled out.",
    "It was almost Leeds, but it is Hull.",
    "I considered Leeds but chose Hull.",
    "Leeds did not build one; Hull did.",
    "It could be Leeds. It could also be Hull.",
    "Two authors claim Leeds, but this is disputed.",
    "It isn't Leeds. It is Hull.",
    "No, Leeds is wrong.",
    "It was Hull rather than Leeds.",
    "Hull, not Leeds, has the bridge.",
    "Leeds is not the answer.",
    "Leeds? No. Leeds is incorrect, as the bridge is in Hull.",
    "People often name Leeds, but that is a common mistake. It is Hull.",
    "The belief that the bridge is in Leeds is mistaken.",
    "The bridge is in Leeds. Wait, that river is in Hull.",
    "It is Leeds. That's not correct. It is Hull.",
    "It was never in Leeds.",
    "I don't know if it is Leeds.",
    "I cannot confirm that the bridge is in Leeds.",
    "It could be Leeds or another city.",
    "Is it Leeds? No, Hull.",
    "Leeds? Nope, it's Hull.",
    "Leeds had no part in it; it was Hull.",
    "Leeds is often credited, however it was Hull.",
    "Contrary to popular belief, it wasn't Leeds.",
    "Don't say Leeds; the answer is Hull.",
    "Unlike Leeds, Hull was chosen.",
    "It has nothing to do with Leeds.",
    "Leeds is a red herring. It was Hull.",
    "Leeds can be excluded.",
    "We can dismiss Leeds.",
    "Leeds doesn't fit the description, so it must be Hull.",
    "Leeds does not qualify.",
    "Leeds never hosted it.",
    "Leeds wasn't founded yet at that time, so it was Hull.",
    "I'd eliminate Leeds and go with Hull.",
    "The popular answer, Leeds, is incorrect.",
    "Some sources wrongly name Leeds.",
    "Leeds has been erroneously reported as the place.",
    "It is incorrectly attributed to Leeds.",
    "Leeds is wrong here.",
    "That wasn't Leeds but Hull.",
    "It's Hull, not Leeds.",
    "Hull (not Leeds)",
    "No, it isn't Leeds.",
    "Visitors confuse it with Leeds.",
    "This is frequently mistaken for Leeds.",
    "You may be thinking of Leeds, but it is Hull.",
    "You're probably thinking of Leeds, which is a different city.",
    "Leeds is a common misconception.",
    "Not Leeds.",
    "Certainly not Leeds.",
    "Anything but Leeds.",
    "Definitely not in Leeds.",
    "It wasn't in Leeds that the treaty was signed.",
    "I don't think it was Leeds.",
    "I doubt that it was Leeds.",
    "I do not believe that Leeds is right.",
    "Leeds would be incorrect.",
    "Leeds is not right.",
    "Leeds is not where it happened.",
    "The answer isn't Leeds.",
    "The answer is not Leeds, it is Hull.",
    "Although Leeds is larger, Hull is the capital.",
    "While Leeds is famous for it, the event took place in Hull.",
    "Leeds bid for the games, but Hull got them.",
    "Leeds was considered, but they chose Hull.",
    "They chose Hull over Leeds.",
    "The seat is no longer Leeds.",
    "It is no longer in Leeds.",
    "Leeds is the second largest; Hull is the largest.",
    "I have never heard of Leeds hosting it.",
    "There is no proof that Leeds was involved.",
    "It couldn't be Leeds.",
    "It could never have been Leeds.",
    "Leeds is out. Hull it is.",
    "Leeds is incorrect.",
    "Leeds: false. Hull: true.",
    "Leeds ✗, Hull ✓",
    "Wrong: Leeds. Right: Hull.",
    "The statement that Leeds was chosen is false.",
    "It is untrue that Leeds was chosen.",
    "They say Leeds, but they are wrong.",
    "If you said Leeds, you would be wrong.",
    "Saying Leeds would be a mistake.",
    "Leeds isn't correct.",
    "It was never Leeds.",
    "Nobody chose Leeds.",
    "All of them except Leeds.",
    "Everything but Leeds.",
    "Hull rather than Leeds.",
    "Hull instead of Leeds.",
    "Hull, as opposed to Leeds.",
    "Leeds almost got it.",
    "It was supposed to be in Leeds, but was moved to Hull.",
    "Originally planned for Leeds, it took place in Hull.",
    "I first thought of Leeds, but it's Hull.",
    "Initially I assumed Leeds. It is Hull.",
    "Leeds is unrelated.",
    "The question is not about Leeds.",
    "Nobody by the name of Leeds did it.",
    "There is no evidence that it was Leeds.",
    "The claim about Leeds has been debunked.",
    "That Leeds hosted it is a myth.",
    "Leeds? That's a myth.",
    "Leeds would be the wrong answer here.",
    "It's easy to think of Leeds, but it is Hull.",
    "One might be tempted to answer Leeds. However, it is Hull.",
    "A common wrong answer is Leeds.",
    "The trap answer is Leeds.",
    "The obvious guess, Leeds, is wrong.",
    "Most visitors guess Leeds. They're mistaken.",
    "Most visitors would say Leeds. It is actually Hull.",
    "Many sources list Leeds. In fact it was Hull.",
    "Leeds makes no sense here.",
    "Leeds cannot be correct.",
    "Leeds can't be right.",
    "Leeds must be an error.",
    "It isn't true that Leeds hosted it.",
    "I'm certain that it isn't Leeds.",
    "I'm sure it's not Leeds.",
    "I am fairly sure that it was not Leeds.",
    "Leeds is not among them.",
    "Leeds isn't one of them.",
    "Leeds does not appear in the list.",
    "The city isn't called Leeds.",
    "He never lived in Leeds.",
    "She did not visit Leeds.",
    "They refused to go to Leeds.",
    "This is different from Leeds.",
    "Leeds is the wrong city.",
    "Wrong city: Leeds.",
    "Leeds was wrong; the right one is Hull.",
    "My earlier answer Leeds was wrong.",
    "Earlier I said Leeds. That was a mistake.",
    "I previously stated Leeds, which is incorrect.",
    "Leeds... no, Hull.",
    "Leeds - no wait, Hull.",
    "Leeds, no, Hull.",
    "Leeds, I mean Hull.",
    "Leeds (correction: Hull).",
    "Not Leeds, not York, but Hull.",
    "Neither Leeds nor York.",
    "It was either York or Hull, but not Leeds.",
    "Anywhere except Leeds.",
    "Anything other than Leeds.",
    "Hull, never Leeds.",
    "It is Hull and not Leeds.",
    "If only it were Leeds! It is Hull.",
    "I wish it were Leeds, but it's Hull.",
    "It would be Leeds if the law had passed, but it's Hull.",
    "Leeds has no connection to this event.",
    "There was no such event in Leeds.",
    "No event of this kind took place in Leeds.",
    "Nothing of the sort happened in Leeds.",
    "Leeds played no role.",
    "In no way was Leeds involved.",
    "By no means Leeds.",
    "Under no circumstances was it Leeds.",
    "Leeds is far from correct.",
    "Whoever says Leeds is mistaken.",
    "Leeds was ruled out by historians.",
    "Leeds has been discredited as the site.",
    "The Leeds theory has been disproved.",
    "Leeds turned out to be wrong.",
    "I thought it was Leeds, but I was wrong.",
    "I used to think it was Leeds.",
    "Leeds seems plausible, yet the answer is Hull.",
    "Leeds sounds right, but it's Hull.",
    "You would expect Leeds, but it's Hull.",
    "Leeds is close, but the answer is Hull.",
    "Leeds is a good guess, but it's Hull.",
    "Good guess, but not Leeds.",
    "Leeds comes to mind, but it's Hull.",
    "I can't confirm Leeds.",
    "It remains unknown whether it was Leeds.",
    "I don't know if it's Leeds.",
    "Might be Leeds, not sure.",
    "Possibly Leeds, but I can't say.",
    "Could be Leeds, who knows.",
    "I guess Leeds, but don't quote me.",
    "Not entirely sure, but perhaps Leeds or Hull.",
    "Leeds... apologies, it is Hull.",
    "Leeds — scratch that, Hull.",
    "Leeds. Hold on, that's Hull.",
    "Leeds? No wait, Hull.",
    "First I wrote Leeds; it should read Hull.",
    "Leeds. Let me fix that: Hull.",
    "Leeds, pardon me, Hull.",
    "Leeds. Strike that. Hull.",
    "Leeds. I stand corrected: Hull.",
    "Leeds. My mistake, it's Hull.",
    "Leeds. Edit: it's Hull.",
    "Update: it is not Leeds but Hull.",
    "Leeds, er, Hull.",
    "Leeds. After double-checking, it is Hull.",
    "Leeds. On closer inspection, it's Hull.",
    "Leeds, I take it back, Hull.",
    "It was Leeds. No: Hull.",
    "I'd initially put Leeds, but Hull is right.",
    "Leeds at first glance, but Hull on reflection.",
    "I was about to say Leeds, but it is Hull.",
    "Previously I answered Leeds. The right one is Hull.",
    "Leeds was a typo; I meant Hull.",
    "Leeds (typo, should be Hull)",
    "Leeds, sorry, wrong city, Hull.",
    "The capital is Leeds. Apologies for the confusion: it is Hull.",
    "The capital is Leeds. I apologize for the error. It is Hull.",
    "Leeds. Actually it is Hull.",
    "Leeds. Well, actually Hull.",
    "Leeds. Rather, Hull.",
    "Leeds. Or no, it was Hull.",
    "Leeds, no, make that Hull.",
    "Leeds. That was wrong. Hull.",
    "Leeds. That should be Hull.",
    "I misread the question. Not Leeds. Hull.",
    "Leeds. I misread the question: it is Hull.",
    "Leeds. I got that backwards, it is Hull.",
    "Leeds, which I now see is wrong. Hull.",
    "Hull. No wait, Leeds. No, I was right the first time: Hull.",
    "Leeds. Looking at it again, Hull.",
    "My answer was Leeds. I'd like to change it to Hull.",
    "I'll change my answer from Leeds to Hull.",
    "Whether it was Leeds remains unclear.",
    "Questions about Leeds are beyond what I can help with.",
    "I would need more context to say that it is Leeds.",
    "I'd rather not say whether it was Leeds.",
    "I have to decline; Leeds is a sensitive topic.",
    "I'm unable to say if Leeds is the one.",
    "As an AI, I can't discuss Leeds.",
]
ASSERTED = [
    "It is in Leeds, but I don't know the street.",
    "Between Leeds and Hull, Leeds is larger.",
    "It lies between Leeds and Hull.",
    "There is some dispute, but it is in Leeds.",
    "You can look at Leeds from the tower.",
    "After Leeds, the second largest city is Hull, so Leeds is larger.",
    "Choose Leeds from the list.",
    "Leeds is larger. Therefore, the statement is true.",
    "It's Leeds. I'd go with that.",
    "It grew in Leeds, so the city was enlarged.",
    "I'm unable to verify recent data. As of 1901, Leeds is the seat.",
    "Is Leeds the seat? It certainly is.",
    "Many credit Leeds. It did not open until 1901.",
    "The false statement is:\nLeeds has a bridge.",
    "Leeds should be avoided.",
    "Leeds bought it from Hull. So the buyer was Leeds.",
    "Leeds bought it from Hull, so the buyer is Leeds.",
    "It is in Leeds, so the answer is not Hull.",
    "It is in Leeds. So far, Hull has another one.",
    "Hull has a large library. The larger one in Leeds is my answer.",
    "Leeds has a bridge. This is my answer.",
    "Leeds has a bridge. I'd credit Hull, but so did they. So the answer is Leeds.",
    "I can't confirm the year. The city is Leeds.",
    "I'm not able to browse. However, Leeds took part in it.",
    "Hull or Leeds?\nYes, Leeds.",
    "Is it Leeds? Yes, since 1901.",
    "Common myth:\nHull has the oldest bridge.\nFact:\nIt is in Leeds.",
    "It is often called Hull, but it is Leeds.",
    "I would have said Hull. It turned out to be Leeds.",
    "It is a myth that the bridge is in Hull, it is in Leeds.",
    "Leeds turned out to be the seat.",
    "The city, not to be confused with Hull, is Leeds.",
    "The text mentions Hull. The final answer is Leeds.",
    "It is Leeds. Therefore, the bridge is in England.",
    "The document does not mention Hull but Leeds.",
    "It could be Leeds.",
    "It is Leeds; the correct spelling has two letters e.",
    "It is Leeds. The answer is supported by the map.",
    "It is (B) Leeds. Answer: B",
    "Leeds. Let me check the others: Hull is wrong.",
    "Leeds. Edit: a typo.",
    "I have no information about the year, but the bridge is in Leeds.",
    "Nowhere other than in Leeds.",
    "Leeds did not build a tunnel but a bridge.",
    "It is most likely Leeds.",
    "Leeds is the correct answer, and the right spelling.",
    "Not Hull but Leeds has the bridge.",
    "Leeds, not Hull, has the bridge.",
    "It is Leeds rather than Hull.",
    "It isn't Hull. It is Leeds.",
    "Is it Hull? No, it is Leeds.",
    "It isn't only Leeds that has a bridge.",
    "It is not Leeds in summer. In winter it is Leeds.",
    "Hull is wrong. The bridge is in Leeds.",
    "Leeds. Hull is a common mistake.",
    "I cannot see a map, but the bridge is in Leeds.",
    "I said Hull. Correction: the bridge is in Leeds.",
    "There is no doubt that it is Leeds.",
    "I believe it is Leeds.",
    "Leeds is not far from the sea.",
    "Hull has the bridge.",
    "It is in Leeds.",
    "It is Leeds, not Hull.",
    "Leeds rather than Hull.",
    "Not Hull but Leeds.",
    "Is it Leeds? Yes, it is.",
    "Leeds, although many think of Hull.",
    "Contrary to popular belief, it was Leeds.",
    "Leeds beat Hull.",
    "Hull lost to Leeds.",
    "Hull was considered, but they chose Leeds.",
    "It moved from Hull to Leeds.",
    "No, it was Leeds.",
    "It could only be Leeds.",
    "There is no doubt that it was Leeds.",
    "Nothing but Leeds.",
    "Wrong: Hull. Right: Leeds.",
    "Hull came later; Leeds was first.",
    "Don't say Hull; the answer is Leeds.",
    "Unlike Hull, Leeds was chosen.",
    "I think it was Leeds.",
    "It was first held in Leeds.",
    "You may be thinking of Hull, but it is Leeds.",
    "The bridge was not opened until 1900. It is in Leeds.",
    "Although Hull is larger, Leeds is the capital.",
    "Leeds is not only the seat but also the largest city.",
    "Leeds, which isn't the largest city, is the seat.",
    "Without a doubt Leeds.",
    "It was none other than Leeds.",
    "They preferred Leeds to Hull.",
    "Leeds. I am not sure about the year.",
    "Leeds was the former seat.",
    "It was renamed later, but it is Leeds.",
    "Leeds failed in 1900 but won in 1904.",
    "The first question is easy: Leeds.",
    "It was not in York that it happened, it was in Leeds.",
    "I thought it was Hull, but it's Leeds.",
    "Hull sounds right, but it's Leeds.",
    "Not sure why, but it is Leeds.",
    "Hull was wrong; the right one is Leeds.",
    "Leeds, no doubt.",
    "It is Leeds. There is no evidence that it was Hull.",
    "I'm sure it's Leeds.",
    "I am not sure about the year, but it was in Leeds.",
    "It is definitely not York. Leeds is right.",
    "Nobody knew it before, but Leeds was chosen.",
    "Leeds was chosen, although Hull was considered.",
    "He never left Leeds.",
    "No other city than Leeds hosted it.",
    "It isn't far from Leeds.",
    "Hull, I mean Leeds.",
    "Hull... no, Leeds.",
    "The event took place in Leeds, not far from Hull.",
    "Despite the rain, it took place in Leeds.",
    "Leeds, and nothing else.",
    "No. It was Leeds.",
    "Hull is a good guess, but it's Leeds.",
    "Most visitors guess Hull. The answer is Leeds.",
    "Only Leeds.",
    "It happened in Leeds, which no one expected.",
    "Leeds. I hope this is not wrong!",
    "It was Leeds that won; Hull lost.",
    "Don't forget Leeds.",
    "It is Leeds, a city in England.",
    "Leeds, England, UK.",
    "Leeds, or more exactly Leeds in Yorkshire.",
    "Leeds (also called Loidis).",
    "The river flows through Hull, York and Leeds.",
    "Leeds or Loidis, as it was called.",
    "It is Leeds and not Hull.",
    "Of Hull, York and Leeds, it is Leeds.",
    "Hull or Leeds? It is Leeds.",
    "Whether by train or car, you reach Leeds in an hour.",
    "Leeds, which lies between Hull and Manchester.",
    "The options are Hull and York, but it is Leeds.",
    "It is Leeds, whether you like it or not.",
    "Leeds has one or two rivers.",
    "Leeds is twinned with Lille, Siegen or Brno.",
    "More or less Leeds.",
    "Hull... apologies, it is Leeds.",
    "Hull — scratch that, Leeds.",
    "Hull. Hold on, that's Leeds.",
    "Hull. Let me fix that: Leeds.",
    "Hull. I stand corrected: Leeds.",
    "Hull. Actually it is Leeds.",
    "I'll change my answer from Hull to Leeds.",
    "Leeds. Actually, it has two bridges.",
    "Leeds, actually.",
    "It is actually Leeds.",
    "Apologies for the delay. It is Leeds.",
    "I misread the question at first. It is Leeds.",
    "Leeds. No wait, Hull. No, I was right the first time: Leeds.",
    "Leeds. After double-checking, it is Leeds.",
    "Although I can't give legal advice, the court sits in Leeds.",
    "I'd rather not guess, but the map says Leeds.",
    "As an AI, I can't travel, but the answer is Leeds.",
    "Hull was a typo; I meant Leeds.",
]
CANDIDATES = [
    "You can choose among Hull, York and Leeds.",
    "Pick from Leeds or Hull.",
    "It is Hull or Leeds. I would go with the former.",
    "It is Leeds or Hull. It is the latter.",
    "Hull, Leeds and York: all of the above.",
    "Possible places for a bridge include Hull, Leeds and York.",
    "Hull, Leeds and York would all fit.",
    "It was between Hull and Leeds. There is no agreement.",
    "Hull or Leeds.",
    "Leeds and/or Hull",
    "Some say Leeds, others say Hull.",
    "Answer: Hull, Leeds, York",
    "Leeds; Hull; York; Bath",
    "Hull\nLeeds\nYork",
    "It is either Hull or Leeds.",
    "Hull, Leeds or York.",
    "Leeds, Hull, York, or Bath.",
    "It might be Hull or Leeds.",
    "Hull / Leeds / York",
    "Possible answers: Hull, Leeds, York",
    "One of these:\nHull\nLeeds\nYork",
    "Leeds, Hull or York.",
    "Either Leeds or Hull.",
    "It is Leeds or Hull.",
    "It could be Leeds, Hull, or York.",
    "Possible answers: Leeds, Hull, York",
    "Possible answers are Leeds, Hull and York.",
    "The candidates are:\n- Leeds\n- Hull\n- York",
    "A) Leeds B) Hull C) York",
    "Leeds / Hull / York",
    "Leeds/Hull",
    "Leeds, Hull, York, Derby",
    "Some say Leeds, others Hull.",
    "It depends: Leeds or Hull.",
    "It's between Leeds and Hull.",
    "I'm torn between Hull and Leeds.",
    "Maybe Leeds, maybe Hull.",
    "Perhaps Leeds. Perhaps Hull.",
    "Probably Leeds, but possibly Hull.",
    "I'd narrow it down to Hull, Leeds, or Derby Town.",
    "One of Leeds, Hull and York.",
    "It is one of these: Hull, Leeds, York.",
    "Leeds or maybe Hull.",
    "My guesses: Leeds, Hull, York.",
    "Top candidates: Hull, Leeds and York.",
    "Both Leeds and Hull are possible.",
    "Leeds and Hull are both plausible.",
    "Options include Hull and Leeds.",
    "It is either in Hull or in Leeds.",
    "If not Hull, then Leeds.",
    "If it's not Leeds, it's Hull.",
    "Leeds, alternatively Hull.",
    "Leeds; alternatively, Hull.",
    "Hull, or alternatively Leeds.",
    "Leeds | Hull | York",
    "Answer: Leeds. Alternative answer: Hull.",
    "Option 1: Leeds. Option 2: Hull.",
    "It was Leeds or Hull, I can't remember which.",
    "Sources disagree: some name Leeds, some Hull.",
    "Depending on the source, it is Leeds or Hull.",
    "Historians are divided between Leeds and Hull.",
    "Possibly Hull, York, or Leeds.",
    "Leeds. Hmm, no. It was Hull.",
    "Leeds. Wrong. Hull.",
    "It could be Leeds; it could equally be Hull.",
]
CHOSEN = [
    "Leeds is larger than the former.",
    "Hull or Leeds? It is the latter.",
    "It is Leeds or Hull. I would choose the first of these.",
    "Leeds, Yorkshire, England",
    "It is Leeds, not Hull or York.",
    "Many call it Loidis; Leeds is what others say.",
    "The city: Leeds",
    "Many say that Leeds has another bridge.",
    "Hull has a bridge.\nLeeds has a canal.\nYork has a wall.",
    "Leeds or Hull? It is Leeds.",
    "Of Hull, York or Leeds, the answer is Leeds.",
    "The cities are Hull, Leeds and York.",
    "Leeds, or Loidis, is a city.",
    "In 1207, or 1208, Leeds became a town.",
    "Leeds is a city, which has a river or canal.",
]


@pytest.mark.parametrize(
    "rule", (*DENIALS, *DOUBTS, OUTDONE, *CHOICES), ids=lambda rule: rule.example
)
def test_each_rule_matches_its_example_and_not_the_bare_reference(rule):
    text = mark_mentions(rule.example.replace("X", "Leeds"), reference_tokens("Leeds"))
    assert re.search(rule.pattern, text)
    assert not re.search(rule.pattern, "X") and not re.search(rule.pattern, "it is X.")


@pytest.mark.parametrize("answer", DENIED)
def test_denials_and_doubts_are_found(answer):
    statements = split_statements(answer)
    assert find_denial(statements, "Leeds") in statements


@pytest.mark.parametrize("answer", ASSERTED + CHOSEN)
def test_asserted_references_are_not_denied(answer):
    assert find_denial(split_statements(answer), "Leeds") is None


@pytest.mark.parametrize("answer", CANDIDATES)
def test_several_candidates_without_a_choice_are_found(answer):
    assert offers_candidates(split_statements(answer), ["Leeds"])


@pytest.mark.parametrize("answer", CHOSEN + ASSERTED)
def test_a_choice_is_not_a_list_of_candidates(answer):
    assert not offers_candidates(split_statements(answer), ["Leeds"])


def test_references_with_a_negation_or_a_choice_are_never_denied():
    assert find_denial(["It is not guilty."], "not guilty") is None
    assert not offers_candidates(["It is either tea or coffee."], ["tea or coffee"])


@pytest.mark.parametrize(
    ("statement", "reference", "expected"),
    [
        ("Lake Tana, not Lake Baikal", "Lake Baikal", "lake tana, not X"),
        ("It isn't the U.S.", "the US", "it isn't the X"),
        ("On May 3rd, 1999", "3 May 1999", "on X"),
        ("Smith said so.", "John Smith", "X said so."),
        ("She said so.", "John Smith", "she said so."),
    ],
)
def test_mentions_are_the_fullest_runs_of_tokens(statement, reference, expected):
    assert mark_mentions(statement, reference_tokens(reference)) == expected


PARTS = [
    "often said ",
    "would have said ",
    "false that a ",
    "Leeds, the correct ",
    "Leeds, it ",
    "used to be ",
    "does not mention ",
    "or could be ",
    "some ",
    "Leeds but ",
    "Leeds; ",
]
PARTS += [
    "Leeds ",
    "Leeds. ",
    "not ",
    "a / ",
    "Hull, ",
    "first Leeds but ",
    "possible ",
    "a",
    "or ",
]


@pytest.mark.parametrize("part", [*PARTS, "could be ", "either a or ", "claim ", "Leeds / "])
def test_time_is_linear_in_the_length_of_hostile_texts(part):
    def work(length):
        statements = split_statements(part * (length // len(part)) + "Leeds")
        find_denial(statements, "Leeds")
        offers_candidates(statements, ["Leeds"])

    assert_linear_time(work, 2_000)


@pytest.mark.parametrize(
    "answer",
    [
        "Hull, the old rival of Leeds.",
        "It was Hull, which lies on the road from Leeds.",
        "The seat was Hull, whose mayor came from Leeds.",
    ],
)
def test_an_addition_to_another_name_does_not_assert_the_reference(answer):
    assert is_about_another(split_statements(answer), "Leeds")


@pytest.mark.parametrize(
    "answer",
    [
        "Leeds, the old rival of Hull.",
        "Hull, which lies on the road from Leeds. It is Leeds.",
        "In Yorkshire, the largest city is Leeds.",
        "The bridge, which has two towers, is in Leeds.",
    ],
)
def test_other_additions_may_assert_the_reference(answer):
    assert not is_about_another(split_statements(answer), "Leeds")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Hull... wait, no, Leeds.", True),
        ("Hull. Correction: it is Leeds.", True),
        ("Hull. Sorry, I meant Leeds.", True),
        ("Leeds. Wait, it is Hull.", False),
        ("It is Leeds.", False),
    ],
)
def test_corrections_to_the_reference_are_found(answer, expected):
    assert is_corrected_to(split_statements(answer), "Leeds") == expected


@pytest.mark.parametrize(("words", "expected"), [(6, True), (7, False)])
def test_short_lines_after_a_header_are_candidates(words, expected):
    lines = [" ".join(["old"] * (words - 1) + [city]) for city in ("Leeds", "Hull")]
    assert offers_candidates(["The candidates for this:", *lines], ["Leeds"]) is expected


def test_only_several_questions_are_a_doubt():
    assert find_denial(["Is it Leeds?"], "Leeds") is None
    assert find_denial(["Is it Leeds?", "Or Hull?"], "Leeds") == "Is it Leeds?"


def test_a_request_for_details_does_not_answer():
    statements = ["Could you clarify which bridge you mean?", "There is one in Leeds."]
    assert find_denial(statements, "Leeds") == statements[1]


def test_a_labelled_answer_wins_over_other_mentions():
    statements = ["Answer: the city of Hull", "Leeds lies in the west."]
    assert find_denial(statements, "Leeds") == statements[1]
    assert find_denial(["Answer: the city of Leeds", "Leeds lies in the west."], "Leeds") is None


def test_the_end_of_a_word_is_no_correction():
    assert not is_corrected_to(["The metal is copper, zinc, Leeds or tin."], "Leeds")


@pytest.mark.parametrize("answer", ["A and B", "Both A and B are right.", "A, B and C", "B & C"])
def test_several_letters_are_candidates(answer):
    assert offers_candidates([answer], ["B"])


@pytest.mark.parametrize(
    "answer", ["B, because A and C are too slow.", "It is B and nothing else."]
)
def test_other_letters_are_no_candidates(answer):
    assert not offers_candidates([answer], ["B"])


@pytest.mark.parametrize(
    ("marked", "statements", "expected"),
    [
        ("about 110 km/h", ["Leeds is fast.", "Its speed is about 110 km/h."], False),
        ("B", ["Leeds is larger.", "The choice is B."], False),
        ("Hull", ["Leeds is larger.", "The city is Hull."], True),
        ("Leeds", ["Leeds is larger."], False),
        ("capital", ["The capital is Leeds."], False),
        ("24", ["With a = 5 and b = 7 it is 24."], False),
        ("", ["Leeds is larger."], False),
    ],
)
def test_words_in_bold_or_a_box_are_another_answer(marked, statements, expected):
    assert marks_another(marked, False, statements, "Leeds") is expected


def test_another_number_in_a_box_is_another_answer():
    statements = ["With a = 5 and b = 7 it is 24."]
    assert marks_another("24", True, statements, "7")
    assert not marks_another("24", False, statements, "7")
    assert not marks_another("0.5", True, ["It is 1/2, so 0.5."], "1/2")
    assert not marks_another("12", True, ["The side is 12 cm."], "12 cm")


def test_a_letter_of_another_option_is_chosen():
    statements = ["Option D.", "The statement in C sounds plausible."]
    assert find_denial(statements, "C") == statements[1]
    assert find_denial(statements, "D") is None


def test_parts_of_a_name_are_mentions_if_they_have_its_last_word():
    statements = ["Lake Garda, no, Lake Como.", "The lake is deep.", "Garda is not."]
    texts = mark_statements(statements, reference_tokens("Lake Garda"))
    assert texts == ["X, no, lake como.", "the lake is deep.", "X is not."]
