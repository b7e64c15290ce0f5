"""Errors in the paper and in other implementations of InfoLM, compared with our results.

"The peer" is `infolm` in torchmetrics, run on the same tiny models. The authors' code has the same
formulas and weights and differs only in the order of the arguments, so its scores are derived from
the peer. `CONVERSIONS` converts their scores to ours.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from torchmetrics.functional.text.infolm import infolm as torchmetrics_infolm

from infolm_metric import InfoLMScorer
from infolm_metric.infolm.measures import MEASURES
from tests.reference_infolm import ReferenceInfoLM
from tests.reference_measures import log_s

CONVERSIONS = [  # measure, parameters, ratio of the peer's score to ours with symmetrize="none"
    ("kl_divergence", {}, -1.0),
    ("alpha_divergence", {"alpha": -1.5}, -1.0),
    ("alpha_divergence", {"alpha": 0.5}, -1.0),
    ("alpha_divergence", {"alpha": 2.0}, -1.0),
    ("renyi_divergence", {"alpha": 0.5}, 1.0),
    ("renyi_divergence", {"alpha": 2.0}, 1.0),
    ("beta_divergence", {"beta": 0.7}, 1.0),
    ("ab_divergence", {"alpha": 0.3, "beta": 1.1}, 1.0),
    ("l1_distance", {}, 1.0),
    ("l2_distance", {}, 1.0),
    ("l_infinity_distance", {}, 1.0),
    ("fisher_rao_distance", {}, math.pi),
]
for_each_conversion = pytest.mark.parametrize(("measure", "parameters", "factor"), CONVERSIONS)

# Texts are sorted by length on both sides, so sorting by the peer has no effect.
CANDIDATES = [
    "A dog ran.",
    "The cat sat on the mat.",
    "The river flows through the city and the sea.",
    "The old church on the hill was built of stone by a doctor in 1250.",
]
REFERENCES = [
    "The cat slept.",
    "She bought a cup of coffee.",
    "The price of bread went up by 10% in 2019.",
    "The new mayor is a doctor, was born in a small village and walks by the river.",
]
# The peer sorts each side by length, then applies the order to the result again. With these orders,
# it compares texts of different pairs.
MIXED_CANDIDATES = [CANDIDATES[index] for index in (2, 0, 3, 1)]
MIXED_REFERENCES = [REFERENCES[index] for index in (1, 2, 0, 3)]
PAIRS, ONE = (CANDIDATES, REFERENCES), (CANDIDATES[1:2], REFERENCES[1:2])


@pytest.fixture(scope="module")
def scorer(tiny_bert: Path) -> InfoLMScorer:
    """Scorer with the settings of the peer: uniform weights, D(reference, candidate)."""
    return InfoLMScorer(model_name_or_path=tiny_bert, idf=False, symmetrize="none")


@pytest.fixture(scope="module")
def literal(tiny_bert: Path) -> ReferenceInfoLM:
    """Literal implementation in float64 of the definitions that the peer should follow."""
    return ReferenceInfoLM(tiny_bert)


@pytest.fixture(scope="module")
def logs(literal: ReferenceInfoLM) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of the reference and the candidate in ONE, [vocab] each."""
    (candidate,), (reference,) = ONE
    return literal.log_distribution(reference).numpy(), literal.log_distribution(candidate).numpy()


def infolm(scorer, candidates, references, measure="kl_divergence", **settings):
    """Return our score of each pair."""
    result = scorer.score(candidates, references, information_measure=measure, **settings)
    return result.scores[measure]


def peer(folder, candidates, references, measure="kl_divergence", **settings):
    """Return the peer's score of each pair, by default with uniform weights and T = 1."""
    options = {"temperature": 1.0, "idf": False, "max_length": 40, "verbose": False, **settings}
    options |= {"information_measure": measure, "return_sentence_level_score": True}
    _, scores = torchmetrics_infolm(candidates, references, str(folder), **options)
    return scores.tolist()


def approx_times(factor: float, scores: list[float]) -> object:
    """Return the scores times a factor, with a tolerance for float32 sums of probabilities."""
    return pytest.approx([factor * score for score in scores], rel=1e-4, abs=1e-6)


# The paper


