"""Transformer encoders for batches without padding.

`FastEncoder` has the weights of a transformers model and returns the same hidden states. It applies
linear layers and norms to all texts of a batch together, and attention to texts of equal length.
For model families without an entry in `FAMILIES`, the transformers model itself is used.

A batch is a list of groups of equally long texts, int64 [texts, tokens] each. Positions in the
texts are int64 [texts, positions] per group. Hidden states ("states") are [rows, hidden], with one
row per token. Texts are concatenated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from infolm_metric.core.checks import InputError
from infolm_metric.core.settings import ModelSettings
from infolm_metric.models import determinism
from infolm_metric.models.checkpoints import Checkpoint, load_weights

# Up to this length, batched matrix products are faster than fused attention on a CPU.
SHORT = 128

IdGroups = Sequence[Tensor]
# Functions that return the head of a transformers model, by model family.
Heads = Mapping[str, Callable[[Any], nn.Module]]


@dataclass(frozen=True)
class ModelWithHead:
    """A loaded model in evaluation mode: a fast encoder with a head, or a transformers model."""

    model: Any  # the head if there is a fast encoder, or else the transformers model
    encoder: FastEncoder | None
    checkpoint: Checkpoint
    device: torch.device

    @classmethod
    def load(
        cls, checkpoint: Checkpoint, settings: ModelSettings, heads: Heads | None = None
    ) -> Self:
        """Load a checkpoint's model."""
        model = load_weights(checkpoint, settings.dtype, settings.device)
        device, kind = model.device, model.config.model_type
        if kind not in FAMILIES or getattr(model.config, "is_decoder", False):
            check_model(model, checkpoint)
            return cls(determinism.deterministic_linear(model), None, checkpoint, device)
        # Only the heads of `model` can be used afterwards.
        encoder = determinism.deterministic_linear(FastEncoder(model, FAMILIES[kind]))
        head = heads[kind](model) if heads else nn.Identity()
        return cls(determinism.deterministic_linear(head), encoder, checkpoint, device)


