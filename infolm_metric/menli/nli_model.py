"""Loads and checks a model of natural language inference; gives its probabilities for pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoModelForSequenceClassification,
)

from infolm_metric.kernel.checkpoints import (
    Checkpoint,
    check_complete,
    load_weights,
    no_numbers,
    open_checkpoint,
    place,
)
from infolm_metric.kernel.checks import BUNDLED_FOLDER
from infolm_metric.kernel.exactness import exactly, repeated, steady
from infolm_metric.kernel.tokens import tokenize
from infolm_metric.menli.labels import Labels, read_labels
from infolm_metric.menli.pair_tokens import (
    Batch,
    JoinedPair,
    PairTemplate,
    batches,
    find_pair_template,
)
from infolm_metric.menli.settings import Settings

FOLDER = BUNDLED_FOLDER / "nli"
REMEDY = (
    'choose a model of natural language inference such as "microsoft/deberta-large-mnli" or '
    '"bundled"'
)
PROBES = (
    ("A man is sleeping.", "A man is sleeping.", "entailment"),
    ("A man is sleeping.", "Nobody is sleeping.", "contradiction"),
)


@dataclass(frozen=True)
class NLICheckpoint:
    """A checkpoint, how its tokenizer joins two texts, and what its outputs stand for."""

    checkpoint: Checkpoint
    template: PairTemplate
    labels: Labels

    @property
    def changed(self) -> bool:
        """True if the model's files are no longer those that were read."""
        return self.checkpoint.changed


@dataclass(frozen=True)
class NLIModel:
    """A loaded model in evaluation mode."""

    model: nn.Module
    source: NLICheckpoint
    device: torch.device

    def probabilities(
        self,
        pairs: Sequence[JoinedPair],
        rows: int | None = None,
        report: Callable[[int], object] = lambda pairs: None,
    ) -> Tensor:
        """e, n and c of each pair, float64 [pairs, 3]; without the last two n and c are 0.

        `rows` is how many pairs a forward pass reads; `report` is told of pairs as they are done.
        Raises ValueError if what the model gives is infinite or NaN.
        """
        found = torch.zeros(len(pairs), 3, dtype=torch.float64, device="cpu")
        labels = self.source.labels
        places = [labels.entailment, labels.neutral, labels.contradiction]
        for batch in batches(pairs, self.source.template, rows, self.device.type):
            # Before float64: Apple's GPUs have none.
            logits = self._logits(batch).float().cpu().double()
            if not logits.isfinite().all():
                raise no_numbers("outputs", str(self.model.dtype).removeprefix("torch."))
            each = logits.softmax(-1)
            for column, place_ in enumerate(places):
                if place_ is not None:
                    found[list(batch.owners), column] = each[:, place_]
            report(len(batch.owners))
        return found

    def _logits(self, batch: Batch) -> Tensor:
        """The outputs for a batch, [pairs, labels]; repeated where its tokens are few."""
        inputs = {"input_ids": repeated(batch.ids).to(self.device)}
        if batch.token_types is not None:
            inputs["token_type_ids"] = repeated(batch.token_types).to(self.device)
        mask = torch.ones_like(inputs["input_ids"])
        with exactly(self.device):
            logits: Tensor = self.model(**inputs, attention_mask=mask, return_dict=True).logits
        return logits[: len(batch.owners)]


def open_nli(
    name: str, revision: str | None = None, labels: Sequence[str] | None = None
) -> NLICheckpoint:
    """The tokenizer of a model, what its configuration says, and its labels; needs no weights.

    Raises:
        OSError: the model is not there, is damaged or cannot be reached.
        ValueError: it classifies no pairs, or its outputs have no names that say what they are.
    """

    def unfit(kind: str) -> str:
        return f"{name!r} is a {kind} model, which classifies no texts; {REMEDY}"

    checkpoint = open_checkpoint(
        *(name, revision, AutoModelForSequenceClassification),
        lambda config: type(config) in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
        unfit,
        folder=FOLDER,
        variable=Settings.model_variable,
    )
    return NLICheckpoint(
        checkpoint,
        find_pair_template(name, checkpoint.tokenizer),
        read_labels(name, checkpoint.config.id2label, labels),
    )


def load(source: NLICheckpoint, device: str | None, dtype: str) -> NLIModel:
    """The model of a checkpoint on `device`, checked to have trained weights throughout.

    Warns if it does not find that a sentence entails itself and that "nobody" contradicts "a man":
    then its outputs stand for something else than their names say.

    Raises:
        OSError: its weights are not there, are damaged, or are not safetensors.
        ValueError: a part of it, such as the classifier, is missing from the checkpoint.
    """
    checkpoint = source.checkpoint
    # Attention in the open, because fused kernels give other bits in other company.
    model, report = load_weights(
        checkpoint, AutoModelForSequenceClassification, dtype, attention="eager"
    )
    check_complete(checkpoint, model, report, "classifier", REMEDY)
    placed, there = place(steady(model), device)
    loaded = NLIModel(placed, source, there)
    _probe(loaded)
    return loaded


def _probe(model: NLIModel) -> None:
    """Warn once if two plain pairs do not get the labels that they should."""
    labels, template = model.source.labels, model.source.template
    pairs = []
    for premise, hypothesis, _ in PROBES:
        first, second = tokens_of(model.source, (premise, hypothesis))
        pairs.append(template.join(first, second, None))
    e, n, c = model.probabilities(pairs).T.tolist()
    same = e[0] > max(n[0], c[0]) if labels.three_way else e[0] > 0.5
    other = c[1] > max(e[1], n[1]) if labels.three_way else e[1] < 0.5
    if same and other:
        return
    said = {name: index for name, index in vars(labels).items() if index is not None}
    wrong = [
        f"{premise!r} and {hypothesis!r} is not {label} to it"
        for (premise, hypothesis, label), right in zip(PROBES, (same, other), strict=True)
        if not right
    ]
    warnings.warn(
        f"infolm: the model {model.source.checkpoint.name!r} may not be what its labels say: "
        f"{'; '.join(wrong)}. Outputs are taken for {said}; if that is wrong, give their names in "
        f"order with labels",
        stacklevel=2,
    )


def tokens_of(source: NLICheckpoint, texts: Iterable[str]) -> list[np.ndarray]:
    """The tokens of each text, int64 [tokens] without special ones."""
    read = tokenize(source.checkpoint.tokenizer, list(texts), None, "window")
    return [text.tokens for text in read]