@pytest.mark.parametrize("alpha", [-2.0, -0.5, 0.25, 0.5, 0.75, 1.5, 3.0])
def test_alpha_divergence_is_positive_although_the_printed_formula_is_negative(scorer, logs, alpha):
    power_sum = math.exp(log_s(*logs, alpha, 1 - alpha))
    value = (1 - power_sum) / (alpha * (alpha - 1))
    assert value < 0
    (score,) = infolm(scorer, *ONE, "alpha_divergence", alpha=alpha)
    assert score == pytest.approx(-value, rel=1e-4)


def printed_ab_divergence(log_p: np.ndarray, log_q: np.ndarray, alpha: float, beta: float) -> float:
    """Return the AB divergence by the formula printed in the paper."""
    total = alpha + beta
    return (
        log_s(log_p, log_q, total, 0) / (beta * total)
        + log_s(log_p, log_q, 0, total) / total
        - log_s(log_p, log_q, alpha, beta) / beta
    )


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.25), (2.0, 0.5), (-0.5, 2.0), (3.0, -1.0)])
def test_ab_divergence_of_identical_texts_is_zero_unlike_in_the_paper(scorer, logs, alpha, beta):
    log_p, _ = logs
    assert abs(printed_ab_divergence(log_p, log_p, alpha, beta)) > 0.1
    _, copy = ONE
    assert infolm(scorer, copy, copy, "ab_divergence", alpha=alpha, beta=beta) == [0.0]


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.7), (0.3, 0.7), (1.5, -0.5)])
def test_ab_divergence_of_the_paper_converts_if_alpha_or_alpha_plus_beta_is_1(
    scorer, logs, alpha, beta
):
    log_p, log_q = logs
    assert printed_ab_divergence(log_p, log_p, alpha, beta) == pytest.approx(0.0, abs=1e-12)
    (score,) = infolm(scorer, *ONE, "ab_divergence", alpha=alpha, beta=beta)
    expected = printed_ab_divergence(log_p, log_q, alpha, beta) / alpha
    assert score == pytest.approx(expected, rel=1e-4)


def test_gamma_divergence_approaches_kl_as_beta_approaches_0_not_1(scorer, logs):
    log_p, log_q = logs
    kl = (np.exp(log_p) * (log_p - log_q)).sum()
    for beta in (1e-6, -1e-6):
        assert infolm(scorer, *ONE, "beta_divergence", beta=beta) == pytest.approx([kl], rel=1e-4)
    assert abs(infolm(scorer, *ONE, "beta_divergence", beta=1.0)[0] / kl - 1) > 0.1


# Formulas of the peer and of the authors' code


@for_each_conversion
def test_scores_of_the_peer_and_of_the_authors_code_convert_to_ours(
    scorer, tiny_bert, measure, parameters, factor
):
    # The peer computes D(reference, candidate). The authors' evaluate_batch(candidates, references)
    # passes the arguments of formulas declared for (reference, candidate) in reverse order. Its
    # "r_" scores have the original order, and "sim_" is the mean of both.
    forward = peer(tiny_bert, *PAIRS, measure, **parameters)
    swapped = peer(tiny_bert, REFERENCES, CANDIDATES, measure, **parameters)
    mean = [(first + second) / 2 for first, second in zip(forward, swapped, strict=True)]
    for values, symmetrize in ((forward, "none"), (swapped, "reverse"), (mean, "jeffreys")):
        scores = infolm(scorer, *PAIRS, measure, symmetrize=symmetrize, **parameters)
        assert min(scores) > 0.01
        assert values == approx_times(factor, scores)


def test_parameters_near_their_limit_keep_digits_that_the_peer_loses(scorer, tiny_bert):
    kl = infolm(scorer, *PAIRS)
    renyi = {"measure": "renyi_divergence", "alpha": 1 + 1e-6}
    assert infolm(scorer, *PAIRS, **renyi) == pytest.approx(kl, rel=1e-4)
    values = peer(tiny_bert, *PAIRS, **renyi)
    assert max(abs(score / exact - 1) for score, exact in zip(values, kl, strict=True)) > 0.1


# False perfect scores


