"""The transport plan of a score: all mass moves, and its cost is the score."""

import numpy as np
import pytest

from infolm_metric import IDF, BaryScorer

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(scope="module")
def scorer():
    return BaryScorer(model_name_or_path="bundled")


@pytest.mark.parametrize("weighed", [False, True])
def test_the_plan_moves_every_weight_and_costs_the_score(scorer, weighed):
    corpus = ["The dog sat on the mat.", "A cat.", "The rain fell."]
    idf = IDF.from_corpus(corpus, scorer.tokenizer) if weighed else False
    pair = "A dog was lying on the rug.", "The cat sat on the mat."
    found = scorer.explain(*pair, idf=idf)
    result = scorer.score([pair[0]], [pair[1]], idf=idf)
    assert (found.score, found.signature) == (result["baryscore"], result.signature)
    np.testing.assert_allclose(found.plan.sum(1), found.candidate.weights, atol=1e-15)
    np.testing.assert_allclose(found.plan.sum(0), found.reference.weights, atol=1e-15)
    assert (found.plan * found.distances).sum() == pytest.approx(found.score, abs=1e-12)
    moves = found.moves()
    assert sum(move.share for move in moves) == pytest.approx(found.score, abs=1e-12)
    assert [move.share for move in moves] == sorted((m.share for m in moves), reverse=True)
    assert found.candidate.tokens[:2] == ["a", "dog"] and found.reference.tokens[1] == "cat"


def test_a_copy_stays_where_it_is(scorer):
    found = scorer.explain("The cat sat.", "the CAT sat.")
    assert found.score == 0
    assert all(move.candidate == move.reference and move.share == 0 for move in found.moves())
    assert repr(found).startswith("<Explanation of baryscore 0: ")
    for pair in (("a cat", ["a cat"]), (None, "a cat")):
        with pytest.raises(TypeError, match="must be a string"):
            scorer.explain(*pair)


def test_an_empty_text_is_its_special_tokens(scorer):
    found = scorer.explain("", "a cat", idf=False)
    assert found.candidate.tokens == ["[CLS]", "[SEP]"]
    assert found.candidate.weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("candidate", "reference"), [(" cat cat", " cat"), (" dog cat", " cat dog")]
)
def test_without_places_other_tokens_of_the_same_points_move_for_nothing(
    tiny_models, candidate, reference
):
    scorer = BaryScorer(model_name_or_path=tiny_models("modernbert"), layers=[0], idf=False)
    found = scorer.explain(candidate, reference)
    assert found.score == pytest.approx(0, abs=1e-12)
    for move in found.moves():
        assert found.candidate.tokens[move.candidate] == found.reference.tokens[move.reference]
        assert move.distance == pytest.approx(0, abs=1e-12)
