"""Baselines of unrelated texts, and scores rescaled with them."""

import itertools
import json
import math
import random
import statistics
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric import InfoLM, InfoLMScorer, InputError
from infolm_metric.baryscore.settings import BaryScoreSettings
from infolm_metric.core import baselines
from infolm_metric.core.baselines import Baseline, BaselineNotFoundError, BaselineStats, LengthBin
from infolm_metric.core.inputs import Pairs
from infolm_metric.infolm.settings import InfoLMSettings
from infolm_metric.metrics import METRICS, find
from tests.damage import DAMAGE
from tests.nearly_equal import assert_nearly_equal
from tests.random_pairs import WORDS
from tests.toy import ToyRun, ToyScorer

DRAW = random.Random(0)
TEXTS = list({" ".join(DRAW.choices(WORDS, k=DRAW.randint(3, 8))): None for _ in range(80)})
CANDIDATES, REFERENCES = TEXTS[:20], TEXTS[40:60]


@pytest.fixture(scope="module")
def baseline(scorer):
    return scorer.make_baseline([TEXTS], 60, 2)


@pytest.fixture(scope="module")
def saved(baseline, tmp_path_factory):
    path = tmp_path_factory.mktemp("baseline") / "b"
    baseline.save(path)
    return path


def find_stats(baseline, measure, weights, count):
    """Return the statistics of a measure in a baseline."""
    (stats,) = (
        stats
        for (signature, *rest), stats in baseline.stats.items()
        if f"measure:{measure}" in signature and rest == [weights, count]
    )
    return stats


# Construction


@given(number=st.integers(2, 200), pairs=st.integers(1, 120), count=st.integers(1, 4))
def test_unrelated_pairs_combine_distinct_texts_without_repeats(number, pairs, count):
    number = min(number, 2 * pairs)  # further texts are not used
    texts = [f"text {i}" for i in range(number)]
    if count >= number:
        with pytest.raises(InputError, match=f"references must be less .*{number}.*, got"):
            baselines.unrelated_pairs(texts * 2, pairs, count)
        return
    rows = baselines.unrelated_pairs(texts * 2, pairs, count)
    assert all(len({text, *group}) == count + 1 for text, group in rows)
    assert min(pairs, number) <= len(rows) <= pairs
    first = [frozenset((text, group[0])) for text, group in rows]
    assert number < 2 * count + 1 or len(set(first)) == len(first)


@pytest.mark.parametrize("higher", [False, True])
def test_a_verdict_holds_for_each_source(higher):
    sign = -1 if higher else 1
    near, far = [x / 100 for x in range(100)], [x / 100 + 1 for x in range(100)]
    scores, owners = [sign * x for x in near + far], [0] * 100 + [1] * 100
    both, alone = (
        BaselineStats.of(part, [9] * len(part), higher, owners[: len(part)]).bins[0].percentiles
        for part in (scores, scores[:100])
    )
    assert both[:2] == alone[:2] and both[3] == pytest.approx(sign, abs=0.01)


def test_a_baseline_covers_all_measures_weight_schemes_and_reference_counts(baseline):
    kinds = {tuple(kind) for _, *kind in baseline.stats}
    assert kinds == set(itertools.product(("uniform", "idf"), (1, 2)))
    assert len(baseline.stats) == 9 * 4
    assert {stats.pairs for stats in baseline.stats.values()} == {60}
    means = [find_stats(baseline, "l1_distance", "idf", count).mean for count in (1, 2)]
    assert means[1] < means[0]  # the closer of two references counts


# Statistics

SCORES = st.lists(st.floats(0, 10), min_size=2, max_size=30)
# Percentiles 1, 5, 10, 50 and 90 of distances.
SHORT, LONG = (
    LengthBin(tokens, middle, tuple(middle + x for x in (-0.2, -0.15, -0.1, 0.0, 0.1)))
    for tokens, middle in ((10.0, 0.7), (40.0, 0.5))
)
TWO_BINS = BaselineStats(0.6, 100, (SHORT, LONG))
# Scores of texts with 10 tokens from the best to the worst, and their percentiles and verdicts.
RANKS = {0.0: (0, "FAR_CLOSER"), 0.25: (0.5, "FAR_CLOSER"), 0.5: (1, "CLOSER")}
RANKS |= {0.525: (3, "CLOSER"), 0.55: (5, "ABOUT_AS_FAR"), 0.7: (50, "ABOUT_AS_FAR")}
RANKS |= {0.9: (90, "ABOUT_AS_FAR")}


