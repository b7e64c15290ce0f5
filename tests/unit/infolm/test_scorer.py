"""InfoLMScorer, compared with a literal float64 implementation: scores, sweeps, caching."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infolm_metric import IDF, InfoLMScorer, InputError
from infolm_metric.core.results import verdict_obstacles
from infolm_metric.infolm import masked_lm
from infolm_metric.infolm.measures import MEASURES, SYMMETRIZATIONS, compare
from tests.counted_contexts import count_contexts
from tests.model_families import SENTENCES, TOKENIZER_KINDS
from tests.nearly_equal import assert_nearly_equal
from tests.odd_pairs import CANDIDATES, LONG, REFERENCES
from tests.reference_infolm import ReferenceInfoLM

# Every measure, with typical parameters.
PARAMETERS = [
    *((name, {}) for name, measure in MEASURES.items() if not measure.parameters),
    *(("alpha_divergence", {"alpha": alpha}) for alpha in (0.3, 2.0, -0.5)),
    *(("renyi_divergence", {"alpha": alpha}) for alpha in (0.3, 2.0)),
    *(("beta_divergence", {"beta": beta}) for beta in (0.7, -0.5)),
    *(("ab_divergence", {"alpha": a, "beta": b}) for a, b in ((0.3, 0.7), (2, -0.5), (-0.5, -0.5))),
]

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


def assert_close(ours, theirs, temperature=1.0, floor=1e-9):
    """Fail unless scores agree within a tolerance relative to the score, even for small scores.

    `floor` covers rounding errors of the literal implementation.
    """
    allowed = 3e-5 * max(1.0, 1.0 / temperature)
    for score, expected in zip(ours, theirs, strict=True):
        assert math.isfinite(score)
        assert abs(score - expected) <= allowed * abs(expected) + floor, (score, expected)


@pytest.fixture
def fresh_scorer(tiny_bert):
    """Scorer with an empty cache."""
    return InfoLMScorer(model_name_or_path=tiny_bert, idf=False)


@pytest.fixture(scope="module")
def literal(tiny_bert):
    return ReferenceInfoLM(tiny_bert)


# Values


@pytest.mark.parametrize("idf", [False, "references", "separate"])
@pytest.mark.parametrize("symmetrize", SYMMETRIZATIONS)
def test_symmetrization_and_idf_match_the_literal_implementation(scorer, literal, idf, symmetrize):
    ab = "ab_divergence", {"alpha": 2, "beta": -0.5}
    for measure, parameters in (("kl_divergence", {}), ab):
        options = {"temperature": 0.25, "idf": idf, "symmetrize": symmetrize, **parameters}
        result = scorer.score(CANDIDATES, REFERENCES, information_measure=measure, **options)
        expected = literal.score(CANDIDATES, REFERENCES, measure, **options)
        assert_close(result.scores[measure], expected, 0.25)


SETTINGS = [("bert", 0.1, 0.05), ("bert", 0, 1.0), ("roberta", 0.1, 4.0), ("roberta", 0, 0.05)]


@pytest.mark.parametrize(("family", "interpolation", "temperature"), SETTINGS)
def test_every_measure_matches_the_literal_implementation(
    tiny_models, family, interpolation, temperature
):
    folder = tiny_models(family)
    literal, scorer = ReferenceInfoLM(folder), InfoLMScorer(model_name_or_path=folder)
    for measure, parameters in PARAMETERS:
        options = {"interpolation": interpolation, "temperature": temperature, **parameters}
        result = scorer.score(CANDIDATES, REFERENCES, information_measure=measure, **options)
        expected = literal.score(CANDIDATES, REFERENCES, measure, idf="references", **options)
        # The literal arccos loses half of its digits near 1.
        floor = 3e-8 if measure == "fisher_rao_distance" else 1e-9
        assert_close(result.scores[measure], expected, temperature, floor)


LONG_TEXTS = [LONG, "a boat", "", "yes"], ["a small red boat", LONG + " again", "rain fell", "no"]
LONG_CASES = [  # all pairs of values for one family
    *(("bert", True, "references", "truncate"), ("bert", True, False, "window")),
    *(("bert", False, "references", "window"), ("bert", False, False, "truncate")),
    *((family, True, "references", "window") for family in TOKENIZER_KINDS if family != "bert"),
]


@pytest.mark.parametrize(("family", "masked", "idf", "long_text"), LONG_CASES)
def test_long_texts_match_the_literal_implementation(tiny_models, family, masked, idf, long_text):
    masking = "token" if masked else "none"
    scorer = InfoLMScorer(model_name_or_path=tiny_models(family), masking=masking)
    literal = ReferenceInfoLM(tiny_models(family), masked)
    for max_length in (None, 17):
        options = {"idf": idf, "long_text": long_text, "max_length": max_length}
        expected = literal.score(*LONG_TEXTS, "fisher_rao_distance", **options)
        assert_close(scorer.score(*LONG_TEXTS, **options)["scores"], expected)


@settings(max_examples=15)
@given(st.text(max_size=30), st.text(max_size=30))
@example("🙂👩‍👩‍👧", "مرحبا بالعالم")
@example("\x00\x01\x1b[31m", "e\u0301" * 50)
@example("\u2028\u2029\ufeff", "a" * 100_000)
@example("The  CAT", "the cat")
def test_arbitrary_texts_match_the_literal_implementation(scorer, literal, candidate, reference):
    sides = [candidate, reference, candidate], [reference, candidate, candidate]
    score, swapped, identical = scorer.score(*sides, idf=False)["scores"]
    same = scorer.tokenizer(candidate)["input_ids"] == scorer.tokenizer(reference)["input_ids"]
    assert score == pytest.approx(swapped, abs=1e-9) and identical == 0 <= score
    assert score == 0 or not same
    expected = literal.score([candidate], [reference], "fisher_rao_distance")
    assert_close([score], expected, floor=1e-6)


# Forward passes


TYPED = [*CANDIDATES, "the cat " * 9, "The  CAT"]


@settings(max_examples=25)
@given(
    texts=st.lists(st.sampled_from(TYPED), min_size=1, max_size=6),
    size=st.integers(1, 9) | st.just("auto"),
    limit=st.none() | st.integers(3, 14),
    use_idf=st.booleans(),
)
def test_each_masked_context_is_encoded_once_without_padding_in_full_batches(
    scorer, literal, monkeypatch, texts, size, limit, use_idf
):
    cut, sizes = {"max_length": limit, "long_text": "window"}, []
    table = IDF.from_corpus(["the cat", "the dog", "sat on the mat"], scorer.tokenizer)
    weights = dict(enumerate(table.weights)) if use_idf else None
    options = {"idf": use_idf and table, "batch_size": size, "reuse_memory": 0, **cut}
    with count_contexts(monkeypatch, sizes) as contexts:
        distributions = scorer.distributions(texts, **options)
    distinct = {tuple(scorer.tokenizer(text)["input_ids"]): text for text in texts}
    expected = []
    for text in distinct.values():
        positions = literal.positions(text, **cut)
        weighted = [position for position in positions if not weights or weights[position[2]]]
        expected += [tuple(ids) for ids, *_ in weighted or positions]
    assert sorted(contexts) == sorted(expected)
    equal_lengths = Counter(map(len, expected)).values()
    if size != "auto":
        most_batches = sum(math.ceil(count / size) for count in equal_lengths)
        assert max(sizes) <= size and len(sizes) <= most_batches
    for text, log_p in zip(texts, distributions, strict=True):
        exact = literal.log_distribution(text, weights=weights, **cut)
        torch.testing.assert_close(log_p, exact, rtol=0, atol=1e-4)


# No masks


def test_without_masks_texts_are_encoded_once_and_batch_invariant(scorer, monkeypatch):
    texts = [*CANDIDATES, *REFERENCES, LONG]
    options = {"masking": "none", "idf": False, "reuse_memory": 0}
    with count_contexts(monkeypatch) as contexts:
        together = scorer.distributions(texts, **options)
    assert len(contexts) == len({*texts})
    for text, log_p in zip(texts, together, strict=True):
        assert torch.equal(scorer.distributions([text], **options)[0], log_p)
    for size in (1, 3, 64):
        assert torch.equal(scorer.distributions(texts, batch_size=size, **options), together)
    # Scores do not depend on the number of positions per pass of the head either.
    monkeypatch.setattr(masked_lm, "LOGITS_PER_BATCH", {"cpu": 5 * together.shape[1]})
    assert torch.equal(scorer.distributions(texts, **options), together)


@pytest.mark.parametrize("options", [{}, {"long_text": "window", "max_length": 12}], ids=str)
def test_a_sweep_keeps_logits_for_explanations(scorer, fresh_scorer, monkeypatch, options):
    pair = (LONG, REFERENCES[0])
    fresh_scorer.sweep(*([text] for text in pair), temperatures=[0.05, 1.0, 4.0], **options)
    with count_contexts(monkeypatch) as contexts:
        explanation = fresh_scorer.explain(*pair, **options)
    assert contexts == []
    assert torch.equal(explanation.shares, scorer.explain(*pair, **options).shares)


# Interpolation with the text's own tokens


BOUNDED = [
    *((name, {}) for name, measure in MEASURES.items() if measure.symmetric),
    ("alpha_divergence", {"alpha": 0.3}),
    ("kl_divergence", {"symmetrize": "jensen"}),
    ("alpha_divergence", {"alpha": 2.0, "symmetrize": "jensen"}),
    ("renyi_divergence", {"alpha": 2.0, "symmetrize": "jensen"}),
    ("ab_divergence", {"alpha": 0.3, "beta": 0.7, "symmetrize": "jensen"}),
]


def token_weights(text, tokenizer, table):
    """Return the total weight of each vocabulary entry in a text, [vocab]."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    weights = np.ones(len(ids)) if table is None or not table[ids].any() else table[ids]
    size = max(tokenizer.get_vocab().values()) + 1
    return np.bincount(ids, weights / weights.sum(), minlength=size)


