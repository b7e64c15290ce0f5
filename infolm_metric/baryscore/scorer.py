"""Scores of BaryScore: texts to weighted points, and the cost of moving one text's onto another's.

A token's place is the mean of its normalised states over chosen layers. For equal weights over the
layers this is what the Wasserstein barycentre of a text's layers comes to: with a token's weight
the same in each of them, moving every token's points to their mean is a fixed point of the
barycentre's iteration (Cuturi and Doucet 2014).
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from infolm_metric.core.determinism import (
    deterministic_inference,
    deterministic_linear,
    repeat_texts,
)
from infolm_metric.core.encoding import EncodingScorer, Texts
from infolm_metric.core.idf import CorpusStatistics, WeightedText
from infolm_metric.core.inputs import Pairs, check_text
from infolm_metric.core.models import Architecture, Checkpoint, load_weights, non_finite_error
from infolm_metric.core.results import warn
from infolm_metric.core.scorer import Progress, no_progress
from infolm_metric.core.tokenization import (
    Template,
    TokenizedText,
    Window,
    equal_length_batches,
    windows,
)

# What is held at once while pairs are compared: texts, and bytes of their points.
CHUNK_TEXTS = 2048
CHUNK_BYTES = 1 << 28
TOKEN_BYTES = 4  # of a text, about
# Tokens that one forward pass may hold, by device, where the caller leaves the choice to us.
TOKENS_PER_BATCH = {"cpu": 4096, "cuda": 16_384}


def _is_encoder(config: Any) -> bool:
    """True for an encoder alone, with or without a head."""
    kind = type(config)
    decodes = kind in MODEL_FOR_CAUSAL_LM_MAPPING and kind not in MODEL_FOR_MASKED_LM_MAPPING
    encoder_decoder = getattr(config, "is_encoder_decoder", False)
    return kind in MODEL_MAPPING and not decodes and not encoder_decoder


@dataclass(frozen=True)
class Encoder:
    """A loaded model in evaluation mode."""

    model: Any
    checkpoint: Checkpoint
    device: torch.device

    def states(self, ids: Tensor) -> tuple[Tensor, ...]:
        """The hidden states of texts without padding, int64 [texts, tokens].

        The embeddings, then those of every layer, each [texts, tokens, hidden].

        Raises ValueError if there are not as many as the model's configuration says.
        """
        with deterministic_inference(self.device):
            rows = repeat_texts(ids.to(self.device))
            output = self.model(
                input_ids=rows,
                attention_mask=torch.ones_like(rows),
                output_hidden_states=True,
                return_dict=True,
            )
        states = getattr(output, "hidden_states", None) or ()
        if len(states) != self.checkpoint.states:
            raise ValueError(
                f"{self.checkpoint.name!r} gives {len(states)} hidden states, and its "
                f"configuration says {self.checkpoint.states}; "
                f"{self.checkpoint.architecture.remedy}"
            )
        # Apple's GPUs have no float64, in which all that follows is computed.
        on_apple = self.device.type == "mps"
        return tuple(rows[: len(ids)].cpu() if on_apple else rows[: len(ids)] for rows in states)


class BaryScorer(EncodingScorer):
    """Scores candidates against references; the model is loaded at the first use and kept.

    Args:
        settings: `BaryScoreSettings`, or None for the defaults.
        **changed: settings by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.

    >>> scorer = BaryScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'baryscore': [0.0]}
    >>> next(scorer.stream([("The cat sat down.", "The cat sat down.")], idf=False))
    {'baryscore': 0.0}
    """

    settings_type = BaryScoreSettings
    architecture = Architecture(
        AutoModel,
        fits=_is_encoder,
        unfit="and not an encoder alone: a token's state must see the whole text",
        remedy='choose an encoder such as "google-bert/bert-base-uncased", any sentence encoder, '
        'or "bundled"',
        part="encoder",
        # Written out, attention gives the same bits in any batch, which fused attention does not.
        attention="eager",
    )
    perfect_score_label = "the same tokens in the same places"

    # How texts are read, and how two encodings are compared.

    def open(self, settings: BaryScoreSettings) -> Checkpoint:
        """The tokenizer of the encoder, with its facts."""
        checkpoint = super().open(settings)
        name, remedy = checkpoint.name, self.architecture.remedy
        if checkpoint.states is None:
            raise ValueError(f"the model {name!r} does not say how many layers it has; {remedy}")
        if not checkpoint.template.overhead:
            raise ValueError(
                f"the tokenizer of {name!r} puts no special token around a text, so that an empty "
                f"one has no states; {remedy}"
            )
        return checkpoint

    def load(self, checkpoint: Checkpoint, settings: BaryScoreSettings) -> Encoder:
        """The encoder; no state needs its pooler."""
        model = load_weights(checkpoint, settings.dtype, settings.device, optional="pooler")
        return Encoder(deterministic_linear(model), checkpoint, model.device)

    def check(
        self, pairs: Pairs, settings: BaryScoreSettings, statistics: CorpusStatistics
    ) -> None:
        """Raise what would keep pairs from being scored: hidden states that are not there."""
        self._indices(settings)
        super().check(pairs, settings, statistics)

    def chunks(self, pairs: Pairs, settings: BaryScoreSettings) -> Iterator[Pairs]:
        """The pairs in parts whose points are held at once."""
        hidden = int(self.models.checkpoint(settings).config.hidden_size)
        limit = self.models.checkpoint(settings).text_limit(settings.max_length)
        most_tokens = limit if limit and settings.long_text == "truncate" else float("inf")
        token_size = 8 * hidden * CHUNK_TEXTS / CHUNK_BYTES  # in texts
        return pairs.chunks(
            CHUNK_TEXTS,
            lambda text: max(1.0, token_size * min(len(text.encode()) / TOKEN_BYTES, most_tokens)),
        )

    def encode(
        self, texts: Texts, settings: BaryScoreSettings, progress: Progress = no_progress
    ) -> dict[Hashable, Tensor]:
        """The points of each text by its token ids, float64 [tokens, hidden] on the CPU.

        Those of its maskable tokens; of all its tokens where it has no maskable one.
        """
        model, layers = self.models.model(settings), self._indices(settings)
        limit = model.checkpoint.text_limit(settings.max_length)
        distinct: dict[Hashable, WeightedText] = {text.key[0]: text for text in texts}
        cache = {ids: self.models.cache.get((ids, limit, layers)) for ids in distinct}
        encodings = {ids: points for ids, points in cache.items() if points is not None}
        missing = {ids: text for ids, text in distinct.items() if ids not in encodings}
        pieces = [
            (ids, window)
            for ids, text in missing.items()
            for window in read_windows(text.text, model.checkpoint.template, limit)
        ]
        rows = None if settings.batch_size == "auto" else int(settings.batch_size)
        lengths = [len(window.ids) for _, window in pieces]
        most_tokens = TOKENS_PER_BATCH.get(model.device.type, TOKENS_PER_BATCH["cpu"])
        tokens_read = 0
        for indices in equal_length_batches(lengths, rows, most_tokens):
            batch = [pieces[index] for index in indices]
            tokens = torch.from_numpy(np.stack([window.ids for _, window in batch]))
            means = mean_states(model.states(tokens), layers).cpu()
            if not means.isfinite().all():
                raise non_finite_error("states", settings.dtype)
            for mean, (ids, window) in zip(means, batch, strict=True):
                if ids not in encodings:
                    shape = len(own_tokens(missing[ids].text)), means.shape[-1]
                    encodings[ids] = torch.empty(shape, dtype=torch.float64, device="cpu")
                encodings[ids][window.indices] = mean[window.positions]
            tokens_read += tokens.numel()
            progress(tokens_read / sum(lengths))
        for ids in missing:
            self.models.cache.put((ids, limit, layers), encodings[ids])
        return encodings

    def compare(
        self,
        candidates: Texts,
        references: Texts,
        encodings: Mapping[Hashable, Tensor],
        settings: BaryScoreSettings,
    ) -> dict[str, np.ndarray]:
        """The distance of candidates and references, float64 [pairs]; equal pairs move once."""
        clouds = {
            text.key: WeightedPoints.of(encodings[text.key[0]].numpy(), text.log_weights)
            for text in {text.key: text for text in (*candidates, *references)}.values()
        }
        pairs = [(x.key, y.key) for x, y in zip(candidates, references, strict=True)]
        # Equal texts score 0, which rounding would not let them.
        distances = {
            (x, y): 0.0 if x == y else transport.squared_distance(clouds[x], clouds[y])
            for x, y in dict.fromkeys(pairs)
        }
        return {settings.metric: np.asarray([distances[pair] for pair in pairs])}

    def bounds(self, settings: BaryScoreSettings, name: str) -> tuple[float, float]:
        """0, for equal points, and the squared diameter of the ball in which points lie."""
        return 0.0, transport.LARGEST

    # More than scores.

    def explain(self, candidate: str, reference: str, **changed: Any) -> Explanation:
        """Which token of a text goes where in its reference, with what mass and at what cost.

        With idf="references" the reference is the corpus, as in `score`; give an `IDF` for another.

        Args:
            candidate: the text to judge.
            reference: what it is compared with.
            **changed: override the scorer's own settings for this call.

        Returns:
            The score, and the plan of transport between the tokens that it is the cost of.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.

        >>> scorer = BaryScorer(model_name_or_path="bundled", idf=False)
        >>> explanation = scorer.explain("A cat sat.", "The cat sat.")
        >>> explanation.candidate.tokens, explanation.reference.tokens
        (['a', 'cat', 'sat', '.'], ['the', 'cat', 'sat', '.'])
        >>> explanation.candidate.tokens[explanation.moves()[0].candidate]
        'a'
        """
        settings = self.settings.replace(**changed)
        check_text("candidate", candidate)
        check_text("reference", reference)
        pairs = Pairs([candidate], [[reference]])
        with self.lock:
            statistics = self.count(pairs.texts_by_side, settings)
            result = self.score_part(pairs, settings, statistics)
            sides = zip((candidate, reference), statistics.idf_tables(settings), strict=True)
            texts = [self.tokenize_and_weight([text], table, settings)[0] for text, table in sides]
            encodings = self.encode(texts, settings)
            tokenizer = self.models.checkpoint(settings).tokenizer
        warn(result.counts, self.warning_messages)
        x, y = (
            TokenPoints(
                tokenizer.convert_ids_to_tokens(own_tokens(text.text).tolist()),
                encodings[text.key[0]].numpy(),
                text.log_weights,
            )
            for text in texts
        )
        return explain_score(x, y, result.scores[settings.metric][0], result.signature)

    def _indices(self, settings: BaryScoreSettings) -> tuple[int, ...]:
        """Which hidden states of the model are read, of which 0 is the embeddings."""
        states = self.models.checkpoint(settings).states
        assert states is not None  # such models are not opened
        return settings.indices(states)


def read_windows(text: TokenizedText, template: Template, limit: int | None) -> list[Window]:
    """The windows of a text; without a maskable token it has its special ones, read as they are."""
    if text.maskable.any():
        return windows(text, template, limit)
    indices = np.arange(len(text.ids))
    return [Window(text.ids, indices, indices)]


def own_tokens(text: TokenizedText) -> np.ndarray:
    """Ids of the tokens that a text has points for: its maskable ones; all if there is none."""
    return text.tokens if text.maskable.any() else text.ids


def mean_states(hidden: Sequence[Tensor], layers: Sequence[int]) -> Tensor:
    """The mean of the normalised states over layers, float64 [texts, tokens, hidden].

    `hidden` are [texts, tokens, hidden] each.
    """
    units = (torch.nn.functional.normalize(hidden[i].double(), dim=-1) for i in layers)
    return functools.reduce(torch.add, units) / len(layers)
