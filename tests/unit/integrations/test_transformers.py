"""`compute_metrics` and `GenerationCallback`, called as a Trainer calls them."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate.utils import DistributedType
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    EvalPrediction,
    Seq2SeqTrainingArguments,
    TrainerState,
)

from infolm_metric import InputError, score
from infolm_metric.integrations.transformers import GenerationCallback, compute_metrics
from tests.counted_contexts import count_contexts

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # texts are few

PREDICTIONS = ["a cat sat", "the dog ran in the rain", "it was cold"]
REFERENCES = ["the cat slept on a mat", "the dog ran", "rain fell"]
PROMPTS = ["the dog ran in", "a cat", "it rained on the old mat"]
SHORT = {"max_new_tokens": 5}


@pytest.fixture(scope="module")
def settings(tiny_bert):
    return {"model_name_or_path": tiny_bert}


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.fixture
def evaluated(tokenizer):
    """Function that returns the padded ids of predictions and labels, as a Trainer passes them."""

    def encode(predictions=PREDICTIONS, references=REFERENCES):
        sides = (tokenizer(texts, padding=True)["input_ids"] for texts in (predictions, references))
        pad = tokenizer.pad_token_id
        return EvalPrediction(*(np.where(np.array(x) == pad, -100, np.array(x)) for x in sides))

    return encode


def test_decoded_texts_get_the_score_of_the_metric(tokenizer, settings, evaluated):
    metrics = compute_metrics(tokenizer, **settings, temperature=2)
    means = metrics(evaluated())
    expected = score(PREDICTIONS, REFERENCES, **settings, temperature=2)["infolm"]
    assert means == {key: pytest.approx(expected) for key in ("infolm", "infolm_loss")}
    assert metrics.metric_for_best_model == "infolm_loss" and not metrics.greater_is_better


def test_batches_get_the_scores_of_the_corpus(tokenizer, settings, evaluated):
    """Check tensors (batch_eval_metrics) and lists of arrays (eval_do_concat_batches=False)."""
    metrics = compute_metrics(tokenizer, **settings)
    expected, parts = metrics(evaluated()), []
    for index, last in enumerate((False, False, True)):
        part = evaluated(PREDICTIONS[index : index + 1], REFERENCES[index : index + 1])
        parts.append(part)
        tensors = EvalPrediction(torch.tensor(part.predictions), torch.tensor(part.label_ids))
        means = metrics(tensors, compute_result=last)
    assert means == pytest.approx(expected)
    lists = EvalPrediction([part.predictions for part in parts], [part.label_ids for part in parts])
    assert metrics(lists) == pytest.approx(expected)


def test_metrics_and_measures_get_flat_names_and_their_own_settings(tokenizer, settings, evaluated):
    names = ["infolm", "bertscore"]
    measures = ["kl_divergence", "l1_distance"]
    metrics = compute_metrics(tokenizer, names, **settings, information_measure=measures, layer=1)
    means = metrics(evaluated())
    distances = [f"infolm_{name}" for name in measures]
    assert {*means} == {*distances, *(f"{name}_loss" for name in distances), "bertscore"}
    expected = score(PREDICTIONS, REFERENCES, metric="bertscore", **settings, layer=1)
    assert means["bertscore"] == pytest.approx(expected["bertscore"])
    assert metrics.directions["bertscore"] and not metrics.directions[distances[0]]
    best = compute_metrics(tokenizer, "bertscore", **settings)
    assert best.metric_for_best_model == "bertscore" and best.greater_is_better


def test_references_are_encoded_once(tokenizer, settings, evaluated, monkeypatch):
    metrics = compute_metrics(tokenizer, **settings)
    sizes = []
    for first in ("a cat sat", "a cat ran"):
        with count_contexts(monkeypatch) as contexts:
            metrics(evaluated([first, *PREDICTIONS[1:]]))
        sizes.append(len(contexts))
    # Only the changed prediction is encoded again. It has three tokens.
    assert sizes[0] > 15 and sizes[1] == 3


INVALID = [
    ({"metric": "infoml"}, "unknown metric 'infoml'. Did you mean"),
    ({"metric": []}, "at least 1"),
    ({"temprature": 2}, "unknown setting 'temprature'. Did you mean"),
    ({"metric": ["menli", "bertscore"], "temperature": 2}, "unknown setting 'temperature'"),
    ({"temperature": 0}, "temperature must be > 0"),
]


@pytest.mark.parametrize(("arguments", "problem"), INVALID)
def test_invalid_arguments_are_rejected(no_model, arguments, problem):
    with pytest.raises(InputError, match=problem):
        compute_metrics(None, **arguments)
    with pytest.raises(InputError, match=problem):
        GenerationCallback(["a"], ["b"], **arguments)


@pytest.mark.parametrize("logits", [np.zeros((2, 3, 5)), (np.zeros((2, 3)),), None])
def test_logits_are_rejected(no_model, tokenizer, logits):
    with pytest.raises(InputError, match="predictions must be token ids.*predict_with_generate"):
        compute_metrics(tokenizer)(EvalPrediction(logits, np.zeros((2, 3), int)))


def arguments(folder, **options):
    """Return TrainingArguments, as a user passes them."""
    options = {"predict_with_generate": True, "use_cpu": True, "report_to": "none", **options}
    return Seq2SeqTrainingArguments(str(folder), **options)


DIRECTIONS = [  # options of TrainingArguments, whether the checkpoint would be the worst
    ({"metric_for_best_model": "infolm"}, True),
    ({"metric_for_best_model": "eval_infolm", "greater_is_better": False}, False),
    ({"metric_for_best_model": "infolm_loss"}, False),
    ({"metric_for_best_model": "eval_infolm_loss", "greater_is_better": True}, True),
    ({"metric_for_best_model": "loss"}, False),
    ({"metric_for_best_model": "bertscore"}, False),
    ({"metric_for_best_model": "bertscore", "greater_is_better": False}, True),
    ({}, False),
]


@pytest.mark.parametrize(("options", "worst"), DIRECTIONS)
def test_a_contradicting_direction_is_reported(tmp_path, recwarn, options, worst):
    args = arguments(tmp_path, **options)
    compute_metrics(None, ["infolm", "bertscore"], args=args)
    messages = [str(record.message) for record in recwarn]
    assert any("keeps the checkpoint with the worst" in text for text in messages) == worst


def test_arguments_without_generation_are_rejected(tmp_path):
    with pytest.raises(InputError, match="predict_with_generate must be True"):
        compute_metrics(None, args=arguments(tmp_path, predict_with_generate=False))


@pytest.fixture
def trainer(tiny_models, tmp_path):
    """Arguments of a Trainer's callbacks, with a tiny GPT-2."""
    folder = tiny_models("gpt2")
    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = tokenizer.eos_token
    args = arguments(tmp_path, per_device_eval_batch_size=2)
    assert args.device.type == "cpu"  # which sets args.distributed_state, as a Trainer does
    metrics = {"eval_loss": 1.0, "eval_runtime": 1.0}
    return SimpleNamespace(
        event=(args, TrainerState(epoch=1.0), None),
        state={"model": model, "processing_class": tokenizer, "metrics": metrics},
    )


