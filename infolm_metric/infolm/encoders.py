"""Masked language models, evaluated at the masked positions only.

`FastMaskedLM` returns the same logits as the transformers model, whose weights and head it uses,
but runs the last layer and the head at the masked positions only. Model families without an entry
in `FAMILIES` use the transformers model itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
    float64_device,
    repeat_texts,
    row_rule,
)
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

# Up to this length, batched matrix products are faster than fused attention on a CPU.
SHORT = 128
# Maximum number of logits per forward pass, by device type; limits memory for large vocabularies.
LOGITS_PER_BATCH = {"cpu": 1 << 24, "cuda": 1 << 28}


@dataclass(frozen=True)
class MaskedLM:
    """A loaded masked language model in evaluation mode."""

    model: nn.Module  # FastMaskedLM or, for other families, the transformers model
    checkpoint: Checkpoint
    device: torch.device

    def logits(self, ids: Tensor, positions: Tensor) -> Iterator[Tensor]:
        """Yield the logits at the masked positions, context by context, in parts.

        `ids` are int64 [contexts, tokens] without padding, and `positions` int64 [contexts, masks].
        A part is [positions, vocab] and has at most `LOGITS_PER_BATCH` logits.
        """
        with deterministic_inference(self.device):
            ids, positions = ids.to(self.device), positions.to(self.device)
            if isinstance(self.model, FastMaskedLM):
                states, head = self.model(ids, positions).flatten(0, 1), self.model.head
            else:
                states, head = self._full_model_logits(ids, positions), nn.Identity()
        most_logits = device_limit(LOGITS_PER_BATCH, self.device.type)
        for part in states.split(max(1, most_logits // self.checkpoint.size)):
            with deterministic_inference(self.device):
                logits = head(part)
            yield logits.to(float64_device(logits.device))  # for the aggregation

    def _full_model_logits(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return the logits of the transformers model at the masked positions.

        Only its head is restricted to these positions. Shape [contexts * masks, vocab].
        """
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
    """Load the model of a checkpoint, and check that all of its weights are trained.

    `fast=False` uses the transformers model, for comparison; scores are the same.

    Raises:
        OSError: the weights are missing, damaged, or could run code.
        ValueError: a part of the model, such as the masked-LM head, is not in the checkpoint.
    """
    model = load_weights(checkpoint, settings.dtype, settings.device)
    device, family = model.device, FAMILIES.get(model.config.model_type)
    if fast and family is not None and not getattr(model.config, "is_decoder", False):
        model = FastMaskedLM(model, family)
    return MaskedLM(deterministic_linear(model), checkpoint, device)


