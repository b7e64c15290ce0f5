"""NLI models: loading, a check of the labels, and label probabilities of text pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerBase
from transformers.models.auto import modeling_auto as auto

from infolm_metric.core.checks import InputError, warn_user
from infolm_metric.core.settings import BUNDLED_FOLDER, NLI_LABELS, NLISettings, parse_labels
from infolm_metric.models.checkpoints import Architecture, Checkpoint, non_finite_error
from infolm_metric.models.determinism import deterministic_inference
from infolm_metric.models.encoders import Heads, ModelWithHead, run_model
from infolm_metric.models.tokenization import TOKENS_PER_BATCH, device_limit, packed_batches

NLI_MODEL = Architecture(
    auto.AutoModelForSequenceClassification,
    fits=lambda config: type(config) in auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING,
    unfit="which has no sequence-classification head in transformers",
    remedy='Choose an NLI model such as "cross-encoder/nli-deberta-v3-base" or "bundled".',
    part="classifier",
    folder=BUNDLED_FOLDER / "nli",
    attention="eager",  # batch-invariant, unlike fused attention
)
FACTS = (  # with a date, a name and a number
    "The treaty was signed on 3 May 1907.",
    "Marie Keller has lived in Geneva since her childhood.",
    "The bridge over the river is 250 metres long.",
)
PROBES = (
    ("A man is sleeping.", "A man is sleeping.", "entailment"),
    ("A man is sleeping.", "Nobody is sleeping.", "contradiction"),
    *((fact, fact, "entailment") for fact in FACTS),
)
# The classifiers' input is the state of each pair's first token, [pairs, 1, hidden].
CLASSIFIERS: Heads = {
    "bert": lambda model: nn.Sequential(model.bert.pooler, model.classifier),
    "distilbert": lambda model: nn.Sequential(model.pre_classifier, nn.ReLU(), model.classifier),
    **dict.fromkeys(("roberta", "xlm-roberta", "mpnet"), attrgetter("classifier")),
}


@dataclass(frozen=True)
class Labels:
    """Output index of each label. With two labels, only entailment has an index."""

    entailment: int
    neutral: int | None
    contradiction: int | None

    @property
    def three_way(self) -> bool:
        """True if the model distinguishes neutral from contradiction."""
        return self.neutral is not None

    @property
    def order(self) -> str:
        """Initials of the labels in output order, as in the signature. "-" means not_entailment.

        >>> Labels(2, 1, 0).order
        'cne'
        """
        places = {self.entailment: "e", self.neutral: "n", self.contradiction: "c"}
        return "".join(places.get(index, "-") for index in range(3 if self.three_way else 2))


def read_labels(model: str, id2label: dict[int, str], labels: Sequence[str] | None) -> Labels:
    """Find the output index of each label in a model's `id2label`, or in `labels`.

    The three names must begin with "entail", "neutral" and "contradict" (case-insensitive). Models
    with two labels, "entailment" and "not_entailment", are also accepted.

    >>> read_labels("m", {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, None)
    Labels(entailment=2, neutral=1, contradiction=0)
    """
    names = labels or [id2label[index] for index in sorted(id2label)]
    kinds = parse_labels(names)
    if len(kinds) == len(id2label):
        index = {kind: number for number, kind in enumerate(kinds)}
        return Labels(index["entailment"], index.get("neutral"), index.get("contradiction"))
    raise InputError(
        f"labels of the {len(id2label)} outputs of the model {model!r} must be entailment, neutral "
        f"and contradiction, or entailment and not_entailment, got {', '.join(map(repr, names))}. "
        "If it is an NLI model, pass one label per output, in output order, as in "
        f"labels={','.join(NLI_LABELS)!r}. Otherwise choose an NLI model.",
        setting="labels",
    )


class JoinedPair(NamedTuple):
    """A premise and a hypothesis in a single sequence of tokens."""

    ids: tuple[int, ...]
    token_types: tuple[int, ...] | None


def join_pairs(
    tokenizer: PreTrainedTokenizerBase, pairs: Sequence[tuple[str, str]], limit: int | None
) -> Iterator[JoinedPair]:
    """Join each premise with its hypothesis. Truncate to `limit` tokens, the longer text first.

    If fast tokenizers truncate, they also return the removed parts of both texts in all
    combinations, which can take gigabytes of memory. Their pairs are therefore truncated here, in
    the same way as tokenizers 0.22 and 0.23.3, but tokenizers 0.23.1 and 0.23.2 divide an odd
    number of tokens differently.
    """
    encoded = tokenizer(
        [premise.strip() for premise, _ in pairs],
        [hypothesis.strip() for _, hypothesis in pairs],
        truncation=False if limit is None or tokenizer.is_fast else "longest_first",
        max_length=limit,
        padding=False,
        return_attention_mask=False,
        verbose=False,
    )
    token_types = encoded.get("token_type_ids") or [None] * len(pairs)
    for number, (ids, types) in enumerate(zip(encoded["input_ids"], token_types, strict=True)):
        if tokenizer.is_fast and limit is not None and len(ids) > limit:
            owners = np.asarray([-1 if x is None else x for x in encoded.sequence_ids(number)])
            kept = _positions(owners, limit, tokenizer.truncation_side)
            ids, types = [ids[i] for i in kept], types and [types[i] for i in kept]
        yield JoinedPair(tuple(ids), None if types is None else tuple(types))


def _positions(owners: np.ndarray, limit: int, side: str) -> list[int]:
    """Return the positions that the truncation strategy "longest_first" keeps.

    `owners` are 0 for tokens of the premise, 1 for the hypothesis and -1 for special tokens.
    """
    texts = [np.flatnonzero(owners == text) for text in (0, 1)]
    room = limit - int((owners < 0).sum())
    short = min(*map(len, texts), room // 2)
    sizes = (short, room - short) if len(texts[0]) <= len(texts[1]) else (room - short, short)
    ends = [t[len(t) - n :] if side == "left" else t[:n] for t, n in zip(texts, sizes, strict=True)]
    return sorted(np.concatenate([np.flatnonzero(owners < 0), *ends]).tolist())


class NLIModel(ModelWithHead):
    """A loaded NLI model in evaluation mode."""

    def probabilities(
        self, pairs: Sequence[JoinedPair], labels: Labels, rows: int | None = None
    ) -> Tensor:
        """Return the probabilities of entailment, neutral and contradiction, float64 [pairs, 3].

        With two labels, the last two are 0. `rows` is the maximum number of pairs per pass. If it
        is None, passes are limited by tokens.
        """
        probabilities = torch.zeros(len(pairs), 3, dtype=torch.float64, device="cpu")
        outputs = [labels.entailment, labels.neutral, labels.contradiction]
        most_tokens = device_limit(TOKENS_PER_BATCH, self.device.type)
        # BART-like models need the same number of end tokens in all pairs of a batch.
        groups: dict[int, list[int]] = {}
        for index, pair in enumerate(pairs):
            if pair.ids:  # or else both texts are empty, and the tokenizer has no special tokens
                groups.setdefault(pair.ids.count(pair.ids[-1]), []).append(index)
        batches = (
            [[group[place] for place in places] for places in batch]
            for group in groups.values()
            for batch in packed_batches([len(pairs[i].ids) for i in group], rows, most_tokens)
        )
        for parts in batches:
            indices = [index for part in parts for index in part]
            logits = self._logits([[pairs[index] for index in part] for part in parts])
            dtype = str(logits.dtype).removeprefix("torch.")
            # Apple GPUs lack float64, so the logits are moved to the CPU first.
            logits = logits.float().cpu().double()
            if not logits.isfinite().all():
                raise non_finite_error("outputs", dtype)
            for column, output in enumerate(outputs):
                if output is not None:
                    probabilities[indices, column] = logits.softmax(-1)[:, output]
        return probabilities

    def _logits(self, groups: Sequence[Sequence[JoinedPair]]) -> Tensor:
        """Return the logits, [pairs, labels], for groups of pairs of equal length."""
        ids = [self._tensor([pair.ids for pair in group]) for group in groups]
        token_types = None
        if groups[0][0].token_types is not None:
            token_types = [self._tensor([pair.token_types for pair in group]) for group in groups]
        with deterministic_inference(self.device):
            if self.encoder is not None:
                first = [torch.zeros_like(group[:, :1]) for group in ids]
                states = self.encoder.states_at(ids, first, token_types)
                logits: Tensor = self.model(states[:, None])
                return logits.flatten(0, -2)
            types: Sequence[Tensor | None] = token_types or [None] * len(ids)
            parts = [run_model(self.model, *group).logits for group in zip(ids, types, strict=True)]
            return torch.cat([part[: len(group)] for part, group in zip(parts, ids, strict=True)])

    def _tensor(self, rows: Sequence[object]) -> Tensor:
        return torch.from_numpy(np.asarray(rows, dtype=np.int64)).to(self.device)


def load_nli(checkpoint: Checkpoint, settings: NLISettings) -> NLIModel:
    """Load a checkpoint's model, and check that the checkpoint has all of its weights.

    Warn if the model misclassifies simple pairs or copies of factual sentences.
    """
    model = NLIModel.load(checkpoint, settings, CLASSIFIERS)
    labels = read_labels(checkpoint.name, checkpoint.config.id2label, settings.labels)
    pairs = [(premise, hypothesis) for premise, hypothesis, _ in PROBES]
    sequences = list(join_pairs(checkpoint.tokenizer, pairs, checkpoint.limit))
    probabilities = model.probabilities(sequences, labels)
    if not labels.three_way:
        probabilities[:, 2] = 1 - probabilities[:, 0]
    found = [NLI_LABELS[index] for index in probabilities.argmax(1)]
    wrong = [probe for probe, label in zip(PROBES, found, strict=True) if label != probe[2]]
    if wrong:
        outputs = {name: index for name, index in vars(labels).items() if index is not None}
        premise, hypothesis, label = wrong[0]
        warn_user(
            f"the model {checkpoint.name!r} does not classify {premise!r} and {hypothesis!r} as "
            f"{label}. Its outputs are interpreted as {outputs}. If the labels are wrong, pass "
            "labels=NAMES in output order. Otherwise, choose another model if scores of "
            "identical texts and of small differences matter."
        )
    return model
