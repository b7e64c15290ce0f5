"""InfoLM scorer, which compares distributions of texts by information measures."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric.core.checks import InputError, is_list
from infolm_metric.core.idf import IDF
from infolm_metric.core.inputs import Pairs, check_pairs, check_text, check_texts
from infolm_metric.core.results import ChunkScores, Result, warn
from infolm_metric.infolm import measures
from infolm_metric.infolm.distributions import (
    all_logits,
    distributions,
    interpolate,
    log_predictions,
    predictions,
    stored_predictions,
)
from infolm_metric.infolm.explanation import Explanation, TextView
from infolm_metric.infolm.masked_lm import HEADS, MASKED_LM, MaskedLM
from infolm_metric.infolm.settings import InfoLMSettings
from infolm_metric.models.checkpoints import Checkpoint
from infolm_metric.models.tokenization import WeightedText
from infolm_metric.scoring.encoding_scorer import (
    CHUNK_TEXTS,
    EncodingRun,
    Encodings,
    EncodingScorer,
    Texts,
)

# Memory for the distributions of a chunk.
CHUNK_BYTES = 1 << 26
MANY_TOKENS = 512  # of a text, for models without a limit


@dataclass(frozen=True, kw_only=True)
class InfoLMRun(EncodingRun[InfoLMSettings]):
    """A call of InfoLM. Encodings are distributions, log p, float64 [vocab]."""

    scorer: InfoLMScorer

    @cached_property
    def plans(self) -> list[measures.Plan]:
        """Requested measures with their parameters."""
        settings = self.settings
        return [
            measures.plan(name, settings.symmetrize, settings.alpha, settings.beta)
            for name in settings.names
        ]

    def chunks(self, pairs: Pairs) -> Iterator[Pairs]:
        """Divide pairs into chunks whose distributions fit in `CHUNK_BYTES`."""
        return pairs.chunks(self.chunk_size(CHUNK_BYTES))

    def chunk_size(self, most_bytes: int, count: int = 1) -> int:
        """Return the number of texts of `count` rows, float64 [vocab], that fit in `most_bytes`."""
        return max(2, min(CHUNK_TEXTS, most_bytes // (8 * self.checkpoint.size * count)))

    def encode(self, texts: Texts, keep_logits: bool = False) -> dict[Hashable, Tensor]:
        """Return log p by text key, float64 [vocab]. Logits can be kept for other settings."""
        settings, models = self.settings, self.scorer.models
        model, options = models.model(settings), (self.limit, settings.masking)
        distinct: dict[Hashable, WeightedText] = {text.key: text for text in texts}
        names = {key: (key, *options, settings.temperature) for key in distinct}
        cache = {key: models.cache.get(name) for key, name in names.items()}
        encodings = {key: log_p for key, log_p in cache.items() if log_p is not None}
        missing = [text for key, text in distinct.items() if key not in encodings]
        if keep_logits or self.scorer.keep_logits:
            predicted = stored_predictions(missing, self.logits(missing))
        else:
            predicted = predictions(missing, model, settings, self.limit)
        for key, log_p in distributions(missing, predicted, settings).items():
            encodings[key] = models.cache.put(names[key], log_p)
        return encodings

    def logits(self, texts: Texts) -> dict[bytes, Tensor]:
        """Return the logits at all positions by token ids, including positions of weight 0."""
        model, cache = self.scorer.models.model(self.settings), self.scorer.models.cache
        options = "logits", self.limit, self.settings.masking
        kept = {text.key[0]: cache.get((text.key[0], *options)) for text in texts}
        logits = {ids: rows for ids, rows in kept.items() if rows is not None}
        missing = [text for text in texts if text.key[0] not in logits]
        for ids, rows in all_logits(missing, model, self.settings, self.limit).items():
            logits[ids] = cache.put((ids, *options), rows)
        return logits

    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings
    ) -> dict[str, np.ndarray]:
        """Compute all requested measures, float64 [pairs] by name."""
        log_q, log_p = (
            interpolate(texts, encodings, self.settings.interpolation)
            for texts in (candidates, references)
        )
        values = measures.compare_plans(self.plans, log_p, log_q).cpu().numpy()
        return dict(zip(self.settings.names, values, strict=True))

    def count_warnings(self, texts: Texts) -> Counter[str]:
        """Count texts, tokens, and the texts that cause each warning."""
        counts, settings = super().count_warnings(texts), self.settings
        # If a single token has a weight, it is masked, so the score ignores it unless interpolated.
        if settings.masking == "token" and not settings.interpolation:
            counts["one_token"] = sum(int(np.isfinite(x.log_weights).sum()) == 1 for x in texts)
        return counts

    def explain(self, candidate: str, reference: str) -> Explanation:
        """Score a pair with a single measure, and explain the score."""
        result, texts = self.score_pair(candidate, reference)
        warn(result.counts)
        x, y = map(self.view, texts)
        ((measure, (score,)),), settings = result.scores.items(), self.settings
        shares = measures.shares(
            measure,
            y.log_distribution,
            x.log_distribution,
            symmetrize=settings.symmetrize,
            alpha=settings.alpha,
            beta=settings.beta,
        )
        total = float(shares.sum())
        if total > 0:
            shares *= score / total  # so that the shares add up to the reported score
        vocabulary = self.checkpoint.vocabulary
        return Explanation(measure, score, result.signature, x, y, shares, vocabulary)

    def view(self, text: WeightedText) -> TextView:
        """Return the predictions at all positions of a text."""
        logits = self.logits([text])[text.key[0]]
        log_p = log_predictions(logits, self.settings.temperature)
        (mean,) = interpolate([text], self.encode([text]), self.settings.interpolation)
        tokenizer = self.checkpoint.tokenizer
        ids = text.text.tokens.tolist() or [tokenizer.mask_token_id]
        weights = torch.from_numpy(text.position_weights).to(log_p.device)
        return TextView(tokenizer.convert_ids_to_tokens(ids), weights.exp(), log_p, mean)


class InfoLMScorer(EncodingScorer[InfoLMSettings]):
    """InfoLM scorer. The model is loaded on first use and kept.

    `settings` is an `InfoLMSettings` object, or None for the defaults. Keyword arguments override
    single settings, here and in the methods that score. Invalid arguments raise InputError before
    the model is loaded. If the model cannot be found, OSError is raised.

    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'fisher_rao_distance': [0.0]}
    >>> next(scorer.stream([("The cat sat down.", "The cat sat down.")], idf=False))
    {'fisher_rao_distance': 0.0}
    """

    settings_type = InfoLMSettings
    run_type = InfoLMRun
    architecture = MASKED_LM
    perfect_score_label = "the same distribution"
    # Whether to cache logits, 122 KB per token, so that other settings can reuse them.
    keep_logits = False

    def load(self, checkpoint: Checkpoint, settings: InfoLMSettings) -> MaskedLM:
        """Load the masked language model."""
        return MaskedLM.load(checkpoint, settings, HEADS)

    def bounds(self, settings: InfoLMSettings, name: str) -> tuple[float, float]:
        """Return the bounds: 0 for equal distributions, and the measure's upper bound."""
        return 0.0, settings.upper_bound(name)

    def sweep(
        self,
        predictions: object,
        references: object,
        *,
        temperatures: Sequence[float] | None = None,
        interpolations: Sequence[float] | None = None,
        alphas: Sequence[float] | None = None,
        betas: Sequence[float] | None = None,
        idfs: Sequence[bool | str | IDF] | None = None,
        **changed: object,
    ) -> list[tuple[InfoLMSettings, Result]]:
        """Score pairs with every combination of the listed values. Encode each text once.

        Return the settings and the result of each combination. The result equals the result of
        `score` with these settings. Each measure in `information_measure` is combined only with the
        parameters it uses. Values outside its domain, such as alpha = 1 for Renyi, are skipped.

        `predictions` and `references` are as in `score`. The lists are `temperatures` (values > 0),
        `interpolations` (0 to 1), `alphas` and `betas` (finite numbers), and `idfs` (values of
        `idf`). None means the value in the settings. `changed` overrides settings for this call.
        """
        pairs = check_pairs(predictions, references)
        lists = {
            "idf": idfs,
            "temperature": temperatures,
            "interpolation": interpolations,
            "alpha": alphas,
            "beta": betas,
        }
        grid = sweep_grid(self.settings, lists, changed)
        with self.lock:
            results = self._sweep(pairs, grid)
        # All combinations score the same texts, so each warning reports the largest count.
        warn(reduce(operator.or_, (Counter(result.counts) for result in results)))
        return list(zip(grid, results, strict=True))

    def distributions(self, texts: object, **changed: object) -> Tensor:
        """Return the vocabulary distributions of texts: log-probabilities, float64 [texts, vocab].

        `texts` is a non-empty list of strings, which is also the corpus if idf is "references" or
        "separate". `changed` overrides settings for this call.
        """
        settings = self.settings.replace(**changed)
        texts = check_texts("texts", texts, least=1)
        pairs = Pairs(texts, [[text] for text in texts])
        with self.lock:
            run = self._run(settings, pairs.texts_by_side)
            run.check(pairs)
            weighted_texts = run.tokenize_and_weight(texts, run.tables[0])
            encodings = run.encode(weighted_texts)
            counts = run.count_warnings(weighted_texts)
        warn(run.corpus_counts(pairs, counts))
        return interpolate(weighted_texts, encodings, settings.interpolation)

    def explain(self, candidate: str, reference: str, **changed: object) -> Explanation:
        """Explain a score in terms of the predictions at each position and the tokens' shares.

        Return the score of `candidate` against `reference`, the predictions for both texts, and the
        contribution of each vocabulary entry. Token weights are uniform unless idf is a table
        (`IDF`). `changed` overrides settings for this call, with a single measure.
        """
        settings = self.settings.replace(**changed).with_uniform_weights()
        check_text("candidate", candidate)
        check_text("reference", reference)
        if len(settings.names) > 1:
            name, got = "information_measure", ", ".join(settings.names)
            raise InputError(
                f"{name} must be a single measure for explain, got {got}", setting=name
            )
        with self.lock:
            return self._run(settings).explain(candidate, reference)

    def _run(
        self, settings: InfoLMSettings, corpus: Mapping[str, Sequence[str]] | None = None
    ) -> InfoLMRun:
        run = self.prepare(settings, corpus)
        assert isinstance(run, InfoLMRun)
        return run

    def _sweep(self, pairs: Pairs, grid: Sequence[InfoLMSettings]) -> list[Result]:
        """Score pairs with each of the settings. Texts are encoded once if the logits are kept."""
        by_idf = {settings.idf: settings for settings in grid}
        counted = {idf: self._run(each, pairs.texts_by_side) for idf, each in by_idf.items()}
        for run in counted.values():
            run.check(pairs)
        runs = [replace(counted[settings.idf], settings=settings) for settings in grid]
        parts: list[list[ChunkScores]] = [[] for _ in grid]
        memory = grid[0].reuse_memory  # for the logits of a chunk
        for chunk in pairs.chunks(runs[0].chunk_size(memory, runs[0].limit or MANY_TOKENS)):
            encoded: dict[Hashable, tuple[Texts, Texts, Encodings]] = {}
            for run, part in zip(runs, parts, strict=True):
                key = run.tables, run.settings.temperature
                if key not in encoded:
                    sides = run.weighted(chunk)
                    encoded[key] = *sides, run.encode([*sides[0], *sides[1]], keep_logits=True)
                part.append(run.compare_pairs(chunk, *encoded[key]))
        results = []
        for run, chunks in zip(runs, parts, strict=True):
            whole = ChunkScores.join(chunks)
            counts = run.corpus_counts(pairs, whole.counts)
            results.append(Result("infolm", whole.scores, run.signature, False, counts))
        return results


