"""MENLI scorer: formulas of NLI probabilities, optionally combined with another metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from infolm_metric import metrics
from infolm_metric.core.baselines import Baseline
from infolm_metric.core.checks import InputError
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs, check_texts
from infolm_metric.core.results import ChunkScores, reduce_references
from infolm_metric.menli.combination import CombinedMetric, scaled
from infolm_metric.menli.settings import NLI_FORMULAS, MENLISettings
from infolm_metric.scoring.nli_scorer import NLIRun, NLIScorer
from infolm_metric.scoring.scorer import Scorer


@dataclass(frozen=True, kw_only=True)
class MENLIRun(NLIRun[MENLISettings]):
    """A call of MENLI.

    Attributes:
        other: the other metric in a combination, or None.
    """

    scorer: MENLIScorer
    other: CombinedMetric | None

    def with_statistics(self, statistics: CorpusStatistics) -> MENLIRun:
        """Return the run with the statistics that the other metric needs."""
        other = self.other and replace(self.other, run=self.other.run.with_statistics(statistics))
        return replace(self, statistics=statistics, other=other)

    def count(
        self, texts: Mapping[str, Iterable[str]], num_proc: int | None = None
    ) -> CorpusStatistics:
        """Collect corpus statistics for the other metric in a combination."""
        return self.other.run.count(texts, num_proc) if self.other else CorpusStatistics()

    def check(self, pairs: Pairs) -> None:
        """Check that the pairs can be scored, before weights are loaded."""
        super().check(pairs)
        if self.other:
            self.other.check(pairs)

    def score_chunk(self, pairs: Pairs) -> ChunkScores:
        """Score pairs with the requested formulas."""
        settings = self.settings
        probabilities = self.pair_probabilities(pairs, settings.resolved_direction)
        tokens = self.tokens(pairs.texts)
        counts = self.count_warnings(pairs, tokens)
        one_empty, both_empty = empty_texts(pairs, tokens)
        if self.other:
            other_scores, other_counts = self.other.score(pairs)
            counts |= other_counts  # maxima, because both metrics count the same texts
            counts["no_baseline"] = 0 if self.other.baseline_range else len(pairs)
        starts = np.cumsum(pairs.counts, dtype=np.int64) - np.asarray(pairs.counts)
        columns: dict[str, list[float]] = {}
        for name in settings.names:
            low, high = min(NLI_FORMULAS[name]), max(NLI_FORMULAS[name])
            values = formula_values(name, probabilities)
            values = np.where(one_empty, low, np.where(both_empty, high, values))
            scores = reduce_references(values, pairs.counts, settings.multi_reference)
            if self.other:
                nli_scores = scaled(scores, (low, high))
                scores = settings.weight * nli_scores + (1 - settings.weight) * other_scores
                scores[np.logical_and.reduceat(one_empty, starts)] = 0.0
                scores[np.logical_and.reduceat(both_empty, starts)] = 1.0
            columns[name] = scores.tolist()
        return ChunkScores(columns, counts)

    def pair_probabilities(self, pairs: Pairs, direction: str) -> np.ndarray:
        """Return e, n and c for each reference and its candidate, float64 [references, 3].

        With direction "avg", they are means over both directions.
        """
        forward = [(text, candidate) for candidate, group in pairs for text in group]
        backward = [(candidate, text) for text, candidate in forward]
        texts = {"rh": forward, "hr": backward, "avg": forward + backward}[direction]
        probabilities = self.probabilities(texts)
        return np.mean(np.split(probabilities, len(texts) // len(forward)), axis=0)

    def model_fields(self) -> dict[str, object]:
        """Return the NLI model's signature fields, after all fields of the other metric."""
        return {**(self.other.signature_fields() if self.other else {}), **super().model_fields()}

    def default_fields(self) -> set[str]:
        """Return the names of the fields with default values, including the other metric's."""
        names = super().default_fields()
        if self.other:
            run = self.other.run
            names |= {f"{run.settings.metric}.{name}" for name in run.signature.defaults}
        return names


