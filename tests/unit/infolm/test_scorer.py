"""InfoLMScorer against the literal float64 implementation, and what a score must not depend on."""

import copy
import math
import re
import warnings

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForMaskedLM

from infolm_metric import IDF, InfoLMScorer
from infolm_metric.infolm.measures import MEASURES, SYMMETRIZATIONS
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import check_pairs
from infolm_metric.kernel.results import joined
from tests.counted_contexts import counted_contexts
from tests.model_families import FAMILIES, build
from tests.reference_infolm import ReferenceInfoLM

CANDIDATES = [
    "the cat sat on the mat",
    "a dog ran in the park 42 times, didn't it?",
    "",
    "hello world again and again",
    "the cat",
]
REFERENCES = [
    "the cat is on the mat",
    "dogs run in parks",
    "the rain in spain",
    "",
    "the cat",
]
# Every measure, with the parameters that the project is judged by.
PARAMETERS = [
    ("kl_divergence", None, None),
    ("alpha_divergence", 0.3, None),
    ("alpha_divergence", 2.0, None),
    ("alpha_divergence", -0.5, None),
    ("renyi_divergence", 0.3, None),
    ("renyi_divergence", 2.0, None),
    ("beta_divergence", None, 0.7),
    ("beta_divergence", None, -0.5),
    ("ab_divergence", 0.3, 0.7),
    ("ab_divergence", 2.0, -0.5),
    ("ab_divergence", -0.5, -0.5),
    ("l1_distance", None, None),
    ("l2_distance", None, None),
    ("l_infinity_distance", None, None),
    ("fisher_rao_distance", None, None),
]
TEMPERATURES = [0.05, 0.25, 1.0, 4.0]
LONG = " ".join(["the old man saw a small red boat near the river and the bridge"] * 5)

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


class Literal(ReferenceInfoLM):
    """The literal implementation; remembers distributions, because many measures compare them."""

    def __init__(self, folder):
        super().__init__(folder)
        self.remembered = {}

    def log_distribution(self, text, temperature=1.0, weights=None, **cut):
        key = (text, temperature, weights and tuple(weights.items()), *cut.items())
        if key not in self.remembered:
            self.remembered[key] = super().log_distribution(text, temperature, weights, **cut)
        return self.remembered[key]


def assert_close(ours, theirs, temperature=1.0, tolerance=3e-5):
    """Within tolerance x max(1, 1/T), relative above 1, as the design states it."""
    allowed = tolerance * max(1.0, 1.0 / temperature)
    for one, other in zip(ours, theirs, strict=True):
        assert math.isfinite(one)
        assert abs(one - other) <= allowed * max(1.0, abs(other)), (one, other)


def assert_as_literal(ours, theirs, temperature=1.0, floor=1e-9):
    """Within the design's bound taken relative to the score itself, however small the score.

    Below `floor` the literal implementation rounds, too.
    """
    assert_close(ours, theirs, temperature)
    allowed = 3e-5 * max(1.0, 1.0 / temperature)
    for one, other in zip(ours, theirs, strict=True):
        assert abs(one - other) <= allowed * abs(other) + floor, (one, other)


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=tiny_bert)


@pytest.mark.parametrize("idf", [False, "references", "separate"])
@pytest.mark.parametrize("symmetrize", SYMMETRIZATIONS)
def test_every_symmetrisation_and_idf_form_equals_the_literal_implementation(
    scorer, tiny_bert, idf, symmetrize
):
    literal = Literal(tiny_bert)
    for measure, alpha, beta in [("kl_divergence", None, None), ("ab_divergence", 2.0, -0.5)]:
        result = scorer.score(
            CANDIDATES,
            REFERENCES,
            information_measure=measure,
            alpha=alpha,
            beta=beta,
            temperature=0.25,
            idf=idf,
            symmetrize=symmetrize,
        )
        expected = literal.score(
            CANDIDATES, REFERENCES, measure, alpha, beta, 0.25, idf, symmetrize
        )
        assert_as_literal(result.scores[measure], expected, 0.25)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("long_text", ["truncate", "window"])
def test_long_texts_equal_the_literal_implementation(tiny_models, family, long_text):
    folder = tiny_models(family)
    candidates, references = [LONG, "a boat"], ["a small red boat", LONG + " again"]
    for max_length in (None, 17):
        result = InfoLMScorer(model_name_or_path=folder).score(
            candidates, references, long_text=long_text, max_length=max_length
        )
        expected = ReferenceInfoLM(folder).score(
            candidates,
            references,
            "fisher_rao_distance",
            idf="references",
            long_text=long_text,
            max_length=max_length,
        )
        assert_as_literal(result.scores["fisher_rao_distance"], expected)


@pytest.mark.parametrize("multi_reference", ["min", "mean"])
def test_several_references_are_scored_each_and_combined(scorer, tiny_bert, multi_reference):
    references = [["a mat", "the cat"], ["a dog"], ["", "rain", "sun"], ["hello"], ["the cat"]]
    result = scorer.score(CANDIDATES, references, multi_reference=multi_reference)
    expected = ReferenceInfoLM(tiny_bert).score(
        CANDIDATES,
        references,
        "fisher_rao_distance",
        idf="references",
        multi_reference=multi_reference,
    )
    assert_close(result.scores["fisher_rao_distance"], expected)


