"""Training loops that log the metric, in one process and in two."""

import gc
import json
from pathlib import Path

import pytest
import torch
import transformers

from infolm_metric import InfoLM
from tests.model_families import SENTENCES
from tests.nearly_equal import assert_nearly_equal
from tests.nli_models import build_bart
from tests.processes import TWO_RANKS, printed
from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines


@pytest.fixture(scope="module")
def summarizer(tmp_path_factory) -> Path:
    """Folder of a tiny sequence-to-sequence model with a tokenizer."""
    folder = tmp_path_factory.mktemp("seq2seq")
    return build_bart(folder, transformers.BartForConditionalGeneration, scale=0.02)


@pytest.fixture
def pairs(tmp_path) -> Path:
    """Table of sentences, with their beginnings as summaries."""
    texts = [row["prediction"] for row in random_pairs(80, longest=12)]
    rows = [{"source": text, "target": " ".join(text.split()[:3])} for text in texts]
    return write_lines(tmp_path / "pairs.jsonl", rows)


def test_trainer_logs_the_metric_and_keeps_the_best_checkpoint(
    summarizer, pairs, tiny_bert, tmp_path
):
    from tests.heavy import train_with_trainer

    train_with_trainer.main(*map(str, (summarizer, pairs, tiny_bert, tmp_path / "out")))
    log = json.loads((tmp_path / "out" / "log.json").read_text())
    evaluations = [entry for entry in log["log"] if "eval_loss" in entry]
    assert [entry["epoch"] for entry in evaluations][:4] == [1, 2, 3, 4]
    scores = {entry["step"]: entry["eval_infolm"] for entry in evaluations[:4]}
    assert min(scores.values()) < max(scores.values())
    assert log["best"] == min(scores.values())
    assert log["checkpoint"] == f"checkpoint-{min(scores, key=scores.get)}"
    assert log["at_end"] == pytest.approx(log["best"], abs=1e-6)


def test_accelerate_processes_share_the_scoring(summarizer, pairs, tiny_bert, tmp_path):
    example = ROOT / "tests/heavy/train_with_accelerate.py"
    environment = {"OMP_NUM_THREADS": "1"}
    output = printed(*TWO_RANKS, example, summarizer, pairs, tiny_bert, tmp_path, env=environment)
    assert output.count("infolm") == 3  # printed by one process, once per epoch
    main, second = (json.loads((tmp_path / f"log-{rank}.json").read_text()) for rank in (0, 1))
    assert main == second
    assert [entry["pairs"] for entry in main["log"]] == [15, 15, 15]
    infolm = InfoLM(model_name_or_path=str(tiny_bert))
    expected = infolm.compute(predictions=main["outputs"], references=main["targets"])
    assert main["log"][-1]["infolm"] == pytest.approx(expected["infolm"], abs=1e-6)
    assert (tmp_path / "best" / "model.safetensors").is_file()


def test_unload_frees_the_model_and_the_distributions(tiny_bert):
    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(value), torch.Tensor) for value in gc.get_objects())

    infolm = InfoLM(model_name_or_path=str(tiny_bert))
    pairs = {"predictions": SENTENCES[:15], "references": SENTENCES[15:]}
    infolm.unload()  # nothing to free yet
    count = tensors()
    result = infolm.compute(**pairs)
    assert tensors() > count + 50
    infolm.unload()
    assert tensors() <= count + 2
    assert_nearly_equal(infolm.compute(**pairs), result)
