"""What unrelated texts score, and scores in its light."""

import itertools
import json
import random

import pytest

from infolm_metric import InfoLM, InfoLMScorer, MENLIScorer
from infolm_metric.kernel import baselines, ranks
from infolm_metric.kernel.baselines import Baseline, NoBaseline, Spread
from infolm_metric.kernel.rescaling import make_baseline
from infolm_metric.kernel.unrelated_pairs import mixed
from infolm_metric.metrics import METRICS, find
from tests.paraphrases import PARAPHRASES
from tests.toy import Overlap, ToyScorer

WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "mat",
    "a",
    "dog",
    "ran",
    "in",
    "park",
    "rain",
    "hello",
    "world",
    "old",
    "man",
    "saw",
    "boat",
    "river",
    "bridge",
]


def made_texts(number):
    """Distinct texts of the tiny models' words."""
    draw = random.Random(0)
    texts = {" ".join(draw.choices(WORDS, k=draw.randint(3, 8))): None for _ in range(3 * number)}
    return list(texts)[:number]


TEXTS = made_texts(80)
CANDIDATES, REFERENCES = TEXTS[:40], TEXTS[40:]


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=tiny_bert)


@pytest.fixture(scope="module")
def baseline(scorer):
    return make_baseline(scorer.inner, scorer.settings, TEXTS, 500, 2)


# Drawing


def test_a_corpus_needs_more_texts_than_references():
    with pytest.raises(ValueError, match="references must be fewer than the distinct texts, .* 40"):
        list(mixed([f"text {number}" for number in range(40)], 500, 40))
    whole = [pair for pairs in mixed([f"text {n}" for n in range(40)], 500, 39) for pair in pairs]
    assert not any(candidate in group for candidate, group in whole)


def test_the_spread_of_scores_near_the_largest_number_is_finite():
    scores = [1e308, 1.5e308, 1.7e308]
    spread, small = Spread.of(scores), Spread.of([score / 1e308 for score in scores])
    assert spread.mean == pytest.approx(small.mean * 1e308)
    assert spread.deviation == pytest.approx(small.deviation * 1e308)
    assert spread.deciles == pytest.approx([each * 1e308 for each in small.deciles])


def test_several_measures_are_rescaled_by_name(scorer, baseline):
    asked = {"information_measure": ["l1", "ab"], "alpha": 0.5, "beta": 0.5}
    result = scorer.score(CANDIDATES, REFERENCES, **asked, rescale_with_baseline=baseline)
    names = ["l1_distance", "ab_divergence"]
    for key in ("rescaled", "rescaled_scores", "baseline"):
        assert list(result[key]) == names
    for name in names:
        alone = scorer.score(
            CANDIDATES,
            REFERENCES,
            **{**asked, "information_measure": name},
            rescale_with_baseline=baseline,
        )
        assert alone["rescaled"] == result["rescaled"][name]
        assert alone["baseline"] == result["baseline"][name]


def test_pairs_are_rescaled_by_the_number_of_their_references(scorer, baseline):
    groups = [[text] if i < 20 else [text, TEXTS[i - 15]] for i, text in enumerate(REFERENCES)]
    result = scorer.score(CANDIDATES, groups, idf=False, rescale_with_baseline=baseline)
    both = list(zip(result["scores"], result["rescaled_scores"], strict=True))
    one, two = (
        {round(score / (1 - rescaled), 9) for score, rescaled in part if rescaled < 1}
        for part in (both[:20], both[20:])
    )
    assert len(one) == len(two) == 1
    assert two.pop() < one.pop()  # the closest of two is closer


# From a file


def test_a_file_keeps_a_baseline(baseline, tmp_path):
    baseline.save(tmp_path / "b")
    loaded = Baseline.load(tmp_path / "b")
    assert loaded == baseline and loaded.spreads == baseline.spreads
    assert str(loaded) == f"file-{baseline.fingerprint}"


def test_a_file_whose_figures_were_changed_is_refused(baseline, tmp_path):
    baseline.save(tmp_path / "b")
    text = (tmp_path / "b").read_text()
    mean = next(iter(baseline.spreads.values())).mean
    (tmp_path / "b").write_text(text.replace(repr(mean), repr(mean + 0.1)))
    with pytest.raises(ValueError, match="is not a baseline, or a damaged one"):
        Baseline.load(tmp_path / "b")


def test_a_file_holds_all_measures_both_weights_and_numbers_of_references(baseline):
    kinds = {(weights, count) for _, weights, count in baseline.spreads}
    assert kinds == set(itertools.product(("uniform", "idf"), (1, 2)))
    assert len(baseline.spreads) == 9 * 4
    assert all(spread.pairs == 500 for spread in baseline.spreads.values())


