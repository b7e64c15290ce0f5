"""Common behavior of scorers: settings, chunks, streams, model loading, corpus size."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import infolm_metric
from infolm_metric import IDF, BaryScorer, InfoLMScorer, InfoLMSettings, InputError
from infolm_metric.core.settings import EncodingSettings
from infolm_metric.models.hidden_states import ENCODER
from infolm_metric.scoring import scorer as core_scorer
from infolm_metric.scoring.encoding_scorer import EncodingRun, EncodingScorer
from tests.nearly_equal import assert_nearly_equal
from tests.random_pairs import random_pairs
from tests.toy import ToyScorer, ToySettings

ROWS = random_pairs(40)
CANDIDATES, REFERENCES = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]


# Settings, chunks and streams


def test_keyword_arguments_override_the_settings_of_a_scorer():
    assert ToyScorer(ToySettings(size=3), size=2).settings == ToySettings(size=2)
    with pytest.raises(InputError, match="settings must be ToySettings, got InfoLMSettings"):
        ToyScorer(InfoLMSettings())
    with pytest.raises(InputError, match="verbose must be True or False"):
        ToyScorer().score(["a"], ["b"], verbose=1)


@pytest.mark.parametrize("size", [1, 7, 39, 40])
def test_chunk_size_and_read_ahead_do_not_change_scores(size, monkeypatch, capfd):
    expected = ToyScorer().score(CANDIDATES, REFERENCES)
    monkeypatch.setattr(core_scorer, "CHUNK_PAIRS", size)
    monkeypatch.setattr(core_scorer, "STREAMED_PAIRS", size)
    result = ToyScorer().score(CANDIDATES, REFERENCES)
    assert result == expected and result.counts == expected.counts
    rows = ToyScorer().stream(zip(CANDIDATES, REFERENCES, strict=True))
    assert [row["toy"] for row in rows] == expected["scores"]
    assert capfd.readouterr().err == ""
    ToyScorer().score(CANDIDATES, REFERENCES, verbose=True)
    assert "40/40" in capfd.readouterr().err


def test_a_stream_is_read_lazily_and_invalid_pairs_are_named():
    read = []

    def pairs():
        for number in range(2 * core_scorer.STREAMED_PAIRS + 1):
            read.append(number)
            yield "a", "b" if number < 2 * core_scorer.STREAMED_PAIRS else None

    rows = ToyScorer().stream(pairs())
    assert read == []
    next(rows)
    assert len(read) <= core_scorer.STREAMED_PAIRS + 1
    with pytest.raises(InputError, match=rf"pairs\[{2 * core_scorer.STREAMED_PAIRS}\]"):
        list(rows)


@pytest.mark.filterwarnings("ignore:infolm:UserWarning")
def test_a_stream_for_corpus_idf_must_be_readable_twice(scorer):
    pairs = list(zip(CANDIDATES, REFERENCES, strict=True))
    for idf in ("references", "separate"):
        with pytest.raises(InputError, match="an iterator.*idf=False"):
            scorer.stream(iter(pairs), idf=idf)
    table = IDF.from_corpus(CANDIDATES, scorer.tokenizer)
    for idf in (False, table):
        rows = scorer.stream(iter(pairs), idf=idf)
        plain = scorer.score(CANDIDATES, REFERENCES, idf=idf)
        assert_nearly_equal([row["fisher_rao_distance"] for row in rows], plain["scores"])


# Model loading


def test_a_checkpoint_is_opened_once_and_its_model_loaded_once(tiny_bert, tiny_models, monkeypatch):
    opened, loaded = [], []

    class Counting(InfoLMScorer):
        def open(self, settings):
            opened.append(settings.model_name_or_path)
            return super().open(settings)

        def load(self, checkpoint, settings):
            loaded.append(settings.dtype)
            return super().load(checkpoint, settings)

    assert list(Counting(model_name_or_path=tiny_bert).stream([])) == loaded == []
    opened.clear()
    scorer = Counting(model_name_or_path=tiny_bert, idf=False)
    other = tiny_models("bert", num_hidden_layers=1)
    for _ in range(2):
        scorer.signature()
        scorer.score(["a cat"], ["a dog"], temperature=2.0, batch_size=1)
    assert (opened, loaded) == ([str(tiny_bert)], ["float32"])
    scorer.score(["a cat"], ["a dog"], dtype="bfloat16")
    scorer.score(["a cat"], ["a dog"])  # one model at a time
    assert (len(opened), loaded) == (1, ["float32", "bfloat16", "float32"])
    scorer.signature(model_name_or_path=other)  # opens another checkpoint without loading it
    scorer.score(["a cat"], ["a dog"])
    assert (len(opened), len(loaded)) == (3, 3)
    scorer.unload()
    scorer.score(["a cat"], ["a dog"])
    assert (len(opened), len(loaded)) == (4, 4)


def test_unloading_waits_for_the_current_call(scorer):
    scorer.score(["a cat"], ["a dog"], idf=False)
    with ThreadPoolExecutor() as pool:
        with scorer.lock:
            freed = pool.submit(scorer.unload)
            with pytest.raises(TimeoutError):
                freed.result(timeout=0.1)
        freed.result()


def test_scores_that_exceed_float64_are_rejected():
    options = {"information_measure": "alpha", "model_name_or_path": "bundled", "idf": False}
    scorer, pair = InfoLMScorer(**options, alpha=5.0), (["It rained."], ["The cat slept on it."])
    assert scorer.score(*pair)["infolm"] > 0
    with pytest.raises(InputError, match="alpha_divergence overflows .*alpha and beta closer"):
        scorer.score(*pair, alpha=1e6)


# Corpus size

CORPUS = [
    *("the cat sat on the mat", "a dog ran in the garden", "rain fell", "it was cold outside"),
    *("the old cat slept", "a small dog barked", "the river rose", "the council met on monday"),
    *("a new budget", "cold rain", "the dog sat in the chair"),
]


def score_corpus(scorer, number, references=CORPUS, **changes):
    """Return the result for the first pairs and the warnings about the corpus size."""
    candidates = [f"{text} outside" for text in CORPUS[:number]]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = scorer.score(candidates, references[:number], **changes)
    messages = [str(warning.message) for warning in caught]
    return result, [message for message in messages if "distinct documents" in message]


def signature_weights(result):
    """Return the requested and the actual weights according to the signature."""
    entries = dict(entry.split(":", 1) for entry in result.signature.split("|"))
    return entries["idf"], entries.get("weights")


@pytest.mark.parametrize("references", [CORPUS[:1], [CORPUS[0]] * 5, [CORPUS[0], CORPUS[0] + " "]])
@pytest.mark.parametrize("idf", ["references", "separate"])
def test_a_single_distinct_document_gives_uniform_weights(scorer, references, idf):
    result, messages = score_corpus(scorer, len(references), references, idf=idf)
    assert len(messages) == 1 and "at least two distinct" in messages[0]
    uniform, _ = score_corpus(scorer, len(references), references, idf=False)
    assert_nearly_equal(result.scores, uniform.scores)
    assert signature_weights(result) == (idf, "uniform")
    assert signature_weights(uniform) == ("no", None)
    assert result["warnings"]["few_documents"] == 1


@pytest.mark.parametrize("number", [2, 9, 10, 11])
def test_a_small_corpus_is_used_with_a_warning(scorer, number):
    result, messages = score_corpus(scorer, number)
    assert signature_weights(result) == ("references", "idf")
    assert result.scores != score_corpus(scorer, number, idf=False)[0].scores
    assert result["warnings"].get("few_documents", 10) == min(number, 10)
    assert [f"only {number} distinct" in message for message in messages] == [True] * (number < 10)


def test_distinct_documents_are_counted_after_truncation(scorer):
    references = [f"the cat sat {word}" for word in ("outside", "on the mat", "in the river")]
    short = {"max_length": 5}  # windows truncate nothing
    for changes, number in (({}, 3), (short, 1), ({**short, "long_text": "window"}, 3)):
        result, _ = score_corpus(scorer, 3, references, **changes)
        assert result["warnings"]["few_documents"] == number


def test_score_scores_with_any_metric():
    pairs, model = (CANDIDATES[:3], REFERENCES[:3]), {"model_name_or_path": "bundled", "idf": False}
    result = infolm_metric.score(*pairs, metric="baryscore", **model)
    expected = BaryScorer(**model).score(*pairs)
    assert result.signature == expected.signature
    assert_nearly_equal(result["scores"], expected["scores"])
    with pytest.raises(InputError, match="Did you mean 'baryscore'"):
        infolm_metric.score(CANDIDATES, REFERENCES, metric="baryscroe")
    with pytest.raises(InputError, match="unknown metric .'baryscore'."):
        infolm_metric.score(CANDIDATES, REFERENCES, metric=["baryscore"])
    with pytest.raises(InputError, match="Did you mean 'idf'"):
        infolm_metric.score(CANDIDATES, REFERENCES, idff=False)


def test_a_metric_that_encodes_texts_has_the_settings_that_its_base_classes_need(tiny_bert):
    """The classes that docs/extending.md names are sufficient."""

    class LengthRun(EncodingRun):
        def encode(self, texts):
            return {text.key: torch.tensor(len(text.text.tokens)) for text in texts}

        def compare(self, candidates, references, encodings):
            pairs = zip(candidates, references, strict=True)
            gaps = [abs(encodings[x.key] - encodings[y.key]) for x, y in pairs]
            return {self.settings.metric: np.array(gaps, dtype=float)}

    class LengthSettings(EncodingSettings):
        metric = "length"

    class LengthScorer(EncodingScorer):
        settings_type = LengthSettings
        run_type = LengthRun
        architecture = ENCODER

        def load(self, checkpoint, settings):
            return None

    scorer = LengthScorer(model_name_or_path=tiny_bert, idf=False)
    result = scorer.score(["a b c", "a"], [["a", "a b"], ["a"]])
    assert result["scores"] == [1.0, 0.0] and result.counts["identical"] == 1