def test_the_corpus_score_is_the_mean_of_the_sentence_scores(scorer):
    result = scorer.score(CANDIDATES, REFERENCES).as_dict()
    assert result["infolm"] == pytest.approx(np.mean(result["scores"]), rel=1e-12)


@pytest.mark.parametrize(("measure", "alpha", "beta"), PARAMETERS)
@pytest.mark.parametrize("symmetrize", SYMMETRIZATIONS)
def test_identical_texts_score_exactly_zero(scorer, measure, alpha, beta, symmetrize):
    texts = [*CANDIDATES, LONG]
    result = scorer.score(
        texts,
        texts,
        information_measure=measure,
        alpha=alpha,
        beta=beta,
        symmetrize=symmetrize,
    )
    assert result.scores[measure] == [0.0] * len(texts)


def test_equal_tokens_from_different_strings_score_exactly_zero(scorer):
    assert scorer.score(["The  CAT"], ["the cat"]).scores == {"fisher_rao_distance": [0.0]}


# ModernBERT runs its own encoder, whose attention depends on the batch in the last bits.
OWN_WAYS = {"modernbert"}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_score_has_the_same_bits_in_any_company_order_batch_or_chunk(
    family, tiny_models, monkeypatch
):
    scorer = InfoLMScorer(model_name_or_path=tiny_models(family), reuse_memory=0)
    options = {
        "idf": IDF.from_corpus([*CANDIDATES, *REFERENCES], scorer.tokenizer),
        "temperature": 0.25,
        "information_measure": ["kl", "fisher_rao", "l1"],
        "long_text": "window",
        "max_length": 12,
    }

    def scores(candidates, references, **more):
        found = scorer.score(candidates, references, **options, **more).scores
        rows = np.asarray(list(found.values())).T
        return rows if family in OWN_WAYS else rows.tolist()

    def same(found, expected):
        if family in OWN_WAYS:
            return np.allclose(found, expected, rtol=4e-6, atol=4e-6)
        return found == expected

    together = scores(CANDIDATES, REFERENCES)
    pairs = zip(CANDIDATES, REFERENCES, strict=True)
    assert same([scores([candidate], [reference])[0] for candidate, reference in pairs], together)
    assert same(scores(CANDIDATES[::-1], REFERENCES[::-1])[::-1], together)
    assert same(scores([*CANDIDATES, "rain"], [*REFERENCES, "a dog"])[:-1], together)
    for batch_size in (1, 3, 64):
        assert same(scores(CANDIDATES, REFERENCES, batch_size=batch_size), together)
    monkeypatch.setattr("infolm_metric.infolm.scorer.CHUNK_TEXTS", 1)
    assert same(scores(CANDIDATES, REFERENCES), together)


# Streams


def test_a_stream_gives_the_scores_of_the_pairs_in_order(scorer, monkeypatch):
    monkeypatch.setattr("infolm_metric.kernel.scorer.READ_AHEAD", 2)
    pairs = list(zip(CANDIDATES, REFERENCES, strict=True))
    chosen = {"information_measure": ["l1", "kl"], "reuse_memory": 0}
    for idf in (False, "references", "separate"):
        whole = scorer.score(CANDIDATES, REFERENCES, idf=idf, **chosen)
        rows = list(scorer.stream(pairs, idf=idf, **chosen))
        assert [list(row) for row in rows] == [["l1_distance", "kl_divergence"]] * len(pairs)
        for name, scores in whole.scores.items():
            assert_close([row[name] for row in rows], scores, tolerance=1e-6)


def test_a_stream_reads_pairs_as_it_goes(scorer, monkeypatch):
    monkeypatch.setattr("infolm_metric.kernel.scorer.READ_AHEAD", 4)
    read = []

    def endless():
        while True:
            read.append(len(read))
            yield f"the cat {len(read)}", ["the dog", f"rain {len(read)}"]

    rows = scorer.stream(endless(), idf=False)
    assert read == []
    next(rows)
    assert len(read) <= 4


def test_what_can_be_read_once_needs_a_table_or_none(scorer):
    pairs = list(zip(CANDIDATES, REFERENCES, strict=True))
    table = IDF.from_corpus(REFERENCES, scorer.tokenizer)
    expected = scorer.score(CANDIDATES, REFERENCES).scores["fisher_rao_distance"]
    rows = scorer.stream(iter(pairs), idf=table)
    assert_close([row["fisher_rao_distance"] for row in rows], expected, tolerance=1e-6)
    with pytest.raises(ValueError, match="reads the pairs twice.*list_iterator.*give idf=False"):
        scorer.stream(iter(pairs))


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        ("a text", TypeError, "pairs must be an iterable of .*'a text'"),
        (5, TypeError, "pairs must be an iterable"),
        ([("a", "b"), "cd"], TypeError, r"pairs\[1\] must be \(candidate, reference\)"),
        ([("a", "b", "c")], TypeError, r"pairs\[0\] must be"),
        ([("a", None)], TypeError, r"pairs\[0\]\[1\] must be a list of strings, got None"),
        ([("a", [])], ValueError, r"pairs\[0\]\[1\] is an empty list"),
        ([("a", ["b", 3])], TypeError, r"pairs\[0\]\[1\]\[1\] must be a string, got 3"),
        ([(None, "b")], TypeError, r"pairs\[0\]\[0\] must be a string, got None"),
    ],
)
def test_a_wrong_pair_in_a_stream_is_named(scorer, pairs, error, message):
    with pytest.raises(error, match=message):
        list(scorer.stream(pairs, idf=False))