@pytest.mark.parametrize(("number", "count"), [(40, 4), (80, 1), (300, 2), (1500, 4)])
def test_the_pairs_of_a_file_are_of_different_texts_and_come_once(number, count):
    texts = [f"text {i}" for i in range(number)]
    for references, pairs in enumerate(mixed(texts, 500, count), 1):
        found = [(candidate, *group) for candidate, group in pairs]
        assert len(set(found)) == len(found) > 100
        assert all(len(set(pair)) == references + 1 for pair in found)


@pytest.mark.parametrize("idf", [False, "references"])
def test_every_way_to_score_is_rescaled_by_a_file(scorer, baseline, tmp_path, idf):
    path = tmp_path / "b"
    baseline.save(path)
    asked = {"idf": idf, "rescale_with_baseline": path}
    result = scorer.score(CANDIDATES, REFERENCES, **asked)
    weights = "uniform" if idf is False else "idf"
    (spread,) = (
        spread
        for (signature, used, count), spread in baseline.spreads.items()
        if "fisher_rao" in signature and (used, count) == (weights, 1)
    )
    expected = [1 - score / spread.mean for score in result["scores"]]
    assert result["rescaled_scores"] == pytest.approx(expected, rel=1e-12)
    assert result["baseline"]["source"] == "file"
    assert f"|baseline:file-{baseline.fingerprint}|" in result.signature
    rows = list(scorer.stream(list(zip(CANDIDATES, REFERENCES, strict=True)), **asked))
    assert [row["fisher_rao_distance_rescaled"] for row in rows] == result["rescaled_scores"]
    metric = InfoLM(model_name_or_path=str(scorer.settings.model_name_or_path))
    found = metric.compute(predictions=CANDIDATES, references=REFERENCES, **asked)
    assert found["rescaled_scores"] == result["rescaled_scores"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"temperature": 2.0}, "temperature was 1.0 and is 2.0 now"),
        ({"max_length": 20}, "max_length was 40 and is 20 now"),
        ({"information_measure": "ab", "alpha": 1, "beta": 1}, "alpha was 0.5 and is 1.0 now"),
        ({"masks_per_pass": 2}, "masks_per_pass was not given and is 2 now"),
        ({"symmetrize": "none", "information_measure": "kl"}, "symmetrize was jeffreys"),
        ({"long_text": "window"}, "long_text was truncate and is window now"),
    ],
)
def test_a_baseline_of_other_settings_is_refused_with_the_remedy(
    scorer, baseline, settings, told, tiny_bert
):
    fresh = InfoLMScorer(model_name_or_path=tiny_bert)
    with pytest.raises(NoBaseline, match=told) as refusal:
        fresh.score(CANDIDATES, REFERENCES, **settings, rescale_with_baseline=baseline)
    assert "infolm baseline" in str(refusal.value)
    assert fresh.inner.distributions._loaded is None


def test_more_references_than_the_baseline_knows_are_refused(scorer, baseline):
    groups = [REFERENCES[:3]] * 40
    with pytest.raises(NoBaseline, match="for up to 2 references, and a pair has 3"):
        scorer.score(CANDIDATES, groups, rescale_with_baseline=baseline)


def test_another_model_needs_another_baseline(baseline, tiny_models):
    other = InfoLMScorer(model_name_or_path=tiny_models("roberta"))
    with pytest.raises(NoBaseline, match="model was"):
        other.score(CANDIDATES, REFERENCES, rescale_with_baseline=baseline)


def test_the_packages_baseline_is_for_one_reference_and_says_so():
    with pytest.raises(NoBaseline, match="the package's baseline is for up to 1 references"):
        InfoLMScorer(model_name_or_path="bundled", idf=False).score(
            CANDIDATES[:2], [REFERENCES[:2]] * 2, rescale_with_baseline=True
        )


def test_a_combination_has_no_packaged_baseline_and_is_told_what_differs():
    scorer = MENLIScorer(model_name_or_path="bundled", combine_with="infolm")
    with pytest.raises(NoBaseline, match="does not fit: nli_weight was not given"):
        scorer.score(CANDIDATES[:2], REFERENCES[:2], rescale_with_baseline=True)


def test_a_baseline_of_the_texts_own_tokens_alone_holds_the_bounded_measures(scorer):
    names = scorer.settings.replace(interpolation=1.0).baselined()[0].names
    assert {"fisher_rao_distance", "l1_distance", "alpha_divergence"} <= {*names}
    assert "kl_divergence" not in names


def spread_of(**changes):
    """A file of one spread, which `changes` damage."""
    whole = {"mean": 0.6, "deviation": 0.1, "deciles": [0.1] * 9, "pairs": 500, **changes}
    spread = {"signature": "metric:toy", "weights": "uniform", "references": 1, **whole}
    return json.dumps({"format": "infolm baseline", "version": 1, "spreads": [spread]})


