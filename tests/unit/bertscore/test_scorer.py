"""BERTScorer, compared with the package bert-score and a literal implementation with padding."""

import bert_score
import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from infolm_metric import IDF, BERTScorer, InputError
from infolm_metric.bertscore.scorer import pair_scores, similarities
from infolm_metric.bertscore.settings import SCORES
from infolm_metric.core.document_counts import TokenizedText
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.models.tokenization import WeightedText
from tests.model_families import SENTENCES
from tests.paraphrases import PARAPHRASES
from tests.reference_bertscore import ReferenceBERTScore

pytestmark = pytest.mark.filterwarnings("ignore:infolm")

CANDIDATES, REFERENCES = map(list, zip(*PARAPHRASES[:12], strict=True))
GROUPS = [REFERENCES[row : row + 1 + row % 3] for row in range(len(CANDIDATES))]


@pytest.fixture(scope="module")
def bundled():
    return BERTScorer(model_name_or_path="bundled", score=SCORES)


def columns(result):
    """Return F1, precision and recall, float64 [pairs, 3]."""
    return np.array([result.scores[name] for name in SCORES]).T


# The package bert-score


@pytest.mark.parametrize("idf", [False, True])
@pytest.mark.parametrize("layer", range(7))
def test_scores_equal_the_package_bert_score(bundled, layer, idf):
    options = {"num_layers": layer, "device": "cpu", "idf": idf, "nthreads": 0}
    for references in (REFERENCES, GROUPS):
        documents = [text for group in references for text in np.atleast_1d(group).tolist()]
        library = bert_score.BERTScorer(str(BUNDLED_FOLDER), idf_sents=documents, **options)
        library._model.float()  # transformers 5 would use the file's float16
        precision, recall, f1 = library.score(CANDIDATES, references)
        result = bundled.score(CANDIDATES, references, layer=layer, idf=idf)
        expected = torch.stack([f1, precision, recall], dim=1)
        np.testing.assert_allclose(columns(result), expected, atol=1e-5)


# A literal implementation with padding


LONGEST = [text for text in SENTENCES if len(text.split()) < 9][:14]
TEXTS = [*LONGEST, "  the cat \n", "The cat", "rain"]


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "mpnet", "deberta-v2"])
def test_scores_match_the_literal_implementation(tiny_models, family):
    folder = tiny_models(family)
    literal = ReferenceBERTScore(folder, leading_space=family == "roberta")
    scorer = BERTScorer(model_name_or_path=folder, score=SCORES)
    others = TEXTS[1:] + TEXTS[:1]
    for layer in range(3):
        for documents in (None, others):
            result = scorer.score(TEXTS, others, layer=layer, idf=documents is not None)
            expected = literal.score(TEXTS, others, layer, documents)
            np.testing.assert_allclose(columns(result), expected, atol=1e-5)


def test_only_tokenizers_of_roberta_get_a_leading_space(tiny_models):
    for family, space in (("roberta", True), ("modernbert", False)):
        folder = tiny_models(family)
        tokenizer = BERTScorer(model_name_or_path=folder, layer=1).tokenizer
        same = tokenizer("cat")["input_ids"] == tokenizer(" cat")["input_ids"]
        assert same == space and len(tokenizer("")["input_ids"]) == 2


def test_layers_above_the_requested_one_are_not_computed(tiny_models):
    scorer = BERTScorer(model_name_or_path=tiny_models("bert", num_hidden_layers=4))
    calls = []
    for layer in scorer.models.model(scorer.settings).encoder.layers:
        layer.output_norm.register_forward_hook(lambda *_: calls.append(1))
    whole = scorer.score(["the cat"], ["a dog"], layer=4).scores
    assert len(calls) % 4 == 0
    calls.clear()
    scorer.score(["the cat"], ["the cat"], layer=1)
    assert len(calls) == 1
    assert scorer.score(["the cat"], ["a dog"], layer=4, reuse_memory=0).scores == whole


# Values


def test_special_tokens_have_no_weight_but_can_be_matched(bundled):
    explanation = bundled.explain("A dog slept.", "The cat was asleep.")
    specials = [match for match in explanation.reference if match.match in ("[CLS]", "[SEP]")]
    assert specials and all(match.position is None for match in specials)
    assert all("[" not in match.token for match in explanation.candidate + explanation.reference)


def test_empty_texts_score_0_and_two_empty_texts_score_1(bundled):
    result = bundled.score(["", "A cat.", "", " "], ["A cat.", "", "", "\n"])
    assert columns(result).tolist() == [[0] * 3, [0] * 3, [1] * 3, [1] * 3]
    assert result["warnings"]["empty"] == 6


