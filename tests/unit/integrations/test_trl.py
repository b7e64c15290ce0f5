"""Reward functions for trainers of language models, without a trainer."""

import pickle
import runpy
import sys
import warnings

import pytest

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from infolm_metric.integrations import trl
from infolm_metric.integrations.trl import completion_text, reward
from tests.counted_contexts import count_contexts
from tests.toy import ToyScorer

COMPLETIONS = ["a cat", "dogs", ""]
REFERENCES = ["a cat", ["a cat", "a dog"], "rain"]
TEXTS = [
    ("Yes.", "Yes."),
    ([], ""),
    ([{"role": "assistant", "content": None}], ""),
    ([{"content": "Yes."}], "Yes."),
    ([{"role": "assistant", "content": [{"type": "text", "text": "Y"}, "es."]}], "Yes."),
    ([{"role": "assistant", "content": [{"type": "image", "image": 1}]}], ""),
    (
        [
            {"role": "assistant", "content": None, "tool_calls": [{}]},
            {"role": "tool", "content": "42"},
            {"role": "assistant", "content": "It is 42."},
        ],
        "It is 42.",
    ),
]


@pytest.fixture(autouse=True)
def fresh_warnings(monkeypatch):
    """State in which no warning has been shown."""
    monkeypatch.setattr(trl, "_shown", set())


@pytest.mark.parametrize(("completion", "text"), TEXTS)
def test_text_of_a_completion_comes_from_messages_of_the_assistant(completion, text):
    assert completion_text(completion) == text


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
@pytest.mark.parametrize("scorer_type", [InfoLMScorer, BaryScorer, MENLIScorer])
def test_a_better_completion_has_a_higher_reward_for_every_metric(scorer_type, tiny_bert, tiny_nli):
    settings = {"model_name_or_path": tiny_nli() if scorer_type is MENLIScorer else tiny_bert}
    settings |= {"task": "answer"} if scorer_type is MENLIScorer else {"idf": False}
    settings |= {"layers": 2} if scorer_type is BaryScorer else {}
    scorer = scorer_type(**settings)
    completions, references = ["the cat sat", "it"], ["the cat sat"] * 2
    values = reward(scorer)(completions=completions, reference=references)
    assert values[0] > values[1]
    sign = 1 if scorer.higher_is_better else -1
    scores = scorer.score(completions, references)["scores"]
    assert values == pytest.approx([sign * score for score in scores], abs=1e-6)


@pytest.mark.filterwarnings("ignore:infolm")
def test_references_are_encoded_once(tiny_bert, monkeypatch):
    rewards = reward(InfoLMScorer(model_name_or_path=tiny_bert, idf=False))
    rewards(completions=["it"], reference=["the cat sat"])
    with count_contexts(monkeypatch) as contexts:
        rewards(completions=["it sat"], reference=["the cat sat"])
    assert len(contexts) == 3  # one per token of the completion


def test_a_reward_can_be_pickled():
    twin = pickle.loads(pickle.dumps(reward(ToyScorer(size=2), "answer")))
    assert twin(completions=["abc"], answer=["abc"]) == [1.0] and twin.__name__ == "toy_reward"


def test_trl_is_not_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "trl", None)  # importing it would fail
    assert "reward" in runpy.run_path(trl.__file__)


@pytest.mark.filterwarnings("default:infolm")
def test_a_warning_is_shown_once_per_process_regardless_of_its_counts(tiny_nli):
    rewards = reward(MENLIScorer(model_name_or_path=tiny_nli(), task="answer"))
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        for completions in (["", "a cat"], ["", ""], ["a", ""]):
            rewards(completions=completions, reference=["a dog", "a cat"])
            pickle.loads(pickle.dumps(rewards))
    assert sum("have no tokens" in str(record.message) for record in records) == 1


def test_the_task_source_takes_sources_from_the_column(tiny_nli):
    scorer = MENLIScorer(model_name_or_path=tiny_nli(), task="source")
    values = reward(scorer, "document")(completions=["a cat"], document=["the cat sat"])
    assert values == scorer.score(["a cat"], sources=["the cat sat"])["scores"]


REFUSED = [
    ({"information_measure": ["l1", "l2"]}, "must be one name"),
    ({"idf": "references"}, "idf must be False"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED)
def test_scorers_without_a_single_reward_per_completion_are_rejected(settings, message):
    with pytest.raises(ValueError, match=message):
        reward(InfoLMScorer(**settings))


def test_error_for_a_missing_column_lists_the_columns():
    with pytest.raises(ValueError, match="no reference column .* answer.*; set reference_column"):
        reward(ToyScorer())(completions=["a"], answer=["a"])
    with pytest.raises((TypeError, ValueError), match="references"):
        reward(ToyScorer())(completions=["a"], reference=[None])
