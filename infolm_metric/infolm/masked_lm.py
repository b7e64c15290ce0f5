"""Loads and checks a masked language model; gives its logits at the masked position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM

from infolm_metric.infolm.fast_encoders import FastMaskedLM
from infolm_metric.kernel.checkpoints import (
    Checkpoint,
    check_complete,
    load_weights,
    open_checkpoint,
    place,
)
from infolm_metric.kernel.exactness import by_rows, enough_rows, exactly, repeated

LOGITS_AT_ONCE = {True: 1 << 24, False: 1 << 28}  # on a CPU, and on a GPU


@dataclass(frozen=True)
class MaskedLM:
    """A loaded model in evaluation mode."""

    model: nn.Module  # a FastMaskedLM for families known here, else the family's own
    checkpoint: Checkpoint
    device: torch.device

    def logits(self, ids: Tensor, positions: Tensor) -> Iterator[Tensor]:
        """Logits at the read positions, context by context, in pieces [positions, V].

        ids int64 [contexts, tokens], positions int64 [contexts, masks]. The contexts have no
        padding. The vocabulary head runs at these positions only, as many at once as LOGITS allows.
        """
        with exactly(self.device):
            ids, positions = ids.to(self.device), positions.to(self.device)
            if not isinstance(self.model, FastMaskedLM):
                pieces: Iterable[Tensor] = [self._own_logits(ids, positions)]
            else:
                states = self.model.states(ids, positions).flatten(0, 1)
                at_once = LOGITS_AT_ONCE[self.device.type == "cpu"]
                pieces = states.split(max(1, at_once // self.checkpoint.size))
        for piece in pieces:
            with exactly(self.device):
                if isinstance(self.model, FastMaskedLM):
                    piece = by_rows(self.model.head, piece)
            # Apple's GPUs have no float64, in which all that follows is computed.
            yield piece.cpu() if self.device.type == "mps" else piece

    def _own_logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """The logits of the family's own model, whose head is shown only the masked positions."""
        contexts = len(ids)
        ids = repeated(ids)

        def narrow(module: nn.Module, inputs: Any, output: Any) -> Any:
            states = output["last_hidden_state"][:contexts]
            index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
            rows = states.gather(1, index).flatten(0, 1)
            output["last_hidden_state"] = enough_rows(rows)[None]
            return output

        base: Any = self.model.base_model
        hook = base.register_forward_hook(narrow)
        try:
            logits = self.model(
                input_ids=ids, attention_mask=torch.ones_like(ids), return_dict=True
            ).logits
        finally:
            hook.remove()
        own: Tensor = logits[0, : positions.numel()]
        return own


def open_masked_lm(name: str, revision: str | None = None) -> Checkpoint:
    """The tokenizer of a masked language model and what its configuration says.

    Raises:
        OSError: the model is not there, is damaged or cannot be reached.
        ValueError: it has no masked-LM architecture, or its tokenizer no mask token or no words.
    """

    def unfit(kind: str) -> str:
        return (
            f"{name!r} is a {kind} model, which has no masked-LM head in "
            'transformers; choose a masked language model such as "google-bert/bert-base-uncased" '
            'or "bundled"'
        )

    return open_checkpoint(
        *(name, revision, AutoModelForMaskedLM),
        lambda config: type(config) in MODEL_FOR_MASKED_LM_MAPPING,
        *(unfit, _check_mask_token),
    )


def _check_mask_token(name: str, tokenizer: Any) -> None:
    if tokenizer.mask_token_id is None:
        raise ValueError(
            f"the tokenizer of {name!r} has no mask token, so its model cannot predict masked "
            'tokens; choose a masked language model such as "google-bert/bert-base-uncased" or '
            '"bundled"'
        )


def load(checkpoint: Checkpoint, device: str | None, dtype: str, fast: bool = True) -> MaskedLM:
    """The model of a checkpoint on `device`, checked to have trained weights throughout.

    `fast` False keeps the model's own encoder, with which scores are the same, for comparison.

    Raises:
        OSError: its weights are not there, are damaged, or are not safetensors.
        ValueError: a part of it, such as the masked-LM head, is missing from the checkpoint.
    """
    model, report = load_weights(checkpoint, AutoModelForMaskedLM, dtype)
    if report["missing_keys"] and getattr(model.config, "legacy", False):
        # DeBERTa checkpoints as Microsoft published them name their head differently.
        model, report = load_weights(checkpoint, AutoModelForMaskedLM, dtype, legacy=False)
    remedy = 'choose a checkpoint with a masked-LM head, or "bundled"'
    check_complete(checkpoint, model, report, "masked-LM head", remedy)
    model, there = place(model, device)
    return MaskedLM((FastMaskedLM.of(model) if fast else None) or model, checkpoint, there)
