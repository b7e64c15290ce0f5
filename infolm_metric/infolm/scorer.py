"""Scores of InfoLM: texts to distributions, and these compared by information measures."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric.core.idf import IDF, WeightedText
from infolm_metric.core.inputs import Pairs, check_pairs, check_text, check_texts
from infolm_metric.core.results import Result, add_counts, warn
from infolm_metric.core.scorer import Progress, Scorer, Texts, combine_references
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


class InfoLMScorer(Scorer):
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
    best_means = "the same distribution"
    load = staticmethod(load_masked_lm)

    # How texts are read, and how two readings are compared.

    def chunks(self, pairs: Pairs, settings: InfoLMSettings) -> Iterator[Pairs]:
        """The pairs in parts whose distributions are held at once."""
        return pairs.chunks(self._room(settings, CHUNK_BYTES))

    def read(
        self,
        texts: Texts,
        settings: InfoLMSettings,
        progress: Progress = lambda share: None,
        temperatures: Sequence[float] = (),
    ) -> dict[Hashable, Tensor]:
        """log p of each text by its key, float64 [vocab]; of several temperatures [them, vocab]."""
        model = self.model(settings)
        limit = model.checkpoint.text_limit(settings.max_length)
        distinct: dict[Hashable, WeightedText] = {text.key: text for text in texts}
        every = temperatures or [settings.temperature]
        names = {
            key: [(key, limit, settings.masks_per_pass, each) for each in every] for key in distinct
        }
        found: dict[Hashable, Tensor] = {}
        for key in distinct:
            rows = [self.cache.get(name) for name in names[key]]
            if all(row is not None for row in rows):
                found[key] = torch.stack([row for row in rows if row is not None])
        missing = [text for key, text in distinct.items() if key not in found]
        made = distributions(missing, model, settings, every, progress)
        for key, log_p in made.items():
            for name, row in zip(names[key], log_p, strict=True):
                self.cache.put(name, row)
            found[key] = log_p
        return found if temperatures else {key: log_p[0] for key, log_p in found.items()}

    def compare(
        self,
        candidates: Texts,
        references: Texts,
        readings: Mapping[Hashable, Tensor],
        settings: InfoLMSettings,
    ) -> dict[str, np.ndarray]:
        """Every measure that was asked for, of candidates and references, float64 [pairs] each."""
        values = self._compare(candidates, references, readings, [settings])
        return dict(zip(settings.names, values, strict=True))

    def compare_all(
        self,
        candidates: Texts,
        references: Texts,
        readings: Mapping[Hashable, Tensor],
        settings: InfoLMSettings,
    ) -> np.ndarray:
        """The measure of all candidates with all references, float64 [candidates, references]."""
        log_q, log_p = (
            interpolated(
                torch.stack([readings[text.key] for text in side]), side, settings.interpolation
            )
            for side in (candidates, references)
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
                0 < len(each.log_weights) <= masks
                and (masks == 1 or bool(np.isfinite(each.log_weights).all()))
                for each in texts
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
        grid = self._grid(lists, changed)
        with self.lock:
            results = self._sweep(pairs, grid)
        # On the same texts: the most there is to warn of.
        kinds = {kind for result in results for kind in result.counts}
        most = {kind: max(result.counts[kind] for result in results) for kind in kinds}
        few = [each.counts["few_documents"] for each in results if each.counts["few_documents"]]
        warn({**most, "few_documents": min(few, default=0)}, self.sentences)
        return list(zip(grid, results, strict=True))

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
        checked = check_texts("texts", texts)
        if not checked:
            raise ValueError("texts is empty; give at least one text")
        pairs = Pairs(checked, [[text] for text in checked])
        with self.lock:
            statistics = self.count(pairs, settings)
            self.check(pairs, settings, statistics)
            weighted = self.weigh(checked, statistics.weighting(settings)[0], settings)
            readings = self.read(weighted, settings)
            documents = {"few_documents": statistics.distinct}
            counts = add_counts([self.count_warnings(weighted, settings), documents])
            log_p = torch.stack([readings[text.key] for text in weighted])
        warn(counts, self.sentences)
        return interpolated(log_p, weighted, settings.interpolation)

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
            statistics = self.count(pairs, settings)
            result = self.score_part(pairs, settings, statistics)
            sides = zip((candidate, reference), statistics.weighting(settings), strict=True)
            views = [
                self._view(self.weigh([text], table, settings)[0], settings)
                for text, table in sides
            ]
            tokenizer = self.checkpoint(settings).tokenizer
        warn(result.counts, self.sentences)
        ((score,),) = result.scores.values()
        return explain_score(views[0], views[1], settings, score, result.signature, tokenizer)

    # The steps of a pass.

    def _room(self, settings: InfoLMSettings, most_bytes: int, each: int = 1) -> int:
        """The number of texts whose distributions, `each` of a text, are held at once."""
        size = 8 * self.checkpoint(settings).size * each
        return max(2, min(CHUNK_TEXTS, most_bytes // size))

    def _compare(
        self,
        candidates: Texts,
        references: Texts,
        readings: Mapping[Hashable, Tensor],
        every: Sequence[InfoLMSettings],
    ) -> np.ndarray:
        """The measures of settings that interpolate alike, float64 [measures, pairs]."""
        specs = [
            MeasureSpec(name, each.symmetrize, each.alpha, each.beta)
            for each in every
            for name in each.names
        ]
        step = max(1, COMPARED_ELEMENTS // next(iter(readings.values())).numel())
        values = np.empty((len(specs), len(references)))
        for start in range(0, len(references), step):
            part = slice(start, start + step)
            log_q, log_p = (
                interpolated(
                    torch.stack([readings[text.key] for text in side[part]]),
                    side[part],
                    every[0].interpolation,
                )
                for side in (candidates, references)
            )
            values[:, part] = measures.compare_each(specs, log_p, log_q).cpu().numpy()
        return values

    def _view(self, text: WeightedText, settings: InfoLMSettings) -> TextView:
        """The predictions at every position of a text, those of weight 0 included."""
        # Weighed by their number, because windows read without a mask do not come in order.
        numbers = np.arange(len(text.log_weights), dtype=np.float64)
        numbered = WeightedText(text.key, text.text, numbers)
        steps = list(predictions([[numbered]], self.model(settings), settings))
        order = torch.cat([weights[:, 0] for _, weights, _ in steps]).argsort()
        logits = torch.cat([logits for *_, logits in steps])
        log_p = log_predictions(logits[order.to(logits.device)], settings.temperature)
        tokenizer = self.checkpoint(settings).tokenizer
        ids, log_weights = text.text.tokens.tolist(), text.log_weights
        if not ids:
            ids, log_weights = [tokenizer.mask_token_id], np.zeros(1)
        weights = torch.from_numpy(log_weights).to(log_p.device)
        mean = torch.logsumexp(log_p + weights[:, None], dim=0)
        (mixed,) = interpolated(mean[None], [text], settings.interpolation)
        return TextView(tokenizer.convert_ids_to_tokens(ids), weights.exp(), log_p, mixed)

    def _grid(
        self, lists: Mapping[str, Sequence[Any] | None], changed: dict[str, Any]
    ) -> list[InfoLMSettings]:
        """The settings of a sweep, of one measure each."""
        given: dict[str, list[Any]] = {}
        for name, values in lists.items():
            if values is None:
                continue
            if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
                raise TypeError(f"{name}s must be a list of values, got {values!r}")
            given[name] = list(values)
            if not given[name]:
                raise ValueError(f"{name}s must be a list of at least one value, got {values!r}")
        asked = changed.pop("information_measure", self.settings.names)
        # Without a measure of its own, because the parameters come from the lists.
        base = self.settings.replace(**changed, information_measure="fisher_rao_distance")
        names = base.replace(information_measure=asked, alpha=0.5, beta=0.5).names
        alphas = given.pop("alpha", [base.alpha])
        betas = given.pop("beta", [base.beta])
        plain = [
            base.replace(**dict(zip(given, values, strict=True)))
            for values in itertools.product(*given.values())
        ]
        grid = [
            each.replace(information_measure=name, alpha=alpha, beta=beta)
            for each in plain
            for name in names
            for alpha, beta in measures.parameter_grid(name, alphas, betas)
        ]
        if not grid:
            raise ValueError(
                f"alphas={alphas} and betas={betas} hold no value in the domain "
                f"of {', '.join(names)}; see measures.MEASURES for the domains"
            )
        return grid

    def _sweep(self, pairs: Pairs, grid: Sequence[InfoLMSettings]) -> list[Result]:
        """The results for settings that differ in what is made of the model's predictions."""
        statistics = {
            each.idf: self.count(pairs, each) for each in {e.idf: e for e in grid}.values()
        }
        temperatures = list(dict.fromkeys(each.temperature for each in grid))
        # Settings that weigh texts alike, by their tables; in each, those of one distribution.
        weightings: dict[Any, dict[tuple[float, float], list[int]]] = {}
        for index, each in enumerate(grid):
            tables = statistics[each.idf].weighting(each)
            rows = weightings.setdefault(tables, {})
            rows.setdefault((each.temperature, each.interpolation), []).append(index)
        for idf, first in {each.idf: each for each in grid}.items():
            self.check(pairs, first, statistics[idf])
        parts: list[list[Counter[str]]] = [[] for _ in grid]
        scores: list[list[float]] = [[] for _ in grid]
        room = self._room(grid[0], SWEEP_BYTES, len(temperatures) * len(weightings))
        for chunk in pairs.chunks(room):
            owners = np.repeat(np.arange(len(chunk)), chunk.counts)
            weighted = {
                tables: (
                    self.weigh(chunk.predictions, tables[0], grid[0]),
                    self.weigh(chunk.flat_references, tables[1], grid[0]),
                )
                for tables in weightings
            }
            texts = [text for sides in weighted.values() for side in sides for text in side]
            readings = self.read(texts, grid[0], temperatures=temperatures)
            for tables, (candidates, references) in weighted.items():
                repeated = [candidates[owner] for owner in owners]
                for (temperature, _), indices in weightings[tables].items():
                    row = temperatures.index(temperature)
                    log_p = {key: reading[row] for key, reading in readings.items()}
                    every = [grid[index] for index in indices]
                    values = self._compare(repeated, references, log_p, every)
                    for index, column in zip(indices, values, strict=True):
                        how = grid[index].multi_reference
                        scores[index] += combine_references(column, chunk.counts, how).tolist()
                        counts = self.count_warnings([*candidates, *references], grid[index])
                        parts[index].append(counts)
        return [
            Result(
                each.metric,
                {each.names[0]: column},
                self.signature(each, statistics[each.idf]),
                self.higher_is_better,
                add_counts([*counts, {"few_documents": statistics[each.idf].distinct}]),
            )
            for each, column, counts in zip(grid, scores, parts, strict=True)
        ]