@pytest.mark.parametrize(("measure", "parameters"), BOUNDED)
@pytest.mark.parametrize("idf", [False, "references"])
def test_full_interpolation_compares_only_token_counts(scorer, measure, parameters, idf):
    candidates = ["the cat sat on the mat", "a dog ran", "rain", "the cat"]
    references = ["the cat is on the mat", "hello world", "rain rain", "a dog"]
    options = {"information_measure": measure, "interpolation": 1, "idf": idf, **parameters}
    result = scorer.score(candidates, references, **options)
    table = IDF.from_corpus(references, scorer.tokenizer).weights if idf else None
    for candidate, reference, score in zip(candidates, references, result["scores"], strict=True):
        sides = (token_weights(text, scorer.tokenizer, table) for text in (reference, candidate))
        expected = compare(measure, *(torch.from_numpy(p).log() for p in sides), **parameters)
        assert score == pytest.approx(expected.item(), abs=1e-9)


def test_changing_the_interpolation_needs_no_forward_pass(fresh_scorer, monkeypatch):
    fresh_scorer.score(CANDIDATES, REFERENCES)
    with count_contexts(monkeypatch) as contexts:
        mixed = fresh_scorer.score(CANDIDATES, REFERENCES, interpolation=0.3)
    assert contexts == []
    rows = fresh_scorer.sweep(CANDIDATES, REFERENCES, interpolations=[0, 0.3], temperatures=[1, 2])
    combinations = [(settings.temperature, settings.interpolation) for settings, _ in rows]
    assert combinations == [(1.0, 0.0), (1.0, 0.3), (2.0, 0.0), (2.0, 0.3)]
    assert_nearly_equal(rows[1][1], mixed)
    assert "|interpolation:0.3|" in mixed.signature


