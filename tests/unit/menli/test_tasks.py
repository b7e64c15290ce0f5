"""The setting `task`: defaults of other settings, overridden by explicit values."""

from itertools import product

import pytest

from infolm_metric import MENLI, InfoLMScorer, InputError, MENLIScorer, MENLISettings
from infolm_metric.commands.main import main
from infolm_metric.scoring.distributed import distributed_score

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
    assert MENLIScorer(settings).signature() == expected
    assert scorer.signature(**values) == expected


@pytest.mark.parametrize(("first", "second"), list(product(TASKS, TASKS)))
def test_another_task_replaces_all_values_that_are_not_explicit(first, second):
    for override in ({}, {"direction": "rh"}, {"combine_with": "baryscore", "formula": "e-n"}):
        settings = MENLISettings(task=first, **override)
        assert settings.replace(task=second) == MENLISettings(task=second, **override)
    changed = MENLISettings(task=first, direction="rh").replace(direction=None)
    assert changed == MENLISettings(task=first)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_of_a_call_gives_the_scores_of_its_settings(scorer, model, task):
    expected = scorer.score(**PAIRS, **explicit(task, {}))
    other = MENLIScorer(model_name_or_path=model, task="summary")
    results = [
        other.score(**PAIRS, task=task),
        MENLI(model_name_or_path=model).compute(**PAIRS, task=task),
        MENLI(model_name_or_path=model, task=task).compute(**PAIRS),
    ]
    for result in results:
        assert result["scores"] == pytest.approx(expected["scores"], abs=1e-6)
        assert result["signature"] == signature(scorer, task, {})
    changed = {"direction": "avg"}
    signed = other.score(**PAIRS, task=task, **changed)["signature"]
    assert signed == signature(scorer, task, changed)


REFUSED = [
    ({"task": "sumary"}, "unknown task 'sumary'. Did you mean 'summary'"),
    ({"task": "answer"}, "unknown task 'answer'"),
    ({"task": "summary", "nli_weight": 0.5}, "requires a combination"),
    ({"task": "summary", "combine_baseline": "some.baseline"}, "some.baseline"),
]


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_settings_that_contradict_a_task_are_rejected(values, message):
    with pytest.raises(InputError, match=message):
        MENLISettings(**values)


def same_scores(result, expected):
    """Return True if scores agree, and the signatures agree except for the kind of references."""
    assert "|against:source|" in result["signature"] and "|against:" not in expected["signature"]
    assert result["signature"].without(["against"]) == expected["signature"]
    return result["scores"] == pytest.approx(expected["scores"], abs=1e-6)


def test_every_entry_point_scores_sources_like_references(model):
    base = {"model_name_or_path": model}
    source = MENLIScorer(**base, task="source")
    plain = MENLIScorer(**base, formula="-c", direction="rh")
    expected = plain.score(**PAIRS)
    assert expected.scores["-c"][0] != expected.scores["-c"][1]
    metric = MENLI(**base, task="source")
    for result in (
        source.score(**PAIRS),
        plain.score(**PAIRS, task="source"),
        metric.compute(**PAIRS),
        distributed_score(source, **PAIRS),
    ):
        assert same_scores(result, expected)
    lists = {**PAIRS, "references": [["The cat sat.", "It snowed."], ["Snow fell."]]}
    assert same_scores(source.score(**lists), plain.score(**lists))
    rows = list(source.stream(zip(*PAIRS.values(), strict=True)))
    assert [row["-c"] for row in rows] == pytest.approx(expected["scores"], abs=1e-6)
    samples = [*PAIRS["predictions"], *PAIRS["references"]]
    matrices = [scorer.matrix(samples, PAIRS["references"]) for scorer in (source, plain)]
    assert matrices[0] == pytest.approx(matrices[1], abs=1e-6)
    assert source.select(samples) == plain.select(samples)
    texts = [f"The {word} is {size}." for word in ("cat", "dog", "man") for size in range(15)]
    baselines = [scorer.make_baseline([texts], 20, 2).stats for scorer in (source, plain)]
    assert baselines[0].keys() == baselines[1].keys()
    for key, stats in baselines[0].items():
        assert stats.mean == pytest.approx(baselines[1][key].mean, abs=1e-6)


SOURCES = {"predictions": ["a"], "sources": ["b"]}
REMEDY = r"Pass the sources as references, with task='source'"


def test_the_argument_sources_is_rejected_with_a_remedy(scorer, model, no_model):
    metric = MENLI(model_name_or_path=model)
    calls = [
        lambda: scorer.score(["a"], ["b"], sources=["c"]),
        lambda: metric.add_batch(**SOURCES),
        lambda: metric.compute(**SOURCES, references=["c"], task="source"),
        lambda: InfoLMScorer(model_name_or_path=model).score(["a"], ["b"], source=["c"]),
    ]
    for call in calls:
        with pytest.raises(InputError, match=REMEDY):
            call()
    assert len(metric) == 0


def test_another_task_of_a_call_replaces_the_task_source(model):
    metric = MENLI(model_name_or_path=model, task="source")
    assert "against" not in metric.compute(**PAIRS, task="summary")["signature"].fields
    assert metric.compute(**PAIRS)["signature"].fields["against"] == "source"


# The command line.


@pytest.mark.parametrize("task", [task for task in TASKS if task])
def test_the_command_line_sets_a_task(scorer, model, task, tmp_path, capsys):
    for name in ("predictions", "references"):
        (tmp_path / name).write_text("\n".join(PAIRS[name]))
    words = ["score", "--metric", "menli", "--model", model, "-c", str(tmp_path / "predictions")]
    words += ["-r", str(tmp_path / "references"), "--task", task]
    for override in ({}, {"direction": "avg"}, {"combine_with": "baryscore"}):
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in override.items()]
        assert main([*words, *flags]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[-1] == f"signature: {signature(scorer, task, override)}"
