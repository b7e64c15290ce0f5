"""The metric in training loops: real ones as processes, and what it leaves alone."""

import gc
import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from infolm_metric import InfoLM
from tests.nli_models import build_bart
from tests.processes import TWO_RANKS, printed
from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines

pytestmark = pytest.mark.xdist_group("ranks")

EXAMPLES = ROOT / "tests" / "heavy"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def summarizer(tmp_path_factory) -> Path:
    """The folder of a tiny sequence-to-sequence model with a tokenizer."""
    folder = tmp_path_factory.mktemp("seq2seq")
    return build_bart(folder, transformers.BartForConditionalGeneration, scale=0.02)


@pytest.fixture
def pairs(tmp_path) -> Path:
    """A table of sentences, and their beginnings as summaries."""
    rows = [row["prediction"] for row in random_pairs(80, longest=12)]
    rows = [{"source": text, "target": " ".join(text.split()[:3])} for text in rows]
    return write_lines(tmp_path / "pairs.jsonl", rows)


def test_a_trainer_logs_the_metric_and_keeps_the_lowest(summarizer, pairs, tiny_bert, tmp_path):
    example = EXAMPLES / "train_with_trainer.py"
    printed(example, summarizer, pairs, tiny_bert, tmp_path / "out", env=ONE_THREAD)
    found = json.loads((tmp_path / "out" / "log.json").read_text())
    evaluations = [entry for entry in found["log"] if "eval_loss" in entry]
    assert [entry["epoch"] for entry in evaluations][:4] == [1, 2, 3, 4]
    scores = {entry["step"]: entry["eval_infolm"] for entry in evaluations[:4]}
    assert min(scores.values()) < max(scores.values())
    assert found["best"] == min(scores.values())
    assert found["checkpoint"] == f"checkpoint-{min(scores, key=scores.get)}"
    assert found["at_end"] == pytest.approx(found["best"], abs=1e-6)


def test_two_processes_of_accelerate_score_their_shares(summarizer, pairs, tiny_bert, tmp_path):
    example = EXAMPLES / "train_with_accelerate.py"
    output = printed(*TWO_RANKS, example, summarizer, pairs, tiny_bert, tmp_path, env=ONE_THREAD)
    assert output.count("infolm") == 3  # printed by one process, once an epoch
    main, other = (json.loads((tmp_path / f"log-{rank}.json").read_text()) for rank in (0, 1))
    assert main == other
    assert [entry["pairs"] for entry in main["log"]] == [15, 15, 15]
    alone = InfoLM(model_name_or_path=str(tiny_bert))
    expected = alone.compute(predictions=main["outputs"], references=main["targets"])
    assert main["log"][-1]["infolm"] == pytest.approx(expected["infolm"], abs=1e-6)
    assert (tmp_path / "best" / "model.safetensors").is_file()


# What a loop relies on

EPOCHS = [[row["prediction"] for row in random_pairs(40, seed=seed)] for seed in (1, 2)]
REFERENCES = [row["references"][0] for row in random_pairs(40, seed=3)]


def state() -> tuple[object, ...]:
    """Everything global that a training loop relies on."""
    return (
        torch.get_rng_state().tolist(),
        [part.tolist() if hasattr(part, "tolist") else part for part in np.random.get_state()],
        random.getstate(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.get_float32_matmul_precision(),
        torch.are_deterministic_algorithms_enabled(),
        torch.get_num_threads(),
    )


@pytest.mark.parametrize("training", [True, False])
def test_nothing_of_the_users_is_touched(tiny_bert, training):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout()).train(training)
    before, weight = state(), model[0].weight.clone()
    infolm = InfoLM(model_name_or_path=str(tiny_bert))
    for predictions in EPOCHS:
        infolm.compute(predictions=predictions, references=REFERENCES)
        assert state() == before
    infolm.unload()
    assert [part.training for part in model.modules()] == [training] * 3
    assert torch.equal(model[0].weight, weight) and model(torch.ones(1, 2)).requires_grad


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_a_loop_in_another_dtype_gets_the_same_scores(tiny_bert, dtype):
    expected = InfoLM(model_name_or_path=str(tiny_bert)).compute(
        predictions=EPOCHS[0], references=REFERENCES
    )
    infolm = InfoLM(model_name_or_path=str(tiny_bert))
    torch.set_default_dtype(dtype)
    try:
        found = infolm.compute(predictions=EPOCHS[0], references=REFERENCES)
        assert torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(torch.float32)
    assert found["scores"] == pytest.approx(expected["scores"], abs=1e-6)


def test_unload_frees_the_model_and_the_distributions(tiny_bert):
    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())

    infolm = InfoLM(model_name_or_path=str(tiny_bert))
    infolm.unload()  # nothing to free yet
    before = tensors()
    first = infolm.compute(predictions=EPOCHS[0], references=REFERENCES)
    assert tensors() > before + 50
    infolm.unload()
    assert tensors() <= before + 2
    assert infolm.compute(predictions=EPOCHS[0], references=REFERENCES) == first