# Sweeps


def test_sweep_equals_score_for_each_combination_of_settings(scorer):
    grid = {"temperatures": [0.5, 2.0], "alphas": [0.5, 1.0], "betas": [0.3, -0.5]}
    names = ["fisher_rao", "alpha", "ab"]
    rows = scorer.sweep(CANDIDATES, REFERENCES, information_measure=names, **grid)
    # Fisher-Rao once, alpha without its singularity 1, and AB without alpha + beta = 0.
    assert len(rows) == 2 * (1 + 1 + 3)
    for combination, result in rows:
        alone = InfoLMScorer(combination.replace(reuse_memory=0)).score(CANDIDATES, REFERENCES)
        assert (result.signature, result.counts) == (alone.signature, alone.counts)
        assert_nearly_equal(result.scores, alone.scores)


def test_a_sweep_over_idf_equals_score_and_encodes_each_text_once(scorer, tiny_bert, monkeypatch):
    # "the" is in every document and has weight 0, but other IDF forms need its predictions.
    table = IDF.from_corpus(["the cat", "the dog sat", "the river"], scorer.tokenizer)
    forms = ["references", False, table, "separate"]
    for masking in ("token", "none"):
        options = {"model_name_or_path": tiny_bert, "masking": masking}
        fresh_scorer = InfoLMScorer(**options, batch_size=2)
        with count_contexts(monkeypatch) as contexts:
            rows = fresh_scorer.sweep(CANDIDATES, REFERENCES, idfs=forms, temperatures=[0.5, 2.0])
        with count_contexts(monkeypatch) as needed:
            fresh_scorer.score(CANDIDATES, REFERENCES, idf=False, reuse_memory=0)
        assert len(contexts) == len(needed)
        combinations = [(settings.idf, settings.temperature) for settings, _ in rows]
        assert combinations == list(itertools.product(forms, (0.5, 2.0)))
        for combination, result in rows:
            alone = scorer.score(CANDIDATES, REFERENCES, **{**vars(combination), "reuse_memory": 0})
            assert (result.signature, result.counts) == (alone.signature, alone.counts)
            assert_nearly_equal(result["scores"], alone["scores"])


