"""Reward functions for trainers of language models, without a trainer."""

import pickle
import runpy
import sys
import warnings

import pytest

from infolm_metric import AnswerCheckScorer, InfoLMScorer, InputError
from infolm_metric.integrations import trl
from infolm_metric.integrations.trl import completion_text, reward
from tests.toy import ToyScorer

COMPLETIONS = ["a cat", "dogs", ""]
REFERENCES = ["a cat", ["a cat", "a dog"], "rain"]
TOOL_CALL = {"role": "assistant", "content": None, "tool_calls": [{}]}
TEXTS = [
    ("Yes.", "Yes."),
    ([], ""),
    ([{"role": "assistant", "content": None}], ""),
    ([{"content": "Yes."}], "Yes."),
    ([{"role": "assistant", "content": [{"type": "text", "text": "Y"}, "es."]}], "Yes."),
    ([{"role": "assistant", "content": [{"type": "image", "image": 1, "text": None}]}], ""),
    ([{"role": "assistant", "content": [{"type": "reasoning", "text": "No?"}, "Yes."]}], "Yes."),
    ([{"role": "assistant", "content": "Yes."}, {"role": "tool", "content": "42"}], "Yes."),
    ([{"role": "assistant", "content": "It is 41."}, TOOL_CALL], ""),
    ([TOOL_CALL, {"role": "tool", "content": "42"}, {"content": "It is 42."}], "It is 42."),
]


@pytest.fixture(autouse=True)
def fresh_warnings(monkeypatch):
    """State in which no warning has been shown."""
    monkeypatch.setattr(trl, "_shown", set())


@pytest.mark.parametrize(("completion", "text"), TEXTS)
def test_text_of_a_completion_is_the_text_of_the_last_assistant_message(completion, text):
    assert completion_text(completion) == text


INVALID_COMPLETIONS = [
    (None, r"completions\[1\] .*None"),
    (5, r"completions\[1\] .*5"),
    ({"role": "assistant", "content": "Yes."}, r"completions\[1\] must be .*list of messages"),
    (["Yes."], r"completions\[1\]\[0\] must be a message"),
    ([{"content": 5}], r"completions\[1\]\[0\]\['content'\] .*5"),
    ([{"content": [5]}], r"completions\[1\]\[0\]\['content'\]\[0\] .*5"),
    ([{"content": [{"text": 5}]}], r"completions\[1\]\[0\]\['content'\]\[0\] .*5"),
]


@pytest.mark.parametrize(("completion", "problem"), INVALID_COMPLETIONS)
def test_errors_name_the_position_of_an_invalid_completion(completion, problem):
    # The first row, which has no reference, does not shift the position.
    with pytest.raises(InputError, match=problem):
        reward(ToyScorer())(completions=["a", completion], reference=[None, "a"])


NOTHING = [None, [], [None], "", " \n", ["", None], float("nan")]


@pytest.mark.parametrize("missing", NOTHING)
def test_missing_references_are_left_out_and_rows_without_a_reference_get_none(missing):
    columns = {"reference": [["abc", None, ""], missing, ["x", "abcd"]]}
    with pytest.warns(UserWarning, match="1 of 3 rows have no reference in the column 'reference'"):
        values = reward(ToyScorer())(completions=["", "x", "ab"], **columns)
    assert values == [0.0, None, 0.5]  # an empty completion does not match a blank cell


@pytest.mark.filterwarnings("default:infolm")
def test_batches_without_references_are_skipped_with_one_warning_per_process():
    rewards = reward(ToyScorer())
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        for count, references in enumerate(NOTHING, 1):
            twin = pickle.loads(pickle.dumps(rewards))
            values = twin(completions=["a"] * count, reference=[references] * count)
            assert values == [None] * count
    assert [record.filename for record in records] == [__file__]


@pytest.mark.parametrize("number", [5, 1.5, True, [5], ["Paris", 5]])
def test_references_that_are_numbers_are_rejected_with_a_remedy(number):
    with pytest.raises(InputError, match=r"answer\[1\].* must be a string, got .*. Convert it"):
        reward(ToyScorer(), "answer")(completions=["a", "b"], answer=["a", number])


