"""The setting `task`: defaults of other settings, overridden by explicit values."""

from itertools import product

import pytest

from infolm_metric import MENLI, InfoLMSettings, MENLIScorer, MENLISettings
from infolm_metric.commands.main import main
from infolm_metric.core.inputs import Pairs
from infolm_metric.robustness import Item, evaluate_robustness, make_cases

pytestmark = pytest.mark.filterwarnings("ignore:infolm")

NAMES = ("formula", "direction", "combine_with", "nli_weight")
TASKS = {  # the values of NAMES
    None: ("e", "avg", None, 1.0),
    "translation": ("e", "avg", None, 1.0),
    "summary": ("e-c", "hr", None, 1.0),
    "source": ("-c", "rh", None, 1.0),
    "answer": ("e-c", "hr", "recall", 0.5),
}
OVERRIDES = [  # explicit values, several of them equal to the defaults
    {},
    {"formula": "e"},
    {"formula": ("e-n", "-c")},
    {"direction": "avg"},
    {"combine_with": "none"},
    {"combine_with": "recall"},
    {"combine_with": "recall", "nli_weight": 0.2},
    {"formula": "e", "direction": "rh", "combine_with": "recall", "nli_weight": 1.0},
]
CASES = list(product(TASKS, OVERRIDES))
PAIRS = {"predictions": ["A cat sat.", "It rained."], "references": ["The cat sat.", "Snow fell."]}
SOURCES = {"predictions": PAIRS["predictions"], "sources": PAIRS["references"]}


def expected_values(task, override):
    """Return the values in use, by an independent rule."""
    values = dict(zip(NAMES, TASKS[task], strict=True)) | override
    if values["combine_with"] in (None, "none"):
        values |= {"combine_with": None, "nli_weight": 1.0}
    elif "nli_weight" not in override and task != "answer":
        values["nli_weight"] = 0.5
    return values


def explicit(task, override):
    """Return the same settings without a task."""
    values = expected_values(task, override)
    if values["combine_with"] is None:
        return {name: values[name] for name in ("formula", "direction")}
    return values


@pytest.fixture(scope="module")
def model(tiny_nli):
    return str(tiny_nli())


@pytest.fixture(scope="module")
def scorer(model):
    return MENLIScorer(model_name_or_path=model)


def signature(scorer, task, override):
    """Return the signature of the same settings without a task."""
    against = task == "source"
    return scorer.signature(**explicit(task, override), against_sources=against)


@pytest.mark.parametrize(("task", "override"), CASES)
def test_a_task_sets_the_defaults_of_four_settings_and_explicit_values_win(
    scorer, model, task, override, no_model
):
    expected = expected_values(task, override)
    settings = MENLISettings(task=task, **override)
    assert settings.several == isinstance(expected["formula"], tuple)
    formula = expected["formula"]
    assert settings.names == tuple(formula if settings.several else [formula])
    assert settings.resolve("direction") == expected["direction"]
    assert settings.combination == settings.other_name == expected["combine_with"]
    assert settings.weight == expected["nli_weight"]
    for name in set(NAMES) - set(override):
        assert getattr(settings, name) is None
    # The signature shows the settings in use, however they are passed.
    expected = signature(scorer, task, override)
    values = {"task": task, **override}
    settings = MENLISettings(model_name_or_path=model, **values)
    assert "task:" not in expected
    assert MENLIScorer(settings).signature() == expected
    assert MENLIScorer(**values, model_name_or_path=model).signature() == expected
    assert MENLIScorer(scorer.settings, **values).signature() == expected
    assert scorer.signature(**values) == expected
    assert scorer.signature(settings) == expected


