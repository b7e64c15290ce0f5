"""InfoLM scorer, which compares distributions of texts by information measures."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric.core.encoding import Encodings, EncodingScorer, Texts
from infolm_metric.core.idf import IDF, CorpusStatistics, WeightedText
from infolm_metric.core.inputs import Pairs, check_pairs, check_texts
from infolm_metric.core.models import Checkpoint
from infolm_metric.core.results import ChunkScores, Result, warn
from infolm_metric.core.scorer import Progress, corpus_counts, no_progress
from infolm_metric.infolm import measures
from infolm_metric.infolm.distributions import (
    Predictions,
    distributions,
    interpolate,
    log_predictions,
    predictions,
)
from infolm_metric.infolm.explanation import Explanation, TextView, explain_score
from infolm_metric.infolm.masked_lm import ARCHITECTURE, HEADS, MaskedLM
from infolm_metric.infolm.measures import MeasureSpec
from infolm_metric.infolm.settings import InfoLMSettings

# Maximum memory for the distributions of a chunk of pairs, in bytes, and maximum number of texts in
# a chunk. A sweep needs more memory, because it has several distributions per text.
CHUNK_BYTES = 1 << 28
SWEEP_BYTES = 1 << 30
CHUNK_TEXTS = 2048
COMPARED_ELEMENTS = 1 << 22  # entries of the distributions that are compared in one step


class InfoLMScorer(EncodingScorer):
    """InfoLM scorer; the model is loaded on first use and kept.

    `settings` is an `InfoLMSettings` object, or None for the defaults. Settings can also be passed
    as keyword arguments, which every method accepts for a single call. The class and its methods
    raise TypeError or ValueError if an argument is invalid (checked before loading the model), and
    OSError if the model cannot be found.

    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'fisher_rao_distance': [0.0]}
    >>> next(scorer.stream([("The cat sat down.", "The cat sat down.")], idf=False))
    {'fisher_rao_distance': 0.0}
    """

    settings_type = InfoLMSettings
    architecture = ARCHITECTURE
    perfect_score_label = "the same distribution"
    # Whether to cache logits, 122 KB per token, so that `sweep` and `explain` can reuse them.
    keep_logits = False

    # Encoding and comparison.

    def load(self, checkpoint: Checkpoint, settings: InfoLMSettings) -> MaskedLM:
        """Load the masked language model."""
        return MaskedLM.load(checkpoint, settings, HEADS)

    def chunks(self, pairs: Pairs, settings: InfoLMSettings) -> Iterator[Pairs]:
        """Divide pairs into chunks whose distributions fit in `CHUNK_BYTES`."""
        return pairs.chunks(self._chunk_size(settings, CHUNK_BYTES))

    def encode(
        self,
        texts: Texts,
        settings: InfoLMSettings,
        progress: Progress = no_progress,
        temperatures: Sequence[float] = (),
    ) -> dict[Hashable, Tensor]:
        """Return log p by text key: float64 [vocab]; with `temperatures`, [temperatures, vocab]."""
        model = self.models.model(settings)
        options = model.checkpoint.text_limit(settings.max_length), settings.masks_per_pass
        distinct: dict[Hashable, WeightedText] = {text.key: text for text in texts}
        all_temperatures = temperatures or [settings.temperature]
        names = {
            key: [(key, *options, temperature) for temperature in all_temperatures]
            for key in distinct
        }
        encodings: dict[Hashable, Tensor] = {}
        for key in distinct:
            rows = [row for name in names[key] if (row := self.models.cache.get(name)) is not None]
            if len(rows) == len(all_temperatures):
                encodings[key] = torch.stack(rows)
        missing = [text for key, text in distinct.items() if key not in encodings]
        cached = self.keep_logits and settings.masks_per_pass == 1
        predict = self._cached_predictions if cached else predictions
        by_key = distributions(missing, model, settings, all_temperatures, progress, predict)
        for key, log_p in by_key.items():
            for name, row in zip(names[key], log_p, strict=True):
                self.models.cache.put(name, row)
            encodings[key] = log_p
        return encodings if temperatures else {key: log_p[0] for key, log_p in encodings.items()}

    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings, settings: InfoLMSettings
    ) -> dict[str, np.ndarray]:
        """Compute all requested measures; return float64 [pairs] by name."""
        values = self._compare(candidates, references, encodings, [settings])
        return dict(zip(settings.names, values, strict=True))

    def compare_all(
        self, candidates: Texts, references: Texts, encodings: Encodings, settings: InfoLMSettings
    ) -> np.ndarray:
        """Compare all candidates with all references; return float64 [candidates, references]."""
        log_q, log_p = (
            interpolate(texts, encodings, settings.interpolation)
            for texts in (candidates, references)
        )
        (name,) = settings.names
        spec = MeasureSpec(name, settings.symmetrize, settings.alpha, settings.beta)
        return measures.compare_all(spec, log_p, log_q).T.cpu().numpy()

    def block_size(self, settings: InfoLMSettings) -> int:
        """Return the number of texts whose distributions fit in `CHUNK_BYTES`."""
        return self._chunk_size(settings, CHUNK_BYTES)

    def bounds(self, settings: InfoLMSettings, name: str) -> tuple[float, float]:
        """Return the bounds: 0 for equal distributions, and the measure's upper bound."""
        return 0.0, settings.upper_bound(name)

    def count_warnings(self, texts: Texts, settings: InfoLMSettings) -> Counter[str]:
        """Count texts, tokens, and the texts that cause each warning."""
        counts, masks = super().count_warnings(texts, settings), settings.masks_per_pass
        # The model never sees weighted tokens that are all masked in a single context, but
        # interpolation adds them.
        if masks and not settings.interpolation:
            counts["one_token"] = sum(
                0 < int(np.isfinite(text.log_weights).sum()) <= masks for text in texts
            )
        return counts

    # Sweeps, distributions and explanations.

    def sweep(
        self,
        predictions: Any,
        references: Any,
        *,
        temperatures: Sequence[float] | None = None,
        interpolations: Sequence[float] | None = None,
        alphas: Sequence[float] | None = None,
        betas: Sequence[float] | None = None,
        idfs: Sequence[bool | str | IDF] | None = None,
        **changed: Any,
    ) -> list[tuple[InfoLMSettings, Result]]:
        """Score pairs with every combination of the listed values; encode each text once.

        Return the settings and the result of each combination; the result equals the result of
        `score` with these settings. Each measure in `information_measure` is combined only with the
        parameters it uses; values outside its domain, such as alpha = 1, are skipped.

        `predictions` and `references` are as in `score`. The lists are `temperatures` (values > 0),
        `interpolations` (0 to 1), `alphas` and `betas` (finite numbers), and `idfs` (values of
        `idf`); None means the value in the settings. `changed` overrides settings for this call.
        """
        pairs = check_pairs(predictions, references)
        lists = {
            "idf": idfs,
            "temperature": temperatures,
            "interpolation": interpolations,
            "alpha": alphas,
            "beta": betas,
        }
        plan = SweepPlan.make(self.settings, lists, changed)
        with self.lock:
            results = self._sweep(pairs, plan)
        # All combinations score the same texts, so each warning reports the largest count.
        kinds = {kind for result in results for kind in result.counts}
        counts = {kind: max(result.counts[kind] for result in results) for kind in kinds}
        documents = [result.counts["few_documents"] for result in results]
        warn(
            {**counts, "few_documents": min(filter(None, documents), default=0)},
            self.warning_messages,
        )
        return list(zip(plan.grid, results, strict=True))

    def distributions(self, texts: Any, **changed: Any) -> Tensor:
        """Return the vocabulary distributions of texts: log-probabilities, float64 [texts, vocab].

        `texts` is a non-empty list of strings, which is also the corpus if idf is "references" or
        "separate". `changed` overrides settings for this call.
        """
        settings = self.settings.replace(**changed)
        texts = check_texts("texts", texts)
        if not texts:
            raise ValueError("texts is empty; pass at least one text")
        pairs = Pairs(texts, [[text] for text in texts])
        with self.lock:
            statistics = self.count(pairs.texts_by_side, settings)
            self.check(pairs, settings, statistics)
            weighted_texts = self.tokenize_and_weight(
                texts, statistics.idf_tables(settings)[0], settings
            )
            encodings = self.encode(weighted_texts, settings)
            counts = self.count_warnings(weighted_texts, settings)
        warn({**counts, "few_documents": statistics.distinct_documents}, self.warning_messages)
        return interpolate(weighted_texts, encodings, settings.interpolation)

    def explain(self, candidate: str, reference: str, **changed: Any) -> Explanation:
        """Explain a score in terms of the predictions at each position and the tokens' shares.

        Return the score of `candidate` against `reference`, the predictions for both texts, and the
        contribution of each vocabulary entry. Token weights are uniform unless idf is a table
        (`IDF`).
        `changed` overrides settings for this call, with a single measure and masks_per_pass 0 or 1.
        """
        settings = self.settings.replace(**changed).with_uniform_weights()
        if len(settings.names) > 1:
            raise ValueError(
                "information_measure must be a single measure for explain, got "
                f"{', '.join(settings.names)}"
            )
        if settings.masks_per_pass > 1:
            raise ValueError(
                f"masks_per_pass must be 0 or 1 for explain, got {settings.masks_per_pass}; an "
                "explanation shows one prediction per position"
            )
        with self.lock:
            result, texts = self.score_pair(candidate, reference, settings)
            views = [self._view(text, settings) for text in texts]
            vocabulary = self.models.checkpoint(settings).vocabulary
        warn(result.counts, self.warning_messages)
        ((score,),) = result.scores.values()
        return explain_score(views[0], views[1], settings, score, result.signature, vocabulary)

    # Implementation.

    def _chunk_size(self, settings: InfoLMSettings, most_bytes: int, count: int = 1) -> int:
        """Return the number of texts that fit in memory with `count` distributions each."""
        size = 8 * self.models.checkpoint(settings).size * count
        return max(2, min(CHUNK_TEXTS, most_bytes // size))

    def _compare(
        self,
        candidates: Texts,
        references: Texts,
        encodings: Encodings,
        grid: Sequence[InfoLMSettings],
    ) -> np.ndarray:
        """Compute all measures in a grid with a single interpolation, float64 [measures, pairs]."""
        specs = [
            MeasureSpec(name, settings.symmetrize, settings.alpha, settings.beta)
            for settings in grid
            for name in settings.names
        ]
        step = max(1, COMPARED_ELEMENTS // next(iter(encodings.values())).numel())
        values = np.empty((len(specs), len(references)))
        for start in range(0, len(references), step):
            part = slice(start, start + step)
            log_q, log_p = (
                interpolate(texts[part], encodings, grid[0].interpolation)
                for texts in (candidates, references)
            )
            values[:, part] = measures.compare_each(specs, log_p, log_q).cpu().numpy()
        return values

    def _cached_predictions(
        self, groups: Sequence[Texts], model: MaskedLM, settings: InfoLMSettings
    ) -> Predictions:
        """Yield `predictions` at all positions of each text, from cached logits if possible."""
        for index, group in enumerate(groups):
            logits = self._logits(group[0], settings)
            log_weights = np.stack([_position_weights(text) for text in group], axis=1)
            yield torch.full((len(logits),), index), torch.from_numpy(log_weights), logits

    def _logits(self, text: WeightedText, settings: InfoLMSettings) -> Tensor:
        """Return the logits at all positions of a text, including positions of weight 0."""
        model = self.models.model(settings)
        limit = model.checkpoint.text_limit(settings.max_length)
        name = ("logits", text.key[0], limit, settings.masks_per_pass)
        logits = self.models.cache.get(name)
        if logits is None:
            # Without masks, windows are not in order. Position numbers, passed as weights, are used
            # to sort the logits.
            numbers = np.arange(len(text.log_weights), dtype=np.float64)
            numbered = WeightedText(text.key, text.text, numbers)
            parts = list(predictions([[numbered]], model, settings))
            order = torch.cat([weights[:, 0] for _, weights, _ in parts]).argsort()
            logits = torch.cat([logits for *_, logits in parts])
            logits = logits[order.to(logits.device)]
            self.models.cache.put(name, logits)
        return logits

    def _view(self, text: WeightedText, settings: InfoLMSettings) -> TextView:
        """Return the predictions at all positions of a text."""
        log_p = log_predictions(self._logits(text, settings), settings.temperature)
        tokenizer = self.models.checkpoint(settings).tokenizer
        ids = text.text.tokens.tolist() or [tokenizer.mask_token_id]
        weights = torch.from_numpy(_position_weights(text)).to(log_p.device)
        mean = torch.logsumexp(log_p + weights[:, None], dim=0)
        (mean,) = interpolate([text], {text.key: mean}, settings.interpolation)
        return TextView(tokenizer.convert_ids_to_tokens(ids), weights.exp(), log_p, mean)

    def _sweep(self, pairs: Pairs, plan: SweepPlan) -> list[Result]:
        """Execute a plan: encode each text once at all temperatures, and compare the encodings."""
        texts = pairs.texts_by_side
        by_idf = {settings.idf: settings for settings in plan.grid}
        statistics = {idf: self.count(texts, settings) for idf, settings in by_idf.items()}
        for idf, settings in by_idf.items():
            self.check(pairs, settings, statistics[idf])
        groups = plan.groups(statistics)
        parts: list[list[ChunkScores]] = [[] for _ in plan.grid]
        count = len(plan.temperatures) * len(groups)
        for chunk in pairs.chunks(self._chunk_size(plan.grid[0], SWEEP_BYTES, count)):
            owners = np.repeat(np.arange(len(chunk)), chunk.counts)
            sides = {
                tables: [
                    self.tokenize_and_weight(texts, table, plan.grid[0])
                    for texts, table in zip(chunk.texts_by_side.values(), tables, strict=True)
                ]
                for tables in groups
            }
            chunk_texts = [text for both in sides.values() for side in both for text in side]
            encodings = self.encode(chunk_texts, plan.grid[0], temperatures=plan.temperatures)
            for tables, (candidates, references) in sides.items():
                repeated = [candidates[owner] for owner in owners]
                for (temperature, _), indices in groups[tables].items():
                    row = plan.temperatures.index(temperature)
                    log_p = {key: rows[row] for key, rows in encodings.items()}
                    group = [plan.grid[index] for index in indices]
                    values = self._compare(repeated, references, log_p, group)
                    for index, settings, column in zip(indices, group, values, strict=True):
                        by_name = dict(zip(settings.names, [column], strict=True))
                        parts[index].append(
                            self.reduce(candidates, references, chunk.counts, by_name, settings)
                        )
        results = []
        for settings, chunks in zip(plan.grid, parts, strict=True):
            whole, documents = ChunkScores.join(chunks), statistics[settings.idf]
            counts = corpus_counts(pairs, documents, whole.counts)
            signature = self.signature(settings, documents)
            results.append(Result(settings.metric, whole.scores, signature, False, counts))
        return results


def _position_weights(text: WeightedText) -> np.ndarray:
    """Return the log weights of a text's positions, or of the single mask of an empty text."""
    return text.log_weights if len(text.log_weights) else np.zeros(1)


@dataclass(frozen=True)
class SweepPlan:
    """Settings of a sweep, each with a single measure.

    They differ only in measure, parameters, temperature, interpolation and token weights, so each
    text is encoded only once.
    """

    grid: tuple[InfoLMSettings, ...]

    @classmethod
    def make(
        cls,
        settings: InfoLMSettings,
        lists: Mapping[str, Sequence[Any] | None],
        changed: dict[str, Any],
    ) -> SweepPlan:
        """Plan all combinations of the values in `lists`, which maps setting names to lists."""
        axes: dict[str, list[Any]] = {}
        for name, values in lists.items():
            if values is None:
                continue
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
                raise TypeError(f"{name}s must be a list of values, got {values!r}")
            axes[name] = list(values)
            if not axes[name]:
                raise ValueError(f"{name}s must contain at least one value, got {values!r}")
        measure = changed.pop("information_measure", settings.names)
        # Start with a measure without parameters, because alpha and beta may come from the lists.
        base = settings.replace(**changed, information_measure="fisher_rao_distance")
        names = base.replace(information_measure=measure, alpha=0.5, beta=0.5).names
        alphas = axes.pop("alpha", [base.alpha])
        betas = axes.pop("beta", [base.beta])
        grid = tuple(
            base.replace(
                **dict(zip(axes, values, strict=True)),
                information_measure=name,
                alpha=alpha,
                beta=beta,
            )
            for values in itertools.product(*axes.values())
            for name in names
            for alpha, beta in measures.parameter_grid(name, alphas, betas)
        )
        if not grid:
            raise ValueError(
                f"alphas={alphas} and betas={betas} contain no values in the domain of "
                f"{', '.join(names)}; see measures.MEASURES for the domains"
            )
        return cls(grid)

    @property
    def temperatures(self) -> list[float]:
        """Temperatures at which texts are encoded."""
        return list(dict.fromkeys(settings.temperature for settings in self.grid))

    def groups(
        self, statistics: Mapping[Any, CorpusStatistics]
    ) -> dict[tuple[IDF | None, IDF | None], dict[tuple[float, float], list[int]]]:
        """Group the indices of settings by IDF tables, then by temperature and interpolation.

        Settings in a group share token weights; settings in a subgroup also share distributions.
        """
        groups: dict[Any, dict[tuple[float, float], list[int]]] = {}
        for index, settings in enumerate(self.grid):
            by_tables = groups.setdefault(statistics[settings.idf].idf_tables(settings), {})
            key = (settings.temperature, settings.interpolation)
            by_tables.setdefault(key, []).append(index)
        return groups
