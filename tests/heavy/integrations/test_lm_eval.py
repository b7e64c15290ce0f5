"""Documented tasks for lm-evaluation-harness report the score that `compute` returns."""

import doctest

import lm_eval
import pytest
import torch
import transformers
from lm_eval.tasks import TaskManager

from infolm_metric import MENLI, AnswerCheckScorer, InfoLM, InputError
from infolm_metric.integrations import lm_eval as integration
from infolm_metric.integrations.lm_eval import FRACTIONS, aggregation, check_answer
from tests.integration_files import ANSWERS, FRENCH, write_shown
from tests.random_pairs import write_lines

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # texts are few and short

ROLES = ("eos", "pad")
SEVERAL = """
from infolm_metric.integrations.lm_eval import pass_through


def process_results(document, outputs):
    return {"infolm": pass_through([document["summaries"]], outputs, model_name_or_path="bundled")}
"""


@pytest.fixture
def language_model(tiny_bert, tmp_path):
    """Folder of a tiny model that generates random words."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.eos_token = tokenizer.sep_token
    settings = {"vocab_size": len(tokenizer), "n_embd": 32, "n_layer": 1, "n_head": 2}
    settings |= {"n_positions": 128, "bos_token_id": tokenizer.cls_token_id}
    settings |= {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ROLES}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = transformers.GPT2Config(**settings)
        transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def documents(tmp_path, monkeypatch):
    """Documents. The working directory contains them and the files from the documentation."""
    monkeypatch.chdir(tmp_path)
    return write_shown(tmp_path)


def evaluate(task, model):
    """Run a task from the model's parent folder. Return its results and the outputs."""
    manager = TaskManager(include_path=str(model.parent), include_defaults=False)
    options = {"model": "hf", "model_args": {"pretrained": str(model)}, "device": "cpu"}
    options |= {"batch_size": 5, "log_samples": True}
    results = lm_eval.simple_evaluate(tasks=[task], task_manager=manager, **options)
    outputs = [sample["filtered_resps"][0] for sample in results["samples"][task]]
    return results["results"][task], outputs


def test_task_gives_the_score_of_compute(language_model, documents):
    numbers, outputs = evaluate("summaries", language_model)
    assert len(set(outputs)) > 5
    for metric_type, settings in ((InfoLM, {}), (MENLI, {"formula": "e-c"})):
        metric = metric_type(model_name_or_path="bundled", **settings)
        references = [document["summary"] for document in documents]
        expected = metric.compute(predictions=outputs, references=references)
        assert numbers[f"{metric.name},none"] == pytest.approx(expected[metric.name], abs=1e-6)


def test_several_references_are_passed_by_process_results(language_model, documents, tmp_path):
    with (tmp_path / "utils.py").open("a") as file:
        file.write(SEVERAL)
    task = (tmp_path / "summaries.yaml").read_text().partition("metric_list")[0]
    ending = "process_results: !function utils.process_results\nmetric_list: [{metric: infolm}]\n"
    (tmp_path / "summaries.yaml").write_text(task + ending)
    numbers, outputs = evaluate("summaries", language_model)
    expected = InfoLM(model_name_or_path="bundled").compute(
        predictions=outputs, references=[document["summaries"] for document in documents]
    )
    assert numbers["infolm,none"] == pytest.approx(expected["infolm"], abs=1e-6)


def test_answers_get_the_fraction_of_each_verdict(language_model, documents, tmp_path):
    write_lines(tmp_path / "answers.jsonl", [*ANSWERS, {"question": "Why?", "aliases": [" "]}])
    runs = [evaluate("answers", language_model) for _ in range(2)]
    numbers, outputs = runs[0]
    expected = AnswerCheckScorer().score(outputs[:3], [row["aliases"] for row in ANSWERS])
    assert numbers["answer_check,none"] == pytest.approx(expected["answer_check"], abs=1e-6)
    for name, verdict in FRACTIONS.items():
        assert numbers[f"{name},none"] == pytest.approx(expected["verdicts"].count(verdict) / 3)
    assert runs[0] == runs[1]


def test_a_metric_of_answers_becomes_four_metrics(language_model, documents, tmp_path):
    task = (tmp_path / "answers.yaml").read_text()
    (line,) = (line for line in task.splitlines() if line.startswith("process_results"))
    (tmp_path / "answers.yaml").write_text(task.replace(line, ""))
    numbers, outputs = evaluate("answers", language_model)
    expected = AnswerCheckScorer().score(outputs, [row["aliases"][0] for row in ANSWERS])
    assert numbers["answer_check,none"] == pytest.approx(expected["answer_check"], abs=1e-6)
    fractions = [numbers[f"{name},none"] for name in FRACTIONS]
    assert sum(fractions) == pytest.approx(1 - expected["verdicts"].count(None) / 3)


def test_verdict_is_counted_for_the_document():
    answers = ["It was Armstrong.", "It is Sydney.", "Either Leonardo or Raphael."]
    for row, answer, verdict in zip(ANSWERS, answers, (0, 2, 1), strict=True):
        values = check_answer([row["aliases"]], [answer])
        assert [values[name] for name in FRACTIONS] == [float(n == verdict) for n in range(3)]
    values = check_answer(["Neil Armstrong"], [FRENCH])
    assert [values[name] for name in FRACTIONS] == [0, 0, 0]  # withheld
    with pytest.warns(UserWarning, match="1 document without a reference"):
        assert check_answer([[None, " "]], ["Yes."]) == {}


INVALID_ANSWERS = [
    ({"thresholds": [0.6, 0.3]}, "thresholds"),
    ({"score": ["completeness"]}, "score must be one name"),
    ({"temprature": 2}, "unknown setting 'temprature'"),
    ({"predictions": ["a", "b"]}, "one output"),
    ({"references": [3.0]}, "3.0"),
]


@pytest.mark.parametrize(("change", "problem"), INVALID_ANSWERS)
def test_invalid_answers_are_rejected(no_model, change, problem):
    with pytest.raises(InputError, match=problem):
        check_answer(**{"references": ["a"], "predictions": ["b"], **change})


def test_docstring_examples_print_the_documented_output():
    assert doctest.testmod(integration).failed == 0


INVALID = [
    ([1.0, 0.0], "process_results"),
    ([("a", "b", {"temprature": 2})], "Did you mean 'temperature'"),
    ([("a", "b", {"information_measure": ["kl"]})], "information_measure must be one name"),
]


@pytest.mark.parametrize(("items", "problem"), INVALID)
def test_invalid_items_are_rejected(items, problem):
    with pytest.raises(InputError, match=problem):
        aggregation("infolm")(items)
