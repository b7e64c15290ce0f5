"""Explanations: shares of a score, and the predictions behind them."""

import pytest
import torch

from infolm_metric import IDF, BaryScorer, InfoLMScorer, InputError
from infolm_metric.infolm.measures import MEASURES

PARAMETERS = {"alpha": 0.3, "beta": 0.9}

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


def test_the_shares_of_an_explanation_add_up_to_the_score(scorer):
    candidate, reference = "a dog ran in the park", "the cat is on the mat"
    for name, measure in MEASURES.items():
        options = {p.name: PARAMETERS[p.name] for p in measure.parameters}
        explanation = scorer.explain(candidate, reference, information_measure=name, **options)
        options |= {"information_measure": name, "idf": False}
        assert not scorer.explain(candidate, candidate, **options).shares.any()
        result = scorer.score([candidate], [reference], **options)
        assert explanation.score == pytest.approx(result["infolm"], abs=1e-6)
        assert explanation.signature == result.signature
        assert float(explanation.shares.sum()) == pytest.approx(explanation.score, rel=1e-9)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scorer_type", [InfoLMScorer, BaryScorer])
@pytest.mark.parametrize("idf", [{}, {"idf": "separate"}, {"idf": "bundled"}], ids=str)
def test_explanations_use_uniform_weights_without_a_warning_unless_idf_is_a_table(scorer_type, idf):
    scorer = scorer_type(model_name_or_path="bundled", **idf)
    texts = "A dog ran in the park.", "The cat is on the mat."
    explanation = scorer.explain(*texts)
    weights = {} if idf.get("idf") == "bundled" else {"idf": False}
    expected = scorer.score(*([text] for text in texts), **weights)
    assert [explanation.score] == pytest.approx(expected["scores"])
    assert explanation.signature == expected.signature
    assert (len({*explanation.reference.weights.tolist()}) == 1) is bool(weights)


WINDOWS = {"max_length": 8, "long_text": "window"}
OPTIONS = [{}, {"interpolation": 0.3}, WINDOWS, {**WINDOWS, "masking": "none"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("text", ["the cat is on the mat and a dog ran in the park", "a cat", ""])
def test_views_contain_every_position_and_reproduce_the_distribution(scorer, text, options):
    options["idf"] = IDF.from_corpus(["the dog", "on the mat", "a park"], scorer.tokenizer)
    explanation = scorer.explain(text, "the cat", **options)
    view, weight = explanation.candidate, options.get("interpolation", 0) if text else 0
    assert view.tokens == (scorer.tokenizer.tokenize(text) or ["[MASK]"])
    assert float(view.weights.sum()) == pytest.approx(1.0)
    mixed = (1 - weight) * (view.weights[:, None] * view.log_predictions.exp()).sum(0)
    for token, token_weight in zip(view.tokens, view.weights, strict=True):
        mixed[scorer.tokenizer.convert_tokens_to_ids(token)] += weight * token_weight
    torch.testing.assert_close(view.log_distribution.exp(), mixed, rtol=1e-6, atol=1e-9)
    expected = scorer.distributions([text], **options)[0]
    torch.testing.assert_close(view.log_distribution, expected, rtol=1e-6, atol=1e-6)
    score = scorer.score([text], ["the cat"], **options)["infolm"]
    assert explanation.score == pytest.approx(score, abs=1e-6)


def test_top_returns_the_entries_with_the_largest_shares(scorer):
    explanation = scorer.explain("a dog", "the cat", information_measure="l1")
    with pytest.raises(InputError, match="count must be at least 1, got 0"):
        explanation.top(0)
    top = explanation.top(3)
    largest = explanation.shares.sort(descending=True)[0][:3].tolist()
    assert [entry.share for entry in top] == largest
    for entry in top:
        assert entry.token in explanation.vocabulary
        gap = entry.in_reference - entry.in_candidate
        assert entry.share == pytest.approx(abs(gap), rel=1e-6)
        assert entry.in_texts is (entry.token in ("a", "dog", "the", "cat"))
    assert len(explanation.top(10**6)) == len(explanation.shares)