@given(SCORES, st.booleans())
def test_baseline_statistics_describe_the_scores(scores, higher):
    stats = BaselineStats.of(scores, [12] * len(scores), higher)
    assert stats.mean == pytest.approx(math.fsum(scores) / len(scores))
    assert stats.pairs == len(scores)
    (only,) = stats.bins  # too few pairs for several bins
    assert only.tokens == 12 and only.mean == pytest.approx(stats.mean, rel=1e-5)
    assert only.percentiles[3] == pytest.approx(statistics.median(scores), rel=1e-5)
    assert list(only.percentiles) == sorted(only.percentiles, reverse=higher)


def test_a_bin_of_lengths_needs_fifty_pairs():
    tokens = [5] * 49 + [10] * 50 + [30] * 60
    stats = BaselineStats.of([float(count) for count in tokens], tokens)
    assert [(part.tokens, part.mean) for part in stats.bins] == [(10, 10), (30, 30)]
    assert stats.mean == pytest.approx(statistics.fmean(tokens)) and stats.pairs == len(tokens)


@given(st.floats(1, 500))
def test_bins_are_interpolated_between_their_lengths(tokens):
    part = TWO_BINS.at(tokens)
    fraction = min(max(math.log(tokens / 10) / math.log(4), 0), 1)
    assert part.mean == pytest.approx(0.7 - 0.2 * fraction)
    assert part.percentiles == pytest.approx([part.mean + x - 0.7 for x in SHORT.percentiles])


@pytest.mark.parametrize("sign", [1, -1], ids=["distance", "similarity"])
@pytest.mark.parametrize("score", RANKS)
def test_verdicts_change_at_the_first_and_fifth_percentile_of_a_length(score, sign):
    percentile, word = RANKS[score]
    ends = tuple(sign * end for end in SHORT.percentiles)
    stats = BaselineStats(sign * 0.7, 100, (LengthBin(10.0, sign * 0.7, ends),))
    assert stats.percentile(sign * score, 0.0, 10) == pytest.approx(percentile)
    verdict = baselines.Verdict.of(stats.percentile(sign * (score + 1e-9), 0.0, 10))
    assert verdict == baselines.Verdict[word]
    assert stats.percentile(sign * 0.1, sign * -math.inf, 10) == 0


@given(SCORES, st.floats(0, 10), st.sampled_from([0.0, 10.0]))
def test_rescaling_maps_the_mean_to_0_and_the_best_to_1(scores, score, best):
    stats = BaselineStats.of(scores, [12] * len(scores))
    if stats.mean == best:
        with pytest.raises(BaselineNotFoundError, match="best score"):
            stats.check_best(best)
        return
    assert stats.rescale(best, best) == 1 and stats.rescale(stats.mean, best) == 0
    middle = (score + best) / 2  # closer to the best score
    assert stats.rescale(middle, best) >= stats.rescale(score, best)
    with pytest.raises(BaselineNotFoundError, match="best score"):
        stats.check_best(math.inf)


def test_a_corpus_is_judged_by_the_mean_percentile_of_its_pairs(scorer, baseline):
    pairs = Pairs(CANDIDATES, [[text] for text in REFERENCES])
    run = scorer.prepare(scorer.settings.replace(idf=False), baseline=baseline)
    result = run.score(pairs, rank=True)
    ((name, scores),) = result.scores.items()
    tokens = [
        min(len(scorer.tokenizer.tokenize(text)) for text in texts)
        for texts in zip(CANDIDATES, REFERENCES, strict=True)
    ]
    stats = find_stats(baseline, name, "uniform", 1)
    ranks = [stats.percentile(x, 0.0, n) for x, n in zip(scores, tokens, strict=True)]
    summary = run.summary({}, result.counts, Counter(pairs.counts))
    assert summary.percentile(name) == pytest.approx(statistics.fmean(ranks), abs=1e-3)
    assert summary.tokens == pytest.approx(statistics.fmean(tokens))
    assert not any("percentile" in kind for kind in run.score(pairs).counts)


