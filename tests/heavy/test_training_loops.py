"""Training loops that keep the best checkpoint by a score, in one process and in two."""

import gc
import json
import re
import runpy
import shutil
from pathlib import Path
from types import MappingProxyType

import pytest
import torch
import transformers

from infolm_metric import InfoLM
from tests.integration_files import shown
from tests.model_families import SENTENCES
from tests.nearly_equal import assert_nearly_equal
from tests.nli_models import build_bart
from tests.processes import TWO_RANKS, started
from tests.random_pairs import random_pairs, write_lines

# Options for a few steps of training, and the results.
FAST = """"checkpoints", num_train_epochs=4, learning_rate=5e-3, per_device_train_batch_size=8,
    per_device_eval_batch_size=3, dataloader_num_workers=1, use_cpu=True, report_to="none",
    disable_tqdm=True, """
REPORT = """
import json
from pathlib import Path
state = {"log": [*trainer.state.log_history], "best": trainer.state.best_metric}
state |= {"checkpoint": Path(trainer.state.best_model_checkpoint).name}
state |= {"at_end": trainer.evaluate()["eval_infolm"]}
if trainer.is_world_process_zero():
    Path("state.json").write_text(json.dumps(state))
"""


@pytest.fixture(scope="module")
def summarizer(tmp_path_factory) -> Path:
    """Folder of a tiny sequence-to-sequence model with a tokenizer."""
    folder = tmp_path_factory.mktemp("seq2seq")
    return build_bart(folder, transformers.BartForConditionalGeneration, scale=0.02)


@pytest.fixture(scope="module")
def rows():
    """Sentences, with their beginnings as summaries."""
    texts = [row["prediction"] for row in random_pairs(80, longest=12)]
    return [{"source": text, "target": " ".join(text.split()[:3])} for text in texts]


@pytest.fixture
def run(summarizer, tiny_models, tiny_bert, rows, tmp_path, monkeypatch, capsys):
    """Function that runs a script from the page, here or by a launcher, and returns its output."""
    write_lines(tmp_path / "test.jsonl", rows[:15])  # two processes get unequal parts of 15
    write_lines(tmp_path / "train.jsonl", rows[15:])

    def run(name, *launcher, options="", report=REPORT, texts=MappingProxyType({})):
        shutil.rmtree(tmp_path / "checkpoints", ignore_errors=True)
        script = shown("training.md")[name]
        decoder = tiny_models("gpt2", max_position_embeddings=256)
        models = {"facebook/bart-base": summarizer, "bundled": tiny_bert}
        for model, folder in {**models, "openai-community/gpt2": decoder}.items():
            script = script.replace(f'"{model}"', repr(str(folder)))
        changes = {'"checkpoints",': FAST + options, "Accelerator()": "Accelerator(cpu=True)"}
        for text, change in {**changes, **texts}.items():
            script = script.replace(text, change)
        script = re.sub(r"(max_\w+)(\": |=)\d+", r"\1\g<2>8", script)
        (tmp_path / name).write_text("import torch\ntorch.manual_seed(0)\n" + script + report)
        if not launcher:
            monkeypatch.chdir(tmp_path)
            runpy.run_path(name)
            return capsys.readouterr().out
        with started(*launcher, name, cwd=tmp_path, env={"OMP_NUM_THREADS": "1"}) as process:
            output, errors = process.communicate()
        assert process.returncode == 0, output + errors
        assert "forked" not in errors and "keeps the checkpoint with the worst" not in errors
        return output

    return run


@pytest.mark.parametrize("batches", [False, True])
def test_trainer_logs_the_metric_and_keeps_the_best_checkpoint(
    summarizer, rows, tiny_bert, tmp_path, batches
):
    from tests.heavy import train_with_trainer

    pairs = write_lines(tmp_path / "pairs.jsonl", rows)
    arguments = map(str, (summarizer, pairs, tiny_bert, tmp_path / "out"))
    train_with_trainer.main(*arguments, batch_eval_metrics=batches)
    log = json.loads((tmp_path / "out" / "log.json").read_text())
    evaluations = [entry for entry in log["log"] if "eval_loss" in entry]
    assert [entry["epoch"] for entry in evaluations][:4] == [1, 2, 3, 4]
    scores = {entry["step"]: entry["eval_infolm"] for entry in evaluations[:4]}
    assert min(scores.values()) < max(scores.values())
    assert log["best"] == min(scores.values())
    assert log["checkpoint"] == f"checkpoint-{min(scores, key=scores.get)}"
    assert log["at_end"] == pytest.approx(log["best"], abs=1e-6)


def test_scores_of_the_callback_on_two_processes_choose_the_checkpoint(run, tmp_path):
    run("train_decoder.py", *TWO_RANKS)
    state = json.loads((tmp_path / "state.json").read_text())
    scores = {x["step"]: x["eval_infolm"] for x in state["log"] if "eval_infolm" in x}
    assert len(scores) == 4 and min(scores.values()) < max(scores.values())
    assert state["best"] == min(scores.values())
    assert state["checkpoint"] == f"checkpoint-{min(scores, key=scores.get)}"
    assert state["at_end"] == pytest.approx(state["best"], abs=1e-6)


def test_accelerate_processes_get_the_score_of_all_pairs(run):
    texts = {"range(3)": "range(1)", "lr=3e-5": "lr=0"}  # so that both runs have the same weights
    lines = [
        run("train_with_accelerate.py", *ranks, report="", texts=texts) for ranks in ((), TWO_RANKS)
    ]
    assert lines[0] == lines[1] and lines[0].startswith("epoch 0: InfoLM 0.")


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