def test_a_stream_counts_its_remarks_over_all_its_parts(scorer, monkeypatch):
    monkeypatch.setattr("infolm_metric.kernel.scorer.READ_AHEAD", 2)
    pairs = [("", "the cat"), ("the dog", "the rain"), ("", "the dog")]
    with pytest.warns(UserWarning, match="2 of 6 texts without a token of their own") as caught:
        list(scorer.stream(pairs, idf=False))
    assert len(caught) == 1 and caught[0].filename == __file__


def test_the_signature_can_be_had_without_scores(scorer):
    result = scorer.score(["a cat"], ["the cat"], masks_per_pass=2, idf=False)
    found = scorer.signature(masks_per_pass=2, idf=False)
    assert found == result.signature != scorer.signature(idf=False)
    assert "|masks_per_pass:2|" in result.signature
    assert "masks_per_pass" not in scorer.signature()


# Several masks a pass


@pytest.mark.parametrize("masks", [2, 5, 100])
def test_several_masks_a_pass_are_what_a_literal_reading_gives(scorer, masks):
    model = AutoModelForMaskedLM.from_pretrained(scorer.settings.model_name_or_path).eval()
    tokenizer = scorer.tokenizer
    texts = [*CANDIDATES, ""]
    found = scorer.distributions(texts, idf=False, masks_per_pass=masks, temperature=2.0)
    for text, log_p in zip(texts, found, strict=True):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        if ids.shape[1] == 2:
            ids = tokenizer(tokenizer.mask_token, return_tensors="pt")["input_ids"]
        inner = range(1, ids.shape[1] - 1)
        passes = -(-len(inner) // masks)
        total = torch.zeros(log_p.shape, dtype=torch.float64)
        for number in range(passes):
            masked = list(inner)[number::passes]
            context = ids.clone()
            context[0, masked] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(context).logits[0, masked]
            total += torch.softmax(logits.double() / 2.0, -1).sum(0) / len(inner)
        torch.testing.assert_close(log_p, total.log(), rtol=0, atol=2e-5)


def test_several_masks_a_pass_need_fewer_passes_and_do_not_mix_with_others(scorer, monkeypatch):
    from infolm_metric.infolm import masked_lm

    contexts = []
    plain = masked_lm.MaskedLM.logits
    monkeypatch.setattr(
        masked_lm.MaskedLM,
        "logits",
        lambda self, ids, *rest: contexts.append(len(ids)) or plain(self, ids, *rest),
    )
    fresh = InfoLMScorer(model_name_or_path=scorer.settings.model_name_or_path, idf=False)
    exact = fresh.score(CANDIDATES, REFERENCES)
    passes = sum(contexts)
    contexts.clear()
    quick = fresh.score(CANDIDATES, REFERENCES, masks_per_pass=4)
    assert passes / 4 <= sum(contexts) < passes / 2
    assert quick.scores != exact.scores
    assert fresh.score(CANDIDATES, REFERENCES).scores == exact.scores


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("idf", [False, "references"])
def test_without_masks_scores_are_those_of_a_literal_reading(tiny_models, family, idf):
    folder = tiny_models(family)
    literal = ReferenceInfoLM(folder, masked=False)
    scorer = InfoLMScorer(model_name_or_path=folder, masks_per_pass=0, idf=idf, temperature=0.5)
    candidates, references = [*CANDIDATES, LONG, "yes"], [*REFERENCES, "a boat", "no"]
    for cut in ({}, {"max_length": 17, "long_text": "window"}, {"max_length": 17}):
        result = scorer.score(candidates, references, **cut)
        expected = literal.score(
            candidates, references, "fisher_rao_distance", temperature=0.5, idf=idf, **cut
        )
        assert_close(result["scores"], expected, 0.5)


def test_without_masks_a_text_is_read_once_and_scores_do_not_depend_on_the_batch(
    scorer, monkeypatch
):
    texts = [*CANDIDATES, *REFERENCES, LONG]
    own = {"masks_per_pass": 0, "idf": False, "reuse_memory": 0}
    together = scorer.distributions(texts, **own)
    for text, log_p in zip(texts, together, strict=True):
        assert torch.equal(scorer.distributions([text], **own)[0], log_p)
    for size in (1, 3, 64):
        assert torch.equal(scorer.distributions(texts, batch_size=size, **own), together)
    with counted_contexts(monkeypatch) as contexts:
        scorer.distributions(texts, **own)
    assert len(contexts) == len({*texts})


def test_the_head_runs_in_pieces_without_a_change_of_bits(scorer, monkeypatch):
    from infolm_metric.infolm import masked_lm

    own = {"masks_per_pass": 0, "idf": False, "reuse_memory": 0}
    whole = scorer.distributions([LONG, "a cat"], **own)
    vocabulary = whole.shape[1]
    monkeypatch.setattr(masked_lm, "LOGITS_AT_ONCE", {True: 5 * vocabulary})
    assert torch.equal(scorer.distributions([LONG, "a cat"], **own), whole)


def test_an_explanation_without_masks_shows_what_is_predicted_in_sight(scorer):
    plain, seen = (scorer.explain("a cat", "the cat", masks_per_pass=k) for k in (1, 0))
    assert seen.score == scorer.score(["a cat"], ["the cat"], masks_per_pass=0)["infolm"]
    assert not torch.equal(plain.candidate.log_predictions, seen.candidate.log_predictions)
    assert seen.candidate.tokens == ["a", "cat"]


# Interpolation with the text's own tokens


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_interpolated_scores_equal_the_literal_implementation(tiny_models, family, share):
    folder = tiny_models(family)
    literal, ours = Literal(folder), InfoLMScorer(model_name_or_path=folder)
    for temperature in (0.25, 1.0):
        for measure, alpha, beta in PARAMETERS:
            parameters = {"information_measure": measure, "alpha": alpha, "beta": beta}
            result = ours.score(
                CANDIDATES,
                REFERENCES,
                **parameters,
                temperature=temperature,
                interpolation=share,
            )
            expected = literal.score(
                CANDIDATES,
                REFERENCES,
                measure,
                alpha,
                beta,
                temperature,
                "references",
                interpolation=share,
            )
            assert_close(result.scores[measure], expected, temperature)


BOUNDED = [
    ("l1_distance", {}),
    ("l2_distance", {}),
    ("l_infinity_distance", {}),
    ("fisher_rao_distance", {}),
    ("alpha_divergence", {"alpha": 0.3}),
    ("kl_divergence", {"symmetrize": "jensen"}),
    ("alpha_divergence", {"alpha": 2.0, "symmetrize": "jensen"}),
    ("renyi_divergence", {"alpha": 2.0, "symmetrize": "jensen"}),
    ("ab_divergence", {"alpha": 0.3, "beta": 0.7, "symmetrize": "jensen"}),
]


def from_counts(measure, p, q, alpha=None, beta=None):
    """A measure of two distributions that may hold zeros, as its definition has it."""
    both = (p > 0) & (q > 0)
    m = (p + q) / 2
    if measure == "fisher_rao_distance":
        return 2 / np.pi * np.arccos(min(1.0, np.sqrt(p * q).sum()))
    if measure == "alpha_divergence" and alpha < 1:
        sums = [(x[both] ** alpha * y[both] ** (1 - alpha)).sum() for x, y in ((p, q), (q, p))]
        return np.mean([(total - 1) / (alpha * (alpha - 1)) for total in sums])
    gap = np.abs(p - q)
    if measure.endswith("_distance"):
        return {"l1": gap.sum(), "l2": np.sqrt((gap**2).sum()), "l_infinity": gap.max()}[
            measure.removesuffix("_distance")
        ]
    values = []
    for x in (p, q):
        on = x > 0
        if measure == "kl_divergence":
            values.append((x[on] * np.log(x[on] / m[on])).sum())
            continue
        total = (x[on] ** alpha * m[on] ** (1 - alpha)).sum()
        if measure == "alpha_divergence":
            values.append((total - 1) / (alpha * (alpha - 1)))
        elif measure == "renyi_divergence":
            values.append(np.log(total) / (alpha - 1))
        else:  # with a + b = 1, Renyi's divergence over a
            values.append(np.log(total) / (alpha - 1) / alpha)
    return np.mean(values)


@pytest.mark.parametrize(("measure", "parameters"), BOUNDED)
@pytest.mark.parametrize("idf", [False, "references"])
def test_wholly_interpolated_scores_are_those_of_the_tokens_counts(
    scorer, measure, parameters, idf
):
    candidates = ["the cat sat on the mat", "a dog ran", "rain", "the cat"]
    references = ["the cat is on the mat", "hello world", "rain rain", "a dog"]
    result = scorer.score(
        candidates,
        references,
        information_measure=measure,
        interpolation=1,
        idf=idf,
        **parameters,
    )
    table = IDF.from_corpus(references, scorer.tokenizer).weights if idf else None
    for candidate, reference, score in zip(candidates, references, result["scores"], strict=True):
        p, q = (counted(text, scorer.tokenizer, table) for text in (reference, candidate))
        own = {k: v for k, v in parameters.items() if k != "symmetrize"}
        assert score == pytest.approx(from_counts(measure, p, q, **own), abs=1e-9)


def counted(text, tokenizer, table):
    """The weights of a text's own tokens, [vocab]."""
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    weights = np.ones(len(ids)) if table is None or not table[ids].any() else table[ids]
    return np.bincount(
        ids, weights / weights.sum(), minlength=max(tokenizer.get_vocab().values()) + 1
    )


def test_an_unbounded_measure_is_not_wholly_interpolated():
    for measure, parameters in (
        ("kl", {}),
        ("renyi", {"alpha": 0.5}),
        ("ab", {"alpha": 1, "beta": 1}),
    ):
        with pytest.raises(ValueError, match="interpolation=1 needs a measure with a largest"):
            InfoLMScorer(information_measure=measure, interpolation=1, **parameters)


@pytest.mark.parametrize("measure", ["fisher_rao", "kl", "linf"])
def test_an_interpolated_token_is_heard(scorer, measure):
    own = {"information_measure": measure, "idf": False, "interpolation": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = scorer.score(["cat", "cat"], ["dog", "cat"], **own)
    assert result["scores"][0] > 0.01 and result["scores"][1] == 0.0
    assert result["remarks"]["one_token"] == 0


def test_a_text_without_tokens_keeps_its_distribution_when_interpolated(scorer):
    plain, mixed = (scorer.distributions([""], interpolation=share) for share in (0, 0.5))
    assert torch.equal(plain, mixed)


def test_another_interpolation_needs_no_pass(scorer, monkeypatch):
    fresh = InfoLMScorer(model_name_or_path=scorer.settings.model_name_or_path, idf=False)
    fresh.score(CANDIDATES, REFERENCES)
    with counted_contexts(monkeypatch) as contexts:
        found = fresh.score(CANDIDATES, REFERENCES, interpolation=0.3)
    assert contexts == []
    rows = fresh.sweep(CANDIDATES, REFERENCES, interpolations=[0, 0.3], temperatures=[1, 2])
    assert [(each.temperature, each.interpolation) for each, _ in rows] == [
        (1.0, 0.0),
        (1.0, 0.3),
        (2.0, 0.0),
        (2.0, 0.3),
    ]
    assert rows[1][1].scores == found.scores and "|interpolation:0.3|" in rows[1][1].signature


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), "much", None])
def test_an_interpolation_outside_its_range_is_refused(wrong):
    with pytest.raises((ValueError, TypeError), match="interpolation must"):
        InfoLMScorer(interpolation=wrong)


