"""Masked language models: loaded, checked, and run for no more than the predictions at the masks.

A `FastMaskedLM` reads the parameters of a family's own model and gives the same logits, but runs
the last layer and the head at the masked positions only. Embeddings and head stay the model's own.
Families without an entry in `FAMILIES` are run as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM

from infolm_metric.core.determinism import (
    deterministic_inference,
    deterministic_linear,
    repeat_texts,
    row_rule,
)
from infolm_metric.core.models import Architecture, Checkpoint, load_weights
from infolm_metric.infolm.settings import InfoLMSettings

ARCHITECTURE = Architecture(
    AutoModelForMaskedLM,
    fits=lambda config: type(config) in MODEL_FOR_MASKED_LM_MAPPING,
    unfit="which has no masked-LM head in transformers",
    remedy='choose a masked language model such as "google-bert/bert-base-uncased" or "bundled"',
    part="masked-LM head",
    masks=True,
)

# Up to this length batched matrix products beat fused attention on a CPU.
SHORT = 128
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
        with deterministic_inference(self.device):
            ids, positions = ids.to(self.device), positions.to(self.device)
            if not isinstance(self.model, FastMaskedLM):
                pieces: Iterable[Tensor] = [self._own_logits(ids, positions)]
            else:
                states = self.model(ids, positions).flatten(0, 1)
                at_once = LOGITS_AT_ONCE[self.device.type == "cpu"]
                pieces = states.split(max(1, at_once // self.checkpoint.size))
        for piece in pieces:
            with deterministic_inference(self.device):
                if isinstance(self.model, FastMaskedLM):
                    piece = self.model.head(piece)
            # Apple's GPUs have no float64, in which all that follows is computed.
            yield piece.cpu() if self.device.type == "mps" else piece

    def _own_logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """The logits of the family's own model, whose head is shown only the masked positions."""
        contexts = len(ids)
        ids = repeat_texts(ids)
        # Some heads multiply by the embeddings without a linear layer.
        model: Any = self.model
        rule = row_rule(model.get_input_embeddings().weight)

        def narrow(module: nn.Module, inputs: Any, output: Any) -> Any:
            states = output["last_hidden_state"][:contexts]
            index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
            rows = states.gather(1, index).flatten(0, 1)
            output["last_hidden_state"] = rule.pad(rows)[None]
            return output

        hook = model.base_model.register_forward_hook(narrow)
        try:
            logits: Tensor = model(
                input_ids=ids, attention_mask=torch.ones_like(ids), return_dict=True
            ).logits
        finally:
            hook.remove()
        return logits[0, : positions.numel()]


def load_masked_lm(checkpoint: Checkpoint, settings: InfoLMSettings, fast: bool = True) -> MaskedLM:
    """The model of a checkpoint, checked to have trained weights throughout.

    `fast` False keeps the model's own encoder, with which scores are the same, for comparison.

    Raises:
        OSError: its weights are not there, are damaged, or could run code.
        ValueError: a part of it, such as the masked-LM head, is missing from the checkpoint.
    """
    model = load_weights(checkpoint, settings.dtype, settings.device)
    device, family = model.device, FAMILIES.get(model.config.model_type)
    if fast and family is not None and not getattr(model.config, "is_decoder", False):
        model = FastMaskedLM(model, family)
    return MaskedLM(deterministic_linear(model), checkpoint, device)


