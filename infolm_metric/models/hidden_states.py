"""Hidden states of encoders, and base classes of the metrics that compare them.

The encoding of a text has one row per token, special tokens included. A row is computed from the
hidden states of the token in the layers that the settings select.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel, PreTrainedConfig
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_MAPPING,
)

from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, check_text
from infolm_metric.core.results import Result, warn
from infolm_metric.core.scorer import Progress, no_progress
from infolm_metric.core.settings import EncodingSettings
from infolm_metric.core.tokenization import (
    Template,
    TokenizedText,
    WeightedText,
    Window,
    device_limit,
    packed_batches,
    windows,
)
from infolm_metric.models.checkpoints import (
    Architecture,
    Checkpoint,
    load_weights,
    non_finite_error,
)
from infolm_metric.models.determinism import (
    deterministic_inference,
    deterministic_linear,
    float64_device,
)
from infolm_metric.models.encoders import FastEncoder, fast_encoder, run_model
from infolm_metric.models.encoding_scorer import (
    CHUNK_BYTES,
    CHUNK_TEXTS,
    EncodingRun,
    EncodingScorer,
    Texts,
)

TOKEN_BYTES = 4  # approximate number of bytes per token
# Tokens per forward pass with batch_size="auto", by device type. Several layers are kept.
STATES_PER_BATCH = {"cpu": 4096, "cuda": 16_384}

E = TypeVar("E", bound=EncodingSettings)


def is_encoder(config: PreTrainedConfig) -> bool:
    """Return True for encoder-only models, with or without a head."""
    kind = type(config)
    decoder = kind in MODEL_FOR_CAUSAL_LM_MAPPING and kind not in MODEL_FOR_MASKED_LM_MAPPING
    encoder_decoder = getattr(config, "is_encoder_decoder", False)
    return kind in MODEL_MAPPING and not decoder and not encoder_decoder


ENCODER = Architecture(
    AutoModel,
    fits=is_encoder,
    unfit="but this metric needs an encoder-only model (bidirectional attention)",
    remedy='Choose an encoder such as "google-bert/bert-base-uncased", any sentence encoder, '
    'or "bundled".',
    part="encoder",
    attention="eager",  # batch-invariant, unlike fused attention
)


@dataclass(frozen=True)
class Encoder:
    """A loaded encoder in evaluation mode."""

    model: Any  # FastEncoder or, for other families, the transformers model
    checkpoint: Checkpoint
    device: torch.device

    def states(self, ids: Sequence[Tensor], layers: Sequence[int]) -> list[Tensor]:
        """Return the hidden states of some layers, [rows, hidden] each. Index 0 means embeddings.

        `ids` are groups of texts of equal length, int64 [texts, tokens] each. There is no padding.
        """
        ids = [group.to(self.device) for group in ids]
        with deterministic_inference(self.device):
            if isinstance(self.model, FastEncoder):
                states = self.model.states(ids, layers)
            else:
                with self._fewer_layers(max(layers)) as count:
                    parts = [self._full_model_states(group, layers, count) for group in ids]
                states = [torch.cat(rows) for rows in zip(*parts, strict=True)]
        # Apple GPUs lack float64, which all following computations use.
        return [rows.to(float64_device(self.device)) for rows in states]

    def _full_model_states(self, ids: Tensor, layers: Sequence[int], count: int) -> list[Tensor]:
        """Return the states of texts of equal length from a transformers model with `count`."""
        output = run_model(self.model, ids, output_hidden_states=True)
        states = getattr(output, "hidden_states", None) or ()
        if len(states) != count:
            raise InputError(
                f"the model {self.checkpoint.name!r} returned {len(states)} hidden states, but its "
                f"configuration implies {count}. {self.checkpoint.architecture.remedy}"
            )
        return [states[layer][: len(ids)].flatten(0, 1) for layer in layers]

    @contextmanager
    def _fewer_layers(self, last: int) -> Iterator[int]:
        """Skip layers that the state `last` does not depend on, and return the number of states.

        One more layer is kept, because some families normalize the state of the last layer.
        """
        states = self.checkpoint.states or 0
        lists = (module for module in self.model.modules() if isinstance(module, nn.ModuleList))
        stack = next((modules for modules in lists if len(modules) == states - 1), nn.ModuleList())
        skipped = list(stack[last + 1 :])
        del stack[last + 1 :]
        try:
            yield states - len(skipped)
        finally:
            stack.extend(skipped)


@dataclass(frozen=True)
class EncodedText:
    """A text with its encoding, for explanations."""

    weighted: WeightedText
    tokens: list[str]  # [tokens], special tokens included
    encoding: Tensor  # [tokens, hidden]


class HiddenStatesScorer(EncodingScorer[E]):
    """Base class of scorers that compare hidden states. A metric implements its run."""

    architecture = ENCODER
    perfect_score_label = "identical tokens"

    def open(self, settings: E) -> Checkpoint:
        """Open the encoder's checkpoint, and check its number of layers and special tokens."""
        checkpoint = super().open(settings)
        name, remedy = checkpoint.name, self.architecture.remedy
        if checkpoint.states is None:
            raise InputError(
                f"the configuration of the model {name!r} does not specify the number of layers. "
                f"{remedy}"
            )
        if not checkpoint.template.overhead:
            raise InputError(
                f"the tokenizer of {name!r} adds no special tokens, so empty texts would have no "
                f"hidden states. {remedy}"
            )
        return checkpoint

    def load(self, checkpoint: Checkpoint, settings: E) -> Encoder:
        """Load the encoder. The pooler may be missing, because no hidden state depends on it."""
        model = load_weights(checkpoint, settings.dtype, settings.device, optional="pooler")
        device, encoder = model.device, fast_encoder(model)
        if encoder is None or len(encoder.layers) + 1 != checkpoint.states:
            return Encoder(deterministic_linear(model), checkpoint, device)
        return Encoder(encoder, checkpoint, device)

    def score_and_encode(
        self, candidate: str, reference: str, settings: E
    ) -> tuple[Result, list[EncodedText]]:
        """Score a pair with uniform weights or a table and return the result and both texts."""
        check_text("candidate", candidate)
        check_text("reference", reference)
        with self.lock:
            run = self.prepare(settings.with_uniform_weights())
            assert isinstance(run, HiddenStatesRun)
            result, texts = run.score_pair(candidate, reference)
            encodings = run.encode(texts)
        warn(result.counts, self.warning_messages)
        names = run.checkpoint.tokenizer.convert_ids_to_tokens
        return result, [
            EncodedText(text, names(text.text.ids.tolist()), encodings[text.key[0]])
            for text in texts
        ]