def test_an_explanation_is_of_single_masks(scorer):
    with pytest.raises(ValueError, match="masks_per_pass must be 1 or 0 for explain.*got 3"):
        scorer.explain("a cat", "the cat", masks_per_pass=3)


def test_an_empty_text_is_neither_zero_nor_nan_against_a_text(scorer):
    scores = scorer.score(["", "the cat", ""], ["the cat", "", ""]).scores["fisher_rao_distance"]
    assert scores[0] > 0
    assert scores[1] == pytest.approx(scores[0], rel=1e-6, abs=1e-6)
    assert scores[2] == 0.0


@pytest.mark.parametrize("temperature", [0.01, 0.1, 10.0, 100.0])
def test_scores_are_finite_at_every_temperature(scorer, temperature):
    for measure, alpha, beta in PARAMETERS:
        for symmetrize in SYMMETRIZATIONS:
            result = scorer.score(
                CANDIDATES,
                REFERENCES,
                information_measure=measure,
                alpha=alpha,
                beta=beta,
                temperature=temperature,
                symmetrize=symmetrize,
            )
            assert np.isfinite(result.scores[measure]).all()
            assert math.isfinite(result.mean(measure))
            assert result.scores[measure][-1] == 0 < max(result.scores[measure])


# Measured: at most 0.003 and 0.0005.
@pytest.mark.parametrize(("dtype", "allowed"), [("bfloat16", 0.01), ("float16", 0.0015)])
def test_half_precision_is_close_and_named_in_the_signature(scorer, dtype, allowed):
    full = scorer.score(CANDIDATES, REFERENCES)
    half = scorer.score(CANDIDATES, REFERENCES, dtype=dtype)
    assert f"|dtype:{dtype}|" in half.signature
    assert half.scores != full.scores
    for one, other in zip(
        half.scores["fisher_rao_distance"], full.scores["fisher_rao_distance"], strict=True
    ):
        assert one == pytest.approx(other, abs=allowed)


