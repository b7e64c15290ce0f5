"""Reward functions and GenerationCallback in TRL's own trainers, with a tiny model."""

import datasets
import pytest
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from infolm_metric import AnswerCheckScorer, BaryScorer
from infolm_metric.integrations.transformers import GenerationCallback
from infolm_metric.integrations.trl import reward

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries, and of random texts
QUESTIONS = ["Who was first on the moon?", "What is the capital of France?"]
REFERENCES = [["Neil Armstrong", "Armstrong"], ["Paris"]]
SIZES = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
ON_CPU = {"report_to": [], "use_cpu": True, "bf16": False}


def messages(role, texts):
    """Return a conversation of one message for each text."""
    return [[{"role": role, "content": text}] for text in texts]


@pytest.fixture
def policy():
    """Arguments of a trainer: an untrained language model, and the bundled model's tokenizer."""
    import infolm_metric

    folder = infolm_metric.__path__[0] + "/bundled"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.eos_token = tokenizer.sep_token
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    ids = {"pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.cls_token_id}
    ids |= {"eos_token_id": tokenizer.sep_token_id}
    config = LlamaConfig(vocab_size=len(tokenizer), num_attention_heads=2, **SIZES, **ids)
    return {"model": LlamaForCausalLM(config), "processing_class": tokenizer}


@pytest.mark.parametrize("conversational", [False, True])
def test_a_trainer_optimises_the_rewards_of_two_metrics(policy, tmp_path, conversational):
    prompts = messages("user", QUESTIONS) if conversational else QUESTIONS
    scorers = [
        AnswerCheckScorer(device="cpu"),
        BaryScorer(model_name_or_path="bundled", idf=False, device="cpu"),
    ]
    trainer = GRPOTrainer(
        **policy,
        reward_funcs=[reward(scorer) for scorer in scorers],
        train_dataset=datasets.Dataset.from_dict({"prompt": prompts, "reference": REFERENCES}),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=4,
            num_generations=2,
            max_completion_length=8,
            max_steps=2,
            logging_steps=1,
            **ON_CPU,
        ),
    )
    trainer.train()
    (first, *_) = trainer.state.log_history
    assert 0 <= first["rewards/answer_check_reward/mean"] <= 1
    assert first["rewards/baryscore_reward/mean"] < 0


@pytest.mark.parametrize("conversational", [False, True])
def test_supervised_training_keeps_the_best_checkpoint(policy, tmp_path, conversational):
    prompts, answers = QUESTIONS, [group[0] for group in REFERENCES]
    if conversational:
        prompts, answers = messages("user", prompts), messages("assistant", answers)
    callback = GenerationCallback(
        prompts,
        REFERENCES,
        ["infolm", "answer_check"],
        generation={"max_new_tokens": 8},
        model_name_or_path="bundled",
    )
    data = datasets.Dataset.from_dict({"prompt": prompts, "completion": answers})
    trainer = SFTTrainer(
        **policy,
        train_dataset=data,
        eval_dataset=data,
        callbacks=[callback],
        args=SFTConfig(
            output_dir=str(tmp_path),
            max_steps=3,
            learning_rate=3e-2,
            eval_strategy="steps",
            eval_steps=1,
            save_strategy="steps",
            save_steps=1,
            load_best_model_at_end=True,
            metric_for_best_model=callback.metric_for_best_model,
            **ON_CPU,
        ),
    )
    callback.log = trainer.log
    trainer.train()
    scores = [x["eval_infolm"] for x in trainer.state.log_history if "eval_infolm" in x]
    assert len(scores) == 3 and trainer.state.best_metric == pytest.approx(min(scores))
    assert trainer.state.best_global_step == 1 + scores.index(min(scores))
