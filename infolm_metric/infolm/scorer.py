"""Scores of InfoLM: texts to distributions, and these compared by information measures."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric.core.encoding import EncodingScorer, Texts, reduce_references
from infolm_metric.core.idf import IDF, CorpusStatistics, WeightedText
from infolm_metric.core.inputs import Pairs, check_pairs, check_text, check_texts
from infolm_metric.core.results import ChunkScores, Result, add_counts, warn
from infolm_metric.core.scorer import Progress, no_progress
from infolm_metric.infolm import measures
from infolm_metric.infolm.distributions import (
    distributions,
    interpolated,
    log_predictions,
    predictions,
)
from infolm_metric.infolm.encoders import ARCHITECTURE, load_masked_lm
from infolm_metric.infolm.explanation import Explanation, TextView, explain_score
from infolm_metric.infolm.measures import MeasureSpec
from infolm_metric.infolm.settings import InfoLMSettings

# What is held at once while pairs are compared: bytes of distributions, and texts. A sweep may hold
# more, because a text then has many distributions, and those of close texts should be together.
CHUNK_BYTES = 1 << 28
SWEEP_BYTES = 1 << 30
CHUNK_TEXTS = 2048
COMPARED_ELEMENTS = 1 << 22  # entries of the distributions compared in one step


class InfoLMScorer(EncodingScorer):
    """Scores candidates against references; the model is loaded at the first use and kept.

    Args:
        settings: `InfoLMSettings`, or None for the defaults.
        **changed: settings by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.

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
    load = staticmethod(load_masked_lm)

    # How texts are read, and how two encodings are compared.

    def chunks(self, pairs: Pairs, settings: InfoLMSettings) -> Iterator[Pairs]:
        """The pairs in parts whose distributions are held at once."""
        return pairs.chunks(self._room(settings, CHUNK_BYTES))

    def encode(
        self,
        texts: Texts,
        settings: InfoLMSettings,
        progress: Progress = no_progress,
        temperatures: Sequence[float] = (),
    ) -> dict[Hashable, Tensor]:
        """log p of each text by its key, float64 [vocab]; of several temperatures [them, vocab]."""
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
        by_key = distributions(missing, model, settings, all_temperatures, progress)
        for key, log_p in by_key.items():
            for name, row in zip(names[key], log_p, strict=True):
                self.models.cache.put(name, row)
            encodings[key] = log_p
        return encodings if temperatures else {key: log_p[0] for key, log_p in encodings.items()}

    def compare(
        self,
        candidates: Texts,
        references: Texts,
        encodings: Mapping[Hashable, Tensor],
        settings: InfoLMSettings,
    ) -> dict[str, np.ndarray]:
        """Every measure that was asked for, of candidates and references, float64 [pairs] each."""
        values = self._compare(candidates, references, encodings, [settings])
        return dict(zip(settings.names, values, strict=True))

    def compare_all(
        self,
        candidates: Texts,
        references: Texts,
        encodings: Mapping[Hashable, Tensor],
        settings: InfoLMSettings,
    ) -> np.ndarray:
        """The measure of all candidates with all references, float64 [candidates, references]."""
        log_q, log_p = (
            interpolated(texts, encodings, settings.interpolation)
            for texts in (candidates, references)
        )
        (name,) = settings.names
        spec = MeasureSpec(name, settings.symmetrize, settings.alpha, settings.beta)
        return measures.compare_all(spec, log_p, log_q).T.cpu().numpy()

    def block_size(self, settings: InfoLMSettings) -> int:
        """The number of texts whose distributions are held at once."""
        return self._room(settings, CHUNK_BYTES)

    def bounds(self, settings: InfoLMSettings, name: str) -> tuple[float, float]:
        """0, for equal distributions, and the largest value of the measure."""
        return 0.0, settings.upper_bound(name)

    def count_warnings(self, texts: Texts, settings: InfoLMSettings) -> Counter[str]:
        """The counts of texts that are not scored quite as they were written."""
        counts, masks = super().count_warnings(texts, settings), settings.masks_per_pass
        if masks and not settings.interpolation:  # else some token of its own is read, or counts
            counts["one_token"] = sum(
                0 < len(text.log_weights) <= masks
                and (masks == 1 or bool(np.isfinite(text.log_weights).all()))
                for text in texts
            )
        return counts

    # More than scores.

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
        """Results for all combinations of what the lists hold, from one pass of the model.

        Each result comes with its settings and equals what `score` gives for them. Measures are
        those of `information_measure`; a measure takes part once for every value of the parameters
        it has, and combinations outside its domain, such as alpha = 1, are left out.

        Args:
            predictions: as for `score`.
            references: likewise.
            temperatures: each > 0; None here and below: that of the settings alone.
            interpolations: each from 0 to 1.
            alphas: finite numbers.
            betas: likewise.
            idfs: what the setting `idf` can be.
            **changed: override the scorer's own settings for this call.

        Returns:
            The settings and the result of each combination.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
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
        # On the same texts: the most there is to warn of.
        kinds = {kind for result in results for kind in result.counts}
        counts = {kind: max(result.counts[kind] for result in results) for kind in kinds}
        documents = [result.counts["few_documents"] for result in results]
        warn(
            {**counts, "few_documents": min(filter(None, documents), default=0)},
            self.warning_messages,
        )
        return list(zip(plan.grid, results, strict=True))

    def distributions(self, texts: Any, **changed: Any) -> Tensor:
        """log p(. | text) of each text, float64 [texts, vocab].

        Args:
            texts: at least one string; with idf="references" or "separate" they are the corpus,
                too.
            **changed: override the scorer's own settings for this call.

        Returns:
            Log-probabilities, float64 [texts, vocab].

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed)
        texts = check_texts("texts", texts)
        if not texts:
            raise ValueError("texts is empty; give at least one text")
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
        return interpolated(weighted_texts, encodings, settings.interpolation)

    def explain(self, candidate: str, reference: str, **changed: Any) -> Explanation:
        """What the model predicts at each position of two texts, and what drives their score.

        With idf="references" the reference is the corpus, as in `score`; give an `IDF` for another.

        Args:
            candidate: the text to judge.
            reference: what it is compared with.
            **changed: override the scorer's own settings for this call; one measure, and
                masks_per_pass 0 or 1.

        Returns:
            The score, the view of either text, and the share of each vocabulary entry in the score.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed)
        check_text("candidate", candidate)
        check_text("reference", reference)
        if len(settings.names) > 1:
            raise ValueError(
                f"information_measure must be one measure for explain, got {settings.names}"
            )
        if settings.masks_per_pass > 1:
            raise ValueError(
                "masks_per_pass must be 1 or 0 for explain, which shows what the model predicts at "
                f"each position, got {settings.masks_per_pass}"
            )
        pairs = Pairs([candidate], [[reference]])
        with self.lock:
            statistics = self.count(pairs.texts_by_side, settings)
            result = self.score_part(pairs, settings, statistics)
            sides = zip((candidate, reference), statistics.idf_tables(settings), strict=True)
            views = [
                self._view(self.tokenize_and_weight([text], table, settings)[0], settings)
                for text, table in sides
            ]
            tokenizer = self.models.checkpoint(settings).tokenizer
        warn(result.counts, self.warning_messages)
        ((score,),) = result.scores.values()
        return explain_score(views[0], views[1], settings, score, result.signature, tokenizer)

    # The steps of a pass.

    def _room(self, settings: InfoLMSettings, most_bytes: int, count: int = 1) -> int:
        """The number of texts whose distributions, `count` of a text, are held at once."""
        size = 8 * self.models.checkpoint(settings).size * count
        return max(2, min(CHUNK_TEXTS, most_bytes // size))

    def _compare(
        self,
        candidates: Texts,
        references: Texts,
        encodings: Mapping[Hashable, Tensor],
        grid: Sequence[InfoLMSettings],
    ) -> np.ndarray:
        """The measures of settings that interpolate alike, float64 [measures, pairs]."""
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
                interpolated(texts[part], encodings, grid[0].interpolation)
                for texts in (candidates, references)
            )
            values[:, part] = measures.compare_each(specs, log_p, log_q).cpu().numpy()
        return values

    def _view(self, text: WeightedText, settings: InfoLMSettings) -> TextView:
        """The predictions at every position of a text, those of weight 0 included."""
        # Weighed by their number, because windows read without a mask do not come in order.
        numbers = np.arange(len(text.log_weights), dtype=np.float64)
        copy = WeightedText(text.key, text.text, numbers)
        steps = list(predictions([[copy]], self.models.model(settings), settings))
        order = torch.cat([weights[:, 0] for _, weights, _ in steps]).argsort()
        logits = torch.cat([logits for *_, logits in steps])
        log_p = log_predictions(logits[order.to(logits.device)], settings.temperature)
        tokenizer = self.models.checkpoint(settings).tokenizer
        ids, log_weights = text.text.tokens.tolist(), text.log_weights
        if not ids:
            ids, log_weights = [tokenizer.mask_token_id], np.zeros(1)
        weights = torch.from_numpy(log_weights).to(log_p.device)
        mean = torch.logsumexp(log_p + weights[:, None], dim=0)
        (mean,) = interpolated([text], {text.key: mean}, settings.interpolation)
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
        room = self._room(plan.grid[0], SWEEP_BYTES, len(plan.temperatures) * len(groups))
        for chunk in pairs.chunks(room):
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
                        rule, (name,) = settings.multi_reference, settings.names
                        scores = reduce_references(column, chunk.counts, rule).tolist()
                        counts = self.count_warnings([*candidates, *references], settings)
                        parts[index].append(ChunkScores({name: scores}, counts))
        results = []
        for settings, chunks in zip(plan.grid, parts, strict=True):
            whole, documents = ChunkScores.join(chunks), statistics[settings.idf]
            counts = add_counts([whole.counts, {"few_documents": documents.distinct_documents}])
            signature = self.signature(settings, documents)
            results.append(Result(settings.metric, whole.scores, signature, False, counts))
        return results


@dataclass(frozen=True)
class SweepPlan:
    """Settings of a sweep, of one measure each, that need one pass of the model.

    They differ in temperature, interpolation, measure, parameters and token weights.
    """

    grid: tuple[InfoLMSettings, ...]

    @classmethod
    def make(
        cls,
        settings: InfoLMSettings,
        lists: Mapping[str, Sequence[Any] | None],
        changed: dict[str, Any],
    ) -> SweepPlan:
        """Plan all combinations of the values in `lists`, by name of the setting.

        Raises:
            TypeError, ValueError: a list or a setting is wrong, or no combination is in the domain
                of a measure.
        """
        axes: dict[str, list[Any]] = {}
        for name, values in lists.items():
            if values is None:
                continue
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
                raise TypeError(f"{name}s must be a list of values, got {values!r}")
            axes[name] = list(values)
            if not axes[name]:
                raise ValueError(f"{name}s must be a list of at least one value, got {values!r}")
        measure = changed.pop("information_measure", settings.names)
        # Without its measures, because their parameters come from the lists.
        base = settings.replace(**changed, information_measure="fisher_rao_distance")
        names = base.replace(information_measure=measure, alpha=0.5, beta=0.5).names
        alphas = axes.pop("alpha", [base.alpha])
        betas = axes.pop("beta", [base.beta])
        bases = [
            base.replace(**dict(zip(axes, values, strict=True)))
            for values in itertools.product(*axes.values())
        ]
        grid = tuple(
            each.replace(information_measure=name, alpha=alpha, beta=beta)
            for each in bases
            for name in names
            for alpha, beta in measures.parameter_grid(name, alphas, betas)
        )
        if not grid:
            raise ValueError(
                f"alphas={alphas} and betas={betas} hold no value in the domain "
                f"of {', '.join(names)}; see measures.MEASURES for the domains"
            )
        return cls(grid)

    @property
    def temperatures(self) -> list[float]:
        """Temperatures at which texts are encoded."""
        return list(dict.fromkeys(settings.temperature for settings in self.grid))

    def groups(
        self, statistics: Mapping[Any, CorpusStatistics]
    ) -> dict[tuple[IDF | None, IDF | None], dict[tuple[float, float], list[int]]]:
        """Group the indices of settings that share encodings.

        Settings with equal token weights share a pass; those with equal temperature and
        interpolation share distributions.
        """
        groups: dict[Any, dict[tuple[float, float], list[int]]] = {}
        for index, settings in enumerate(self.grid):
            by_tables = groups.setdefault(statistics[settings.idf].idf_tables(settings), {})
            key = (settings.temperature, settings.interpolation)
            by_tables.setdefault(key, []).append(index)
        return groups