def test_several_measures_in_one_pass_equal_each_alone(scorer):
    names = [name for name, measure in MEASURES.items() if not measure.parameters]
    together = scorer.score(CANDIDATES, REFERENCES, information_measure=names)
    for name in names:
        alone = scorer.score(CANDIDATES, REFERENCES, information_measure=name)
        assert alone.scores[name] == together.scores[name]


def test_sweep_equals_score_for_each_of_its_settings(scorer):
    rows = scorer.sweep(
        CANDIDATES,
        REFERENCES,
        information_measure=["fisher_rao", "alpha", "ab"],
        temperatures=[0.5, 2.0],
        alphas=[0.5, 1.0],
        betas=[0.3, -0.5],
    )
    # Fisher-Rao once, alpha without its singular 1, AB without alpha + beta = 0.
    assert len(rows) == 2 * (1 + 1 + 3)
    for chosen, result in rows:
        single = scorer.score(
            CANDIDATES,
            REFERENCES,
            information_measure=chosen.information_measure,
            alpha=chosen.alpha,
            beta=chosen.beta,
            temperature=chosen.temperature,
        )
        assert result.signature == single.signature
        (name,) = chosen.names
        assert_close(result.scores[name], single.scores[name], tolerance=1e-9)


def test_a_sweep_warns_of_all_that_any_of_its_settings_does(scorer):
    with pytest.warns(UserWarning) as warned:
        scorer.sweep(
            ["cat", "the cat sat"],
            ["dog", "a dog"],
            idfs=[False, "references"],
            interpolations=[0.5, 0.0],
        )
    said = [str(each.message) for each in warned]
    assert sum("2 of 4 texts of one token" in each for each in said) == 1
    assert sum("known from 2 distinct texts only" in each for each in said) == 1


