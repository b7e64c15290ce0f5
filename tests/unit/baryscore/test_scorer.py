"""BaryScorer, compared with a literal float64 implementation and the authors' algorithm."""

import itertools

import numpy as np
import pytest
import torch

from infolm_metric import BaryScorer, InputError
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.scoring import encoding_scorer
from tests import odd_pairs
from tests import reference_baryscore as authors
from tests.model_families import FAMILIES, edit_copy
from tests.odd_pairs import LONG
from tests.paraphrases import PARAPHRASES

CANDIDATES, REFERENCES = [*odd_pairs.CANDIDATES, "rain"], [*odd_pairs.REFERENCES, "snow"]
KNOWN = [
    ("I like my cakes very much", "I like my cakes very much"),
    ("I hate these cakes!", "I like my cakes very much"),
    ("A dog was lying on the rug.", "The cat sat on the mat."),
    (
        "Bilateral trade has increased to more than one hundred billion dollars a year.",
        "Bilateral trade has increased to more than $100 billion a year.",
    ),
    ("cats", "dogs"),
    *(("", "a cat"), ("", ""), ("😀", "a")),  # no tokens, or unknown ones
]

pytestmark = pytest.mark.filterwarnings("ignore:infolm")


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return BaryScorer(model_name_or_path=tiny_bert, layers="all")


@pytest.fixture(scope="module")
def bundled():
    return BaryScorer(model_name_or_path="bundled")


@pytest.fixture(scope="module")
def literal():
    """Literal implementation with the bundled model."""
    return authors.ReferenceBaryScore(BUNDLED_FOLDER)


# Values


VALUES = [
    (False, 5, [0, 0.514342, 0.328931, 0.160569, 0.380785, 0.988172, 0, 0.887851]),
    (False, "all", [0, 0.483334, 0.336171, 0.144945, 0.406573]),
    ("references", 5, [0, 0.613900, 0.389130, 0.235951, 0.380785]),
    ("references", "all", [0, 0.587945, 0.403955, 0.216239, 0.406573]),
    ("references", 1, [0, 0.687064, 0.531359, 0.300622, 0.854341]),
]


def test_chunks_hold_as_many_pairs_as_fit_into_memory(scorer, monkeypatch):
    texts = [f"{number} {'word ' * number}" for number in range(40)]
    pairs = Pairs(texts, [[text + "more"] for text in texts])
    point = 8 * scorer.models.checkpoint(scorer.settings).config.hidden_size
    room = 100 * point  # for about 100 tokens
    monkeypatch.setattr(encoding_scorer, "CHUNK_BYTES", room)

    def size(candidate, group, limit):
        tokens = (len(text) / encoding_scorer.TOKEN_BYTES for text in (*group, candidate))
        return point * sum(min(count, limit) for count in tokens)

    for limit in (12, 40):
        run = scorer.prepare(scorer.settings.replace(max_length=limit))
        sizes = [[size(*sides, limit) for sides in chunk] for chunk in run.chunks(pairs)]
        assert sum(map(len, sizes)) == len(texts)
        for chunk, (first, *_) in itertools.pairwise(sizes):
            assert sum(chunk) <= room < sum(chunk) + first