def run_model(
    model: PreTrainedModel, ids: Tensor, token_types: Tensor | None = None, **options: object
) -> Any:
    """Run a transformers model on texts of equal length, int64 [texts, tokens].

    A small batch is repeated until it has at least 16 tokens, because attention for a single short
    text is computed in a different order. The output may therefore have more rows than `ids`.
    """
    times = -(-determinism.PADDED_ROWS // ids.numel())
    rows = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": token_types}
    inputs = {name: part.repeat(times, 1) for name, part in rows.items() if part is not None}
    return model(**inputs, **options, return_dict=True)


def check_model(model: PreTrainedModel, checkpoint: Checkpoint) -> None:
    """Check that a transformers model can encode a short text, given only its tokens."""
    config = model.config.get_text_config()
    if getattr(config, "pad_token_id", None) is None:
        # Decoders classify the last token that is not padding, and refuse batches if the padding
        # token is unknown. Nothing is padded here, so no token has this id.
        config.pad_token_id = -1
    ids = torch.tensor([checkpoint.tokenizer("a")["input_ids"]], device=model.device)
    try:
        model.get_input_embeddings().weight.shape  # noqa: B018
        with determinism.deterministic_inference(model.device):
            run_model(model, ids)
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        dtype = str(model.dtype).removeprefix("torch.")
        raise InputError(
            f"{checkpoint.name!r} is a {config.model_type} model, which cannot encode a short text "
            f"with dtype={dtype!r}, given only its token ids ({type(error).__name__}: {reason}). "
            f"Use another dtype, device or model. {checkpoint.architecture.remedy}"
        ) from error


class FastEncoder(nn.Module):
    """A transformer encoder. It skips layers and positions on which no requested state depends."""

    def __init__(self, model: PreTrainedModel, family: Family) -> None:
        super().__init__()
        base = model.base_model
        encoder = getattr(base, family.encoder_attribute)
        paths = family.layer_attributes.items()
        self.embeddings = base.embeddings
        self.layers: Any = nn.ModuleList(
            Layer(**{name: attrgetter(path)(module) for name, path in paths})
            for module in encoder.layer
        )
        self.position_bias: Any = encoder if family.position_bias else None
        encoder.layer = nn.ModuleList()  # not needed for the bias
        self.buffers_by_name: dict[str, Tensor] = {}
        self.eval()

    def states(
        self, ids: IdGroups, layers: Sequence[int], token_types: IdGroups | None = None
    ) -> list[Tensor]:
        """Return the states of some layers, [rows, hidden] each. Layer 0 is the embeddings."""
        options = [{"token_type_ids": types} for types in token_types or ()] or [{}] * len(ids)
        inputs = zip(ids, options, strict=True)
        embeddings = [self.embeddings(group, **types) for group, types in inputs]
        states = torch.cat([rows.flatten(0, 1) for rows in embeddings])
        biases, by_layer = self._biases(ids), {0: states}
        for number, layer in enumerate(self.layers[: max(layers)], start=1):
            attention = self._attend(layer, states, ids, biases, states, ids)
            states = self._finish(layer, attention, states)
            if number in layers:
                by_layer[number] = states
        return [by_layer[number] for number in layers]

    def states_at(
        self, ids: IdGroups, positions: IdGroups, token_types: IdGroups | None = None
    ) -> Tensor:
        """Return the last layer's states at some positions of each text, [rows, hidden]."""
        (states,) = self.states(ids, [len(self.layers) - 1], token_types)
        groups = zip(_by_group(states, ids), positions, strict=True)
        queries = torch.cat(
            [part.take_along_dim(at[..., None], dim=1).flatten(0, 1) for part, at in groups]
        )
        layer = self.layers[-1]
        attention = self._attend(layer, states, ids, self._biases(ids), queries, positions)
        return self._finish(layer, attention, queries)

    def _biases(self, ids: IdGroups) -> list[Tensor | None]:
        """Return each group's attention bias, [1, heads, tokens, tokens], or None."""
        encoder = self.position_bias
        return [encoder.compute_position_bias(group[:1]) if encoder else None for group in ids]

    def _attend(
        self,
        layer: Any,
        states: Tensor,
        ids: IdGroups,
        biases: Sequence[Tensor | None],
        queries: Tensor,
        positions: IdGroups,
    ) -> Tensor:
        """Return the attention before its output projection, [rows, hidden].

        `queries` are the states at `positions`. For all tokens, pass `states` as `queries` and
        `ids` as `positions`, because only the shapes of the positions are then used.
        """
        attention = self._buffer("attention", queries, *queries.shape)
        groups = zip(
            _by_group(self._project("query", queries, layer.query), positions, layer.heads),
            _by_group(self._project("key_value", states, layer.key_value), ids, 2, layer.heads),
            _by_group(attention, positions, layer.heads),
            positions,
            biases,
            strict=True,
        )
        for query, key_value, output, at, bias in groups:
            q = query.transpose(1, 2)  # [texts, heads, tokens, width], as k and v
            k, v = key_value.permute(2, 0, 3, 1, 4)
            if bias is not None and queries is not states:
                bias = bias[0][:, at].transpose(0, 1)
            on_cpu = q.device.type == "cpu" and q.dtype == torch.float32
            if queries is states and not (on_cpu and q.shape[2] <= SHORT):
                mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            else:
                mixed = self._mix(q, k, v, bias)
            output.copy_(mixed.transpose(1, 2))
        return attention

    def _mix(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Tensor:
        """Return the attention for texts of equal length, [texts, heads, queries, width].

        The matrices are copied to contiguous memory, because neither fused attention nor products
        of views are batch-invariant if there are few queries.
        """
        q, k, v = (
            self._buffer(name, part, *part.shape).copy_(part).flatten(0, 1)
            for name, part in (("q", query), ("k", key), ("v", value))
        )
        scores = self._buffer("scores", q, len(q), q.shape[1], k.shape[1])
        scale = 1 / math.sqrt(q.shape[2])
        torch.baddbmm(scores, q, k.transpose(1, 2), beta=0, alpha=scale, out=scores)
        if bias is not None:
            scores.view(*query.shape[:3], -1).add_(bias)
        torch.softmax(scores, -1, out=scores)
        return torch.bmm(scores, v, out=self._buffer("mixed", q, *q.shape)).view(query.shape)

    def _finish(self, layer: Any, attention: Tensor, states: Tensor) -> Tensor:
        """Apply the output projection and the feed-forward block, with residuals and norms."""
        attention = self._project("output", attention, layer.attention_output)
        states = layer.attention_norm(attention.add_(states))
        inner = self._project("inner", states, layer.intermediate)
        gelu = getattr(layer.activation, "act", layer.activation) is F.gelu
        inner = torch.ops.aten.gelu_(inner) if gelu else layer.activation(inner)
        output = self._project("output", inner, layer.output)
        finished: Tensor = layer.output_norm(output.add_(states))
        return finished

    def _project(self, name: str, states: Tensor, layer: determinism.DeterministicLinear) -> Tensor:
        """Apply a linear layer, [rows, in] -> [rows, out], and reuse the buffer `name` with MKL."""
        out = None
        if states.device.type == "cpu" and not determinism.uses_onednn(states.dtype):
            out = self._buffer(name, states, layer.rule.padded(len(states)), layer.out_features)
        return layer.rule.apply(states, layer.weight, layer.bias, out)

    def _buffer(self, name: str, like: Tensor, *shape: int) -> Tensor:
        """Return an uninitialized tensor in a reused buffer. Allocation is slow on a CPU."""
        size = math.prod(shape)
        buffer = self.buffers_by_name.get(name)
        if buffer is None or len(buffer) < size or buffer.dtype != like.dtype:
            buffer = torch.empty(size, dtype=like.dtype, device=like.device)
            self.buffers_by_name[name] = buffer
        return buffer[:size].view(shape)


def _by_group(rows: Tensor, groups: IdGroups, *heads: int) -> list[Tensor]:
    """Split rows by group, [texts, tokens, *heads, width] each."""
    parts = rows.split_with_sizes([group.numel() for group in groups])
    return [part.view(*group.shape, *heads, -1) for part, group in zip(parts, groups, strict=True)]


class Layer(nn.Module):
    """Post-norm transformer layer.

    Its keyword arguments are the linear layers query, key, value, attention_output, intermediate
    and output, the norms attention_norm and output_norm, the activation, and the number of heads.
    """

    def __init__(self, key: nn.Linear, value: nn.Linear, **modules: object) -> None:
        super().__init__()
        # Keys and values are computed in one product. On "meta", the layer has no initial weights.
        self.key_value = nn.Linear(key.in_features, 2 * key.out_features, device="meta")
        for name in ("weight", "bias"):
            rows = torch.cat([getattr(key, name).detach(), getattr(value, name).detach()])
            setattr(self.key_value, name, nn.Parameter(rows, requires_grad=False))
        for name, module in modules.items():
            setattr(self, name, module)


@dataclass(frozen=True)
class Family:
    """Locations of the modules in a model family's transformers implementation.

    `layer_attributes` maps the arguments of `Layer` to attribute paths in a transformers layer.
    With `position_bias`, the encoder's method `compute_position_bias` maps ids [1, tokens] to an
    attention bias, [1, heads, tokens, tokens].
    """

    layer_attributes: dict[str, str]
    encoder_attribute: str = "encoder"
    position_bias: bool = False  # the encoder has a method `compute_position_bias`


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
    **dict.fromkeys(("bert", "roberta", "xlm-roberta"), Family(_BERT)),
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
        encoder_attribute="transformer",
    ),
    "mpnet": Family(
        {
            **_attention("attention.attn", "q k v num_attention_heads"),
            "attention_output": "attention.attn.o",
            "attention_norm": "attention.LayerNorm",
            **_FEED_FORWARD,
        },
        position_bias=True,
    ),
}
