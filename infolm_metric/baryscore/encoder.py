"""Loads and checks an encoder; gives the hidden states of texts of equal length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_MAPPING,
)

from infolm_metric.kernel.checkpoints import Checkpoint, load_weights, open_checkpoint, place
from infolm_metric.kernel.exactness import exactly, repeated

REMEDY = (
    'choose an encoder such as "google-bert/bert-base-uncased", any sentence encoder, or "bundled"'
)


@dataclass(frozen=True)
class Encoder:
    """A loaded model in evaluation mode."""

    model: Any
    checkpoint: Checkpoint
    device: torch.device

    def states(self, ids: Tensor) -> tuple[Tensor, ...]:
        """The hidden states of texts without padding, int64 [texts, tokens].

        The embeddings, then those of every layer, each [texts, tokens, hidden].

        Raises ValueError if there are not as many as the model's configuration says.
        """
        with exactly(self.device):
            rows = repeated(ids.to(self.device))
            output = self.model(
                input_ids=rows,
                attention_mask=torch.ones_like(rows),
                output_hidden_states=True,
                return_dict=True,
            )
        found: tuple[Tensor, ...] = tuple(getattr(output, "hidden_states", None) or ())
        if len(found) != self.checkpoint.states:
            raise ValueError(
                f"{self.checkpoint.name!r} gives {len(found)} hidden states, and its configuration "
                f"says {self.checkpoint.states}; {REMEDY}"
            )
        # Apple's GPUs have no float64, in which all that follows is computed.
        on_apple = self.device.type == "mps"
        return tuple(each[: len(ids)].cpu() if on_apple else each[: len(ids)] for each in found)


def _encodes(config: Any) -> bool:
    """True for an encoder alone, with or without a head."""
    kind = type(config)
    decodes = kind in MODEL_FOR_CAUSAL_LM_MAPPING and kind not in MODEL_FOR_MASKED_LM_MAPPING
    both = getattr(config, "is_encoder_decoder", False)
    return kind in MODEL_MAPPING and not decodes and not both


def open_encoder(name: str, revision: str | None = None) -> Checkpoint:
    """The tokenizer of an encoder and what its configuration says.

    Raises:
        OSError: the model is not there, is damaged or cannot be reached.
        ValueError: it is no encoder, says nothing of its layers, or its tokenizer knows no words or
            puts nothing around a text.
    """

    def unfit(kind: str) -> str:
        return (
            f"{name!r} is a {kind} model, and not an encoder alone: a token's state must see the "
            f"whole text; {REMEDY}"
        )

    checkpoint = open_checkpoint(name, revision, AutoModel, _encodes, unfit)
    if checkpoint.states is None:
        raise ValueError(f"the model {name!r} does not say how many layers it has; {REMEDY}")
    if not checkpoint.template.overhead:
        raise ValueError(
            f"the tokenizer of {name!r} puts no special token around a text, so that an empty one "
            f"has no states; {REMEDY}"
        )
    return checkpoint


def load(checkpoint: Checkpoint, device: str | None, dtype: str) -> Encoder:
    """The model of a checkpoint on `device`, checked to have trained weights in its layers.

    Raises:
        OSError: its weights are not there, are damaged, or are not safetensors.
        ValueError: a part of it is missing from the checkpoint.
    """
    # Written out, attention gives the same bits in any batch, which fused kernels do not.
    model, report = load_weights(checkpoint, AutoModel, dtype, attention="eager")
    lacking = [*report["missing_keys"], *map(str, report["mismatched_keys"])]
    missing = sorted(name for name in lacking if "pooler" not in name)  # what no state needs
    if missing:
        shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ValueError(
            f"the checkpoint {checkpoint.name!r} lacks {len(missing)} weights of "
            f"{type(model).__name__} ({shown}), and random ones would give random scores; {REMEDY}"
        )
    model, there = place(model, device)
    return Encoder(model, checkpoint, there)