def test_a_sweep_over_idf_equals_score_and_reads_each_text_once(scorer, monkeypatch):
    # "the" is in every document: it has no weight, and its mask is read for the others' sake.
    table = IDF.from_corpus(["the cat", "the dog sat", "the river"], scorer.tokenizer)
    forms = ["references", False, table, "separate"]
    for masks in (1, 3):
        fresh = InfoLMScorer(
            model_name_or_path=scorer.settings.model_name_or_path,
            masks_per_pass=masks,
            batch_size=2,
        )
        with counted_contexts(monkeypatch) as contexts:
            rows = fresh.sweep(CANDIDATES, REFERENCES, idfs=forms, temperatures=[0.5, 2.0])
        with counted_contexts(monkeypatch) as needed:
            fresh.score(CANDIDATES, REFERENCES, idf=False, reuse_memory=0)
        assert len(contexts) == len(needed) or masks > 1
        assert [(chosen.idf, chosen.temperature) for chosen, _ in rows] == [
            (form, heat) for form in forms for heat in (0.5, 2.0)
        ]
        for chosen, result in rows:
            single = scorer.score(CANDIDATES, REFERENCES, **{**vars(chosen), "reuse_memory": 0})
            assert result.signature == single.signature
            assert_close(result.scores["fisher_rao_distance"], single["scores"], tolerance=1e-6)


@pytest.mark.parametrize("idf", [False, "references", "separate", "table"])
def test_a_part_is_scored_as_within_the_whole_corpus(scorer, idf):
    form = IDF.from_corpus(REFERENCES, scorer.tokenizer) if idf == "table" else idf
    whole = scorer.score(CANDIDATES, REFERENCES, idf=form)
    pairs, chosen = check_pairs(CANDIDATES, REFERENCES), scorer.settings.replace(idf=form)
    counts = [scorer.inner.count(part, chosen) for part in (pairs.part(0, 2), pairs.part(2))]
    parts = [
        scorer.inner.score(part, chosen, counts[0] + counts[1])
        for part in (pairs.part(0, 2), pairs.part(2))
    ]
    assert [part.signature for part in parts] == [whole.signature] * 2
    assert_close(joined(parts)["scores"], whole["scores"], tolerance=1e-6)
    assert joined(parts).remarks == whole.remarks


@pytest.mark.parametrize(
    ("idf", "counted", "needed", "got"),
    [
        ("references", False, "('references',)", "nothing"),
        (False, "references", "nothing", "('references',)"),
        ("separate", "references", "('candidates', 'references')", "('references',)"),
    ],
)
def test_statistics_that_do_not_fit_the_settings_are_refused(scorer, idf, counted, needed, got):
    pairs, chosen = check_pairs(CANDIDATES, REFERENCES), scorer.settings.replace(idf=idf)
    statistics = scorer.inner.count(pairs, scorer.settings.replace(idf=counted))
    message = f"idf={idf!r} needs the counts of {needed}, got those of {got}; count the corpus"
    with pytest.raises(ValueError, match=re.escape(message)):
        scorer.inner.score(pairs, chosen, statistics)


def test_statistics_of_another_tokenizer_are_refused(scorer):
    table = IDF.from_corpus(REFERENCES, scorer.tokenizer)
    other = IDF(table.documents, table.document_frequency, "5f2e")
    with pytest.raises(ValueError, match="belongs to the tokenizer"):
        pairs = check_pairs(CANDIDATES[:2], REFERENCES[:2])
        scorer.inner.score(pairs, scorer.settings, Statistics({"references": other}))


def test_the_model_is_loaded_once_and_texts_seen_before_are_not_read_again(scorer, monkeypatch):
    fresh = InfoLMScorer(model_name_or_path=scorer.settings.model_name_or_path, idf=False)
    with counted_contexts(monkeypatch) as contexts:
        fresh.score(CANDIDATES, REFERENCES)
        first, model = len(contexts), fresh.inner.distributions.model(fresh.settings)
        fresh.score(["a new text"], [REFERENCES[0]])
        assert fresh.inner.distributions.model(fresh.settings) is model
        assert 0 < len(contexts) - first <= 6
        before = len(contexts)
        fresh.score(CANDIDATES, REFERENCES)
        assert len(contexts) == before
        fresh.unload()
        fresh.score(CANDIDATES, REFERENCES)
        assert len(contexts) == before + first