def test_rewards_are_the_scores_of_the_metric():
    scorer = ToyScorer()
    rewards = reward(scorer)
    messages = [[{"role": "assistant", "content": text}] for text in COMPLETIONS]
    expected = scorer.score(COMPLETIONS, [["a cat"], ["a cat", "a dog"], ["rain"]])["scores"]
    columns = {"reference": REFERENCES, "trainer_state": object(), "completion_ids": [[1]] * 3}
    for completions in (COMPLETIONS, messages):
        values = rewards(prompts=["?"] * 3, completions=completions, **columns)
        assert values == pytest.approx(expected) and [*map(type, values)] == [float] * 3
    assert rewards.__name__ == "toy_reward"
    assert reward(scorer, "answer")(completions=["a"], answer=["a"]) == [1.0]


@pytest.mark.filterwarnings("ignore:infolm")
def test_a_distance_is_negated(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=tiny_bert, idf=False)
    completions, references = ["the cat sat", "it"], ["the cat sat"] * 2
    values = reward(scorer)(completions=completions, reference=references)
    assert values[0] > values[1]
    scores = scorer.score(completions, references)["scores"]
    assert values == pytest.approx([-score for score in scores], abs=1e-6)


def test_a_reward_can_be_pickled():
    twin = pickle.loads(pickle.dumps(reward(ToyScorer(size=2), "answer")))
    assert twin(completions=["abc"], answer=["abc"]) == [1.0] and twin.__name__ == "toy_reward"


def test_trl_is_not_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "trl", None)  # importing it would fail
    assert "reward" in runpy.run_path(trl.__file__)


REFUSED = [  # scorer, columns, problem
    (lambda: InfoLMScorer(information_measure=["l1", "l2"]), {}, "must be one name"),
    (lambda: InfoLMScorer(idf="references"), {}, "Pass idf=False"),
    (lambda: "answer_check", {}, r"a scorer such as AnswerCheckScorer\(\), got 'answer_check'"),
    (ToyScorer, {"answer": ["a"]}, r"no reference column .* answer.*\. Set reference_column"),
    (ToyScorer, {"completions": [], "reference": []}, "completions"),
    (ToyScorer, {"reference": []}, "completions"),
    (ToyScorer, {"completions": "a", "reference": ["a"]}, "completions"),
]


@pytest.mark.parametrize(("make_scorer", "columns", "problem"), REFUSED)
def test_scorers_and_columns_that_cannot_give_rewards_are_rejected(make_scorer, columns, problem):
    with pytest.raises(InputError, match=problem):
        reward(make_scorer())(**{"completions": ["a"], **columns})


# Guard

GUARDED = [  # prompt, completion, reference, bounds of the factor
    ("Who wrote Emma?", "Jane Austen wrote Emma.", "Jane Austen", 1.0, 1.0),
    ("Is he guilty?", "Not guilty", ["guilty", "Not guilty"], 1.0, 1.0),
    ("Who?", "Jane Austen. " * 3, "Jane Austen", 0.0, 0.1),
    ("Who?", "Keats, Austen, Byron, Shelley, Scott", "Austen", 0.0, 0.3),
    ("Who wrote Emma?", "Who wrote Emma?", "Emma", 0.0, 0.0),
]


@pytest.mark.parametrize(("prompt", "completion", "reference", "low", "high"), GUARDED)
def test_the_guard_multiplies_rewards_by_penalties(
    prompt, completion, reference, low, high, tiny_nli
):
    scorer = AnswerCheckScorer(model_name_or_path=tiny_nli())
    rows = {"completions": [completion], "reference": [reference]}
    (plain,) = reward(scorer, guard=False)(**rows)
    for prompts in ([prompt], [[{"role": "user", "content": prompt}]]):
        (guarded,) = reward(scorer)(prompts, **rows)
        assert low * plain - 1e-9 <= guarded <= high * plain + 1e-9


def test_the_guard_is_for_answer_check_only(tiny_nli):
    assert not reward(ToyScorer()).guard and not reward(ToyScorer(), guard=False).guard
    with pytest.raises(InputError, match="guard must be False or None for toy, got True"):
        reward(ToyScorer(), guard=True)
    scorer = AnswerCheckScorer(model_name_or_path=tiny_nli())
    with pytest.raises(InputError, match="guard must be True, False or None, got 'yes'"):
        reward(scorer, guard="yes")
    for prompts, problem in ((["a"], r"\(2\), got 1"), (["a", 5], r"prompts\[1\] .*got 5")):
        with pytest.raises(InputError, match=problem):
            reward(scorer)(prompts, completions=["a", "b"], reference=["a", "b"])


def test_thinking_is_stripped_for_every_scorer():
    rows = {"completions": ["<think>x y z</think>a", "a"], "reference": ["a", "a"]}
    thinking, plain = reward(ToyScorer())(**rows)
    assert thinking == plain