class MENLIScorer(NLIScorer[MENLISettings]):
    """MENLI scorer, against references or sources. The model is loaded on first use and kept.

    `settings` is a `MENLISettings` object, or None for the defaults. Keyword arguments override
    single settings, here and in the methods that score. Invalid arguments raise InputError before
    the model is loaded. If the model cannot be found, OSError is raised.

    >>> scorer = MENLIScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["Nobody sat down."], ["The cat sat down."], formula=["e", "e-c"])
    >>> list(result.scores), result.higher_is_better
    (['e', 'e-c'], True)
    """

    settings_type = MENLISettings
    run_type = MENLIRun

    def unload(self) -> None:
        """Free the models and the caches. The next call loads the models again."""
        with self.lock:
            super().unload()
            self.partners: dict[str, Scorer[Any]] = {}

    def make_run(
        self, settings: MENLISettings, baseline: Baseline | None, **fields: object
    ) -> NLIRun[MENLISettings]:
        run = super().make_run(settings, baseline, other=self._combined(settings), **fields)
        formulas = [name for name in settings.names if name != "e"]
        if formulas and not run.labels.three_way:
            raise InputError(
                f"formula={formulas[0]!r} needs an NLI model with three labels, but "
                f"{settings.model_name_or_path!r} has two labels, entailment and not_entailment. "
                "Use another model. Except for a baseline, formula='e' also works."
            )
        return run

    def make_baseline(
        self, sources: Sequence[Sequence[str]], pairs: int, references: int, **changed: object
    ) -> Baseline:
        """Compute a baseline, and for a combination also the other metric's, if there is none."""
        settings = self.settings.replace(**changed)
        run = self.prepare(settings.with_uniform_weights())
        assert isinstance(run, MENLIRun)
        part = Baseline({})
        if run.other and not run.other.baseline_range:
            part = run.other.run.scorer.make_baseline(sources, pairs, references)
            changed["combine_baseline"] = part
        whole = super().make_baseline(sources, pairs, references, **changed)
        return Baseline({**part.stats, **whole.stats})

    def select(self, candidates: object, **changed: object) -> str:
        """Select the candidate with the best mean score against the others (minimum Bayes risk).

        `candidates` is a list of strings, such as samples for one input. Texts without tokens are
        skipped if others have tokens. `changed` overrides settings for this call, with one formula.
        """
        texts = check_texts("candidates", candidates)
        run = self.prepare(self.settings.replace(**changed))
        with self.lock:
            with_tokens = list(compress(texts, run.lengths(texts)))
        return super().select(with_tokens or texts, **changed)

    def bounds(self, settings: MENLISettings, name: str) -> tuple[float, float]:
        """Return the lower and upper bounds of a formula, or 0 and 1 for a combination."""
        ends = float(min(NLI_FORMULAS[name])), float(max(NLI_FORMULAS[name]))
        return ends if settings.combine_with is None else (0.0, 1.0)

    def _combined(self, settings: MENLISettings) -> CombinedMetric | None:
        """Return the other metric in a combination, or None. Its model is kept between calls."""
        other = settings.other
        if other is None:
            return None
        if other.metric not in self.partners:
            self.partners[other.metric] = metrics.find(other.metric).scorer_type()(other)
        baseline = settings.combine_baseline
        assert baseline is None or isinstance(baseline, Baseline)
        return CombinedMetric(self.partners[other.metric].prepare(other), baseline)


def formula_values(name: str, probabilities: np.ndarray) -> np.ndarray:
    """Return the values of a formula for probabilities of e, n and c, [pairs, 3] -> [pairs].

    >>> formula_values("e-c", np.array([[0.75, 0.125, 0.125]]))
    array([0.625])
    """
    e, n, c = probabilities.T
    e_weight, n_weight, c_weight = NLI_FORMULAS[name]
    return e_weight * e + n_weight * n + c_weight * c


def empty_texts(
    pairs: Pairs, tokens: Mapping[str, Sized]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return masks that select pairs with one and with two empty texts, [references] each.

    >>> empty_texts(Pairs(["", "", "a"], [["a"], [""], ["a"]]), {"": [], "a": [1]})
    (array([ True, False, False]), array([False,  True, False]))
    """
    lengths = [(len(tokens[text]), len(tokens[other])) for text, group in pairs for other in group]
    counts = (np.array(lengths) == 0).sum(1)
    return counts == 1, counts == 2
