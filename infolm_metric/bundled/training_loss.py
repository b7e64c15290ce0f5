"""The loss that trains the bundled model: BertForMaskedLM's, written out to be faster on a CPU."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import BertForMaskedLM

HEAD_ROWS = 256  # rows of logits held at once: [256, 30522] float32 stays near the cache


class TiedCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy of softmax(hidden @ weight.T + bias), a few rows of logits at a time."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        """The loss of hidden [rows, hidden] at targets [rows]; its gradients are kept."""
        rows = len(hidden)
        grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        grad_bias, total = torch.zeros_like(bias), hidden.new_zeros(())
        for start in range(0, rows, HEAD_ROWS):
            part = slice(start, start + HEAD_ROWS)
            logits = torch.addmm(bias, hidden[part], weight.t())
            index = targets[part, None]
            top = logits.amax(1, keepdim=True)
            chosen = logits.gather(1, index) - top
            logits.sub_(top).exp_()
            norm = logits.sum(1, keepdim=True)
            total += (norm.log() - chosen).sum()
            logits.div_(norm * rows)
            logits.scatter_add_(1, index, torch.full_like(chosen, -1.0 / rows))
            torch.mm(logits, weight, out=grad_hidden[part])
            grad_weight.addmm_(logits.t(), hidden[part])
            grad_bias += logits.sum(0)
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        return total / rows

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """The gradients of hidden, weight and bias."""
        grad_hidden, grad_weight, grad_bias = ctx.saved_tensors
        return grad_hidden * grad_output, grad_weight * grad_output, grad_bias * grad_output, None


def attend(layer: Any, queries: Tensor, states: Tensor, heads: int) -> Tensor:
    """Self-attention of a layer, [texts, q, hidden] attending to [texts, n, hidden]."""
    attention = layer.attention.self

    def split(x: Tensor) -> Tensor:
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    q = split(attention.query(queries))
    k, v = split(attention.key(states)), split(attention.value(states))
    weights = torch.softmax(q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5), dim=-1)
    mixed = (weights @ v).transpose(1, 2).flatten(-2)
    output = layer.attention.output
    return output.LayerNorm(output.dense(mixed) + queries)


def feed_forward(layer: Any, states: Tensor) -> Tensor:
    """Feed-forward block of a layer, [..., hidden] -> [..., hidden]."""
    inner = F.gelu(layer.intermediate.dense(states))
    return layer.output.LayerNorm(layer.output.dense(inner) + states)


def masked_lm_loss(
    model: BertForMaskedLM, ids: Tensor, positions: Tensor, targets: Tensor
) -> Tensor:
    """Mean cross-entropy in nats at the masked positions; texts of equal length, no padding.

    The same function as the model's own forward pass. The last layer is computed at the masked
    positions only, and attention is written out: its backward pass on a CPU is faster so.
    """
    embeddings, heads = model.bert.embeddings, model.config.num_attention_heads
    length = ids.shape[1]
    states = (
        embeddings.word_embeddings(ids)
        + embeddings.position_embeddings.weight[:length]
        + embeddings.token_type_embeddings.weight[0]
    )
    states = embeddings.LayerNorm(states)
    *lower, last = model.bert.encoder.layer
    for layer in lower:
        states = feed_forward(layer, attend(layer, states, states, heads))
    index = positions.unsqueeze(-1).expand(-1, -1, states.shape[-1])
    masked = feed_forward(last, attend(last, states.gather(1, index), states, heads))
    head = model.cls.predictions
    hidden = head.transform(masked.flatten(0, 1))
    return TiedCrossEntropy.apply(
        hidden, embeddings.word_embeddings.weight, head.bias, targets.flatten()
    )
