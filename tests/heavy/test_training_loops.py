"""The metric in training loops: real ones as processes, and what it leaves alone."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from infolm_metric import InfoLM
from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines

pytestmark = pytest.mark.xdist_group("ranks")

EXAMPLES = ROOT / "tests" / "heavy"


@pytest.fixture(scope="module")
def summarizer(tiny_bert, tmp_path_factory) -> Path:
    """The folder of a tiny sequence-to-sequence model with a tokenizer."""
    folder = tmp_path_factory.mktemp("seq2seq")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = transformers.BartConfig(
            vocab_size=len(tokenizer),
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            max_position_embeddings=40,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.cls_token_id,
            eos_token_id=tokenizer.sep_token_id,
            decoder_start_token_id=tokenizer.cls_token_id,
            forced_eos_token_id=tokenizer.sep_token_id,
        )
        transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def pairs(tmp_path) -> Path:
    """A table of sentences, and their beginnings as summaries."""
    rows = [row["prediction"] for row in random_pairs(80, longest=12)]
    rows = [{"source": text, "target": " ".join(text.split()[:3])} for text in rows]
    return write_lines(tmp_path / "pairs.jsonl", rows)


def run(*command: object) -> str:
    """What the command printed; fails with what it complained of."""
    result = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_a_trainer_logs_the_metric_and_keeps_the_lowest(summarizer, pairs, tiny_bert, tmp_path):
    run(EXAMPLES / "train_with_trainer.py", summarizer, pairs, tiny_bert, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "log.json").read_text())
    evaluations = [entry for entry in found["log"] if "eval_loss" in entry]
    assert [entry["epoch"] for entry in evaluations][:4] == [1, 2, 3, 4]
    scores = {entry["step"]: entry["eval_infolm"] for entry in evaluations[:4]}
    assert min(scores.values()) < max(scores.values())
    assert found["best"] == min(scores.values())
    assert found["checkpoint"] == f"checkpoint-{min(scores, key=scores.get)}"
    assert found["at_end"] == pytest.approx(found["best"], abs=1e-6)


def test_two_processes_of_accelerate_score_their_shares(summarizer, pairs, tiny_bert, tmp_path):
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2)
    example = EXAMPLES / "train_with_accelerate.py"
    output = run(*launcher, example, summarizer, pairs, tiny_bert, tmp_path)
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
    assert state() == before
    assert [part.training for part in model.modules()] == [training] * 3
    assert torch.equal(model[0].weight, weight) and model[0].weight.requires_grad
    assert model(torch.ones(1, 2)).requires_grad


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


@pytest.fixture
def embedded():
    """How many tokens went through embeddings of words so far, in a list of one number."""
    seen = [0]

    def count(module, inputs):
        if isinstance(module, torch.nn.Embedding) and module.num_embeddings > 100:
            seen[0] += inputs[0].numel()

    handle = torch.nn.modules.module.register_module_forward_pre_hook(count)
    yield seen
    handle.remove()


def test_the_references_of_an_epoch_are_kept_for_the_next(tiny_bert, embedded):
    """The cost of the second evaluation, counted in tokens that the model reads."""
    infolm = InfoLM(model_name_or_path=str(tiny_bert))
    costs = []
    for predictions in EPOCHS:
        embedded[0] = 0
        infolm.compute(predictions=predictions, references=REFERENCES)
        costs.append(embedded[0])
    lengths = [sum(len(text.split()) ** 2 for text in texts) for texts in EPOCHS]
    assert 0.8 < lengths[1] / lengths[0] < 1.25  # candidates about as long
    assert 0 < costs[1] <= 0.6 * costs[0]


def test_unload_frees_the_model_and_the_distributions(tiny_bert):
    def tensors() -> int:
        import gc

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
