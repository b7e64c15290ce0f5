"""Explanations of BaryScore: transport plans that move all mass at the cost of the score."""

import numpy as np
import pytest

from infolm_metric import IDF, BaryScorer, InputError

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(scope="module")
def scorer():
    return BaryScorer(model_name_or_path="bundled")


@pytest.mark.parametrize("use_idf", [False, True])
def test_the_plan_moves_all_weights_and_its_cost_is_the_score(scorer, use_idf):
    corpus = ["The dog sat on the mat.", "A cat.", "The rain fell."]
    idf = IDF.from_corpus(corpus, scorer.tokenizer) if use_idf else False
    explanation = scorer.explain("A dog was lying on the rug.", "The cat sat on the mat.", idf=idf)
    candidate, reference = explanation.candidate, explanation.reference
    np.testing.assert_allclose(explanation.plan.sum(1), candidate.weights, atol=1e-15)
    np.testing.assert_allclose(explanation.plan.sum(0), reference.weights, atol=1e-15)
    cost = (explanation.plan * explanation.distances).sum()
    assert cost == pytest.approx(explanation.score, abs=1e-12)
    shares = [move.share for move in explanation.moves()]
    assert sum(shares) == pytest.approx(explanation.score, abs=1e-12)
    assert shares == sorted(shares, reverse=True)
    assert candidate.tokens[:2] == ["a", "dog"] and reference.tokens[1] == "cat"


def test_tokens_of_identical_texts_are_not_moved(scorer):
    explanation = scorer.explain("The cat sat.", "the CAT sat.")
    assert explanation.score == 0 == sum(move.share for move in explanation.moves())
    assert all(move.candidate == move.reference for move in explanation.moves())
    assert repr(explanation) == "\n".join(explanation.lines())


def test_lines_contain_the_ten_most_expensive_moves(scorer):
    explanation = scorer.explain("The dog ran home. " * 4, "It was a cold day. " * 3)
    title, *lines = explanation.lines()
    assert len(lines) == 10 < len(explanation.moves())
    part = sum(move.share for move in explanation.moves()[:10]) / explanation.score
    assert 0 < part < 1 and f"{part:.0%} of the score" in title
    assert [float(line.split()[-1]) for line in lines] == [
        pytest.approx(move.share, abs=1e-4) for move in explanation.moves()[:10]
    ]


def test_pairs_of_invalid_texts_are_rejected(scorer):
    for pair in (("a cat", ["a cat"]), (None, "a cat")):
        with pytest.raises(InputError, match="must be a string"):
            scorer.explain(*pair)


def test_an_empty_text_is_represented_by_its_special_tokens(scorer):
    candidate = scorer.explain("", "a cat", idf=False).candidate
    assert candidate.tokens == ["[CLS]", "[SEP]"]
    assert candidate.weights == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("texts", [("a dog cat", "a cat dog"), ("a cat cat dog", "a dog cat cat")])
def test_equal_tokens_match_at_no_cost_without_position_embeddings(tiny_models, texts):
    scorer = BaryScorer(model_name_or_path=tiny_models("modernbert"), layers=[0], idf=False)
    explanation = scorer.explain(*texts)
    assert explanation.score == pytest.approx(0, abs=1e-12)
    tokens, other_tokens = explanation.candidate.tokens, explanation.reference.tokens
    for move in explanation.moves():
        assert tokens[move.candidate] == other_tokens[move.reference]
        assert move.distance == pytest.approx(0, abs=1e-12)
