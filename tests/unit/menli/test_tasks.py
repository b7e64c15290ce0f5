"""The setting `task`: defaults of other settings, overridden by explicit values."""

from itertools import product

import pytest

from infolm_metric import MENLI, InfoLMScorer, InputError, MENLIScorer, MENLISettings

pytestmark = pytest.mark.filterwarnings("ignore:infolm")

NAMES = ("formula", "direction", "combine_with", "nli_weight")
TASKS = {  # the values of NAMES
    None: ("e", "avg", None, 1.0),
    "translation": ("e", "avg", None, 1.0),
    "summary": ("e-c", "hr", None, 1.0),
    "source": ("-c", "rh", None, 1.0),
}
OVERRIDES = [  # explicit values, several of them equal to the defaults
    {},
    {"formula": "e"},
    {"formula": ("e-n", "-c")},
    {"direction": "avg"},
    {"combine_with": "baryscore"},
    {"combine_with": "baryscore", "nli_weight": 0.2},
    {"formula": "e", "direction": "rh", "combine_with": "baryscore", "nli_weight": 1.0},
]
CASES = list(product(TASKS, OVERRIDES))
PAIRS = {"predictions": ["A cat sat.", "It rained."], "references": ["The cat sat.", "Snow fell."]}


def expected_values(task, override):
    """Return the values in use, by an independent rule."""
    values = dict(zip(NAMES, TASKS[task], strict=True)) | override
    if values["combine_with"] and "nli_weight" not in override:
        values["nli_weight"] = 0.2
    return values


def explicit(task, override):
    """Return the same settings without a task."""
    values = expected_values(task, override)
    if values["combine_with"] is None:
        return {name: values[name] for name in ("formula", "direction")}
    return values


@pytest.fixture(autouse=True)
def bundled_metric(monkeypatch):
    """Combinations use the bundled encoder."""
    monkeypatch.setenv("INFOLM_MODEL", "bundled")


@pytest.fixture(scope="module")
def model(tiny_nli):
    return str(tiny_nli())


@pytest.fixture(scope="module")
def scorer(model):
    return MENLIScorer(model_name_or_path=model)


def signature(scorer, task, override):
    """Return the signature of the same settings without a task, but with the kind of references."""
    plain = scorer.signature(**explicit(task, override))
    following = "|baryscore." if "|baryscore." in plain else "|model:"
    against = "|against:source" if task == "source" else ""
    return plain.replace(following, against + following, 1)


@pytest.mark.parametrize(("task", "override"), CASES)
def test_a_task_sets_defaults_and_explicit_values_win(scorer, model, task, override, no_model):
    expected = expected_values(task, override)
    settings = MENLISettings(task=task, **override)
    assert settings.several == isinstance(expected["formula"], tuple)
    formula = expected["formula"]
    assert settings.names == tuple(formula if settings.several else [formula])
    assert settings.resolved_direction == expected["direction"]
    assert settings.other_name == expected["combine_with"]
    assert settings.weight == expected["nli_weight"]
    for name in set(NAMES) - set(override):
        assert getattr(settings, name) is None
    # The signature shows the settings in use, however they are passed.
    expected = signature(scorer, task, override)
    values = {"task": task, **override}
    settings = MENLISettings(model_name_or_path=model, **values)
    assert "task:" not in expected
    shown = ["|combine" in expected, "|nli_weight:" in expected]
    assert shown == [settings.other_name is not None] * 2
    assert MENLIScorer(settings).signature() == expected
    assert scorer.signature(**values) == expected


@pytest.mark.parametrize("task", TASKS)
def test_a_task_of_a_call_gives_the_scores_of_its_settings(scorer, model, task):
    expected = scorer.score(**PAIRS, **explicit(task, {}))
    assert expected["scores"][0] != expected["scores"][1]
    other = MENLIScorer(model_name_or_path=model, task="source" if task != "source" else "summary")
    for changes in ({}, {"direction": "avg"}):
        result = other.score(**PAIRS, task=task, **changes)
        assert result["signature"] == signature(scorer, task, changes)
        if not changes:
            assert result["scores"] == pytest.approx(expected["scores"], abs=1e-6)


def test_the_argument_sources_is_rejected_with_a_remedy(scorer, model, no_model):
    calls = [
        lambda: scorer.score(["a"], ["b"], sources=["c"]),
        lambda: MENLI(model_name_or_path=model).add_batch(predictions=["a"], sources=["b"]),
        lambda: InfoLMScorer(model_name_or_path=model).score(["a"], ["b"], source=["c"]),
    ]
    for call in calls:
        with pytest.raises(InputError, match="sources as references, with task='source'"):
            call()
