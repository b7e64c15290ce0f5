"""Scores of MENLI: one reading of the pairs serves every formula, direction and combination."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pair, Pairs, check_pairs
from infolm_metric.kernel.progress import bar
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import HIGHER, MetricScorer, Report, Scorer, silent
from infolm_metric.kernel.signatures import make_signature
from infolm_metric.menli.combination import Range
from infolm_metric.menli.companions import Companions, Scored, combined
from infolm_metric.menli.formulas import FORMULAS, LETTERS
from infolm_metric.menli.probabilities import Probabilities, over_references
from infolm_metric.menli.settings import Settings

if TYPE_CHECKING:
    from typing import Unpack

    from infolm_metric.menli.keywords import Keywords

PORTION = 1024  # pairs that are read at a time
_Key = tuple[Any, ...]
SIDES = {"rh": ("rh",), "hr": ("hr",), "avg": ("rh", "hr")}


@dataclass
class _Reading:
    """What the model says of the pairs, by side, and what there is to remark on their texts."""

    sides: dict[str, np.ndarray] = field(default_factory=dict)  # float64 [couples, 3] each
    remarks: Remarks = Remarks()


class MENLIPasses(Scorer):
    """Scores pairs under any settings; each pair of texts is read once in each direction."""

    settings_type = Settings

    def __init__(self) -> None:
        self.probabilities = Probabilities()
        self.companions = Companions()

    def count(self, pairs: Iterable[Pair], settings: Settings) -> Statistics:
        """What the metric that is combined has to know of the whole corpus."""
        other = settings.other
        return Statistics() if other is None else self.companions.inner(other).count(pairs, other)

    def score(self, pairs: Pairs, settings: Settings, statistics: Statistics) -> Result:
        """The result for the pairs of a corpus, or of a part of one, of which `statistics` tell."""
        return self.score_many(pairs, [settings], [statistics])[0]

    def score_many(
        self,
        pairs: Pairs,
        settings: Sequence[Settings],
        statistics: Sequence[Statistics],
        report: Report = silent,
    ) -> list[Result]:
        """The results for several settings; pairs are read, and otherwise scored, once."""
        for each in settings:
            self.probabilities.source(each)  # its labels do for the formulas
        ranges: dict[_Key, Range] = {}
        for each, counted in zip(settings, statistics, strict=True):
            if (other := each.other) is not None and (key := _key(each, counted)) not in ranges:
                # Now, and not when the NLI model has read every pair.
                ranges[key] = self.companions.check(pairs, other, counted)
        readings: dict[Settings, _Reading] = {}
        others: dict[_Key, Scored] = {}
        results = []
        for each, counted in zip(settings, statistics, strict=True):
            reading = readings.setdefault(each.reading("labels"), _Reading())
            self._read(reading, pairs, each)
            found: Scored | None = None
            if (other := each.other) is not None:
                key = _key(each, counted)
                if key not in others:
                    others[key] = self.companions.score(pairs, other, counted, ranges[key])
                found = others[key]
            results.append(self._result(pairs, reading, found, each, counted))
            report(len(pairs))
        return results

    def direction(self, settings: Settings) -> str:
        """HIGHER: what follows is better."""
        return HIGHER

    def bounds(self, settings: Settings, name: str) -> tuple[float, float]:
        """The range of the formula; of a combination 0 and 1."""
        return FORMULAS[name].range if settings.combine_with is None else (0.0, 1.0)

    def signature(self, settings: Settings, statistics: Statistics | None = None) -> str:
        """All that can change a score; the models' files are hashed for it, and not loaded."""
        source, signed = self.probabilities.source(settings), settings.signed()
        nested: dict[str, object] = {}
        if (other := settings.other) is not None:
            nested = self.companions.signed(other, statistics)
            signed["combine_with"] = other.metric
        read = {
            "model": source.checkpoint.identity,
            "labels": source.labels.order,
            "max_length": self.probabilities.limit(settings),
            "long_text": settings.long_text,
            "dtype": settings.dtype,
        }
        return make_signature(settings.metric, {**signed, **nested, **read})

    def unload(self) -> None:
        """Free the models and what is kept of texts."""
        self.probabilities.unload()
        self.companions.unload()

    # The parts of a score, in order.

    def _read(self, reading: _Reading, pairs: Pairs, settings: Settings) -> None:
        """Add to a reading of the pairs the sides that the settings need and it lacks."""
        sides = [side for side in SIDES[settings.direction] if side not in reading.sides]
        if not sides:
            return
        if settings.long_text == "error":  # before time goes into the model
            self.probabilities.check_lengths(pairs, settings)
        parts: dict[str, list[np.ndarray]] = {side: [] for side in sides}
        remarks = Remarks()
        shown = settings.verbose and len(pairs) > 1
        with bar(shown, total=len(pairs), unit="pair", desc=settings.metric) as progress:
            for start in range(0, len(pairs), PORTION):
                portion = pairs.part(start, start + PORTION)
                tokens = self.probabilities.tokens(portion.texts, settings)
                remarks += self.probabilities.remark(list(portion), tokens, settings)
                couples = [(text, candidate) for candidate, group in portion for text in group]
                both = {"rh": couples, "hr": [(two, one) for one, two in couples]}
                asked = [couple for side in sides for couple in both[side]]

                def tell(share: float, size: int = len(portion), start: int = start) -> None:
                    progress.update(start + int(size * share) - progress.n)

                found = self.probabilities.of(asked, tokens, settings, tell)
                for side, rows in zip(sides, np.split(found, len(sides)), strict=True):
                    parts[side].append(rows)
        reading.sides |= {side: np.concatenate(rows) for side, rows in parts.items()}
        reading.remarks = remarks

    def _result(
        self,
        pairs: Pairs,
        reading: _Reading,
        other: Scored | None,
        settings: Settings,
        statistics: Statistics,
    ) -> Result:
        """The scores by the settings, from what the models said."""
        sides = SIDES[settings.direction]
        probabilities = np.mean([reading.sides[side] for side in sides], axis=0)
        counts = [len(group) for group in pairs.references]
        scores, beside = {}, {}
        for name in settings.names:
            values = FORMULAS[name].value(probabilities.T)
            best, shown = over_references(values, probabilities, counts, settings.multi_reference)
            if other is not None:
                best = combined(best, other, name, settings.weight)
            scores[name] = best.tolist()
            three = self.probabilities.source(settings).labels.three_way
            beside[name] = {
                letter: shown[:, index].tolist()
                for index, letter in enumerate(LETTERS if three else LETTERS[:1])
            }
        return Result(
            settings.metric,
            scores,
            self.signature(settings, statistics),
            self.higher_is_better(settings),
            _joined(reading.remarks, other, settings),
            settings.several,
            beside={"probabilities": beside} if settings.probabilities else {},
        )