@pytest.mark.parametrize(("first", "second"), list(product(TASKS, TASKS)))
def test_another_task_replaces_all_values_that_are_not_explicit(first, second):
    for override in ({}, {"direction": "rh"}, {"combine_with": "recall", "formula": "e-n"}):
        settings = MENLISettings(task=first, **override)
        assert settings.replace(task=second) == MENLISettings(task=second, **override)
    changed = MENLISettings(task=first, direction="rh").replace(direction=None)
    assert changed == MENLISettings(task=first)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_of_a_call_gives_the_scores_of_its_settings(scorer, model, task):
    pairs = SOURCES if task == "source" else PAIRS
    expected = scorer.score(**pairs, **explicit(task, {}))
    other = MENLIScorer(model_name_or_path=model, task="summary")
    results = [
        other.score(**pairs, task=task),
        MENLI(model_name_or_path=model).compute(**pairs, task=task),
        MENLI(model_name_or_path=model, task=task).compute(**pairs),
    ]
    for result in results:
        assert result["scores"] == pytest.approx(expected["scores"], abs=1e-6)
        assert result["signature"] == expected["signature"]
    assert other.score(**pairs, task=task, direction="avg")["signature"] == scorer.signature(
        **explicit(task, {"direction": "avg"}), against_sources=task == "source"
    )


def test_an_explicit_metric_replaces_recall_with_the_weight_of_the_task():
    for value in ("infolm", InfoLMSettings(model_name_or_path="bundled")):
        settings = MENLISettings(task="answer", combine_with=value)
        assert settings.label("e-c") == "0.5 e-c + 0.5 infolm"
        assert settings.replace(task="summary").weight == 0.2


REFUSED = [
    ({"task": "answers"}, "unknown task 'answers'; did you mean 'answer'"),
    ({"task": "summary", "nli_weight": 0.5}, "requires a combination"),
    ({"task": "answer", "combine_with": "none", "nli_weight": 0.5}, "requires a combination"),
    ({"task": "answer", "combine_baseline": "some.baseline"}, "Omit combine_baseline"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_settings_that_contradict_a_task_are_rejected(values, message):
    with pytest.raises(ValueError, match=message):
        MENLISettings(**values)


def test_the_task_source_requires_sources_and_rejects_references(scorer, model, no_model):
    source = MENLIScorer(model_name_or_path=model, task="source")
    assert "|against:source|" in source.signature() and "|against:" not in scorer.signature()
    metric = MENLI(model_name_or_path=model, task="source")
    plain = MENLI(model_name_or_path=model)
    plain.add_batch(**PAIRS)
    cases = make_cases([Item("1", ("The city has 12 rooms.", "There are 12 rooms."))])
    calls = [
        lambda: source.score(**PAIRS),
        lambda: source.score(**PAIRS, sources=PAIRS["references"]),
        lambda: source.score(PAIRS["predictions"]),
        lambda: scorer.score(**PAIRS, task="source"),
        lambda: list(source.stream([("a", "b")])),
        lambda: metric.compute(**PAIRS),
        lambda: metric.add(prediction="a", reference="b"),
        lambda: metric.add_batch(**PAIRS),
        lambda: plain.compute(task="source"),
        lambda: plain.compute(**PAIRS, task="source"),
        lambda: source.matrix(["a"], ["b"]),
        lambda: scorer.matrix(["a"], ["b"], task="source"),
        lambda: source.select(["a", "b"]),
        lambda: source.make_baseline([f"text {i}" for i in range(50)], 20, 1),
        lambda: source.score_part(Pairs(["a"], [["b"]]), source.settings, None),
        lambda: evaluate_robustness(cases, {"menli": source}),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError), match="source"):
            call()
    assert len(plain) == 2 and len(metric) == 0


def test_a_call_without_the_task_source_accepts_references_again(model):
    metric = MENLI(model_name_or_path=model, task="source")
    assert metric.compute(**PAIRS, task="summary")["signature"].fields.get("against") is None
    metric.add_batch(**SOURCES)
    assert "|against:source|" in metric.compute()["signature"]


# The command line.


@pytest.mark.parametrize("task", [task for task in TASKS if task])
def test_the_command_line_sets_a_task(scorer, model, task, tmp_path, capsys):
    for name in ("predictions", "references"):
        (tmp_path / name).write_text("\n".join(PAIRS[name]))
    side = "--sources" if task == "source" else "-r"
    words = ["score", "--metric", "menli", "--model", model, "-c", str(tmp_path / "predictions")]
    words += [side, str(tmp_path / "references"), "--task", task]
    for override in ({}, {"direction": "avg"}, {"combine_with": "none"}):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in override.items()]
        assert main([*words, *flags]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == f"signature: {signature(scorer, task, override)}"