def test_repeated_texts_in_a_call_are_read_once(scorer, monkeypatch):
    from infolm_metric.infolm import masked_lm

    rows = []
    plain = masked_lm.MaskedLM.logits
    monkeypatch.setattr(
        masked_lm.MaskedLM,
        "logits",
        lambda self, ids, *rest: rows.append(len(ids)) or plain(self, ids, *rest),
    )
    scorer.score(["one small boat"] * 7, ["one small boat"] * 7, idf=False, reuse_memory=0)
    tokens = scorer.tokenizer.tokenize("one small boat")
    assert sum(rows) == len(tokens)


def test_one_warning_counts_the_texts_of_each_kind(scorer):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scorer.score(["", LONG, LONG], ["a cat", "the dog", "the dog"], idf=False)
    messages = [str(w.message) for w in caught if str(w.message).startswith("infolm")]
    assert len(messages) == 2
    assert any("2 of 6 texts longer than 40 tokens" in message for message in messages)
    assert any("1 of 6 texts without a token" in message for message in messages)


def test_weightless_texts_are_counted(scorer):
    table = IDF.from_corpus(["the mat", "the mat"], scorer.tokenizer)
    with pytest.warns(UserWarning, match="1 of 2 texts with an inverse document frequency of 0"):
        scorer.score(["a cat"], ["the mat"], idf=table)


def test_a_text_too_long_is_refused_before_the_model_loads_if_asked(tiny_bert):
    fresh = InfoLMScorer(model_name_or_path=tiny_bert, long_text="error")
    with pytest.raises(ValueError, match=r"max_length=40.*long_text"):
        fresh.score([LONG], ["the cat"])
    assert fresh.inner.distributions._loaded is None


def test_distributions_are_normalised_log_probabilities(scorer):
    texts = ["the cat", "", "the cat"]
    log_p = scorer.distributions(texts)
    assert log_p.shape == (3, scorer.inner.distributions.opened(scorer.settings).size)
    assert log_p.dtype == torch.float64
    torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(3, dtype=torch.float64))
    assert torch.equal(log_p[0], log_p[2])


def test_a_table_of_another_tokenizer_is_refused(scorer, tiny_models):
    other = InfoLMScorer(model_name_or_path=tiny_models("roberta"))
    table = IDF.from_corpus(["a cat"], other.tokenizer)
    with pytest.raises(ValueError, match="belongs to"):
        scorer.score(["a"], ["b"], idf=table)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_unicode_text_scores_or_is_refused_clearly(scorer, candidate, reference):
    try:
        pairs = [candidate, reference, candidate], [reference, candidate, candidate]
        there, back, own = scorer.score(*pairs, idf=False).scores["fisher_rao_distance"]
    except ValueError as error:
        assert "surrogate" in str(error)
    else:
        same = scorer.tokenizer(candidate)["input_ids"] == scorer.tokenizer(reference)["input_ids"]
        assert there == back and own == 0
        assert (there == 0) if same else math.isfinite(there)


@pytest.mark.parametrize(
    "text",
    [
        "🙂👩‍👩‍👧",
        "مرحبا بالعالم",
        "\x00\x01\x1b[31m",
        "e\u0301" * 50,
        "\u2028\u2029\ufeff",
        "a" * 100_000,
    ],
    ids=["emoji", "right-to-left", "control", "combining", "separators", "100000-characters"],
)
def test_unusual_texts_score_as_the_literal_implementation_does(scorer, tiny_bert, text):
    given = [text, "the cat"], ["the cat", text]
    scores = scorer.score(*given).scores["fisher_rao_distance"]
    measure = ("fisher_rao_distance", None, None, 1.0, "references")
    assert_as_literal(scores, Literal(tiny_bert).score(*given, *measure))


def test_one_hundred_thousand_words_are_cut_to_what_the_model_reads(scorer, monkeypatch):
    with counted_contexts(monkeypatch) as contexts:
        (cut,) = scorer.score(["the cat " * 50_000], ["the cat"]).scores["fisher_rao_distance"]
    (same,) = scorer.score(["the cat " * 19], ["the cat"]).scores["fisher_rao_distance"]
    assert cut == same > 0
    assert max(map(len, contexts)) == 40 and len(contexts) <= 38 + 2


def test_every_word_of_two_thousand_is_masked_once_in_windows(scorer, monkeypatch):
    with counted_contexts(monkeypatch) as contexts:
        scorer.score(["the cat " * 1000], ["a dog"], long_text="window", reuse_memory=0)
    mask = scorer.tokenizer.mask_token_id
    # Those of the reference, and one for each of the words.
    assert len(contexts) == 2000 + 2 and {context.count(mask) for context in contexts} == {1}