# Rescaling


@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
@pytest.mark.parametrize("idf", [False, "references"])
def test_a_baseline_file_rescales_scores_with_and_without_idf(scorer, baseline, saved, idf):
    options = {"idf": idf, "rescale_with_baseline": saved}
    result = scorer.score(CANDIDATES, REFERENCES, **options)
    weights = "idf" if idf else "uniform"
    mean = find_stats(baseline, "fisher_rao_distance", weights, 1).mean
    expected = [1 - score / mean for score in result["scores"]]
    assert result["rescaled_scores"] == pytest.approx(expected, rel=1e-12)
    assert result["rescaled"] == pytest.approx(statistics.fmean(expected))
    assert result["baseline"]["source"] == "file" and result["baseline"]["mean"] == mean
    assert f"|baseline:file-{baseline.fingerprint}|" in result.signature
    plain = scorer.score(CANDIDATES, REFERENCES, idf=idf)
    assert_nearly_equal(result["scores"], plain["scores"])
    assert "rescaled" not in plain
    metric = InfoLM(model_name_or_path=scorer.settings.model_name_or_path)
    computed = metric.compute(predictions=CANDIDATES, references=REFERENCES, **options)
    assert_nearly_equal(computed, result)


def test_rescaling_depends_on_the_measure_and_the_number_of_references(scorer, baseline):
    groups = [[text] if i < 8 else [text, TEXTS[i - 15]] for i, text in enumerate(REFERENCES)]
    options = {"information_measure": ["l1", "ab"], "alpha": 0.5, "beta": 0.5, "idf": False}
    result = scorer.score(CANDIDATES, groups, **options, rescale_with_baseline=baseline)
    for name, scores in result["scores"].items():
        means = [find_stats(baseline, name, "uniform", count).mean for count in (1, 2)]
        pairs = zip(scores, groups, strict=True)
        expected = [1 - score / means[len(group) - 1] for score, group in pairs]
        assert result["rescaled_scores"][name] == pytest.approx(expected, rel=1e-12)
        assert result["baseline"][name]["mean"] == means[1]  # of most pairs


UNFIT = [  # settings, number of references, whether to use the packaged baseline, pattern
    ({"temperature": 2.0}, 1, False, "temperature is 2.0 instead of 1.0"),
    ({"information_measure": "ab", "alpha": 1, "beta": 1}, 1, False, "alpha is 1.0 instead of 0.5"),
    ({"model_name_or_path": "bundled"}, 1, False, " instead of "),
    ({}, 3, False, "references per pair: 3"),
    ({"model_name_or_path": "bundled"}, 5, True, "references per pair: 5"),
]


@pytest.mark.parametrize(("changes", "references", "package", "word"), UNFIT, ids=str)
def test_unsuitable_baselines_are_rejected_before_a_model_is_loaded(
    scorer, baseline, changes, references, package, word, no_model
):
    groups = [[text] for text in REFERENCES[1:]] + [REFERENCES[:references]]
    options = {**changes, "rescale_with_baseline": package or baseline}
    with pytest.raises(BaselineNotFoundError, match=f"{word}.*infolm baseline"):
        InfoLMScorer(scorer.settings).score(CANDIDATES, groups, **options)


def test_rescaling_requires_a_finite_best_score(monkeypatch):
    toys = ToyScorer().make_baseline([TEXTS], 100, 1)
    with monkeypatch.context() as patch:  # checked before any pair is scored
        patch.setattr(ToyRun, "score_chunk", None)
        for bounds in ((-math.inf, math.inf), (0.0, toys.stats[next(iter(toys.stats))].mean)):
            patch.setattr(ToyScorer, "bounds", lambda *_, bounds=bounds: bounds)
            with pytest.raises(BaselineNotFoundError, match="best score"):
                ToyScorer().score(CANDIDATES, REFERENCES, rescale_with_baseline=toys)
    with pytest.raises(BaselineNotFoundError, match="has no baseline"):
        ToyScorer().score(CANDIDATES, REFERENCES, rescale_with_baseline=True)
    monkeypatch.setattr(ToyScorer, "bounds", lambda self, settings, name: (0.0, 1.0))
    result = ToyScorer().score(CANDIDATES, REFERENCES, rescale_with_baseline=toys)
    mean = result["baseline"]["mean"]
    expected = [(mean - score) / (mean - 1.0) for score in result["scores"]]
    assert result["rescaled_scores"] == pytest.approx(expected)
    copies = ToyScorer().score(CANDIDATES, CANDIDATES, rescale_with_baseline=toys)
    assert copies["rescaled"] == 1.0