@pytest.mark.parametrize(
    ("options", "fully_masked"), [({}, 1), ({"masking": "none"}, 0), ({"interpolation": 0.1}, 0)]
)
def test_fully_masked_texts_are_counted(scorer, options, fully_masked):
    texts = ["the cat", "the cat sat", "the cat sat on", ""]
    references = ["a dog", "a dog ran", "a dog ran in", "cat"]
    result = scorer.score(texts, references, idf=False, **options)
    assert result["warnings"].get("one_token", 0) == fully_masked


# Warnings

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
PRICES = [f"the price is {number} dollars" for number in NUMBERS]


def test_different_texts_with_the_best_score_are_counted_and_get_no_verdict():
    bundled = InfoLMScorer(model_name_or_path="bundled")
    wrong = [*PRICES[1:], PRICES[0]]
    options = {"information_measure": ["fisher_rao_distance", "kl"]}
    result = bundled.score(wrong, PRICES, **options)
    assert result["scores"]["fisher_rao_distance"] == [0.0] * 10
    assert result["warnings"] == {"indistinguishable": 10, "one_token": 20, "few_weighted": 20}
    assert result.counts["identical"] == 0 and verdict_obstacles(result.counts)
    equal = bundled.score(PRICES, PRICES)
    assert equal.counts["identical"] == 10 and "indistinguishable" not in equal["warnings"]
    for idf in (False, "bundled"):
        weighted = bundled.score(wrong, PRICES, idf=idf)
        assert min(weighted["scores"]) > 0.01 and weighted["warnings"] == {}
    ((_, swept),) = bundled.sweep(wrong, PRICES, temperatures=[1.0])
    assert swept["warnings"] == result["warnings"]
    with pytest.warns(UserWarning, match="90 of 100 pairs of different texts"):
        bundled.matrix(PRICES, PRICES)