def generate_one_by_one(trainer, prompts):
    """Generate without padding."""
    model, tokenizer = trainer.state["model"], trainer.state["processing_class"]
    texts = []
    for prompt in prompts:
        inputs = tokenizer(prompt, return_tensors="pt")
        ids = model.eval().generate(**inputs, **SHORT, do_sample=False)
        texts.append(tokenizer.decode(ids[0][inputs["input_ids"].shape[1] :]))
    return texts


def test_generated_texts_are_scored_and_added_to_the_metrics(trainer, settings):
    callback = GenerationCallback(PROMPTS, REFERENCES, generation=SHORT, **settings)
    callback.on_evaluate(*trainer.event, **trainer.state)
    outputs = generate_one_by_one(trainer, PROMPTS)
    expected = score(outputs, REFERENCES, **settings)["infolm"]
    metrics = trainer.state["metrics"]
    assert metrics["eval_infolm"] == metrics["eval_infolm_loss"] == pytest.approx(expected)
    (entry,) = trainer.event[1].log_history
    assert entry["eval_infolm"] == metrics["eval_infolm"] and entry["epoch"] == 1


def test_sampling_changes_no_state(trainer, settings):
    model, tokenizer = trainer.state["model"].train(), trainer.state["processing_class"]
    tokenizer.padding_side = "right"
    generation = {**SHORT, "do_sample": True}
    callback = GenerationCallback(PROMPTS, REFERENCES, generation=generation, **settings)
    states = torch.get_rng_state(), np.random.get_state()[1].tolist()
    callback.on_evaluate(*trainer.event, **trainer.state)
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1] == np.random.get_state()[1].tolist()
    assert model.training and tokenizer.padding_side == "right"
    assert all(value.requires_grad for value in model.parameters())


def test_conversations_use_the_chat_template(trainer, settings):
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    trainer.state["processing_class"].chat_template = template
    conversations = [[{"role": "user", "content": prompt}] for prompt in PROMPTS]
    scores = []
    for prompts in (PROMPTS, conversations):
        callback = GenerationCallback(
            prompts, REFERENCES, "bertscore", generation=SHORT, layer=1, **settings
        )
        callback.on_evaluate(*trainer.event, **trainer.state)
        scores.append(trainer.state["metrics"].pop("eval_bertscore"))
    assert scores[0] == pytest.approx(scores[1])


def test_every_skips_evaluations_unless_the_score_chooses_the_checkpoint(
    trainer, settings, tmp_path
):
    callback = GenerationCallback(PROMPTS, REFERENCES, every=2, generation=SHORT, **settings)
    logs = []
    callback.log = logs.append
    for _ in range(3):
        callback.on_evaluate(*trainer.event, **trainer.state)
    assert len(logs) == 2
    args = arguments(tmp_path, metric_for_best_model="infolm_loss")
    with pytest.raises(InputError, match="every must be 1"):
        callback.on_train_begin(args, *trainer.event[1:], **trainer.state)


def test_a_model_that_is_divided_among_ranks_is_rejected(trainer, monkeypatch):
    callback = GenerationCallback(PROMPTS, REFERENCES)
    callback.on_train_begin(*trainer.event, **trainer.state)
    state = SimpleNamespace(distributed_type=DistributedType.FSDP)
    monkeypatch.setattr(trainer.event[0], "distributed_state", state)
    for event in (callback.on_train_begin, callback.on_evaluate):
        with pytest.raises(InputError, match="a whole model on each rank"):
            event(*trainer.event, **trainer.state)


INVALID_PROMPTS = [
    (("a cat", ["a"]), {}, "prompts must be a list"),
    (([None], ["a"]), {}, r"prompts\[0\] must be a string, got None"),
    ((["a", [{"role": "user"}]], ["a", "b"]), {}, r"prompts\[1\] must be a string"),
    ((["a"], ["a", "b"]), {}, "must have the same length"),
    (([], []), {}, "at least one pair"),
    ((["a"], [3]), {}, r"references\[0\]"),
    ((["a"], ["a"]), {"every": 0}, "every must be at least 1"),
]


@pytest.mark.parametrize(("texts", "options", "problem"), INVALID_PROMPTS)
def test_invalid_prompts_are_rejected(no_model, texts, options, problem):
    with pytest.raises(InputError, match=problem):
        GenerationCallback(*texts, **options)
