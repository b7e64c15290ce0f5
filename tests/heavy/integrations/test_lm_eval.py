"""Documented tasks for lm-evaluation-harness report the score that `compute` returns."""

import lm_eval
import pytest
import torch
import transformers
from lm_eval.tasks import TaskManager

from infolm_metric import MENLI, InfoLM, InputError
from infolm_metric.integrations.lm_eval import aggregation
from tests.integration_files import write_shown

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # texts are few and short

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
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = transformers.GPT2Config(
            vocab_size=len(tokenizer),
            n_embd=32,
            n_layer=1,
            n_head=2,
            n_positions=128,
            bos_token_id=tokenizer.cls_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def evaluate(task, folder, model):
    """Run a task and return its results and the outputs."""
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    options = {"model": "hf", "model_args": {"pretrained": str(model)}, "device": "cpu"}
    options |= {"batch_size": 5, "log_samples": True}
    results = lm_eval.simple_evaluate(tasks=[task], task_manager=manager, **options)
    outputs = [sample["filtered_resps"][0] for sample in results["samples"][task]]
    return results["results"][task], outputs


def test_task_gives_the_score_of_compute(language_model, tmp_path, monkeypatch):
    documents = write_shown(tmp_path)
    monkeypatch.chdir(tmp_path)
    numbers, outputs = evaluate("summaries", tmp_path, language_model)
    assert len(set(outputs)) > 5
    for metric_type, settings in ((InfoLM, {}), (MENLI, {"formula": "e-c"})):
        metric = metric_type(model_name_or_path="bundled", **settings)
        references = [document["summary"] for document in documents]
        expected = metric.compute(predictions=outputs, references=references)
        assert numbers[f"{metric.name},none"] == pytest.approx(expected[metric.name], abs=1e-6)


def test_several_references_are_passed_by_process_results(language_model, tmp_path, monkeypatch):
    documents = write_shown(tmp_path)
    with (tmp_path / "utils.py").open("a") as file:
        file.write(SEVERAL)
    task = (tmp_path / "summaries.yaml").read_text().partition("metric_list")[0]
    ending = "process_results: !function utils.process_results\nmetric_list: [{metric: infolm}]\n"
    (tmp_path / "summaries.yaml").write_text(task + ending)
    monkeypatch.chdir(tmp_path)
    numbers, outputs = evaluate("summaries", tmp_path, language_model)
    expected = InfoLM(model_name_or_path="bundled").compute(
        predictions=outputs, references=[document["summaries"] for document in documents]
    )
    assert numbers["infolm,none"] == pytest.approx(expected["infolm"], abs=1e-6)


INVALID = [
    ([1.0, 0.0], "process_results"),
    ([("a", "b", {"temprature": 2})], "Did you mean 'temperature'"),
    ([("a", "b", {"information_measure": ["kl"]})], "information_measure must be one name"),
]


@pytest.mark.parametrize(("items", "problem"), INVALID)
def test_invalid_items_are_rejected(items, problem):
    with pytest.raises(InputError, match=problem):
        aggregation("infolm")(items)
