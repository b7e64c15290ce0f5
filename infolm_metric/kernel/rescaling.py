"""Results in the light of what unrelated texts score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from infolm_metric.kernel.baselines import Baseline, NoBaseline, Spread, key_of, rescaled
from infolm_metric.kernel.idf.statistics import Statistics, used_weights
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.unrelated_pairs import mixed

if TYPE_CHECKING:
    from infolm_metric.kernel.scorer import Scorer
    from infolm_metric.kernel.settings import Settings


def score_part(inner: Scorer, pairs: Pairs, settings: Settings, statistics: Statistics) -> Result:
    """The result for a corpus or a part of one; rescaled if the settings hold a baseline."""
    check_baseline(inner, settings, statistics, map(len, pairs.references))
    result = inner.score(pairs, settings.replace(rescale_with_baseline=False), statistics)
    return _in_its_light(inner, result, pairs, settings, statistics)


def check_baseline(
    inner: Scorer, settings: Settings, statistics: Statistics, counts: Iterable[int] = (1,)
) -> None:
    """Raise NoBaseline if the settings' baseline does not fit, or has no such reference counts.

    Nothing is loaded for it.
    """
    if isinstance(settings.rescale_with_baseline, Baseline):
        for count in set(counts):
            for name in settings.names:
                spread_of(inner, settings, statistics, name, count)


def spread_of(
    inner: Scorer, settings: Settings, statistics: Statistics, name: str, count: int
) -> Spread:
    """How unrelated texts score by the settings' baseline, with so many references."""
    baseline = settings.rescale_with_baseline
    assert isinstance(baseline, Baseline)
    plain = settings.replace(rescale_with_baseline=False).only(name)
    return baseline.spread(inner.signature(plain), used_weights(plain, statistics), count)


def known_baseline(
    inner: Scorer, settings: Settings, statistics: Statistics, counts: Counter[int]
) -> dict[str, Mapping[str, Any]] | None:
    """What unrelated texts score, as `Result.baseline`; none is scored for it.

    `counts` says how many of them have how many references. By the baseline that the settings hold,
    else by the package's; None where it does not fit.
    """
    try:
        given = isinstance(settings.rescale_with_baseline, Baseline)
        asked = settings if given else settings.replace(rescale_with_baseline=True)
        check_baseline(inner, asked, statistics, counts)
        baseline = asked.rescale_with_baseline
        assert isinstance(baseline, Baseline)
        return {
            name: _shown(spread_of(inner, asked, statistics, name, _usual(counts)), baseline)
            for name in asked.names
        }
    except NoBaseline:
        return None


def make_baseline(
    inner: Scorer, settings: Settings, texts: Sequence[str], pairs: int, references: int
) -> Baseline:
    """The baseline of a corpus, for every score and kind of weights of `Settings.baselined`.

    Texts are compared with others of them, for each number of references up to `references`.
    """
    forms = settings.baselined()
    corpus = Pairs.of((text, [text]) for text in texts)
    counted = [inner.count(corpus, each) for each in forms]
    spreads = {}
    for count, drawn in enumerate(mixed(texts, pairs, references), 1):
        for each, known, result in zip(
            forms, counted, inner.score_many(drawn, forms, counted), strict=True
        ):
            for name, scores in result.scores.items():
                signature = inner.signature(each.only(name))
                spreads[key_of(signature, used_weights(each, known), count)] = Spread.of(scores)
    return Baseline(spreads)


def _in_its_light(
    inner: Scorer, result: Result, pairs: Pairs, settings: Settings, statistics: Statistics
) -> Result:
    """The result with its scores rescaled by the baseline that the settings hold, if any."""
    baseline = settings.rescale_with_baseline
    if not isinstance(baseline, Baseline):
        return result
    counts = list(map(len, pairs.references))
    usual = _usual(Counter(counts))
    columns: dict[str, list[float]] = {}
    shown: dict[str, Mapping[str, Any]] = {}
    for name, scores in result.scores.items():
        spreads = {
            count: spread_of(inner, settings, statistics, name, count) for count in set(counts)
        }
        best = inner.bounds(settings, name)[int(result.higher_is_better)]
        columns[name] = [
            rescaled(score, spreads[count].mean, best)
            for score, count in zip(scores, counts, strict=True)
        ]
        shown[name] = _shown(spreads[usual], baseline)
    return replace(
        result,
        signature=inner.signature(settings, statistics),
        rescaled=columns,
        baseline=shown,
    )


def _shown(spread: Spread, baseline: Baseline) -> dict[str, Any]:
    return {**asdict(spread), "deciles": list(spread.deciles), "source": baseline.source}


def _usual(counts: Counter[int]) -> int:
    """The number of references that most pairs have."""
    return counts.most_common(1)[0][0]
