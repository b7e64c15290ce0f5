"""Inspect logs scored as documented have the same scores as `compute` returns."""

import math
import os
import statistics
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import inspect_ai
import pytest
from inspect_ai.dataset import FieldSpec, Sample, json_dataset
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

from infolm_metric import MENLI, AnswerCheck, InfoLM, InfoLMSettings, InputError
from infolm_metric.integrations.inspect_ai import answer_check, baryscore, bertscore, infolm, menli
from tests.integration_files import ANSWERS, write_shown
from tests.random_pairs import random_pairs

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # texts are short

OUTPUTS = [row["prediction"] for row in random_pairs(10, seed=5)]
INSPECT = str(Path(sys.executable).with_name("inspect"))


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """Documents. The working directory contains them and the files from the documentation."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return write_shown(tmp_path)


def mock_model(texts):
    """Return a mock model that generates texts in order."""
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    for output in outputs:
        output.usage = ModelUsage()  # otherwise a token table is downloaded
    return get_model("mockllm/model", custom_outputs=outputs)


def evaluate(task, texts=OUTPUTS, **settings):
    """Run a task with the mock model and return its log."""
    (log,) = inspect_ai.eval(
        task, model=mock_model(texts), max_connections=1, display="none", **settings
    )
    assert log.status == "success", log.error
    return log


def sorted_outputs(log):
    """Return the outputs in the order of the documents."""
    return [sample.output.completion for sample in sorted(log.samples, key=attrgetter("id"))]


def assert_equal(log, metric, references):
    """Assert that Inspect and `compute` report the same numbers, and return the latter."""
    expected = metric.compute(predictions=sorted_outputs(log), references=references)
    (score,) = [entry for entry in log.results.scores if entry.name == metric.name]
    error = statistics.stdev(expected["scores"]) / len(expected["scores"]) ** 0.5
    assert score.metrics["mean"].value == pytest.approx(expected[metric.name], rel=1e-6)
    assert score.metrics["stderr"].value == pytest.approx(error, rel=1e-6)
    return expected


def test_documented_task_gives_the_score_of_compute(documents):
    import summaries

    log = evaluate(summaries.summaries())
    metric = InfoLM(model_name_or_path="bundled", idf="bundled")
    expected = assert_equal(log, metric, [document["summary"] for document in documents])
    assert sorted(sorted_outputs(log)) == sorted(OUTPUTS)
    assert log.samples[0].scores["infolm"].metadata == {"signature": expected["signature"]}


def test_documented_task_reports_the_verdicts(documents):
    import questions

    answers = ["It was Armstrong.", "It is Sydney.", "Either Leonardo or Raphael."]
    logs = [evaluate(questions.questions(), answers) for _ in range(2)]
    scores = [sample.scores["answer_check"] for sample in logs[0].samples]
    verdicts = [score.metadata["verdict"] for score in scores]
    assert verdicts == ["likely correct", "likely wrong", "unclear"]
    references = [row["aliases"] for row in ANSWERS]
    assert_equal(logs[0], AnswerCheck(), references)
    assert scores == [sample.scores["answer_check"] for sample in logs[1].samples]


def test_existing_log_can_be_scored_again(documents):
    dataset = json_dataset("documents.jsonl", FieldSpec(input="text", target="summaries"))
    log = evaluate(inspect_ai.Task(dataset=dataset, scorer=match()))
    scorer = infolm(model_name_or_path="bundled")
    new_log = inspect_ai.score(log, scorer, action="append", display="none")
    metric = InfoLM(model_name_or_path="bundled", idf=False)
    assert_equal(new_log, metric, [document["summaries"] for document in documents])


def test_inspect_command_finds_the_scorers(documents, tmp_path, monkeypatch):
    """Check the entry point of the installed package, regardless of the checkout."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    dataset = json_dataset("documents.jsonl", FieldSpec(input="text", target="summary"))
    log = evaluate(inspect_ai.Task(dataset=dataset, scorer=match()), log_dir=str(tmp_path))
    options = ("--action", "append", "--overwrite", "--display", "plain")
    settings = ("-S", "model_name_or_path=bundled", "-S", "formula=e-c")
    result = subprocess.run(
        [INSPECT, "score", log.location, "--scorer", "infolm_metric/menli", *settings, *options],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    metric = MENLI(model_name_or_path="bundled", formula="e-c")
    references = [document["summary"] for document in documents]
    assert_equal(read_eval_log(log.location), metric, references)


def test_sample_without_target_is_excluded_from_the_mean(documents):
    pairs = [("one", "A cat sat."), ("two", ""), ("three", "Rain fell.")]
    samples = [Sample(id=name, input=name, target=target) for name, target in pairs]
    log = evaluate(inspect_ai.Task(dataset=samples, scorer=menli(model_name_or_path="bundled")))
    scores = {sample.id: sample.scores["menli"] for sample in log.samples}
    assert math.isnan(scores["two"].value) and "'two'" in scores["two"].explanation
    (score,) = log.results.scores
    mean = (scores["one"].value + scores["three"].value) / 2
    assert score.metrics["mean"].value == pytest.approx(mean)


INVALID = [
    (infolm, {"temprature": 2}, "Did you mean 'temperature'"),
    (infolm, {"information_measure": ["kl", "l1"]}, "must be one name"),
    (baryscore, {"idf": True}, "Pass idf=False"),
    (bertscore, {"score": ["f1"]}, "score must be one name"),
    (answer_check, {"thresholds": (0.6, 0.3)}, "thresholds"),
    (answer_check, {"idf": False}, "unknown setting 'idf'"),
    (menli, {"combine_with": InfoLMSettings()}, "Pass idf=False"),
]


@pytest.mark.parametrize(("make", "settings", "problem"), INVALID)
def test_invalid_settings_are_rejected(make, settings, problem):
    with pytest.raises(InputError, match=problem):
        make(**settings)