class MENLIScorer(MetricScorer):
    """Scores candidates against references or sources; the model is loaded at the first use.

    Args:
        **settings: the settings of MENLI, by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.

    >>> scorer = MENLIScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["Nobody sat down."], ["The cat sat down."], formula=["e", "e-c"])
    >>> list(result.scores), result.higher_is_better
    (['e', 'e-c'], True)
    """

    inner_type = MENLIPasses
    inner: MENLIPasses

    if TYPE_CHECKING:  # what is inherited, with the settings by name

        def __init__(self, **settings: Unpack[Keywords]) -> None: ...

        def stream(  # type: ignore[override]  # noqa: D102
            self, pairs: Iterable[Any], **settings: Unpack[Keywords]
        ) -> Iterator[dict[str, float]]: ...

        def signature(  # type: ignore[override]  # noqa: D102
            self, **settings: Unpack[Keywords]
        ) -> str: ...

    def score(  # type: ignore[override]  # noqa: D102
        self,
        predictions: Any,
        references: Any = None,
        *,
        sources: Any = None,
        **settings: Unpack[Keywords],
    ) -> Result:
        """The scores of each prediction against its reference or references, or its source.

        Args:
            predictions: the candidates, a list of strings.
            references: for each its reference, or a list of its references.
            sources: in place of the references: where there are none, or to ask if a text says what
                it was made from.
            **settings: override the scorer's own for this call.

        Returns:
            A mapping: the mean under "menli", "scores" of each pair, "higher_is_better",
            "signature" and "remarks"; "probabilities" where they were asked for.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        chosen = self.settings.replace(**settings)
        pairs = check_pairs(predictions, either(references, sources))
        result = self.score_pairs(pairs, chosen)
        result.remarks.warn()
        return result


def _key(settings: Settings, statistics: Statistics) -> _Key:
    """Equal for settings that combine with the same scores in the same range."""
    return settings.other, tuple(statistics.fingerprints.items())


def _joined(own: Remarks, scored: Scored | None, settings: Settings) -> Remarks:
    """The remarks on a combination: how the NLI model read, and what the other metric adds.

    What either says of the same texts, such as too long ones, stays apart.
    """
    if scored is None or settings.other is None:
        return own
    metric, other = settings.other.metric, scored.remarks
    words = {
        "too_long": f"longer than {other.limit} tokens: cut there; as combine_with its settings "
        "with long_text='window' read texts whole"
    }
    apart = replace(other, one_token=0, zero_weight=0, distinct_documents=0, words=words)
    return replace(
        own,
        one_token=other.one_token,  # of which the NLI model knows nothing
        zero_weight=other.zero_weight,
        distinct_documents=other.distinct_documents,
        beside={metric: apart},
    )


def either(references: Any, sources: Any) -> Any:
    """The references, or the sources if they were given instead; TypeError for both.

    >>> either(None, ["What was to be said."])
    ['What was to be said.']
    """
    if references is not None and sources is not None:
        raise TypeError("got both references and sources; give one of them")
    return references if sources is None else sources
