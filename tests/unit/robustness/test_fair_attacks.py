"""Places that attacks leave alone: where the meaning would stay, or the English would break."""

import pytest

from infolm_metric.robustness.attacks import ATTACKS, attack

SEEDS = range(12)


def outcomes(text: str, name: str) -> list[str]:
    """What an attack makes of a text under several seeds."""
    return [made for seed in SEEDS if (made := attack(text, name, seed)) is not None]


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize(
    "text",
    [
        "n't",
        "N'T",
        "n’t",
        "Nurses ca n't leave , she wo n't sing .",
        "IT DO N'T MATTER TO HIM .",
        "He need n't come , does n't he ?",
        "She n't sang 3 songs to us and them .",
        "The boys put 4/5 of it in a red box .",
    ],
)
def test_no_attack_fails_or_leaves_two_blanks(text, name):
    for made in outcomes(text, name):
        assert "  " not in made
        assert made == made.strip()


# Negation.


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Birds ca n't read .", "Birds can read ."),
        ("We wo n't wait .", "We will wait ."),
        ("They do n't smoke .", "They do smoke ."),
        ("The ship is n't wide .", "The ship is wide ."),
        ("SHE CA N'T READ .", "SHE CAN READ ."),
        ("Do n't wait .", "Do wait ."),
        ("The ship isn’t wide.", "The ship is wide."),
    ],
)
def test_neg_joins_a_stem_that_a_tokeniser_cut_off(text, plain):
    assert attack(text, "neg") == plain


@pytest.mark.parametrize(
    "text",
    [
        "n't it .",
        "Pilots needn't wear a tie.",
        "Pilots need not wear a tie.",
        "Pilots need n't wear a tie .",
        "The lake is deep, isn't it?",
        "The lake isn't deep, is it?",
        "The lake is deep, isn't it.",
        "The lake is deep , is n't it ?",
        "Nobody knows whether the lake is deep or not.",
        "The lake may or may not be deep.",
        "Our aunt never did a handstand.",
        "Was the bridge closed?",
        "When was the bridge closed?",
        "When was the bridge closed.",
        "How are your parents.",
        "Where is the bridge.",
        "Little did the king know.",
        "Nor did the king know.",
        "As did the king.",
        "No bridge was closed.",
        "Neither of the kings has a crown.",
        "The king did not win any war.",
        "The bridge is not yet finished.",
        "The bridge was only closed on Sunday.",
        "You had better take a coat.",
        "The bridge has yet to open.",
        "The bridge had long arches.",
        "The king has just arrived.",
        "The king has, since May, been ill.",
        "The kings had all been ill.",
        "The king has cut taxes.",
    ],
)
def test_neg_leaves_questions_denials_and_doubtful_helpers_alone(text):
    assert attack(text, "neg") is None


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("The port has since grown.", "The port has not since grown."),
        ("The port has long been rich.", "The port has not long been rich."),
        ("Two kings had once lived there.", "Two kings had not once lived there."),
        ("Was it cold? Rain was falling.", "Was it cold? Rain was not falling."),
        ("The Hall of No Return is closed.", "The Hall of No Return is not closed."),
        ("Had she known it, she had a plan.", "Had she known it, she did not have a plan."),
        ("It was cold, wasn't it? It is not warm.", "It was cold, wasn't it? It is warm."),
        ("Nobody came. The port had 3 docks.", "Nobody came. The port did not have 3 docks."),
    ],
)
def test_neg_takes_the_next_place_that_is_sure(text, denied):
    assert attack(text, "neg") == denied