@dataclass(frozen=True, kw_only=True)
class HiddenStatesRun(EncodingRun[E]):
    """A run whose encodings are [tokens, hidden] by token ids.

    A metric implements `layer_indices` and `combine`, and `compare` of `EncodingRun`.

    Attributes:
        layers: indices of the hidden states that an encoding consists of. 0 means the embeddings.
    """

    dtype: ClassVar[torch.dtype]  # of the encodings
    scorer: HiddenStatesScorer[E]
    layers: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        states = self.checkpoint.states
        assert states is not None  # checked in `HiddenStatesScorer.open`
        object.__setattr__(self, "layers", self.layer_indices(states))

    @abstractmethod
    def layer_indices(self, states: int) -> tuple[int, ...]:
        """Return the indices of the layers in a model with `states` hidden states."""

    @abstractmethod
    def combine(self, states: Sequence[Tensor]) -> Tensor:
        """Combine the states of the layers, [rows, hidden] each, into rows of encodings."""

    def chunks(self, pairs: Pairs) -> Iterator[Pairs]:
        """Divide pairs into chunks whose encodings fit in `CHUNK_BYTES`."""
        hidden = int(self.checkpoint.config.hidden_size)
        truncated = self.limit is not None and self.settings.long_text == "truncate"
        most_tokens = float(self.limit or 0) if truncated else float("inf")
        # Memory for a token's row, as a fraction of CHUNK_BYTES / CHUNK_TEXTS.
        token_size = self.dtype.itemsize * hidden * CHUNK_TEXTS / CHUNK_BYTES
        return pairs.chunks(
            CHUNK_TEXTS,
            lambda text: max(1.0, token_size * min(len(text.encode()) / TOKEN_BYTES, most_tokens)),
        )

    def encode(self, texts: Texts, progress: Progress = no_progress) -> dict[Hashable, Tensor]:
        """Return the encoding of each text by its token ids, [tokens, hidden] on the CPU."""
        settings, models = self.settings, self.scorer.models
        model, options = models.model(settings), (self.limit, self.layers)
        distinct: dict[Hashable, WeightedText] = {text.key[0]: text for text in texts}
        cache = {ids: models.cache.get((ids, *options)) for ids in distinct}
        encodings = {ids: encoding for ids, encoding in cache.items() if encoding is not None}
        missing = {ids: text for ids, text in distinct.items() if ids not in encodings}
        pieces = [
            (ids, window)
            for ids, text in missing.items()
            for window in encoded_windows(text.text, self.checkpoint.template, self.limit)
        ]
        lengths = [len(window.ids) for _, window in pieces]
        most_tokens = device_limit(STATES_PER_BATCH, model.device.type)
        tokens_encoded = 0
        for groups in packed_batches(lengths, settings.rows_per_batch, most_tokens):
            tokens = [
                torch.from_numpy(np.stack([pieces[index][1].ids for index in group]))
                for group in groups
            ]
            rows = self.combine(model.states(tokens, self.layers)).cpu()
            if not rows.isfinite().all():
                raise non_finite_error("states", settings.dtype)
            indices = [index for group in groups for index in group]
            parts = rows.split_with_sizes([lengths[index] for index in indices])
            for part, index in zip(parts, indices, strict=True):
                ids, window = pieces[index]
                if ids not in encodings:
                    shape = len(missing[ids].text.ids), part.shape[1]
                    encodings[ids] = torch.empty(shape, dtype=self.dtype, device="cpu")
                encodings[ids][window.indices] = part[window.positions]
            tokens_encoded += len(rows)
            progress(tokens_encoded / sum(lengths))
        for ids in missing:
            models.cache.put((ids, *options), encodings[ids])
        return encodings


def encoded_windows(text: TokenizedText, template: Template, limit: int | None) -> list[Window]:
    """Return a text's windows, with indices of all tokens, special tokens included.

    The special tokens before and after a long text belong to its first and its last window.
    """
    everything = np.arange(len(text.ids))
    if limit is None or len(text.ids) <= limit:
        return [Window(text.ids, everything, everything)]
    maskable = np.flatnonzero(text.maskable)
    pieces = []
    for window in windows(text, template, limit):
        rows, positions = maskable[window.indices], window.positions
        if rows[0] == maskable[0]:
            rows, positions = np.r_[: rows[0], rows], np.r_[: positions[0], positions]
        if rows[-1] == maskable[-1]:
            rows = np.r_[rows, rows[-1] + 1 : len(text.ids)]
            positions = np.r_[positions, positions[-1] + 1 : len(window.ids)]
        pieces.append(Window(window.ids, rows, positions))
    return pieces