def sweep_grid(
    settings: InfoLMSettings, lists: Mapping[str, Sequence[object] | None], changed: dict[str, Any]
) -> list[InfoLMSettings]:
    """Return all combinations of the values in `lists`, which maps setting names to lists.

    Each has a single measure. They differ only in measure, parameters, temperature, interpolation
    and token weights, so each text is encoded only once.
    """
    axes: dict[str, Any] = {name: values for name, values in lists.items() if values is not None}
    for name, values in axes.items():
        if not is_list(values) or not len(values):
            raise InputError(f"{name}s must be a list of at least one value, got {values!r}")
    measure = changed.pop("information_measure", settings.names)
    # Start with a measure without parameters, because alpha and beta may come from the lists.
    base = settings.replace(**changed, information_measure="fisher_rao_distance")
    names = base.replace(information_measure=measure, alpha=0.5, beta=0.5).names
    alphas = axes.pop("alpha", [base.alpha])
    betas = axes.pop("beta", [base.beta])
    grid = [
        base.replace(
            **dict(zip(axes, values, strict=True)), information_measure=name, alpha=alpha, beta=beta
        )
        for values in itertools.product(*axes.values())
        for name in names
        for alpha, beta in measures.parameter_grid(name, alphas, betas)
    ]
    if not grid:
        domains = (f"{x.name}: {x.domain}" for n in names for x in measures.MEASURES[n].parameters)
        raise InputError(
            f"alphas={alphas} and betas={betas} contain no valid values for {', '.join(names)} "
            f"({', '.join(domains)}). Add one."
        )
    return grid
