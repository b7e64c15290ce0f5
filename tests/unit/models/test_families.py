"""Model families of transformers that need special care, or that no metric can use."""

import tempfile
from pathlib import Path

import pytest
import torch
import transformers
from transformers import AutoTokenizer

from infolm_metric import BaryScorer, BERTScorer, InfoLMScorer, InputError, MENLIScorer
from infolm_metric.core.settings import BUNDLED_FOLDER
from tests.model_families import draw_weights
from tests.nearly_equal import assert_nearly_equal

SIZES = {"vocab_size": 30522, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SIZES |= {"intermediate_size": 32, "num_labels": 3}
XLNET = {"vocab_size": 30522, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 32}
CLIP = {"text_config": SIZES, "vision_config": {"hidden_size": 32, "num_attention_heads": 4}}
BIG_BIRD = {**SIZES, "block_size": 4, "num_random_blocks": 1, "max_position_embeddings": 128}
PAIR = ["the cat sat on the mat"], ["a dog slept in a garden"]


@pytest.fixture(scope="module")
def save():
    """Function that saves an untrained model with the bundled tokenizer and returns its folder."""
    with tempfile.TemporaryDirectory() as parent:

        def save(name, limit=None, **settings):
            kind, folder = getattr(transformers, name), Path(parent, f"{name}-{len(settings)}")
            with torch.random.fork_rng(devices=[]):
                model = kind(kind.config_class(**settings))
            draw_weights(model, 0.4, 0)
            model.save_pretrained(folder)
            tokenizer = AutoTokenizer.from_pretrained(BUNDLED_FOLDER)
            tokenizer.model_max_length = limit or tokenizer.model_max_length
            tokenizer.save_pretrained(folder)
            return folder

        yield save


DEBERTA = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "legacy": False, **SIZES}
SCORERS = [  # ending of the name of a class in transformers
    ("ForMaskedLM", InfoLMScorer, {}),
    ("Model", BERTScorer, {"layer": 1}),
    ("Model", BaryScorer, {"layers": "all"}),
    ("ForSequenceClassification", MENLIScorer, {"labels": "contradiction,neutral,entailment"}),
]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(("ending", "scorer", "options"), SCORERS)
def test_deberta_supports_half_precision(ending, scorer, options, dtype, save):
    model = scorer(model_name_or_path=save(f"Deberta{ending}", **DEBERTA), **options)
    if scorer is not MENLIScorer:
        model.settings = model.settings.replace(idf=False)
    exact, half = (model.score(*PAIR, dtype=d)["scores"] for d in ("float32", dtype))
    assert half[0] != exact[0] and half == pytest.approx(exact, abs=0.05)


def words(count, seed):
    places = torch.randint(3, (count,), generator=torch.Generator().manual_seed(seed))
    return " ".join(("river", "stone", "cloud")[place] for place in places.tolist())


STATEFUL = [("BigBirdModel", BIG_BIRD), ("XLNetModel", XLNET)]


@pytest.mark.parametrize(("kind", "settings"), STATEFUL)
def test_scores_do_not_depend_on_the_order_of_calls(kind, settings, save):
    long, short = (words(90, 1), words(90, 2)), ("a cat", "a dog")
    scorer = BERTScorer(model_name_or_path=save(kind, 128, **settings), layer=2, reuse_memory=0)
    state = torch.random.get_rng_state()
    first, _, third = (scorer.score([x], [y])["scores"] for x, y in (long, short, long))
    assert_nearly_equal(first, third)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_xlnet_is_encoded_as_in_transformers(save):
    folder = save("XLNetModel", **XLNET)
    scorer = BERTScorer(model_name_or_path=folder, layer=2)
    run = scorer.prepare(scorer.settings.replace(idf=False))
    (text,) = run.tokenize_and_weight(PAIR[0], None)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        states = model(torch.from_numpy(text.text.ids)[None]).last_hidden_state[0]
    expected = torch.nn.functional.normalize(states, dim=-1)
    torch.testing.assert_close(run.encode([text])[text.key[0]], expected, atol=1e-5, rtol=0)


XMOD = {**SIZES, "languages": ["en_XX", "fr_XX"], "max_position_embeddings": 66}
NYSTROM = {**SIZES, "segment_means_seq_len": 64, "num_landmarks": 8}
PERCEIVER = {"d_latents": 32, "d_model": 32, "num_latents": 8, "num_self_attends_per_block": 1}
PERCEIVER |= {"num_self_attention_heads": 4, "num_cross_attention_heads": 4, "vocab_size": 30522}
PERCEIVER |= {"qk_channels": 32, "v_channels": 32}
T5 = {"vocab_size": 30522, "d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 4}
UNFIT = [
    ("CanineModel", {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}, "vocab"),
    ("CLIPModel", CLIP, "vocab_size"),
    ("XmodModel", XMOD, "default_language"),
    ("NystromformerModel", NYSTROM, "short text"),
    ("PerceiverModel", PERCEIVER, "number of layers"),
    ("T5EncoderModel", T5, "encoder-only"),
    ("XmodForMaskedLM", XMOD, "default_language"),
    ("NystromformerForMaskedLM", NYSTROM, "short text"),
    ("PerceiverForMaskedLM", PERCEIVER, "short text"),
    ("NystromformerForSequenceClassification", NYSTROM, "short text"),
]


@pytest.mark.parametrize(("kind", "settings", "word"), UNFIT, ids=lambda value: str(value)[:30])
def test_models_that_cannot_encode_texts_are_rejected(kind, settings, word, save):
    folder = save(kind, **settings)
    for scorer, options in [row[1:] for row in SCORERS if kind.endswith(row[0])]:
        with pytest.raises(InputError, match=f"(?s)(number of layers|{word}).*Choose"):
            scorer(model_name_or_path=folder, **options).score(*PAIR)


def test_xmod_with_a_default_language_is_scored(save):
    settings = {**XMOD, "default_language": "fr_XX"}
    scorer = InfoLMScorer(model_name_or_path=save("XmodForMaskedLM", **settings), idf=False)
    assert 0 < scorer.score(*PAIR)["infolm"] < 1


def test_outer_whitespace_does_not_change_scores(tiny_models, tiny_nli):
    texts = ["the cat sat on the mat", "a dog slept", ""], ["a cat sat down", "", "a dog ran"]
    spaced = [[f" \t{text}\n\u3000" for text in side] for side in texts]
    for _, kind, options in SCORERS:
        models = tiny_nli if kind is MENLIScorer else tiny_models
        # RoBERTa has a byte-level BPE, which encodes spaces.
        scorer = kind(model_name_or_path=models("roberta"), **options)
        results = [scorer.score(*sides) for sides in (texts, spaced)]
        assert results[0].scores == results[1].scores
        assert results[0]["warnings"] == results[1]["warnings"]