@pytest.mark.parametrize(("rule", "equal"), [("min", [1, 1, 0]), ("mean", [1, 0, 0])])
def test_pairs_are_identical_if_the_tokens_of_the_reduced_references_are_equal(scorer, rule, equal):
    groups = [["cat", "Cat"], ["cat", "dog"], ["dog", "dogs"]]
    result = scorer.score(["cat"] * 3, groups, idf=False, multi_reference=rule)
    assert result["scores"][:2] == [0.0, 0.0]  # single tokens are masked
    assert result.counts["identical"] == sum(equal)
    assert result["warnings"]["indistinguishable"] == result["scores"].count(0.0) - sum(equal)


def test_texts_from_a_template_have_few_weighted_tokens():
    scorer = InfoLMScorer(model_name_or_path="bundled", masking="none")
    references = [f"on day {number} the council passed the budget" for number in NUMBERS]
    candidates = [f"the council approved the budget on day {number}" for number in NUMBERS]
    result = scorer.score(candidates, references)
    assert result["warnings"]["few_weighted"] >= 10 and verdict_obstacles(result.counts)
    assert "few_weighted" not in scorer.score(candidates, references, idf="bundled")["warnings"]
    prose = SENTENCES[:20]
    assert "few_weighted" not in scorer.score(prose, prose[::-1])["warnings"]


def test_sweep_and_distributions_warn_like_score(scorer):
    grid = {"idfs": [False, "references"], "interpolations": [0.5, 0.0]}
    with pytest.warns(UserWarning) as caught:
        scorer.sweep(["cat", "the cat sat"], ["dog", "a dog"], **grid)
    messages = [str(warning.message) for warning in caught]
    assert sum("3 of 4 texts have only one weighted" in message for message in messages) == 1
    assert sum("only 2 distinct documents" in message for message in messages) == 1
    with pytest.warns(UserWarning, match="1 of 2 texts") as caught:
        scorer.distributions(["", "the cat"], idf=False)
    assert len(caught) == 1


# Errors


SWEEP = ("sweep", ["a"], ["b"])
EXPLAIN, DISTRIBUTIONS = ("explain", "a cat", "the cat"), ("distributions",)


INVALID = [
    (SWEEP, {"alphas": 0.5}, "alphas must be a list"),
    (SWEEP, {"temperatures": []}, "temperatures must be a list of at least one"),
    (SWEEP, {"information_measure": "alpha", "alphas": [0, 1]}, "alphas=.0, 1."),
    (SWEEP, {"idfs": "references"}, "idfs must be a list"),
    (EXPLAIN, {"information_measure": ["kl", "l1"]}, "must be a single measure"),
    (("explain", "a cat", ["a", "b"]), {}, "reference must be a string"),
    ((*DISTRIBUTIONS, []), {}, "texts is empty"),
    (("matrix", ["a"], ["a"]), {"information_measure": ["kl", "l1"]}, "must be one name"),
    ((*DISTRIBUTIONS, "a"), {}, "texts must be a list"),
]


@pytest.mark.parametrize(("method", "options", "word"), INVALID)
def test_invalid_arguments_are_rejected_before_a_model_is_loaded(method, options, word):
    name, *arguments = method
    with pytest.raises(InputError, match=word):
        getattr(InfoLMScorer(model_name_or_path="./none"), name)(*arguments, **options)


def test_overflowing_predictions_are_rejected_with_a_remedy(scorer):
    remedy = "dtype=.float32. and temperature.1e-310. .* Otherwise, increase the"
    with pytest.raises(InputError, match=remedy):
        scorer.score(CANDIDATES, REFERENCES, temperature=1e-310)
