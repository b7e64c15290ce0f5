"""BaryScore scorer, which compares texts as weighted points by optimal transport.

Each token is a point, the mean of its normalized states over the chosen layers. These means replace
the Wasserstein barycenter of the layers: with the same token weights in every layer, they are a
fixed point of the barycenter iteration (Cuturi and Doucet 2014).
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModel
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_MAPPING,
)

from infolm_metric.baryscore import transport
from infolm_metric.baryscore.explanation import Explanation, TokenPoints, explain_score
from infolm_metric.baryscore.settings import BaryScoreSettings
from infolm_metric.baryscore.transport import WeightedPoints
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, check_text
from infolm_metric.core.results import warn
from infolm_metric.core.scorer import Progress, no_progress
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
    Encodings,
    EncodingScorer,
    Texts,
)

TOKEN_BYTES = 4  # approximate number of bytes per token
# Tokens per forward pass with batch_size="auto", by device type. Several layers are kept.
STATES_PER_BATCH = {"cpu": 4096, "cuda": 16_384}


def _is_encoder(config: Any) -> bool:
    """Return True for encoder-only models, with or without a head."""
    kind = type(config)
    decoder = kind in MODEL_FOR_CAUSAL_LM_MAPPING and kind not in MODEL_FOR_MASKED_LM_MAPPING
    encoder_decoder = getattr(config, "is_encoder_decoder", False)
    return kind in MODEL_MAPPING and not decoder and not encoder_decoder


@dataclass(frozen=True)
class Encoder:
    """A loaded encoder in evaluation mode."""

    model: Any  # FastEncoder or, for other families, the transformers model
    checkpoint: Checkpoint
    device: torch.device

    def states(self, ids: Sequence[Tensor], layers: Sequence[int]) -> list[Tensor]:
        """Return the hidden states of some layers, [rows, hidden] each; index 0 means embeddings.

        `ids` are groups of texts of equal length, int64 [texts, tokens] each; there is no padding.
        """
        ids = [group.to(self.device) for group in ids]
        with deterministic_inference(self.device):
            if isinstance(self.model, FastEncoder):
                states = self.model.states(ids, layers)
            else:
                parts = [self._full_model_states(group, layers) for group in ids]
                states = [torch.cat(rows) for rows in zip(*parts, strict=True)]
        # Apple GPUs lack float64, which all following computations use.
        return [rows.to(float64_device(self.device)) for rows in states]

    def _full_model_states(self, ids: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """Return the transformers model's hidden states for texts of equal length."""
        output = run_model(self.model, ids, output_hidden_states=True)
        states = getattr(output, "hidden_states", None) or ()
        if len(states) != self.checkpoint.states:
            raise InputError(
                f"the model {self.checkpoint.name!r} returned {len(states)} hidden states, but its "
                f"configuration implies {self.checkpoint.states}; "
                f"{self.checkpoint.architecture.remedy}"
            )
        return [states[layer][: len(ids)].flatten(0, 1) for layer in layers]


@dataclass(frozen=True, kw_only=True)
class BaryScoreRun(EncodingRun[BaryScoreSettings]):
    """A call of BaryScore. Encodings are points, float64 [tokens, hidden], by token ids.

    Attributes:
        layers: indices of the hidden states to average; 0 means the embeddings.
    """

    scorer: BaryScorer
    layers: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        states = self.checkpoint.states
        assert states is not None  # checked in `BaryScorer.open`
        object.__setattr__(self, "layers", self.settings.indices(states))

    def chunks(self, pairs: Pairs) -> Iterator[Pairs]:
        """Divide pairs into chunks whose points fit in `CHUNK_BYTES`."""
        hidden = int(self.checkpoint.config.hidden_size)
        truncated = self.limit is not None and self.settings.long_text == "truncate"
        most_tokens = float(self.limit or 0) if truncated else float("inf")
        # Memory for a token's point, as a fraction of CHUNK_BYTES / CHUNK_TEXTS.
        token_size = 8 * hidden * CHUNK_TEXTS / CHUNK_BYTES
        return pairs.chunks(
            CHUNK_TEXTS,
            lambda text: max(1.0, token_size * min(len(text.encode()) / TOKEN_BYTES, most_tokens)),
        )

    def encode(self, texts: Texts, progress: Progress = no_progress) -> dict[Hashable, Tensor]:
        """Return the points of each text by its token ids, float64 [tokens, hidden] on the CPU.

        Special tokens have points only in texts without maskable tokens.
        """
        settings, models = self.settings, self.scorer.models
        model, options = models.model(settings), (self.limit, self.layers)
        distinct: dict[Hashable, WeightedText] = {text.key[0]: text for text in texts}
        cache = {ids: models.cache.get((ids, *options)) for ids in distinct}
        encodings = {ids: points for ids, points in cache.items() if points is not None}
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
            means = mean_states(model.states(tokens, self.layers)).cpu()
            if not means.isfinite().all():
                raise non_finite_error("states", settings.dtype)
            indices = [index for group in groups for index in group]
            parts = means.split([lengths[index] for index in indices])
            for mean, index in zip(parts, indices, strict=True):
                ids, window = pieces[index]
                if ids not in encodings:
                    shape = len(tokens_with_points(missing[ids].text)), mean.shape[1]
                    encodings[ids] = torch.empty(shape, dtype=torch.float64, device="cpu")
                encodings[ids][window.indices] = mean[window.positions]
            tokens_encoded += len(means)
            progress(tokens_encoded / sum(lengths))
        for ids in missing:
            models.cache.put((ids, *options), encodings[ids])
        return encodings

    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings
    ) -> dict[str, np.ndarray]:
        """Compute the minimum transport costs, float64 [pairs]; compute identical pairs once."""
        clouds = {
            text.key: WeightedPoints.of(encodings[text.key[0]].numpy(), text.log_weights)
            for text in {text.key: text for text in (*candidates, *references)}.values()
        }
        pairs = [(x.key, y.key) for x, y in zip(candidates, references, strict=True)]
        # Identical texts score exactly 0, regardless of rounding.
        distances = {
            (x, y): 0.0 if x == y else transport.squared_distance(clouds[x], clouds[y])
            for x, y in dict.fromkeys(pairs)
        }
        return {self.settings.metric: np.asarray([distances[pair] for pair in pairs])}