@pytest.mark.parametrize(("idf", "layers", "expected"), VALUES)
def test_the_bundled_model_reproduces_known_scores(bundled, idf, layers, expected):
    """Compare with values from an independent implementation, valid only for this model."""
    sides = map(list, zip(*KNOWN[: len(expected)], strict=True))
    result = bundled.score(*sides, idf=idf, layers=layers)
    assert result["scores"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("family", [*FAMILIES, "bert-without-head"])
def test_scores_match_the_literal_implementation_for_every_family(tiny_models, family):
    folder = tiny_models(family)
    scorer, literal = BaryScorer(model_name_or_path=folder), authors.ReferenceBaryScore(folder)
    for layers, count in ((2, 2), ("all", 3)):
        scores = scorer.score(CANDIDATES, REFERENCES, layers=layers, idf=False)["scores"]
        pairs = zip(CANDIDATES, REFERENCES, strict=True)
        expected = [literal.score(*pair, count) for pair in pairs]
        assert scores == pytest.approx(expected, abs=3e-5)


def test_idf_weighted_scores_match_the_literal_implementation(bundled, literal):
    texts, references = map(list, zip(*PARAPHRASES[:6], strict=True))
    pairs = zip(texts, references, strict=True)
    expected = [literal.score(*pair, documents=references) for pair in pairs]
    assert bundled.score(texts, references)["scores"] == pytest.approx(expected, abs=1e-5)


# The authors' algorithm


def test_the_closed_form_is_a_fixed_point_of_the_authors_iteration(literal):
    """Check that the iteration does not move the mean, with uniform weights and with IDF."""
    documents = [text for text, _ in PARAPHRASES]
    for text in documents[:3]:
        layers = literal.layers(text)
        for weights in (literal.weights(text), literal.weights(text, documents)):
            heavy = weights > 0
            mean = layers[:, heavy].mean(0)
            barycentre = authors.literal_barycentre(layers[:, heavy], mean, weights[heavy])
            assert ((barycentre - mean) ** 2).sum() < 1e-20


def test_the_authors_algorithm_is_reproduced_for_single_tokens(bundled, literal):
    """Use single tokens, because all points of a layer are equally far from the initial zeros."""
    for pair in [("cats", "dogs"), ("rain", "snow"), ("water", "wine")]:
        points = [authors.literal_barycentre(literal.layers(text)) for text in pair]
        cost = authors.squared_distances(*points)
        expected = authors.transport_cost(np.ones(1), np.ones(1), cost)
        score = bundled.score(*([text] for text in pair), idf=False)["baryscore"]
        assert score == pytest.approx(expected, abs=1e-6)


# Texts


def test_overflowing_states_are_rejected_with_a_remedy(tiny_bert):
    options = {"layers": 2, "idf": False, "dtype": "float16", "reuse_memory": 0}
    scorer = BaryScorer(model_name_or_path=tiny_bert, **options)
    encoder_layers = scorer.models.model(scorer.settings).encoder.layers
    with torch.inference_mode():
        encoder_layers[-1].output.weight.fill_(6e4)
    with pytest.raises(InputError, match="not finite with dtype=.float16.. Use"):
        scorer.score([""], ["a"])


def test_each_token_gets_its_states_from_the_nearest_window(scorer):
    """Special tokens get them from the first and the last window."""
    options = {"max_length": 12, "long_text": "window", "layers": [2]}
    run = scorer.prepare(scorer.settings.replace(**options))
    (text,) = run.tokenize_and_weight([LONG], None)
    points = run.encode([text])[text.key[0]]
    ids, width = text.text.ids.tolist(), 10
    assert points.shape == (len(ids), 32)
    starts = sorted({*range(1, len(ids) - width - 1, width // 2), len(ids) - width - 1})
    model = scorer.models.model(run.settings)
    for position, point in enumerate(points):
        start = min(starts, key=lambda s: (abs(s + (width - 1) / 2 - position), s))
        window = [ids[0], *ids[start : start + width], ids[-1]]
        (states,) = model.states([torch.tensor([window])], [2])
        expected = torch.nn.functional.normalize(states[1 + position - start].double(), dim=0)
        torch.testing.assert_close(point, expected, atol=1e-6, rtol=0)


# Errors


INVALID = [
    ("bert", {"layers": 5}, "layers must be at most 3, .* got 5"),
    ("bert", {"layers": [0, 3]}, r"from 0 \(the embeddings\) to 2, got .0, 3"),
    ("bert", {"layers": 2, "long_text": "error"}, "at most max_length=40 tokens"),
    ("bert", {"layers": 2, "max_length": 2}, "max_length must be at least 3"),
    ("gpt2", {}, "is a gpt2 model, but .* needs an encoder.* Choose an encoder"),
]


@pytest.mark.parametrize(("family", "options", "word"), INVALID)
def test_unusable_models_and_texts_are_rejected_before_weights_are_loaded(
    family, options, word, tiny_models, no_model
):
    with pytest.raises(InputError, match=word):
        BaryScorer(model_name_or_path=tiny_models(family), **options).score([LONG], ["b"])


def test_models_with_missing_layers_are_rejected(tiny_bert, tmp_path):
    deeper = edit_copy(tiny_bert, tmp_path / "deeper", "config.json", num_hidden_layers=3)
    with pytest.raises(InputError, match=r"lacks \d+ weights of BertModel \(encoder\.layer\.2"):
        BaryScorer(model_name_or_path=deeper, layers=2).score(["a"], ["b"])


def test_models_that_return_no_hidden_states_are_rejected(tiny_models, monkeypatch):
    scorer = BaryScorer(model_name_or_path=tiny_models("deberta-v2"), layers=2)
    model = scorer.models.model(scorer.settings).model
    monkeypatch.setattr(model, "forward", lambda **inputs: object())
    with pytest.raises(InputError, match="returned 0 hidden states, but .* implies 3"):
        scorer.score(["a"], ["b"])


# Results


def test_the_signature_is_complete_and_paraphrases_are_closer_than_the_baseline(bundled):
    texts, paraphrases = map(list, zip(*PARAPHRASES[:20], strict=True))
    result = bundled.score(paraphrases, texts, rescale_with_baseline=True)
    assert result.signature.startswith(
        "metric:baryscore|layers:last5|idf:references|weights:idf|ground:sqeuclidean|"
        "multi_reference:min|baseline:package-"
    )
    assert (result["higher_is_better"], result["baseline"]["source"]) == (False, "package")
    assert bundled.bounds(bundled.settings, "baryscore") == (0.0, 4.0)
    assert result["baryscore"] < result["baseline"]["mean"] and 0 < result["rescaled"] < 1
