"""Tiny models of natural language inference with random weights, one per family, made offline.

They know nothing of inference; their probabilities change with the texts and with their order,
which is all a test needs.
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


def _saved(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build(folder: Path, family: str = "bert", labels: Sequence[str] = LABELS) -> Path:
    """`folder`, with a classifier and tokenizer of the family that the Auto classes load from it.

    The same arguments give the same weights.
    """
    with torch.random.fork_rng(devices=[]):
        tokenizer, masked = model_families.FAMILIES[family]()
        _name_outputs(masked.config, labels)
        model = transformers.AutoModelForSequenceClassification.from_config(masked.config)
    model_families.draw_weights(model, masked.config.initializer_range, 0)
    return _saved(folder, model, tokenizer)


def build_bart(
    folder: Path, kind: Any = transformers.BartForSequenceClassification, scale: float = 0.4
) -> Path:
    """`folder`, with a BART, by default a classifier of the states at the last end token."""
    with torch.random.fork_rng(devices=[]):
        tokenizer, _ = model_families.FAMILIES["roberta"]()
        sizes = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}
        config = transformers.BartConfig(
            vocab_size=len(tokenizer),
            d_model=32,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.eos_token_id,
            **{f"{part}_{name}": size for part in PARTS for name, size in sizes.items()},
        )
        _name_outputs(config, LABELS)
        model = kind(config)
    model_families.draw_weights(model, scale, 0)
    return _saved(folder, model, tokenizer)


def reordered(source: Path, folder: Path, order: Sequence[int], names: Sequence[str]) -> Path:
    """`folder`, with the BERT of `source` whose outputs are in another order, under these names."""
    model = transformers.BertForSequenceClassification.from_pretrained(source)
    for parameter in (model.classifier.weight, model.classifier.bias):
        parameter.data = parameter.data[list(order)]
    _name_outputs(model.config, names)
    return _saved(folder, model, transformers.AutoTokenizer.from_pretrained(source))
