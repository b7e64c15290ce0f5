"""What drives a score: shares that add up to it, and the predictions that they come from."""

import pytest
import torch

from infolm_metric import IDF, InfoLMScorer
from infolm_metric.infolm.measures import MEASURES, SYMMETRIZATIONS, compare, shares

PARAMETERS = {"alpha": 0.3, "beta": 0.9}


def distributions(seed: int) -> torch.Tensor:
    """Log-probabilities [2, 50] of two unlike distributions."""
    generator = torch.Generator().manual_seed(seed)
    return torch.log_softmax(3 * torch.randn(2, 50, generator=generator, dtype=torch.float64), -1)


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=tiny_bert)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("symmetrize", SYMMETRIZATIONS)
def test_shares_are_not_negative_and_add_up_to_the_measure(measure, symmetrize):
    for seed in range(5):
        log_p, log_q = distributions(seed)
        for alpha, beta in ((0.3, 0.9), (2.0, 0.5), (0.7, 2.0)):
            parts = shares(measure, log_p, log_q, symmetrize=symmetrize, alpha=alpha, beta=beta)
            value = compare(measure, log_p, log_q, symmetrize=symmetrize, alpha=alpha, beta=beta)
            assert parts.shape == log_p.shape
            assert (parts >= 0).all()
            torch.testing.assert_close(parts.sum(), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_shares_of_equal_distributions_are_zero(measure):
    log_p, _ = distributions(0)
    assert shares(measure, log_p, log_p, **PARAMETERS).abs().max() == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_the_entry_that_differs_most_has_the_largest_share(measure):
    log_p = torch.log(torch.tensor([0.7, 0.1, 0.1, 0.1], dtype=torch.float64))
    log_q = torch.log(torch.tensor([0.1, 0.1, 0.1, 0.7], dtype=torch.float64))
    largest = shares(measure, log_p, log_q, **PARAMETERS).argmax().item()
    assert largest in (0, 3)


def test_l1_shares_are_the_absolute_differences():
    log_p, log_q = distributions(1)
    expected = (log_p.exp() - log_q.exp()).abs()
    torch.testing.assert_close(shares("l1", log_p, log_q), expected)


def test_an_explanation_adds_up_to_the_score_that_compute_gives(scorer):
    candidate, reference = "a dog ran in the park", "the cat is on the mat"
    for name, measure in MEASURES.items():
        options = {p.name: PARAMETERS[p.name] for p in measure.parameters}
        explanation = scorer.explain(candidate, reference, information_measure=name, **options)
        result = scorer.score([candidate], [reference], information_measure=name, **options)
        assert explanation.score == result.scores[name][0]
        assert explanation.signature == result.signature
        assert float(explanation.shares.sum()) == pytest.approx(explanation.score, rel=1e-9)


def test_the_views_hold_every_position_and_mix_to_the_distribution(scorer):
    text = "a dog ran in the park"
    table = IDF.from_corpus(["a dog", "the park"], scorer.tokenizer)
    view = scorer.explain(text, "the cat", idf=table).candidate
    tokenizer = scorer.tokenizer
    assert view.tokens == tokenizer.tokenize(text)
    assert float(view.weights.sum()) == pytest.approx(1.0)
    mixed = (view.weights[:, None] * view.log_predictions.exp()).sum(0)
    torch.testing.assert_close(view.log_distribution.exp(), mixed, rtol=1e-9, atol=1e-15)
    expected = scorer.distributions([text], idf=table)[0]
    torch.testing.assert_close(view.log_distribution, expected, rtol=1e-4, atol=1e-4)


def test_an_empty_text_is_explained_by_a_lone_mask(scorer):
    with pytest.warns(UserWarning, match="1 of 2 texts without a token"):
        view = scorer.explain("", "the cat").candidate
    assert view.tokens == ["[MASK]"]
    assert view.weights.tolist() == [1.0]
    assert view.log_distribution.exp().sum().item() == pytest.approx(1.0)


def test_top_names_the_entries_with_the_largest_shares(scorer):
    explanation = scorer.explain("a dog", "the cat", information_measure="l1")
    with pytest.raises(ValueError, match="count must be at least 1, got -1"):
        explanation.top(-1)
    top = explanation.top(3)
    assert [entry.share for entry in top] == explanation.shares.sort(descending=True)[0][
        :3
    ].tolist()
    for entry in top:
        assert entry.token in explanation.vocabulary
        gap = entry.in_reference - entry.in_candidate
        assert entry.share == pytest.approx(abs(gap), rel=1e-6)
        assert entry.own is (entry.token in ("a", "dog", "the", "cat"))


def test_several_measures_are_refused(scorer):
    with pytest.raises(ValueError, match="information_measure must be one measure"):
        scorer.explain("a", "b", information_measure=["kl", "l1"])


def test_an_explanation_is_of_one_candidate_and_one_reference(scorer):
    with pytest.raises(TypeError, match=r"reference must be a string, got \['a cat', 'a dog'\]"):
        scorer.explain("a cat", ["a cat", "a dog"])
    with pytest.raises(TypeError, match="candidate must be a string, got None"):
        scorer.explain(None, "a cat")
