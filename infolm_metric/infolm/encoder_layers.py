"""The layers of the families' encoders, read from their own models by the paths of the parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn


class Layer(nn.Module):
    """A transformer layer with its norms behind each block; shared by several depths in ALBERT."""

    def __init__(
        self,
        query: nn.Linear,
        key: nn.Linear,
        value: nn.Linear,
        heads: int,
        mix: nn.Linear,
        mix_norm: nn.LayerNorm,
        up: nn.Linear,
        activation: Callable[[Tensor], Tensor],
        down: nn.Linear,
        down_norm: nn.LayerNorm,
    ) -> None:
        super().__init__()
        projections = (query, key, value)
        if any(type(projection) is not nn.Linear for projection in projections):
            raise TypeError(f"projections must be nn.Linear, got {projections}")
        # [3 hidden, hidden] and [3 hidden]: three projections joined into one.
        self.qkv_weight = _joined([projection.weight for projection in projections])
        self.qkv_bias = _joined([projection.bias for projection in projections])
        self.heads = heads
        self.mix, self.mix_norm = mix, mix_norm
        self.up, self.activation = up, activation
        self.down, self.down_norm = down, down_norm


def _joined(parts: Sequence[Tensor]) -> nn.Parameter:
    return nn.Parameter(torch.cat([part.detach() for part in parts]), requires_grad=False)


@dataclass(frozen=True)
class Family:
    """Where a family keeps its encoder and its head, and the parts of a layer, by path.

    `parts` are the arguments of `Layer`; `layers` gives the encoder's layers in order of depth;
    `entry` comes between the embeddings and the first layer. The encoder that `bias` gives tells
    what is added to the attention scores, [1, heads, tokens, tokens], for states
    [1, tokens, hidden].
    """

    parts: dict[str, str]
    head: Callable[[Any], nn.Module]
    place: str = "encoder"
    layers: Callable[[Any, Any], Sequence[nn.Module]] = lambda encoder, config: encoder.layer
    entry: Callable[[Any], nn.Module | None] = lambda base: None
    bias: Callable[[Any], nn.Module | None] = lambda encoder: None

    def read(self, encoder: Any, config: Any) -> list[Layer]:
        """The layers in order of depth; one that stands at several depths is read once."""
        modules = self.layers(encoder, config)
        read = {
            module: Layer(**{name: attrgetter(path)(module) for name, path in self.parts.items()})
            for module in dict.fromkeys(modules)
        }
        return [read[module] for module in modules]


def _albert_layers(encoder: Any, config: Any) -> list[nn.Module]:
    groups, depth = encoder.albert_layer_groups, config.num_hidden_layers
    order = [groups[i * len(groups) // depth] for i in range(depth)]
    return [layer for group in order for layer in group.albert_layers]


def _position_bias(encoder: Any) -> nn.Module:
    """The encoder without its layers."""
    encoder.layer = nn.ModuleList()
    return encoder


_FEED_FORWARD = {
    "up": "intermediate.dense",
    "activation": "intermediate.intermediate_act_fn",
    "down": "output.dense",
    "down_norm": "output.LayerNorm",
}
_BERT = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "heads": "attention.self.num_attention_heads",
    "mix": "attention.output.dense",
    "mix_norm": "attention.output.LayerNorm",
    **_FEED_FORWARD,
}
FAMILIES = {
    "bert": Family(_BERT, head=attrgetter("cls")),
    "roberta": Family(_BERT, head=attrgetter("lm_head")),
    "xlm-roberta": Family(_BERT, head=attrgetter("lm_head")),
    "electra": Family(
        _BERT,
        head=lambda model: nn.Sequential(model.generator_predictions, model.generator_lm_head),
        entry=lambda base: getattr(base, "embeddings_project", None),
    ),
    "distilbert": Family(
        {
            "query": "attention.q_lin",
            "key": "attention.k_lin",
            "value": "attention.v_lin",
            "heads": "attention.n_heads",
            "mix": "attention.out_lin",
            "mix_norm": "sa_layer_norm",
            "up": "ffn.lin1",
            "activation": "ffn.activation",
            "down": "ffn.lin2",
            "down_norm": "output_layer_norm",
        },
        head=lambda model: nn.Sequential(
            model.vocab_transform, model.activation, model.vocab_layer_norm, model.vocab_projector
        ),
        place="transformer",
    ),
    "albert": Family(
        {
            "query": "attention.query",
            "key": "attention.key",
            "value": "attention.value",
            "heads": "attention.num_attention_heads",
            "mix": "attention.dense",
            "mix_norm": "attention.LayerNorm",
            "up": "ffn",
            "activation": "activation",
            "down": "ffn_output",
            "down_norm": "full_layer_layer_norm",
        },
        head=attrgetter("predictions"),
        layers=_albert_layers,
        entry=lambda base: base.encoder.embedding_hidden_mapping_in,
    ),
    "mpnet": Family(
        {
            "query": "attention.attn.q",
            "key": "attention.attn.k",
            "value": "attention.attn.v",
            "heads": "attention.attn.num_attention_heads",
            "mix": "attention.attn.o",
            "mix_norm": "attention.LayerNorm",
            **_FEED_FORWARD,
        },
        head=attrgetter("lm_head"),
        bias=_position_bias,
    ),
}
