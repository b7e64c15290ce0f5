"""Scores of generated texts in training with the Trainer of transformers or TRL.

`compute_metrics` is for models that generate texts during evaluation (Seq2SeqTrainer). For
decoder-only models, `GenerationCallback` generates the texts. Both keep their scorers between
evaluations, so references are encoded only once, and score on the CPU unless `device` is set.

The Trainer keeps the checkpoint with the highest score unless the name of the score ends in "loss".
Scores of a distance such as InfoLM are therefore reported under two names, `infolm` and
`infolm_loss`. Use `infolm_loss` as metric_for_best_model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.distributed.tensor import DTensor
from transformers import TrainerCallback
from transformers.integrations.deepspeed import is_deepspeed_zero3_enabled

from infolm_metric.core.checks import InputError, check_names, check_whole, warn_user
from infolm_metric.core.inputs import Pairs, as_list, batches, check_pairs, check_texts
from infolm_metric.core.results import warn
from infolm_metric.core.settings import field_types
from infolm_metric.metrics import find
from infolm_metric.scoring.distributed import Call, score_on_ranks
from infolm_metric.scoring.scorer import Scorer

# Name of a metric, or several names.
Names: TypeAlias = str | Sequence[str]


class TrainerScores:
    """Scorers of one or several metrics, and the names of their scores in a Trainer.

    Each metric takes the `settings` that it has. Raises InputError if a metric is unknown, or if a
    setting is invalid or belongs to none of the metrics.

    Attributes:
        scorers: the scorers. Their method `unload` frees the model.
        directions: whether higher is better, by name of the score.
        metric_for_best_model: name of a score of the first metric, to be passed to
            TrainingArguments. Its ending makes the Trainer keep the best checkpoint.
        greater_is_better: whether higher is better for this score.
    """

    scorers: list[Scorer[Any]]
    directions: dict[str, bool]

    def __init__(self, metric: Names, settings: Mapping[str, object]) -> None:
        names = [metric] if isinstance(metric, str) else check_texts("metric", metric)
        check_whole("number of names in metric", len(names))
        fields = {name: field_types(find(name).settings_type()) for name in names}
        check_names(settings, set().union(*fields.values()))
        settings, self.scorers, self.directions = {"device": "cpu", **settings}, [], {}
        for name, known in fields.items():
            values = {field: value for field, value in settings.items() if field in known}
            scorer: Scorer[Any] = find(name).scorer_type()(**values)
            self.scorers.append(scorer)
            self.directions |= dict.fromkeys(score_keys(scorer), scorer.higher_is_better)
        self.metric_for_best_model = [*score_keys(self.scorers[0])][-1]
        self.greater_is_better = self.directions[self.metric_for_best_model]

    def check_direction(self, args: Any) -> bool:
        """Return True if one of the scores chooses checkpoints. Warn if it would keep the worst."""
        name = str(args.metric_for_best_model).removeprefix("eval_")
        better = self.directions.get(name, args.greater_is_better)
        if args.greater_is_better != better:
            warn_user(
                f"greater_is_better={args.greater_is_better} keeps the checkpoint with the worst "
                f"{name}. Set greater_is_better={better}."
            )
        return name in self.directions

    def score(self, pairs: Callable[[], Pairs], ranks: str) -> dict[str, float]:
        """Score pairs on all ranks, and return the means. `pairs` is called once per rank."""
        pairs, means = cache(pairs), dict[str, float]()
        for scorer in self.scorers:
            call = partial(lambda settings: Call(pairs(), settings), scorer.settings)
            result: Any = score_on_ranks(scorer, call, ranks)
            warn(result.counts)
            means |= {key: result.mean(name) for key, name in score_keys(scorer).items()}
        return means


def score_keys(scorer: Scorer[Any]) -> dict[str, str]:
    """Map the names of scores in a Trainer to score names. A distance has two names."""
    metric, several = scorer.settings.metric, scorer.settings.several
    keys = {f"{metric}_{name}" if several else metric: name for name in scorer.settings.names}
    return keys if scorer.higher_is_better else keys | {f"{key}_loss": keys[key] for key in keys}


class ComputeMetrics(TrainerScores):
    """Argument `compute_metrics` of a Seq2SeqTrainer that generates texts during evaluation.

    An evaluation returns a float per score, named METRIC, or METRIC_SCORE if a metric has several.
    A distance is also returned with the ending "_loss". See `TrainerScores` for attributes. Under
    torchrun, the ranks divide the work.

    Args:
        tokenizer: tokenizer of the trained model, which decodes predictions and labels.
        metric: name of a metric, or several names.
        args: the TrainingArguments. If passed, they are checked: predict_with_generate must be
            True, and a warning is issued if greater_is_better contradicts the metric's direction.
        **settings: settings of the metrics, such as `model_name_or_path`, `idf` or `device`.

    Raises:
        InputError: an argument is invalid.

    >>> metrics = compute_metrics(tokenizer=None, model_name_or_path="bundled", temperature=0.5)
    >>> metrics.metric_for_best_model, metrics.greater_is_better
    ('infolm_loss', False)
    """

    def __init__(
        self, tokenizer: Any, metric: Names = "infolm", *, args: Any = None, **settings: object
    ) -> None:
        super().__init__(metric, settings)
        self.tokenizer = tokenizer
        self.reset()
        if not getattr(args, "predict_with_generate", True):
            raise InputError("predict_with_generate must be True, because texts are compared")
        if args:
            self.check_direction(args)

    def __call__(self, evaluated: Any, compute_result: bool = True) -> dict[str, float]:
        """Decode and score the texts of an evaluation, and return the means.

        With `batch_eval_metrics=True`, the Trainer passes one batch at a time. Texts are then
        collected until `compute_result` is True.
        """
        for name, texts in self._texts.items():
            texts += self._decode(name, getattr(evaluated, name))
        if not compute_result:
            return {}
        predictions, references = self._texts.values()
        self.reset()
        # In a Trainer, every rank has the texts of all ranks.
        return self.score(lambda: check_pairs(predictions, references), ranks="same")

    def reset(self) -> None:
        """Remove the texts of an interrupted evaluation with `batch_eval_metrics=True`."""
        self._texts: dict[str, list[str]] = {"predictions": [], "label_ids": []}

    def _decode(self, name: str, ids: Any) -> list[str]:
        """Decode token ids [texts, tokens], or a list of such batches, without padding."""
        if isinstance(ids, list):  # eval_do_concat_batches=False
            return [text for batch in ids for text in self._decode(name, batch)]
        rows = ids.numpy(force=True) if isinstance(ids, torch.Tensor) else ids
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "iu":
            raise InputError(
                f"{name} must be token ids [texts, tokens], got {getattr(rows, 'shape', type(ids))}"
                ". Set predict_with_generate=True, or use GenerationCallback."
            )
        tokens = [row[row >= 0].tolist() for row in rows]  # -100 is padding
        return list(self.tokenizer.batch_decode(tokens, skip_special_tokens=True))


compute_metrics = ComputeMetrics  # under the name of the Trainer's argument


class GenerationCallback(TrainerScores, TrainerCallback):
    """Generation and scoring of texts at each evaluation of a decoder-only model.

    The ranks divide the prompts. Scores such as `eval_infolm` and `eval_infolm_loss` are added to
    the metrics before the Trainer chooses the best checkpoint, and to `trainer.state.log_history`.
    To also send them to trackers (`report_to`), set `callback.log = trainer.log`. Pass the callback
    before an EarlyStoppingCallback. Training continues as without the callback, because the mode of
    the model, the tokenizer and the random state do not change. See `TrainerScores` for attributes.

    Args:
        prompts: the prompts, a list of strings, or of conversations (lists of messages) for the
            tokenizer's chat template.
        references: one reference, or a list of references, per prompt.
        metric: name of a metric, or several names.
        every: number of evaluations per generation.
        generation: arguments of `model.generate`, by default max_new_tokens=64 and do_sample=False.
        **settings: settings of the metrics, such as `model_name_or_path`, `idf` or `device`.

    Raises:
        InputError: an argument is invalid. At the start of the training, if the model is divided
            among the ranks (ZeRO-3, FSDP), so that a rank cannot generate alone, or if a score
            chooses the best checkpoint but is not computed at each evaluation.
    """

    def __init__(
        self,
        prompts: object,
        references: object,
        metric: Names = "infolm",
        *,
        every: int = 1,
        generation: Mapping[str, object] | None = None,
        **settings: object,
    ) -> None:
        super().__init__(metric, settings)
        self.prompts = as_list("prompts", prompts)
        if not all(isinstance(prompt, list) for prompt in self.prompts):
            check_texts("prompts", self.prompts)
        self.references = check_pairs([""] * len(self.prompts), references).all_references
        self.every, self.evaluations = check_whole("every", every), count()
        self.generation = {"max_new_tokens": 64, "do_sample": False, **(generation or {})}
        self.log: Callable[[dict[str, float]], object] | None = None

    def on_train_begin(self, args: Any, *_: object, **trainer: Any) -> None:
        """Check the arguments of the Trainer before the first step."""
        check_undivided(args, trainer["model"])
        if self.check_direction(args) and self.every > 1:
            raise InputError(f"every must be 1 for this metric_for_best_model, got {self.every}")

    def on_evaluate(self, args: Any, state: Any, *_: object, **trainer: Any) -> None:
        """Generate and score texts, and add the scores to the metrics of the evaluation."""
        if next(self.evaluations) % self.every:
            return
        check_undivided(args, trainer["model"])
        metrics, total, rank = trainer["metrics"], len(self.prompts), args.process_index
        part = slice(*(total * number // args.world_size for number in (rank, rank + 1)))

        def pairs() -> Pairs:
            texts = list[str]()
            for batch in batches(self.prompts[part], args.per_device_eval_batch_size):
                texts += self._generate(trainer["model"], trainer["processing_class"], batch)
            return Pairs(texts, self.references[part])

        # The Trainer adds a runtime to the metrics of each evaluation.
        names = [key.removesuffix("_runtime") for key in metrics if key.endswith("_runtime")]
        means = {f"{names[0]}_{key}": mean for key, mean in self.score(pairs, "share").items()}
        metrics.update(means)
        log = self.log or state.log_history.append
        log({**means, "epoch": state.epoch, "step": state.global_step})

    def _generate(self, model: Any, processor: Any, prompts: list[Any]) -> list[str]:
        """Generate a text for each prompt. The state of the model and of torch does not change."""
        tokenizer = getattr(processor, "tokenizer", processor)
        options = {"padding": True, "padding_side": "left"}  # decoders continue the last token
        if not isinstance(prompts[0], str):
            template = partial(tokenizer.apply_chat_template, tokenize=False)
            prompts = template(prompts, add_generation_prompt=True)
            options["add_special_tokens"] = False  # the template contains them
        device, mode = next(model.parameters()).device, model.training
        inputs = tokenizer(prompts, return_tensors="pt", return_token_type_ids=False, **options)
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            outputs = model.eval().generate(**inputs.to(device), **self.generation)
        model.train(mode)
        start = 0 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
        return list(tokenizer.batch_decode(outputs[:, start:], skip_special_tokens=True))


def check_undivided(args: Any, model: Any) -> None:
    """Check that each rank has a whole model, because ranks generate different texts."""
    sharded = args.distributed_state.distributed_type == "FSDP" or is_deepspeed_zero3_enabled()
    if sharded or any(isinstance(value, DTensor) for value in model.parameters()):
        raise InputError(
            "GenerationCallback needs a whole model on each rank, but its parameters are divided "
            "among the ranks (FSDP, ZeRO-3 or tensor parallelism). Use DDP or ZeRO-2, or score the "
            "outputs of saved checkpoints with `infolm score`."
        )