class FastMaskedLM(nn.Module):
    """A masked language model that runs its last layer and head at the masked positions only.

    Contexts have no padding. The modules of the given transformers model are reused, and the model
    cannot be used afterwards.
    """

    def __init__(self, model: Any, family: Family) -> None:
        super().__init__()
        base = model.base_model
        encoder = getattr(base, family.encoder_attribute)
        modules = family.layers(encoder, model.config)
        paths = family.layer_attributes.items()
        layers = {  # a layer used at several depths is converted once
            module: Layer(**{name: attrgetter(path)(module) for name, path in paths})
            for module in dict.fromkeys(modules)
        }
        self.embeddings, self.head = base.embeddings, family.head(model)
        self.layers: Any = nn.ModuleList(layers[module] for module in modules)
        self.embedding_projection = family.embedding_projection(base)
        self.bias = family.bias(encoder)
        self.workspace: dict[str, Tensor] = {}
        self.eval()

    def forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        """Return states at `positions`: int64 [contexts, tokens] -> [contexts, masks, hidden]."""
        states = self.embeddings(ids)
        if self.embedding_projection is not None:
            states = self.embedding_projection(states)
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
        """Return self-attention before its output projection, [contexts, tokens, hidden]."""
        _, contexts, heads, tokens, width = parts.shape
        if parts.device.type != "cpu" or parts.dtype != torch.float32 or tokens > SHORT:
            query, key, value = parts
            attention = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
            return attention.transpose(1, 2).reshape(contexts, tokens, heads * width)
        if not parts.is_contiguous():
            parts = self._scratch("heads", parts, *parts.shape).copy_(parts)
        query, key, value = parts.flatten(1, 2)
        scores = self._scratch("scores", parts, contexts * heads, tokens, tokens)
        torch.baddbmm(
            scores, query, key.transpose(1, 2), beta=0, alpha=1 / math.sqrt(width), out=scores
        )
        if bias is not None:
            scores.unflatten(0, (contexts, heads)).add_(bias)
        torch.softmax(scores, -1, out=scores)
        attention = torch.bmm(scores, value, out=self._scratch("values", parts, *query.shape))
        output = self._scratch("attention", parts, contexts, tokens, heads, width)
        output.copy_(attention.unflatten(0, (contexts, heads)).transpose(1, 2))
        return output.flatten(2)

    def _attend_from(
        self, layer: Any, mask_states: Tensor, states: Tensor, bias: Tensor | None
    ) -> Tensor:
        """Return attention from the masked positions, [contexts, masks, hidden]."""
        hidden = states.shape[-1]
        weight, shift = layer.qkv_weight, layer.qkv_bias
        projection = self._project("qkv", states, weight[hidden:], shift[hidden:])
        parts = projection.unflatten(-1, (2, layer.heads, -1)).permute(2, 0, 3, 1, 4)
        query = self._project("query", mask_states, weight[:hidden], shift[:hidden])
        query = query.unflatten(-1, (layer.heads, -1)).transpose(1, 2).contiguous()
        # Explicit products on contiguous memory, because for few queries neither fused attention
        # nor products of views are batch-invariant.
        key, value = parts.contiguous().flatten(1, 2)
        scores = torch.bmm(query.flatten(0, 1), key.transpose(1, 2)) / math.sqrt(query.shape[-1])
        if bias is not None:
            scores = (scores.view(*query.shape[:3], -1) + bias).flatten(0, 1)
        attention = torch.bmm(torch.softmax(scores, -1), value).view(query.shape)
        return attention.transpose(1, 2).reshape(mask_states.shape)

    def _finish(self, layer: Any, attention: Tensor, states: Tensor) -> Tensor:
        """Apply the output projection and the feed-forward block, with residuals and norms."""
        projection = layer.attention_output
        attention = self._project("output", attention, projection.weight, projection.bias)
        states = layer.attention_norm(attention.add_(states))
        intermediate = layer.intermediate
        inner = self._project("inner", states, intermediate.weight, intermediate.bias)
        gelu = getattr(layer.activation, "act", layer.activation) is F.gelu
        inner = torch.ops.aten.gelu_(inner) if gelu else layer.activation(inner)
        output = self._project("output", inner, layer.output.weight, layer.output.bias)
        return layer.output_norm(output.add_(states))

    def _project(self, name: str, states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return states @ weight.T + bias, [..., in] -> [..., out], in the buffer `name`."""
        on_cpu = states.device.type == "cpu"
        rows = row_rule(weight).apply(
            lambda rows: torch.addmm(
                bias,
                rows,
                weight.t(),
                out=self._scratch(name, rows, len(rows), len(weight)) if on_cpu else None,
            ),
            states.flatten(0, -2),
        )
        return rows.view(*states.shape[:-1], -1)

    def _scratch(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """Return an uninitialised tensor in the buffer `name`.

        On a CPU, allocating new memory takes longer than the computation.
        """
        size = math.prod(shape)
        buffer = self.workspace.get(name)
        if buffer is None or len(buffer) < size or buffer.dtype != like.dtype:
            buffer = self.workspace[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return buffer[:size].view(shape)


class Layer(nn.Module):
    """A transformer layer with a norm after each block; ALBERT shares layers between depths.

    Keyword arguments are the linear layers query, key, value, attention_output, intermediate and
    output, the norms attention_norm and output_norm, the activation, and the number of heads.
    """

    def __init__(self, **modules: Any) -> None:
        super().__init__()
        projections = [modules.pop(name) for name in ("query", "key", "value")]
        if any(type(projection) is not nn.Linear for projection in projections):
            raise TypeError(f"projections must be nn.Linear, got {projections}")
        # The three projections are merged: [3 hidden, hidden] and [3 hidden].
        weight, bias = (
            torch.cat([getattr(projection, name).detach() for projection in projections])
            for name in ("weight", "bias")
        )
        self.qkv_weight = nn.Parameter(weight, requires_grad=False)
        self.qkv_bias = nn.Parameter(bias, requires_grad=False)
        for name, module in modules.items():
            setattr(self, name, module)


@dataclass(frozen=True)
class Family:
    """Locations of the modules of a model family in its transformers model.

    `layer_attributes` maps arguments of `Layer` to attribute paths in a layer. `layers` returns the
    layers by depth. `embedding_projection` returns a projection of the embeddings, if any. `bias`
    returns an encoder whose `compute_position_bias` maps states [1, tokens, hidden] to a bias of
    the attention scores, [1, heads, tokens, tokens].
    """

    layer_attributes: dict[str, str]
    head: Callable[[Any], nn.Module]
    encoder_attribute: str = "encoder"
    layers: Callable[[Any, Any], Sequence[nn.Module]] = lambda encoder, config: encoder.layer
    embedding_projection: Callable[[Any], nn.Module | None] = lambda base: None
    bias: Callable[[Any], nn.Module | None] = lambda encoder: None


def _albert_layers(encoder: Any, config: Any) -> list[nn.Module]:
    groups, depth = encoder.albert_layer_groups, config.num_hidden_layers
    order = [groups[i * len(groups) // depth] for i in range(depth)]
    return [layer for group in order for layer in group.albert_layers]


def _position_bias(encoder: Any) -> nn.Module:
    """Return the encoder without its layers."""
    encoder.layer = nn.ModuleList()
    return encoder


def _attention(path: str, names: str) -> dict[str, str]:
    """Return the attribute paths of the attention projections and the number of heads."""
    arguments = ("query", "key", "value", "heads")
    return {key: f"{path}.{name}" for key, name in zip(arguments, names.split(), strict=True)}


_FEED_FORWARD = {
    "intermediate": "intermediate.dense",
    "activation": "intermediate.intermediate_act_fn",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
}
_BERT = {
    **_attention("attention.self", "query key value num_attention_heads"),
    "attention_output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    **_FEED_FORWARD,
}
FAMILIES = {
    "bert": Family(_BERT, head=attrgetter("cls")),
    "roberta": Family(_BERT, head=attrgetter("lm_head")),
    "xlm-roberta": Family(_BERT, head=attrgetter("lm_head")),
    "electra": Family(
        _BERT,
        head=lambda model: nn.Sequential(model.generator_predictions, model.generator_lm_head),
        embedding_projection=lambda base: getattr(base, "embeddings_project", None),
    ),
    "distilbert": Family(
        {
            **_attention("attention", "q_lin k_lin v_lin n_heads"),
            "attention_output": "attention.out_lin",
            "attention_norm": "sa_layer_norm",
            "intermediate": "ffn.lin1",
            "activation": "ffn.activation",
            "output": "ffn.lin2",
            "output_norm": "output_layer_norm",
        },
        head=lambda model: nn.Sequential(
            model.vocab_transform, model.activation, model.vocab_layer_norm, model.vocab_projector
        ),
        encoder_attribute="transformer",
    ),
    "albert": Family(
        {
            **_attention("attention", "query key value num_attention_heads"),
            "attention_output": "attention.dense",
            "attention_norm": "attention.LayerNorm",
            "intermediate": "ffn",
            "activation": "activation",
            "output": "ffn_output",
            "output_norm": "full_layer_layer_norm",
        },
        head=attrgetter("predictions"),
        layers=_albert_layers,
        embedding_projection=lambda base: base.encoder.embedding_hidden_mapping_in,
    ),
    "mpnet": Family(
        {
            **_attention("attention.attn", "q k v num_attention_heads"),
            "attention_output": "attention.attn.o",
            "attention_norm": "attention.LayerNorm",
            **_FEED_FORWARD,
        },
        head=attrgetter("lm_head"),
        bias=_position_bias,
    ),
}