# The packaged baseline


@pytest.mark.parametrize("metric", METRICS)
def test_the_packaged_baseline_matches_the_bundled_model(metric, no_model):
    """Fail if the bundled model was retrained without updating its baseline."""
    scorer = find(metric).scorer_type()(model_name_or_path="bundled")
    baseline = baselines.resolve_baseline(metric, True)
    identity = scorer.models.checkpoint(scorer.settings).identity
    bundled = [signature for signature, *_ in baseline.stats if "|model:bundled@" in signature]
    assert all(f"|model:{identity}" in signature for signature in bundled)
    single = [stats for key, stats in baseline.stats.items() if key[0] in bundled and key[2] == 1]
    assert all(len(stats.bins) >= 5 for stats in single)


BUNDLED: dict[str, Any] = {"model_name_or_path": "bundled"}
MEANS = [
    ("infolm", {"multi_reference": "mean"}),
    ("menli", {"multi_reference": "mean"}),
    ("menli", {"combine_with": BaryScoreSettings(**BUNDLED, idf=False, multi_reference="mean")}),
]


@pytest.mark.parametrize(("metric", "options"), MEANS, ids=str)
def test_the_reduction_matters_only_with_several_references(metric, options, no_model):
    scorer = find(metric).scorer_type()(**BUNDLED)
    minimum = {"combine_with": options["combine_with"].metric} if "combine_with" in options else {}
    mean, default = (
        scorer.prepare(scorer.settings.replace(**changes), {"references": TEXTS})
        for changes in (options, minimum)
    )
    assert mean.unrelated([2]) == {} != default.unrelated([2])
    assert mean.unrelated([1]) == default.unrelated([1]) != {}


ONE_PASS = {"masking": "none", "temperature": 2.0, "interpolation": 0.1}


def test_the_packaged_baseline_covers_one_pass(no_model):
    run = InfoLMScorer(**BUNDLED).prepare(InfoLMSettings(**BUNDLED, **ONE_PASS, idf=False))
    by_count = run.unrelated(range(1, 5))
    means = [by_count[count]["fisher_rao_distance"].mean for count in range(1, 5)]
    assert 1 > means[0] > means[3] > 0  # the closest of several references is closer


# Files


def test_a_saved_baseline_can_be_loaded(baseline, saved):
    loaded = Baseline.load(saved)
    assert (loaded, hash(loaded), loaded.stats) == (baseline, hash(baseline), baseline.stats)
    assert str(loaded) == f"file-{baseline.fingerprint}"
    for source in (saved, loaded):
        assert baselines.resolve_baseline("infolm", source) == baseline
    assert baseline != Baseline({}) and baseline != "baseline"


EDITED = [
    *({"mean": wrong} for wrong in (math.nan, "0.6", True)),
    *({"bins": wrong} for wrong in ([], 0.1, [[10.0]], [[10.0] * 7])),
    *({"pairs": "500"}, {"signature": 5}, {"references": "1"}, {"more": 1}),
]


@pytest.mark.parametrize("changes", EDITED, ids=str)
def test_edited_statistics_are_rejected(saved, tmp_path, changes):
    record = json.loads(saved.read_text())
    record["statistics"][1] |= changes
    (tmp_path / "b").write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"/b' is not a baseline"):
        InfoLMScorer().score(["a"], ["b"], rescale_with_baseline=tmp_path / "b")


@given(damage=DAMAGE)
def test_a_damaged_file_is_rejected_or_loads_the_same_baseline(baseline, saved, tmp_path, damage):
    (tmp_path / "b").write_bytes(damage(saved.read_bytes()))
    try:
        assert Baseline.load(tmp_path / "b") == baseline
    except InputError as error:
        assert "is not a baseline" in str(error)
