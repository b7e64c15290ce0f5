"""Masked language models of known families, computing no more than the predictions at the masks.

A `FastMaskedLM` reads the parameters of a family's own model and gives the same logits, but runs
the last layer and the head at the masked positions only. Embeddings and head stay the model's own.
Families without an entry in `FAMILIES` are run as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from infolm_metric.infolm.encoder_layers import FAMILIES, Layer
from infolm_metric.kernel.exactness import by_rows

# Up to this length batched matrix products beat the fused attention kernel on a CPU.
SHORT = 128


class FastMaskedLM(nn.Module):
    """A masked language model for contexts without padding, whose head reads the masks only."""

    def __init__(self, embeddings: nn.Module, encoder: MaskedEncoder, head: nn.Module) -> None:
        super().__init__()
        self.embeddings, self.encoder, self.head = embeddings, encoder, head

    @classmethod
    def of(cls, model: Any) -> FastMaskedLM | None:
        """The model's parameters in a faster arrangement; None if its family has no entry.

        The model itself cannot be used any more.
        """
        family = FAMILIES.get(model.config.model_type)
        if family is None or getattr(model.config, "is_decoder", False):
            return None
        base = model.base_model
        encoder = getattr(base, family.place)
        layers = family.read(encoder, model.config)
        fast = MaskedEncoder(layers, family.entry(base), family.bias(encoder))
        return cls(base.embeddings, fast, family.head(model)).eval()

    def states(self, ids: Tensor, positions: Tensor) -> Tensor:
        """States at the masks: ids int64 [contexts, tokens] -> [contexts, masks, hidden]."""
        states: Tensor = self.encoder(self.embeddings(ids), positions)
        return states


class MaskedEncoder(nn.Module):
    """An encoder for contexts without padding, whose last layer is computed at the masks only."""

    def __init__(
        self,
        layers: Sequence[Layer],
        entry: nn.Module | None = None,
        bias: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.entry = entry
        self.bias = bias
        self.room: dict[str, Tensor] = {}

    def forward(self, states: Tensor, positions: Tensor) -> Tensor:
        """The states at the masks: [contexts, tokens, hidden] -> [contexts, masks, hidden]."""
        if self.entry is not None:
            states = by_rows(self.entry, states)
        encoder: Any = self.bias
        bias = None if encoder is None else encoder.compute_position_bias(states[:1])
        layers: Any = self.layers
        *lower, last = layers
        for layer in lower:
            states = self._finish(layer, self._attend(self._split(layer, states), bias), states)
        chosen = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
        queried = states.gather(1, chosen)
        mixed = self._attend_from(last, queried, states, bias, positions)
        return self._finish(last, mixed, queried)

    def _split(self, layer: Layer, states: Tensor) -> Tensor:
        """Queries, keys and values, [3, contexts, heads, tokens, width]."""
        joined = self._project("qkv", states, layer.qkv_weight, layer.qkv_bias)
        return joined.unflatten(-1, (3, layer.heads, -1)).permute(2, 0, 3, 1, 4)

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
        self, layer: Layer, queried: Tensor, states: Tensor, bias: Tensor | None, at: Tensor
    ) -> Tensor:
        """The same from some positions only: queried [contexts, masks, hidden], and the result."""
        hidden = states.shape[-1]
        weight, shift = layer.qkv_weight, layer.qkv_bias
        joined = self._project("qkv", states, weight[hidden:], shift[hidden:])
        parts = joined.unflatten(-1, (2, layer.heads, -1)).permute(2, 0, 3, 1, 4)
        query = self._project("query", queried, weight[:hidden], shift[:hidden])
        query = query.unflatten(-1, (layer.heads, -1)).transpose(1, 2).contiguous()
        if bias is not None:
            bias = bias[0][:, at].transpose(0, 1)
        # Written out and laid out alike, because for few queries the fused kernel's bits, and those
        # of products of views, depend on the batch.
        key, value = parts.contiguous().flatten(1, 2)
        scores = torch.bmm(query.flatten(0, 1), key.transpose(1, 2)) / math.sqrt(query.shape[-1])
        if bias is not None:
            scores = (scores.view(*query.shape[:3], -1) + bias).flatten(0, 1)
        mixed = torch.bmm(torch.softmax(scores, -1), value).view(query.shape)
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

        def product(rows: Tensor) -> Tensor:
            shape = len(rows), len(weight)
            room = self._empty(name, rows, *shape) if rows.device.type == "cpu" else None
            return torch.addmm(bias, rows, weight.t(), out=room)

        return by_rows(product, states)

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