class BaryScorer(EncodingScorer[BaryScoreSettings]):
    """BaryScore scorer; the model is loaded on first use and kept.

    `settings` is a `BaryScoreSettings` object, or None for the defaults. Settings can also be
    passed as keyword arguments, which every method accepts for a single call. The class and its
    methods raise InputError if an argument is invalid (checked before loading the
    model), and OSError if the model cannot be found.

    >>> scorer = BaryScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'baryscore': [0.0]}
    """

    settings_type = BaryScoreSettings
    run_type = BaryScoreRun
    architecture = Architecture(
        AutoModel,
        fits=_is_encoder,
        unfit="but BaryScore needs an encoder-only model (bidirectional attention)",
        remedy='choose an encoder such as "google-bert/bert-base-uncased", any sentence encoder, '
        'or "bundled"',
        part="encoder",
        attention="eager",  # batch-invariant, unlike fused attention
    )
    perfect_score_label = "identical tokens"

    def open(self, settings: BaryScoreSettings) -> Checkpoint:
        """Open the encoder's checkpoint, and check its number of layers and special tokens."""
        checkpoint = super().open(settings)
        name, remedy = checkpoint.name, self.architecture.remedy
        if checkpoint.states is None:
            raise InputError(
                f"the configuration of the model {name!r} does not specify the number of layers; "
                f"{remedy}"
            )
        if not checkpoint.template.overhead:
            raise InputError(
                f"the tokenizer of {name!r} adds no special tokens, so empty texts would have no "
                f"hidden states; {remedy}"
            )
        return checkpoint

    def load(self, checkpoint: Checkpoint, settings: BaryScoreSettings) -> Encoder:
        """Load the encoder; the pooler may be missing, because no hidden state depends on it."""
        model = load_weights(checkpoint, settings.dtype, settings.device, optional="pooler")
        device, encoder = model.device, fast_encoder(model)
        if encoder is None or len(encoder.layers) + 1 != checkpoint.states:
            return Encoder(deterministic_linear(model), checkpoint, device)
        return Encoder(encoder, checkpoint, device)

    def bounds(self, settings: BaryScoreSettings, name: str) -> tuple[float, float]:
        """Return the bounds: 0 for identical points, and the squared diameter of the unit ball."""
        return 0.0, transport.LARGEST_COST

    def explain(self, candidate: str, reference: str, **changed: Any) -> Explanation:
        """Explain the score of `candidate` against `reference` using the optimal transport plan.

        Token weights are uniform unless idf is a table (`IDF`). `changed` overrides settings for
        this call.

        >>> scorer = BaryScorer(model_name_or_path="bundled", idf=False)
        >>> explanation = scorer.explain("A cat sat.", "The cat sat.")
        >>> explanation.candidate.tokens[explanation.moves()[0].candidate]
        'a'
        """
        settings = self.settings.replace(**changed).with_uniform_weights()
        check_text("candidate", candidate)
        check_text("reference", reference)
        with self.lock:
            run = self.prepare(settings)
            assert isinstance(run, BaryScoreRun)
            result, texts = run.score_pair(candidate, reference)
            encodings = run.encode(texts)
        tokenizer = run.checkpoint.tokenizer
        warn(result.counts, self.warning_messages)
        x, y = (
            TokenPoints(
                tokenizer.convert_ids_to_tokens(tokens_with_points(text.text).tolist()),
                encodings[text.key[0]].numpy(),
                text.log_weights,
            )
            for text in texts
        )
        return explain_score(x, y, result.scores[settings.metric][0], result.signature)


def encoded_windows(text: TokenizedText, template: Template, limit: int | None) -> list[Window]:
    """Return a text's windows; a text with only special tokens is a single window."""
    if text.maskable.any():
        return windows(text, template, limit)
    indices = np.arange(len(text.ids))
    return [Window(text.ids, indices, indices)]


def tokens_with_points(text: TokenizedText) -> np.ndarray:
    """Return the ids of the maskable tokens, or of all tokens if none is maskable."""
    return text.tokens if text.maskable.any() else text.ids


def mean_states(states: Sequence[Tensor]) -> Tensor:
    """Return the mean of the normalized states over the layers, float64 [rows, hidden]."""
    units = (torch.nn.functional.normalize(rows.double(), dim=-1) for rows in states)
    return functools.reduce(torch.add, units) / len(states)
