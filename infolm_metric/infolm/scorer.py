"""Scores of InfoLM: one reading of the texts by the model serves every measure made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric.infolm.comparison import Comparison, compare_singles, interpolated
from infolm_metric.infolm.distributions import Distributions
from infolm_metric.infolm.explanation import Explanation, explain_score
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.statistics import Statistics, Weighting, weighting
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.pairs import Pair, Pairs, check_pairs, check_text, check_texts
from infolm_metric.kernel.passes import Passes, Told
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import MetricScorer, Report
from infolm_metric.kernel.settings import check_lists
from infolm_metric.kernel.single_pairs import SinglePairs, chunks, counts_of, sides_of

if TYPE_CHECKING:
    from typing import Unpack

    from infolm_metric.infolm.keywords import Keywords

# What is held at once while pairs are compared: bytes of distributions, and texts. A sweep may hold
# more, because a text then has many distributions, and those of close texts should be together.
CHUNK_BYTES = 1 << 28
SWEEP_BYTES = 1 << 30
CHUNK_TEXTS = 2048


@dataclass(frozen=True)
class Plan:
    """One reading of the texts by the model, and all that is made of it."""

    settings: Settings  # those that say how texts are read
    weightings: Sequence[Weighting]
    temperatures: Sequence[float]
    comparisons: Sequence[Comparison]


class InfoLMPasses(Passes):
    """Scores pairs under any settings, in as few passes of the model as these allow."""

    settings_type = Settings
    best_means = "the same distribution"

    def __init__(self) -> None:
        self.distributions = Distributions()
        super().__init__(self.distributions)

    def read_by(self, settings: Settings) -> Settings:
        """These settings without what is made of the predictions that a reading gives."""
        return settings.reading("masks_per_pass")

    def score_alike(
        self,
        pairs: Pairs,
        read: Settings,
        asked: Sequence[tuple[Settings, Statistics]],
        report: Report,
    ) -> list[Result]:
        """The results for settings that one reading serves, each with its statistics."""
        checkpoint = self.distributions.opened(read)
        weighed = [weighting(each, counted, checkpoint) for each, counted in asked]
        weightings = list(dict.fromkeys(weighed))
        heats = list(dict.fromkeys(each.temperature for each, _ in asked))
        comparisons = [
            Comparison(name, each, heats.index(each.temperature), weightings.index(tables))
            for (each, _), tables in zip(asked, weighed, strict=True)
            for name in each.names
        ]
        plan = Plan(read, weightings, heats, comparisons)
        table, remarks = self.score_chunks(
            pairs,
            read,
            lambda: chunks(pairs, self._room(plan)),
            (len(comparisons), len(weightings)),
            partial(self._compare, plan),
            report,
        )
        rows = iter(table)
        results = []
        for (each, counted), tables in zip(asked, weighed, strict=True):
            scores = {name: next(rows).tolist() for name in each.names}
            results.append(
                Result(
                    each.metric,
                    scores,
                    self.signature(each, counted),
                    self.higher_is_better(each),
                    _fitting(remarks[weightings.index(tables)], each, counted),
                    each.several,
                )
            )
        return results

    def bounds(self, settings: Settings, name: str) -> tuple[float, float]:
        """0, for equal distributions, and the largest value of the measure."""
        return 0.0, settings.largest_value(name)

    # The steps of a pass, in order.

    def _room(self, plan: Plan) -> int:
        """The number of texts whose distributions are held at once."""
        each = len(plan.temperatures) * len(plan.weightings)
        held = CHUNK_BYTES if each == 1 else SWEEP_BYTES
        size = 8 * self.distributions.model(plan.settings).checkpoint.size * each
        return max(2, min(CHUNK_TEXTS, held // size))

    def _compare(
        self, plan: Plan, chunk: Sequence[Pair], scores: np.ndarray, report: Told
    ) -> list[Remarks]:
        """Fill in the scores of a chunk of pairs, float64 [comparisons, pairs]."""
        sides, counts = sides_of(chunk), counts_of(chunk)
        weighed = [self.distributions.read(sides, each, plan.settings) for each in plan.weightings]
        pairs = [SinglePairs(one, other, counts) for one, other in weighed]
        weighed_texts = [weighed_text for each in pairs for weighed_text in each.weighed_texts]
        found = self.distributions.of(weighed_texts, plan.settings, plan.temperatures, report)
        for index, singles in enumerate(pairs):
            rows = [row for row, c in enumerate(plan.comparisons) if c.weighting == index]
            compared = [plan.comparisons[row] for row in rows]
            values = compare_singles(singles, found, compared)
            for row, comparison, column in zip(rows, compared, values, strict=True):
                scores[row] = singles.combine(column, comparison.settings.multi_reference)
        return [self.distributions.remark(each.weighed_texts, plan.settings) for each in pairs]


class InfoLMScorer(MetricScorer):
    """Scores candidates against references; the model is loaded at the first use and kept.

    Args:
        **settings: the settings of InfoLM, by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.

    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'fisher_rao_distance': [0.0]}
    >>> next(scorer.stream([("The cat sat down.", "The cat sat down.")], idf=False))
    {'fisher_rao_distance': 0.0}
    """

    inner_type = InfoLMPasses
    inner: InfoLMPasses

    if TYPE_CHECKING:  # what is inherited, with the settings by name

        def __init__(self, **settings: Unpack[Keywords]) -> None: ...

        def score(  # type: ignore[override]  # noqa: D102
            self, predictions: Any, references: Any, **settings: Unpack[Keywords]
        ) -> Result: ...

        def stream(  # type: ignore[override]  # noqa: D102
            self, pairs: Iterable[Any], **settings: Unpack[Keywords]
        ) -> Iterator[dict[str, float]]: ...

        def signature(  # type: ignore[override]  # noqa: D102
            self, **settings: Unpack[Keywords]
        ) -> str: ...

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
        **settings: Unpack[Keywords],
    ) -> list[tuple[Settings, Result]]:
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
            **settings: override the scorer's own for this call.

        Returns:
            The settings and the result of each combination.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        pairs = check_pairs(predictions, references)
        if settings.get("rescale_with_baseline", self.settings.rescale_with_baseline):
            raise ValueError("a sweep is not rescaled; leave rescale_with_baseline out")
        lists = {
            "idfs": idfs,
            "temperatures": temperatures,
            "interpolations": interpolations,
            "alphas": alphas,
            "betas": betas,
        }
        given = check_lists({name: each for name, each in lists.items() if each is not None})
        asked = settings.pop("information_measure", self.settings.names)
        # Without a measure of its own, because the parameters come from the lists.
        base = self.settings.replace(**settings, information_measure="fisher_rao_distance")
        swept = {name.removesuffix("s"): each for name, each in given.items()}
        grid = base.grid({**swept, "information_measure": asked})
        with self.lock:
            forms = {each.idf: each for each in grid}
            counted = {form: self.inner.count(pairs, each) for form, each in forms.items()}
            results = self.inner.score_many(pairs, grid, [counted[each.idf] for each in grid])
        # On the same texts: those of the result that has most to remark.
        Remarks.most([each.remarks for each in results]).warn()
        return list(zip(grid, results, strict=True))

    def distributions(self, texts: Any, **settings: Unpack[Keywords]) -> Tensor:
        """log p(. | text) of each text, float64 [texts, vocab].

        Args:
            texts: at least one string; with idf="references" or "separate" they are the corpus,
                too.
            **settings: override the scorer's own for this call.

        Returns:
            Log-probabilities, float64 [texts, vocab].

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        chosen = self.settings.replace(**settings)
        checked = check_texts("texts", texts)
        if not checked:
            raise ValueError("texts is empty; give at least one text")
        with self.lock:
            kept = self.inner.distributions
            statistics = self.inner.count(Pairs(checked, [[text] for text in checked]), chosen)
            table, _ = weighting(chosen, statistics, kept.opened(chosen))
            (weighed_texts,) = kept.read([checked], [table], chosen)
            found = kept.of(weighed_texts, chosen, [chosen.temperature])
            _fitting(kept.remark(weighed_texts, chosen), chosen, statistics).warn()
            log_p = torch.stack([found[weighed_text.key][0] for weighed_text in weighed_texts])
            return interpolated(log_p, weighed_texts, chosen.interpolation)

    def explain(self, candidate: str, reference: str, **settings: Unpack[Keywords]) -> Explanation:
        """What the model predicts at each position of two texts, and what drives their score.

        With idf="references" the reference is the corpus, as in `score`; give an `IDF` for another.

        Args:
            candidate: the text to judge.
            reference: what it is compared with.
            **settings: override the scorer's own for this call; one measure, and masks_per_pass 0
                or 1.

        Returns:
            The score, the view of either text, and the share of each vocabulary entry in the score.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        chosen = self.settings.replace(**settings)
        check_text("candidate", candidate)
        check_text("reference", reference)
        pairs = Pairs([candidate], [[reference]])
        if len(chosen.names) > 1:
            raise ValueError(
                f"information_measure must be one measure for explain, got {chosen.names}"
            )
        if chosen.masks_per_pass > 1:
            raise ValueError(
                "masks_per_pass must be 1 or 0 for explain, which shows what the model predicts at "
                f"each position, got {chosen.masks_per_pass}"
            )
        with self.lock:
            kept = self.inner.distributions
            statistics = self.inner.count(pairs, chosen)
            result = self.inner.score(pairs, chosen, statistics)
            result.remarks.warn()
            tables = weighting(chosen, statistics, kept.opened(chosen))
            weighed_texts = kept.read([[candidate], [reference]], tables, chosen)
            views = [kept.view(weighed_text, chosen) for (weighed_text,) in weighed_texts]
        ((score,),) = result.scores.values()
        return explain_score(
            views[0], views[1], chosen, score, result.signature, kept.opened(chosen).tokenizer
        )

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model in the settings; `IDF.from_corpus` needs it."""
        return self.inner.distributions.opened(self.settings).tokenizer


def _fitting(remarks: Remarks, settings: Settings, statistics: Statistics) -> Remarks:
    """The remarks on texts as these settings read them."""
    # Read without a mask, or mixed with its own token, a text of one token is heard.
    heard = settings.masks_per_pass == 0 or settings.interpolation > 0
    one_token = 0 if heard else remarks.one_token
    return replace(remarks, one_token=one_token, distinct_documents=statistics.distinct)
