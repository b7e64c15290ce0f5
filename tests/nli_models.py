"""Tiny NLI models with random weights, one per family, made offline.

They know nothing about inference, but their probabilities change with the texts and their order,
which is all that tests need.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from tests import model_families

PARTS = ("encoder", "decoder")
LABELS = ("entailment", "neutral", "contradiction")
MODELS = tuple(model_families.FAMILIES)


def _name_outputs(config: Any, names: Sequence[str]) -> None:
    config.id2label = dict(enumerate(names))
    config.label2id = {name: index for index, name in enumerate(names)}


def _save(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build(folder: Path, family: str = "bert", labels: Sequence[str] = LABELS) -> Path:
    """Save a classifier and tokenizer of a family in `folder`, for the Auto classes.

    The same arguments give the same weights.
    """
    with torch.random.fork_rng(devices=[]):
        tokenizer, masked = model_families.FAMILIES[family]()
        _name_outputs(masked.config, labels)
        model = transformers.AutoModelForSequenceClassification.from_config(masked.config)
    model_families.draw_weights(model, masked.config.initializer_range, 0)
    return _save(folder, model, tokenizer)


def build_decoder(folder: Path, kind: str) -> Path:
    """Save a classifier of a family of decoders ("qwen3", "gpt2") without a padding token."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    sizes |= {"max_position_embeddings": 64, "intermediate_size": 64, "num_key_value_heads": 4}
    with torch.random.fork_rng(devices=[]):
        vocab, merges = model_families.byte_level()
        tokenizer = transformers.GPT2Tokenizer(vocab=vocab, merges=merges, model_max_length=64)
        sizes |= {"vocab_size": len(tokenizer), "head_dim": 8}
        config = transformers.AutoConfig.for_model(kind, pad_token_id=None, **sizes)
        _name_outputs(config, LABELS)
        model = transformers.AutoModelForSequenceClassification.from_config(config)
    model_families.draw_weights(model, 0.4, 0)
    return _save(folder, model, tokenizer)


def build_bart(
    folder: Path, kind: Any = transformers.BartForSequenceClassification, scale: float = 0.4
) -> Path:
    """Save a BART in `folder`, by default a classifier based on the state at the last end token."""
    with torch.random.fork_rng(devices=[]):
        tokenizer, _ = model_families.FAMILIES["roberta"]()
        sizes = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}
        sizes = {f"{part}_{name}": size for part in PARTS for name, size in sizes.items()}
        sizes |= {"d_model": 32, "max_position_embeddings": 64, "vocab_size": len(tokenizer)}
        config = transformers.BartConfig(
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.eos_token_id,
            **sizes,
        )
        _name_outputs(config, LABELS)
        model = kind(config)
    model_families.draw_weights(model, scale, 0)
    return _save(folder, model, tokenizer)


def reorder_outputs(source: Path, folder: Path, order: Sequence[int], names: Sequence[str]) -> Path:
    """Save the BERT from `source` in `folder`, with reordered and renamed outputs."""
    model = transformers.BertForSequenceClassification.from_pretrained(source)
    for parameter in (model.classifier.weight, model.classifier.bias):
        parameter.data = parameter.data[list(order)]
    _name_outputs(model.config, names)
    return _save(folder, model, transformers.AutoTokenizer.from_pretrained(source))
