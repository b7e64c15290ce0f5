"""Masked language models, evaluated at the masked positions only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM

from infolm_metric.core.determinism import (
    deterministic_inference,
    deterministic_linear,
    float64_device,
    row_rule,
)
from infolm_metric.core.encoders import FastEncoder, fast_encoder, run_model
from infolm_metric.core.models import Architecture, Checkpoint, load_weights
from infolm_metric.core.tokenization import device_limit
from infolm_metric.infolm.settings import InfoLMSettings

ARCHITECTURE = Architecture(
    AutoModelForMaskedLM,
    fits=lambda config: type(config) in MODEL_FOR_MASKED_LM_MAPPING,
    unfit="which has no masked-LM head in transformers",
    remedy='choose a masked language model such as "google-bert/bert-base-uncased" or "bundled"',
    part="masked-LM head",
    masks=True,
)

# Maximum number of logits that are computed together, by device type. On Linux, allocations above
# 32 MB are returned to the system, and requesting them again takes longer than the computation.
LOGITS_PER_BATCH = {"cpu": 7 << 20, "cuda": 1 << 28}
# The masked-LM head in the transformers model of each family with a fast encoder.
HEADS: dict[str, Callable[[Any], nn.Module]] = {
    "bert": attrgetter("cls"),
    "roberta": attrgetter("lm_head"),
    "xlm-roberta": attrgetter("lm_head"),
    "electra": lambda model: nn.Sequential(model.generator_predictions, model.generator_lm_head),
    "distilbert": lambda model: nn.Sequential(
        model.vocab_transform, model.activation, model.vocab_layer_norm, model.vocab_projector
    ),
    "albert": attrgetter("predictions"),
    "mpnet": attrgetter("lm_head"),
}


@dataclass(frozen=True)
class MaskedLM:
    """A loaded masked language model in evaluation mode."""

    model: nn.Module  # the head or, for families without a fast encoder, the transformers model
    encoder: FastEncoder | None
    checkpoint: Checkpoint
    device: torch.device

    def logits(self, ids: Sequence[Tensor], positions: Sequence[Tensor]) -> Iterator[Tensor]:
        """Yield the logits at the masked positions, context by context, in parts.

        `ids` are groups of contexts, int64 [contexts, tokens] without padding, and `positions`
        int64 [contexts, masks] for each group. A part is [positions, vocab] and has at most
        `LOGITS_PER_BATCH` logits.
        """
        ids, positions = ([group.to(self.device) for group in side] for side in (ids, positions))
        most = max(1, device_limit(LOGITS_PER_BATCH, self.device.type) // self.checkpoint.size)
        logits: Iterator[Tensor]
        if self.encoder is None:
            parts = (
                part
                for group, masks in zip(ids, positions, strict=True)
                for size in (max(1, most // masks.shape[1]),)
                for part in zip(group.split(size), masks.split(size), strict=True)
            )
            logits = itertools.starmap(self._full_model_logits, parts)
        else:
            with deterministic_inference(self.device):
                states = self.encoder.states_at(ids, positions)
            logits = map(self._head_logits, states.split(most))
        for part in logits:
            yield part.to(float64_device(part.device))  # for the aggregation

    def _head_logits(self, states: Tensor) -> Tensor:
        with deterministic_inference(self.device):
            logits: Tensor = self.model(states)
        return logits

    def _full_model_logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return the logits of the transformers model at the masked positions.

        Only its head is restricted to these positions. Shape [contexts * masks, vocab].
        """
        # Some heads multiply by the embeddings without a linear layer.
        model: Any = self.model
        rule = row_rule(model.get_input_embeddings().weight)

        def narrow(module: nn.Module, inputs: Any, output: Any) -> Any:
            states = output["last_hidden_state"][: len(ids)]
            index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
            rows = states.gather(1, index).flatten(0, 1)
            output["last_hidden_state"] = rule.pad(rows)[None]
            return output

        hook = model.base_model.register_forward_hook(narrow)
        try:
            with deterministic_inference(self.device):
                logits: Tensor = run_model(model, ids).logits
        finally:
            hook.remove()
        return logits[0, : positions.numel()]


def load_masked_lm(checkpoint: Checkpoint, settings: InfoLMSettings, fast: bool = True) -> MaskedLM:
    """Load the model of a checkpoint, and check that all of its weights are trained.

    `fast=False` uses the transformers model, for comparison; scores are the same.

    Raises:
        OSError: the weights are missing, damaged, or could run code.
        ValueError: a part of the model, such as the masked-LM head, is not in the checkpoint.
    """
    model = load_weights(checkpoint, settings.dtype, settings.device)
    device, encoder = model.device, fast_encoder(model) if fast else None
    module = model if encoder is None else HEADS[model.config.model_type](model)
    return MaskedLM(deterministic_linear(module), encoder, checkpoint, device)