def test_callers_random_state_grad_mode_and_dtype_are_untouched(tiny_bert):
    torch.manual_seed(7)
    state = torch.get_rng_state()
    InfoLMScorer(model_name_or_path=tiny_bert).score(["a"], ["b"])
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_a_callers_autocast_and_matrix_precision_change_nothing(tiny_bert):
    fresh = InfoLMScorer(model_name_or_path=tiny_bert, reuse_memory=0)
    expected = fresh.score(CANDIDATES, REFERENCES).scores
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert fresh.score(CANDIDATES, REFERENCES).scores == expected
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_after_unload_the_models_files_are_read_and_hashed_again(tmp_path):
    """A trainer writes its checkpoints to one folder."""
    folder = build("bert", tmp_path / "model")
    scorer = InfoLMScorer(model_name_or_path=folder)
    first = scorer.score(CANDIDATES, REFERENCES)
    build("bert", folder, seed=1)
    scorer.unload()
    second = scorer.score(CANDIDATES, REFERENCES)
    fresh = InfoLMScorer(model_name_or_path=folder).score(CANDIDATES, REFERENCES)
    assert second.scores == fresh.scores != first.scores
    assert second.signature == fresh.signature != first.signature


@pytest.mark.parametrize(("masks", "hidden"), [(1, 1), (2, 3), (3, 4)])
def test_texts_whose_tokens_are_all_masked_at_once_are_warned_of(scorer, masks, hidden):
    texts, others = (
        ["the cat", "the cat sat", "the cat sat on", ""],
        ["a dog", "a dog ran", "a dog ran in", "cat"],
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = scorer.score(texts, others, idf=False, masks_per_pass=masks)
    assert result.remarks.one_token == hidden
    told = [str(each.message) for each in caught if "all of them at once" in str(each.message)]
    assert len(told) == (masks > 1) and all(f"masks_per_pass={masks}" in each for each in told)
    assert all("masks_per_pass=1 tells them apart" in each for each in told)


def test_predictions_that_overflow_are_told_with_what_to_change(scorer):
    message = "dtype=.float32. and temperature.1e-310; give a temperature .* 0, or see if the model"
    with pytest.raises(ValueError, match=message):
        scorer.score(CANDIDATES, REFERENCES, temperature=1e-310)


def test_texts_of_one_token_are_all_predicted_from_a_lone_mask(scorer):
    scores = scorer.score(["", "cat", "the"], ["cat", "the", ""], idf=False).scores
    assert scores["fisher_rao_distance"] == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)


def test_distributions_warn_like_scores(scorer):
    with pytest.warns(UserWarning, match="1 of 2 texts without a token"):
        scorer.distributions(["", "the cat"])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"alphas": 0.5}, TypeError, r"alphas must be a list of values, got 0.5; use \[0.5\]"),
        ({"temperatures": []}, ValueError, "temperatures must be a list of at least one value"),
        ({"temperatures": [1.0, -1.0]}, ValueError, "temperature must be > 0, got -1.0"),
        ({"information_measure": "alpha", "alphas": [0, 1]}, ValueError, "alphas=.0, 1."),
        ({"idfs": "references"}, TypeError, "idfs must be a list of values, got 'ref"),
        ({"idfs": ["reference"]}, ValueError, "did you mean 'references'?"),
    ],
)
def test_wrong_lists_for_a_sweep_are_named_before_a_model_loads(given, error, message):
    with pytest.raises(error, match=message):
        InfoLMScorer(model_name_or_path="./none").sweep(["a"], ["b"], **given)


def test_a_copy_carries_the_settings_and_loads_its_own_model(scorer):
    scorer.score(["the cat"], ["a dog"])
    twin = copy.deepcopy(scorer)
    assert twin.settings == scorer.settings and twin.inner.distributions._loaded is None
    assert twin.score(["the cat"], ["the cat"]).scores == {"fisher_rao_distance": [0.0]}


@pytest.mark.parametrize("verbose", [True, False])
def test_bars_are_shown_only_if_asked_for(scorer, capsys, verbose):
    texts = [f"cat {number}" for number in range(10_001)]
    IDF.from_corpus(texts, scorer.tokenizer)
    assert "documents" in capsys.readouterr().err  # large enough for a bar of its own
    pairs, chosen = check_pairs(texts, texts), scorer.settings.replace(verbose=verbose)
    scorer.inner.count(pairs, chosen)
    scorer.score(["the cat", "a dog"], ["a dog", "the rain"], verbose=verbose)
    assert ("documents" in (shown := capsys.readouterr().err)) is verbose
    assert ("infolm" in shown) is verbose


def test_the_share_that_is_told_grows_to_the_whole_with_what_is_kept_counted(scorer):
    fresh = InfoLMScorer.of(scorer.settings.replace(idf=False, batch_size=1))
    kept, settings = fresh.inner.distributions, fresh.settings
    (texts,) = kept.read([CANDIDATES], [None], settings)
    kept.of(texts[:1], settings, [1.0])
    told = []
    kept.of(texts, settings, [1.0], told.append)
    masks = [max(1, len(text.log_weights)) for text in texts]  # an empty one is a mask alone
    assert told == sorted(told) and told[-1] == 1.0
    assert told[0] == pytest.approx((masks[0] + 1) / sum(masks))
    assert len(set(told)) == sum(masks[1:])  # a mask in each batch