@pytest.mark.parametrize(
    "content",
    [
        *("", "{}", "[]", '{"format": "infolm baseline", "version": 9}', "[" * 100_000),
        spread_of(mean=float("nan")),
        spread_of(mean="0.6"),
        spread_of(deviation=10**400),
        spread_of(deciles=[0.1] * 8),
        spread_of(deciles=0.1),
        spread_of(deciles=[0.2] + [0.1] * 8),
        spread_of(mean=True),
        spread_of(deviation=-0.1),
        spread_of(pairs="500"),
        spread_of(signature=5),
        spread_of(references="1"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(tmp_path, content):
    (tmp_path / "b").write_text(spread_of())
    assert len(Baseline.load(tmp_path / "b").spreads) == 1
    (tmp_path / "b").write_text(content)
    with pytest.raises(ValueError, match="is not a baseline, or a damaged one"):
        InfoLMScorer(rescale_with_baseline=tmp_path / "b")


@pytest.mark.parametrize(
    ("value", "error"), [(3, TypeError), (None, TypeError), ("no/such/file", ValueError)]
)
def test_a_wrong_value_is_refused(value, error):
    with pytest.raises(error, match="rescale_with_baseline must be True, False or"):
        InfoLMScorer(rescale_with_baseline=value)


def test_a_sweep_is_not_rescaled(scorer):
    with pytest.raises(ValueError, match="a sweep is not rescaled"):
        scorer.sweep(CANDIDATES, REFERENCES, rescale_with_baseline=True)


# Another metric


@pytest.fixture(scope="module")
def toys():
    """A baseline of the toy metric."""
    toy = ToyScorer()
    return make_baseline(toy.inner, toy.settings, TEXTS, 100, 1)


def test_a_metric_whose_higher_scores_are_better_is_rescaled_from_its_largest(monkeypatch, toys):
    monkeypatch.setattr(Overlap, "bounds", lambda self, settings, name: (0.0, 1.0))
    result = ToyScorer().score(CANDIDATES, REFERENCES, rescale_with_baseline=toys)
    mean = result["baseline"]["mean"]
    expected = [(mean - score) / (mean - 1.0) for score in result["scores"]]
    assert result["rescaled_scores"] == pytest.approx(expected)
    copies = ToyScorer().score(CANDIDATES, CANDIDATES, rescale_with_baseline=toys)
    assert copies["rescaled"] == 1.0


def test_a_metric_without_a_best_score_cannot_be_rescaled(toys):
    with pytest.raises(NoBaseline, match="needs a best score"):
        ToyScorer().score(CANDIDATES, REFERENCES, rescale_with_baseline=toys)
    with pytest.raises(NoBaseline, match="the package has no baseline for this metric"):
        ToyScorer().score(CANDIDATES, REFERENCES, rescale_with_baseline=True)


# The package's


def test_the_packages_baseline_rescales_a_pair_by_the_bundled_model():
    scorer = InfoLMScorer(model_name_or_path="bundled")
    (candidate, reference), *_ = PARAPHRASES
    result = scorer.score([candidate], [reference], rescale_with_baseline=True)
    assert result["baseline"]["source"] == "package"
    assert result["baseline"]["pairs"] >= 500
    assert 0 < result["rescaled"] < 1
    assert result["rescaled"] == pytest.approx(1 - result["infolm"] / result["baseline"]["mean"])
    assert "|baseline:package-" in result.signature and "Spread(" not in repr(scorer.settings)


@pytest.mark.parametrize("metric", METRICS)
def test_the_packages_baseline_is_for_the_weights_of_the_model_that_is_there(metric):
    """Whoever retrains the bundled model makes its baseline again."""
    record = json.loads((baselines.BUNDLED_FOLDER / f"{metric}_baseline.json").read_text())
    scorer = find(metric).scorer_type()(model_name_or_path="bundled")
    identity = scorer.signature()
    model = next(part for part in identity.split("|") if part.startswith("model:"))
    assert all(f"|{model}|" in spread["signature"] for spread in record["spreads"])
    assert Spread(**{k: record["spreads"][0][k] for k in ("mean", "deviation", "deciles", "pairs")})


def test_ranks_refuse_a_baseline_for_fewer_references_before_they_score(
    scorer, baseline, monkeypatch
):
    def together(step, group):  # of two ranks, the other with the same pairs
        own, told = step()
        return own, [told, told]

    monkeypatch.setattr(ranks, "number_of_ranks", lambda group: 2)
    monkeypatch.setattr(ranks, "_together", together)
    monkeypatch.setattr(type(scorer.inner), "score", None)
    groups = [[text] for text in REFERENCES[1:]] + [[REFERENCES[0]] * 3]
    with pytest.raises(NoBaseline, match="for up to 2 references, and a pair has 3"):
        ranks.distributed_score(scorer, CANDIDATES, groups, rescale_with_baseline=baseline)
