"""Hidden states of encoders, by token.

The encoding of a text has one row per token, special tokens included. A row is computed from the
hidden states of the token in the layers that the settings select.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel, PreTrainedConfig
from transformers.models.auto import modeling_auto as auto

from infolm_metric.core.checks import InputError
from infolm_metric.core.document_counts import TokenizedText
from infolm_metric.models.checkpoints import Architecture
from infolm_metric.models.determinism import deterministic_inference, float64_device
from infolm_metric.models.encoders import ModelWithHead, run_model
from infolm_metric.models.tokenization import Template, Window, windows


def is_encoder(config: PreTrainedConfig) -> bool:
    """Return True for an encoder-only model, with or without a head, that has num_hidden_layers."""
    kind, layers = type(config), getattr(config, "num_hidden_layers", None)
    # XLNet's attention is bidirectional, although it can also generate text.
    encoder = kind in auto.MODEL_FOR_MASKED_LM_MAPPING or config.model_type == "xlnet"
    decoder = kind in auto.MODEL_FOR_CAUSAL_LM_MAPPING and not encoder
    encoder_decoder = kind in auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING
    return layers is not None and kind in auto.MODEL_MAPPING and not (decoder or encoder_decoder)


ENCODER = Architecture(
    AutoModel,
    fits=is_encoder,
    unfit="but this metric needs an encoder-only model (bidirectional attention) that specifies "
    "its number of layers (num_hidden_layers)",
    remedy='Choose an encoder such as "google-bert/bert-base-uncased", most sentence encoders, '
    'or "bundled".',
    part="encoder",
    attention="eager",  # batch-invariant, unlike fused attention
    optional="pooler",  # no hidden state depends on it
)


class Encoder(ModelWithHead):
    """A loaded encoder in evaluation mode."""

    def states(self, ids: Sequence[Tensor], layers: Sequence[int]) -> list[Tensor]:
        """Return the hidden states of some layers, [rows, hidden] each. Index 0 means embeddings.

        `ids` are groups of texts of equal length, int64 [texts, tokens] each. There is no padding.
        """
        ids = [group.to(self.device) for group in ids]
        with deterministic_inference(self.device):
            if self.encoder is not None:
                states = self.encoder.states(ids, layers)
            else:
                parts = [self._full_model_states(group, layers) for group in ids]
                states = [torch.cat(rows) for rows in zip(*parts, strict=True)]
        # Apple GPUs lack float64, which BaryScore uses to average the states.
        return [rows.to(float64_device(self.device)) for rows in states]

    def _full_model_states(self, ids: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """Return the states of texts of equal length from a transformers model."""
        output = run_model(self.model, ids, output_hidden_states=True)
        states = getattr(output, "hidden_states", None) or ()
        if len(states) != self.checkpoint.states:
            raise InputError(
                f"the model {self.checkpoint.name!r} returned {len(states)} hidden states, but its "
                f"configuration implies {self.checkpoint.states}. {ENCODER.remedy}"
            )
        return [states[layer][: len(ids)].flatten(0, 1) for layer in layers]


def encoded_windows(text: TokenizedText, template: Template, limit: int | None) -> list[Window]:
    """Return a text's windows, with indices of all tokens, special tokens included.

    The special tokens before and after a long text belong to its first and its last window.
    """
    everything = np.arange(len(text.ids))
    if limit is None or len(text.ids) <= limit:
        return [Window(text.ids, everything, everything)]
    maskable = np.flatnonzero(text.maskable)
    pieces = []
    for window in windows(text, template, limit):
        rows, positions = maskable[window.indices], window.positions
        if rows[0] == maskable[0]:
            rows, positions = np.r_[: rows[0], rows], np.r_[: positions[0], positions]
        if rows[-1] == maskable[-1]:
            rows = np.r_[rows, rows[-1] + 1 : len(text.ids)]
            positions = np.r_[positions, positions[-1] + 1 : len(window.ids)]
        pieces.append(Window(window.ids, rows, positions))
    return pieces