def test_low_temperature_gives_neither_nan_nor_false_zeros(scorer, tiny_bert, literal):
    # If float32 probabilities underflow, 0/0 is NaN, which the peer turns into 0, the best score.
    assert 0.0 in peer(tiny_bert, *PAIRS, temperature=0.01)
    settings = {"alpha": 0.5, "beta": 0.7, "temperature": 0.01}
    result = scorer.score(*PAIRS, information_measure=list(MEASURES), **settings)
    assert list(result.scores) == list(MEASURES)
    for scores in result.scores.values():
        assert all(0.01 < score < math.inf for score in scores)
    exact = literal.score(*PAIRS, "kl_divergence", symmetrize="none", temperature=0.01)
    assert result.scores["kl_divergence"] == pytest.approx(exact, rel=3e-5 / 0.01)


def test_float16_checkpoint_is_computed_in_float32_without_false_zeros(tiny_models):
    # The peer keeps the dtype of the checkpoint. Float16 underflows at its default temperature.
    folder = tiny_models("bert", dtype="float16")
    assert peer(folder, *PAIRS, temperature=0.25) == [0.0] * 4
    settings = {"temperature": 0.25, "symmetrize": "none", "idf": False}
    exact = ReferenceInfoLM(folder).score(*PAIRS, "kl_divergence", **settings)
    fresh = InfoLMScorer(model_name_or_path=folder, **settings)
    assert infolm(fresh, *PAIRS) == pytest.approx(exact, rel=1e-4)


FEW, BLANK = "at least two distinct documents", "1 of 2 texts are empty"
PERFECT = [
    *((CANDIDATES[1], REFERENCES[1], idf, FEW) for idf in ("references", "separate")),
    *((blank, REFERENCES[0], False, BLANK) for blank in ("", " ")),
    (CANDIDATES[0], "", False, BLANK),
]


@pytest.mark.parametrize(("candidate", "reference", "idf", "words"), PERFECT)
def test_one_pair_with_idf_or_an_empty_text_does_not_get_a_perfect_score(
    scorer, tiny_bert, literal, candidate, reference, idf, words
):
    pair = [candidate], [reference]
    assert peer(tiny_bert, *pair, idf=bool(idf)) == [0.0]
    with pytest.warns(UserWarning, match=words):
        score = infolm(scorer, *pair, idf=idf)
    exact = literal.score(*pair, "kl_divergence", idf=False, symmetrize="none")
    assert score == pytest.approx(exact, rel=1e-4) and score[0] > 0.01


# Batches


def test_scores_do_not_depend_on_the_batch(scorer, tiny_bert):
    scores = infolm(scorer, MIXED_CANDIDATES, MIXED_REFERENCES)
    pairs = zip(MIXED_CANDIDATES, MIXED_REFERENCES, strict=True)
    peer_singles = [peer(tiny_bert, [text], [reference])[0] for text, reference in pairs]
    assert peer_singles == approx_times(-1.0, scores)
    peer_batch = peer(tiny_bert, MIXED_CANDIDATES, MIXED_REFERENCES)
    assert peer_batch != approx_times(-1.0, scores)
    assert sum(peer_batch) != pytest.approx(sum(peer_singles), rel=0.05)


# Inverse document frequencies


@pytest.mark.parametrize(("measure", "parameters", "factor"), CONVERSIONS[::4])
def test_idf_separate_is_the_protocol_of_the_peer(scorer, tiny_bert, measure, parameters, factor):
    scores = infolm(scorer, *PAIRS, measure, idf="separate", **parameters)
    values = peer(tiny_bert, *PAIRS, measure, idf=True, **parameters)
    assert values == approx_times(factor, scores)
    assert values != approx_times(factor, infolm(scorer, *PAIRS, measure, **parameters))
    assert infolm(scorer, CANDIDATES, [CANDIDATES[0], *REFERENCES[1:]], idf="separate")[0] > 0


# Special tokens


def test_special_token_in_a_text_is_masked_unlike_in_the_peer(scorer, tiny_bert, literal):
    pair = ["The cat [SEP] sat."], REFERENCES[:1]
    exact = literal.score(*pair, "kl_divergence", symmetrize="none")
    assert infolm(scorer, *pair) == pytest.approx(exact, rel=1e-4)
    assert peer(tiny_bert, *pair) != approx_times(-1.0, exact)
