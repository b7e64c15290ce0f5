"""Encoders of known model families, computing no more of a masked context than its head reads.

A family's encoder module is exchanged for a `MaskedEncoder`, which reads the same parameters and
gives the same states, but in the last layer only those at the masked positions. Embeddings and head
stay the model's own. Families without an entry in `FAMILIES` keep their encoder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

# Up to this length batched matrix products beat the fused attention kernel on a CPU.
SHORT = 128


@dataclass(frozen=True)
class Layer:
    """A transformer layer with its norms behind each block; shared by several depths in ALBERT."""

    qkv_weight: Tensor  # [3 hidden, hidden]
    qkv_bias: Tensor  # [3 hidden]
    heads: int
    mix: nn.Linear
    mix_norm: nn.LayerNorm
    up: nn.Linear
    activation: Callable[[Tensor], Tensor]
    down: nn.Linear
    down_norm: nn.LayerNorm

    @classmethod
    def of(cls, query: nn.Linear, key: nn.Linear, value: nn.Linear, **others: Any) -> Layer:
        """The layer, with its three projections joined into one."""
        projections = (query, key, value)
        if any(type(projection) is not nn.Linear for projection in projections):
            raise TypeError(f"projections must be nn.Linear, got {projections}")
        return cls(
            torch.cat([projection.weight for projection in projections]),
            torch.cat([projection.bias for projection in projections]),
            **others,
        )


@dataclass(frozen=True)
class Family:
    """Where a family keeps its encoder, and the parts of a layer: the fields of `Layer`, by path.

    `layers` gives the encoder's layers in order of depth; `entry` comes before the first; `bias`
    gives what is added to the attention scores, [1, heads, tokens, tokens], for states
    [1, tokens, hidden].
    """

    parts: dict[str, str]
    place: str = "encoder"
    layers: Callable[[Any, Any], Sequence[nn.Module]] = lambda encoder, config: encoder.layer
    entry: Callable[[Any], nn.Module | None] = lambda encoder: None
    bias: Callable[[Any], Callable[[Tensor], Tensor] | None] = lambda encoder: None

    def read(self, encoder: Any, config: Any) -> list[Layer]:
        """The layers in order of depth; one that stands at several depths is read once."""
        modules = self.layers(encoder, config)
        read = {module: self._read(module) for module in dict.fromkeys(modules)}
        return [read[module] for module in modules]

    def _read(self, module: nn.Module) -> Layer:
        return Layer.of(**{name: attrgetter(path)(module) for name, path in self.parts.items()})


def _albert_layers(encoder: Any, config: Any) -> list[nn.Module]:
    groups, depth = encoder.albert_layer_groups, config.num_hidden_layers
    order = [groups[i * len(groups) // depth] for i in range(depth)]
    return [layer for group in order for layer in group.albert_layers]


_FEED_FORWARD = {
    "up": "intermediate.dense",
    "activation": "intermediate.intermediate_act_fn",
    "down": "output.dense",
    "down_norm": "output.LayerNorm",
}
_BERT = Family(
    {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "heads": "attention.self.num_attention_heads",
        "mix": "attention.output.dense",
        "mix_norm": "attention.output.LayerNorm",
        **_FEED_FORWARD,
    }
)
FAMILIES = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "electra": _BERT,
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
        layers=_albert_layers,
        entry=lambda encoder: encoder.embedding_hidden_mapping_in,
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
        bias=lambda encoder: encoder.compute_position_bias,
    ),
}


def exchange_encoder(model: Any) -> MaskedEncoder | None:
    """Puts a `MaskedEncoder` in the place of a model's encoder; None if its family has no entry.

    The model's output at other than the masked positions is lost: it is for a model of one's own.
    """
    family = FAMILIES.get(model.config.model_type)
    if family is None or getattr(model.config, "is_decoder", False):
        return None
    encoder = getattr(model.base_model, family.place)
    with torch.no_grad():
        layers = family.read(encoder, model.config)
    fast = MaskedEncoder(layers, family.entry(encoder), family.bias(encoder))
    setattr(model.base_model, family.place, fast)
    return fast


class MaskedEncoder(nn.Module):
    """An encoder for contexts without padding, whose last layer is computed at the masks only.

    Takes states [contexts, tokens, hidden] and gives [contexts, masks, hidden]. Set before:
    `positions`, int64 [contexts, masks], and `sizes`: how many contexts side by side are of the
    same text, and so differ at their masks only. What the first layer projects is shared by these.
    """

    positions: Tensor
    sizes: Sequence[int]

    def __init__(
        self,
        layers: Sequence[Layer],
        entry: nn.Module | None = None,
        bias: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.layers = layers
        self.entry = entry
        self.bias = bias
        self.room: dict[str, Tensor] = {}

    def forward(
        self, hidden_states: Tensor, *unused: Any, **also_unused: Any
    ) -> BaseModelOutputWithPastAndCrossAttentions:
        """The states at the masked positions, as the family's own encoder returns its states."""
        states = hidden_states if self.entry is None else self.entry(hidden_states)
        bias = None if self.bias is None else self.bias(states[:1])
        *lower, last = self.layers
        for depth, layer in enumerate(lower):
            parts = self._share(layer, states) if depth == 0 else None
            mixed = self._attend(self._split(layer, states) if parts is None else parts, bias)
            states = self._finish(layer, mixed, states)
        chosen = self.positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
        queried = states.gather(1, chosen)
        mixed = self._attend_from(last, queried, states, bias)
        states = self._finish(last, mixed, queried)
        return BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=states)

    def _split(self, layer: Layer, states: Tensor) -> Tensor:
        """Queries, keys and values, [3, contexts, heads, tokens, width]."""
        joined = self._project("qkv", states, layer.qkv_weight, layer.qkv_bias)
        return joined.unflatten(-1, (3, layer.heads, -1)).permute(2, 0, 3, 1, 4)

    def _share(self, layer: Layer, states: Tensor) -> Tensor | None:
        """The same, computed once for what contexts share; None where they do not share enough.

        Positions that shift with the tokens before them, as RoBERTa's do around a typed padding
        token, are found out by comparing the states.
        """
        contexts, tokens, hidden = states.shape
        count, masks = len(self.sizes), self.positions.shape[1]
        if tokens * count + contexts * masks >= tokens * contexts:
            return None
        sizes = torch.tensor(self.sizes, device=states.device)
        owner = torch.repeat_interleave(sizes, output_size=contexts)
        first = sizes.cumsum(0) - sizes
        chosen = self.positions.unsqueeze(-1).expand(-1, -1, hidden)
        # A text as it stands: its first context, and where that is masked its second.
        other = first + (sizes > 1).long()
        texts = states[first].scatter(1, chosen[first], states[other].gather(1, chosen[first]))
        masked = states.gather(1, chosen)
        if not torch.equal(texts[owner].scatter_(1, chosen, masked), states):
            return None
        rows = torch.cat([texts.flatten(0, 1), masked.flatten(0, 1)])
        joined = self._project("qkv", rows, layer.qkv_weight, layer.qkv_bias)
        joined = joined.unflatten(-1, (3, layer.heads, -1))
        plain, own = joined.split([count * tokens, contexts * masks])
        plain = plain.unflatten(0, (count, tokens)).permute(2, 0, 3, 1, 4).contiguous()
        own = own.unflatten(0, (contexts, masks)).permute(2, 0, 3, 1, 4)
        shape = (3, contexts, layer.heads, tokens, hidden // layer.heads)
        parts = torch.index_select(plain, 1, owner, out=self._empty("heads", states, *shape))
        return parts.scatter_(3, self.positions[:, None, :, None].expand(own.shape), own)

    def _attend(self, parts: Tensor, bias: Tensor | None) -> Tensor:
        """Self-attention, [contexts, tokens, hidden], before its output projection."""
        _, contexts, heads, tokens, width = parts.shape
        if parts.device.type != "cpu" or parts.dtype != torch.float32 or tokens > SHORT:
            query, key, value = parts
            mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
            return mixed.transpose(1, 2).reshape(contexts, tokens, heads * width)
        if not parts.is_contiguous():
            parts = self._empty("heads", parts, *parts.shape).copy_(parts)
        query, key, value = parts.flatten(1, 2)
        scores = self._empty("scores", parts, contexts * heads, tokens, tokens)
        torch.baddbmm(
            scores, query, key.transpose(1, 2), beta=0, alpha=1 / math.sqrt(width), out=scores
        )
        if bias is not None:
            scores.unflatten(0, (contexts, heads)).add_(bias)
        torch.softmax(scores, -1, out=scores)
        mixed = torch.bmm(scores, value, out=self._empty("mixed", parts, *query.shape))
        output = self._empty("attention", parts, contexts, tokens, heads, width)
        output.copy_(mixed.unflatten(0, (contexts, heads)).transpose(1, 2))
        return output.flatten(2)

    def _attend_from(
        self, layer: Layer, queried: Tensor, states: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The same from some positions only: queried [contexts, masks, hidden], and the result."""
        hidden = states.shape[-1]
        weight, shift = layer.qkv_weight, layer.qkv_bias
        joined = self._project("qkv", states, weight[hidden:], shift[hidden:])
        key, value = joined.unflatten(-1, (2, layer.heads, -1)).permute(2, 0, 3, 1, 4)
        query = F.linear(queried, weight[:hidden], shift[:hidden])
        query = query.unflatten(-1, (layer.heads, -1)).transpose(1, 2)
        if bias is not None:
            bias = bias[0][:, self.positions].transpose(0, 1)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return mixed.transpose(1, 2).reshape(queried.shape)

    def _finish(self, layer: Layer, mixed: Tensor, states: Tensor) -> Tensor:
        """What follows attention: projection and feed-forward, each added to what it began with."""
        mixed = self._project("output", mixed, layer.mix.weight, layer.mix.bias)
        states = layer.mix_norm(mixed.add_(states))
        inner = self._project("inner", states, layer.up.weight, layer.up.bias)
        inner = _activate(layer.activation, inner)
        output = self._project("output", inner, layer.down.weight, layer.down.bias)
        return layer.down_norm(output.add_(states))

    def _project(self, name: str, states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """states @ weight.T + bias, [..., in] -> [..., out]; on a CPU in the room of that name."""
        shape = (*states.shape[:-1], len(weight))
        flat = states.flatten(0, -2)
        if states.device.type != "cpu":
            return torch.addmm(bias, flat, weight.t()).view(shape)
        out = self._empty(name, states, len(flat), len(weight))
        return torch.addmm(bias, flat, weight.t(), out=out).view(shape)

    def _empty(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """A tensor with undefined content, in memory kept for that name.

        On a CPU, memory fresh from the system costs more time than the arithmetic done in it.
        """
        size = math.prod(shape)
        room = self.room.get(name)
        if room is None or len(room) < size or room.dtype != like.dtype:
            room = self.room[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return room[:size].view(shape)


def _activate(activation: Callable[[Tensor], Tensor], inner: Tensor) -> Tensor:
    """The activation, in place where it is the usual one."""
    if getattr(activation, "act", activation) is F.gelu:
        return torch.ops.aten.gelu_(inner)
    return activation(inner)
