"""A model of natural language inference: loaded, checked, and its probabilities for pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    AutoModelForSequenceClassification,
)

from infolm_metric.core.determinism import (
    deterministic_inference,
    deterministic_linear,
    repeat_texts,
)
from infolm_metric.core.models import (
    Architecture,
    Checkpoint,
    load_weights,
    non_finite_error,
    open_model,
)
from infolm_metric.core.results import user_stacklevel
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.core.tokenization import equal_length_batches
from infolm_metric.menli.settings import Labels, MENLISettings

ARCHITECTURE = Architecture(
    AutoModelForSequenceClassification,
    fits=lambda config: type(config) in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    unfit="which classifies no texts",
    remedy="choose a model of natural language inference such as "
    '"cross-encoder/nli-deberta-v3-base" or "bundled"',
    part="classifier",
    folder=BUNDLED_FOLDER / "nli",
    variable=MENLISettings.model_variable,
    # Attention in the open, because fused attention gives other bits in other company.
    attention="eager",
)
open_nli = partial(open_model, architecture=ARCHITECTURE)
PROBES = (
    ("A man is sleeping.", "A man is sleeping.", "entailment"),
    ("A man is sleeping.", "Nobody is sleeping.", "contradiction"),
)
# Tokens that one forward pass reads, by device, where the caller leaves the choice to us.
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 65_536}


@dataclass(frozen=True)
class JoinedPair:
    """A premise and a hypothesis in one sequence, as the tokenizer joins them."""

    ids: tuple[int, ...]
    token_types: tuple[int, ...] | None


def join_pairs(
    tokenizer: Any, pairs: Sequence[tuple[str, str]], limit: int | None
) -> Iterator[JoinedPair]:
    """Each premise with its hypothesis as the model reads them; the longer is cut first."""
    encoded = tokenizer(
        [premise for premise, _ in pairs],
        [hypothesis for _, hypothesis in pairs],
        truncation=False if limit is None else "longest_first",
        max_length=limit,
        padding=False,
        return_attention_mask=False,
        verbose=False,
    )
    kinds = encoded.get("token_type_ids") or [None] * len(pairs)
    for ids, types in zip(encoded["input_ids"], kinds, strict=True):
        yield JoinedPair(tuple(ids), None if types is None else tuple(types))


@dataclass(frozen=True)
class NLIModel:
    """A loaded model in evaluation mode."""

    model: nn.Module
    checkpoint: Checkpoint
    device: torch.device

    def probabilities(
        self,
        pairs: Sequence[JoinedPair],
        labels: Labels,
        rows: int | None = None,
        progress: Callable[[int], object] = lambda pairs: None,
    ) -> Tensor:
        """e, n and c of each pair, float64 [pairs, 3]; without the last two n and c are 0.

        `rows` is how many pairs a forward pass reads; `progress` is told how many are done. Raises
        ValueError if what the model gives is infinite or NaN.
        """
        probabilities = torch.zeros(len(pairs), 3, dtype=torch.float64, device="cpu")
        outputs = [labels.entailment, labels.neutral, labels.contradiction]
        most_tokens = TOKENS_PER_BATCH.get(self.device.type, TOKENS_PER_BATCH["cpu"])
        # BART-like models read only pairs together that hold as many end tokens.
        groups: dict[int, list[int]] = {}
        for index, pair in enumerate(pairs):
            groups.setdefault(pair.ids.count(pair.ids[-1]), []).append(index)
        count = 0
        for group in groups.values():
            lengths = [len(pairs[index].ids) for index in group]
            for places in equal_length_batches(lengths, rows, most_tokens):
                indices = [group[place] for place in places]
                # Before float64: Apple's GPUs have none.
                logits = self._logits([pairs[index] for index in indices]).float().cpu().double()
                if not logits.isfinite().all():
                    dtype = str(self.model.dtype).removeprefix("torch.")
                    raise non_finite_error("outputs", dtype)
                for column, output in enumerate(outputs):
                    if output is not None:
                        probabilities[indices, column] = logits.softmax(-1)[:, output]
                count += len(indices)
                progress(count)
        return probabilities

    def _logits(self, batch: Sequence[JoinedPair]) -> Tensor:
        """Return the outputs for pairs of equal length, [pairs, labels]."""
        inputs: dict[str, list[Any]] = {"input_ids": [pair.ids for pair in batch]}
        if batch[0].token_types is not None:
            inputs["token_type_ids"] = [pair.token_types for pair in batch]
        tensors = {
            name: repeat_texts(torch.from_numpy(np.asarray(values, dtype=np.int64))).to(self.device)
            for name, values in inputs.items()
        }
        mask = torch.ones_like(tensors["input_ids"])
        with deterministic_inference(self.device):
            logits: Tensor = self.model(**tensors, attention_mask=mask, return_dict=True).logits
        return logits[: len(batch)]


def load_nli(checkpoint: Checkpoint, settings: MENLISettings, labels: Labels) -> NLIModel:
    """The model of a checkpoint, checked to have trained weights throughout.

    Warns if it does not find that a sentence entails itself and that "nobody" contradicts "a man":
    then its outputs stand for something else than their names say.

    Raises:
        OSError: its weights are not there, are damaged, or could run code.
        ValueError: a part of it, such as the classifier, is missing from the checkpoint.
    """
    model = load_weights(checkpoint, settings.dtype, settings.device)
    nli = NLIModel(deterministic_linear(model), checkpoint, model.device)
    _probe(nli, labels)
    return nli


def _probe(model: NLIModel, labels: Labels) -> None:
    """Warn once if two plain pairs do not get the labels that they should."""
    pairs = [(premise, hypothesis) for premise, hypothesis, _ in PROBES]
    sequences = list(join_pairs(model.checkpoint.tokenizer, pairs, None))
    e, n, c = model.probabilities(sequences, labels).T.tolist()
    entails = e[0] > max(n[0], c[0]) if labels.three_way else e[0] > 0.5
    contradicts = c[1] > max(e[1], n[1]) if labels.three_way else e[1] < 0.5
    failures = [
        f"{premise!r} and {hypothesis!r} is not {label} to it"
        for (premise, hypothesis, label), right in zip(PROBES, (entails, contradicts), strict=True)
        if not right
    ]
    if not failures:
        return
    outputs = {name: index for name, index in vars(labels).items() if index is not None}
    warnings.warn(
        f"infolm: the model {model.checkpoint.name!r} may not be what its labels say: "
        f"{'; '.join(failures)}. Outputs are taken for {outputs}; if that is wrong, give their "
        "names in order with labels",
        stacklevel=user_stacklevel(),
    )