class FastMaskedLM(nn.Module):
    """A masked language model for contexts without padding, read at the masks only.

    The last layer and the head are computed there alone. It is made of the parameters of a model of
    a family, which cannot be used any more.
    """

    def __init__(self, model: Any, family: Family) -> None:
        super().__init__()
        base = model.base_model
        encoder = getattr(base, family.place)
        modules = family.layers(encoder, model.config)
        layers = {  # one that stands at several depths is read once
            module: Layer(**{name: attrgetter(path)(module) for name, path in family.parts.items()})
            for module in dict.fromkeys(modules)
        }
        self.embeddings, self.head = base.embeddings, family.head(model)
        self.layers: Any = nn.ModuleList(layers[module] for module in modules)
        self.entry, self.bias = family.entry(base), family.bias(encoder)
        self.room: dict[str, Tensor] = {}
        self.eval()

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """States at the masks: ids int64 [contexts, tokens] -> [contexts, masks, hidden]."""
        states = self.embeddings(ids)
        if self.entry is not None:
            states = self.entry(states)
        encoder: Any = self.bias
        bias = None if encoder is None else encoder.compute_position_bias(states[:1])
        *lower_layers, last_layer = self.layers
        for layer in lower_layers:
            projection = self._project("qkv", states, layer.qkv_weight, layer.qkv_bias)
            # Queries, keys and values, [3, contexts, heads, tokens, width].
            parts = projection.unflatten(-1, (3, layer.heads, -1)).permute(2, 0, 3, 1, 4)
            states = self._finish(layer, self._attend(parts, bias), states)
        index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
        mask_states = states.gather(1, index)
        if bias is not None:
            bias = bias[0][:, positions].transpose(0, 1)
        attention = self._attend_from(last_layer, mask_states, states, bias)
        return self._finish(last_layer, attention, mask_states)

    def _attend(self, parts: Tensor, bias: Tensor | None) -> Tensor:
        """Self-attention, [contexts, tokens, hidden], before its output projection."""
        _, contexts, heads, tokens, width = parts.shape
        if parts.device.type != "cpu" or parts.dtype != torch.float32 or tokens > SHORT:
            query, key, value = parts
            attention = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
            return attention.transpose(1, 2).reshape(contexts, tokens, heads * width)
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
        attention = torch.bmm(scores, value, out=self._empty("values", parts, *query.shape))
        output = self._empty("attention", parts, contexts, tokens, heads, width)
        output.copy_(attention.unflatten(0, (contexts, heads)).transpose(1, 2))
        return output.flatten(2)

    def _attend_from(
        self, layer: Layer, mask_states: Tensor, states: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The same from the masks only: [contexts, masks, hidden], as `mask_states` are."""
        hidden = states.shape[-1]
        weight, shift = layer.qkv_weight, layer.qkv_bias
        projection = self._project("qkv", states, weight[hidden:], shift[hidden:])
        parts = projection.unflatten(-1, (2, layer.heads, -1)).permute(2, 0, 3, 1, 4)
        query = self._project("query", mask_states, weight[:hidden], shift[:hidden])
        query = query.unflatten(-1, (layer.heads, -1)).transpose(1, 2).contiguous()
        # Written out and laid out alike, because for few queries the bits of fused attention, and
        # those of products of views, depend on the batch.
        key, value = parts.contiguous().flatten(1, 2)
        scores = torch.bmm(query.flatten(0, 1), key.transpose(1, 2)) / math.sqrt(query.shape[-1])
        if bias is not None:
            scores = (scores.view(*query.shape[:3], -1) + bias).flatten(0, 1)
        attention = torch.bmm(torch.softmax(scores, -1), value).view(query.shape)
        return attention.transpose(1, 2).reshape(mask_states.shape)

    def _finish(self, layer: Layer, attention: Tensor, states: Tensor) -> Tensor:
        """What follows attention: projection and feed-forward, each added to what it began with."""
        attention = self._project("output", attention, layer.mix.weight, layer.mix.bias)
        states = layer.mix_norm(attention.add_(states))
        inner = self._project("inner", states, layer.up.weight, layer.up.bias)
        gelu = getattr(layer.activation, "act", layer.activation) is F.gelu
        inner = torch.ops.aten.gelu_(inner) if gelu else layer.activation(inner)
        output = self._project("output", inner, layer.down.weight, layer.down.bias)
        return layer.down_norm(output.add_(states))

    def _project(self, name: str, states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """states @ weight.T + bias, [..., in] -> [..., out]."""
        on_cpu = states.device.type == "cpu"
        rows = row_rule(weight).apply(
            lambda rows: torch.addmm(
                bias,
                rows,
                weight.t(),
                out=self._empty(name, rows, len(rows), len(weight)) if on_cpu else None,
            ),
            states.flatten(0, -2),
        )
        return rows.view(*states.shape[:-1], -1)

    def _empty(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """A tensor with undefined content, in memory kept for that name.

        On a CPU, memory fresh from the system costs more time than the arithmetic done in it.
        """
        size = math.prod(shape)
        room = self.room.get(name)
        if room is None or len(room) < size or room.dtype != like.dtype:
            room = self.room[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return room[:size].view(shape)


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
        weight, bias = (
            torch.cat([getattr(projection, name).detach() for projection in projections])
            for name in ("weight", "bias")
        )
        self.qkv_weight = nn.Parameter(weight, requires_grad=False)
        self.qkv_bias = nn.Parameter(bias, requires_grad=False)
        self.heads = heads
        self.mix, self.mix_norm = mix, mix_norm
        self.up, self.activation = up, activation
        self.down, self.down_norm = down, down_norm


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
