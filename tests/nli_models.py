"""Tiny models of natural language inference with random weights, one per family, made offline.

They know nothing of inference; their probabilities change with the texts and with their order,
which is all a test needs.
"""

from pathlib import Path
from typing import Any

import torch
import transformers

from tests import model_families

LABELS = ("entailment", "neutral", "contradiction")
MODELS: dict[str, Any] = {
    "bert": transformers.BertForSequenceClassification,
    "roberta": transformers.RobertaForSequenceClassification,
    "xlm-roberta": transformers.XLMRobertaForSequenceClassification,
    "distilbert": transformers.DistilBertForSequenceClassification,
    "albert": transformers.AlbertForSequenceClassification,
    "electra": transformers.ElectraForSequenceClassification,
    "mpnet": transformers.MPNetForSequenceClassification,
    "deberta-v2": transformers.DebertaV2ForSequenceClassification,
    "modernbert": transformers.ModernBertForSequenceClassification,
}


def build(folder: Path, family: str = "bert", labels: tuple[str, ...] = LABELS) -> Path:
    """`folder`, with a classifier and tokenizer of the family that the Auto classes load from it.

    The same arguments give the same weights.
    """
    with torch.random.fork_rng(devices=[]):
        tokenizer, masked = model_families.FAMILIES[family]()
        config = masked.config
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: index for index, name in enumerate(labels)}
        model = MODELS[family](config)
    model_families.draw_weights(model, config.initializer_range, 0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