def test_cosines_of_rounded_vectors_are_within_the_bounds(bundled):
    x = 1.001 * torch.eye(2)[:1]
    assert similarities(x, x) == similarities(x, x.clone()) == 1 == -similarities(x, -x)
    assert bundled.bounds(bundled.settings, "f1") == (-1, 1)


@example([*4 * [-0.5], 0.5, *7 * [-0.5]])  # precision 0.5, recall -0.5
@given(st.lists(st.floats(-1, 1), min_size=12, max_size=12))
def test_scores_are_weighted_means_within_the_bounds(values):
    """Two texts of one and two tokens with a special token on either side."""
    x, y = (
        WeightedText.of(TokenizedText(np.arange(n), np.array([0, *[1] * (n - 2), 0], bool)), None)
        for n in (3, 4)
    )
    matrix = np.reshape(values, (3, 4))
    f1, precision, recall = pair_scores(x, y, matrix)
    assert precision == pytest.approx(matrix[1].max())
    assert recall == pytest.approx((matrix[:, 1].max() + matrix[:, 2].max()) / 2)
    assert -1 <= min(precision, recall) <= f1 <= max(precision, recall) <= 1
    assert f1 == 0 or precision != -recall
    if precision > 0 and recall > 0:
        assert f1 == pytest.approx(2 / (1 / precision + 1 / recall))


# Explanations


@pytest.mark.parametrize("use_idf", [False, True])
def test_matches_explain_precision_and_recall(bundled, use_idf):
    idf = IDF.from_corpus([*CANDIDATES, *REFERENCES], bundled.tokenizer) if use_idf else False
    explanation = bundled.explain(CANDIDATES[1], REFERENCES[1], idf=idf)
    result = bundled.score([CANDIDATES[1]], [REFERENCES[1]], idf=idf)
    assert list(explanation.scores.values()) == pytest.approx(columns(result)[0])
    assert explanation.signature == result.signature
    sides = {"precision": explanation.candidate, "recall": explanation.reference}
    for name, matches in sides.items():
        mean = sum(match.weight * match.similarity for match in matches)
        assert mean == pytest.approx(explanation.scores[name], abs=1e-9)
        assert sum(match.weight for match in matches) == pytest.approx(1)
    for match in explanation.candidate:
        if match.position is not None:
            assert explanation.reference[match.position].token == match.match


def test_tokens_of_identical_texts_match_themselves(bundled):
    explanation = bundled.explain("The cat saw the cat.", "the cat saw the cat.")
    assert [match.position for match in explanation.candidate] == list(range(6))
    assert {match.similarity for match in explanation.candidate} == {1.0}
    assert explanation.scores == dict.fromkeys(SCORES, 1.0)
    assert bundled.explain("", "a cat").candidate == []


# Errors and results


INVALID = [
    ("bert", {}, r"layer must be set .* has 2 layers .* layer=1 first"),
    ("bert", {"layer": 3}, r"layer must be from 0 \(the embeddings\) to 2 .* got 3"),
    ("gpt2", {"layer": 1}, "is a gpt2 model, but .* needs an encoder.* Choose an encoder"),
]


@pytest.mark.parametrize(("family", "options", "word"), INVALID)
def test_unusable_layers_and_models_are_rejected_before_weights_are_loaded(
    family, options, word, tiny_models, no_model
):
    with pytest.raises(InputError, match=word):
        BERTScorer(model_name_or_path=tiny_models(family), **options).score(["a"], ["b"])


def test_the_signature_is_complete_and_paraphrases_are_closer_than_the_baseline():
    scorer = BERTScorer(model_name_or_path="bundled")
    result = scorer.score(CANDIDATES, REFERENCES, rescale_with_baseline=True)
    assert result.signature.startswith(
        "metric:bertscore|score:f1|layer:5|idf:no|multi_reference:max|baseline:package-"
    )
    assert result["higher_is_better"] and result["baseline"]["source"] == "package"
    assert result["bertscore"] > result["baseline"]["mean"] and 0 < result["rescaled"] < 1


def test_the_package_baseline_covers_all_scores_weights_and_four_references(bundled):
    for idf in (False, "bundled"):
        run = bundled.prepare(bundled.settings.replace(idf=idf))
        stats = run.unrelated(range(1, 5))
        assert [list(stats[references]) for references in range(1, 5)] == [list(SCORES)] * 4
