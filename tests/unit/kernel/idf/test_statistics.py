"""What a corpus says, and what is done where it says nothing (DESIGN section 1, IDF)."""

import json
import warnings
from contextlib import contextmanager, nullcontext

import datasets
import numpy as np
import pytest

from infolm_metric import IDF, InfoLM, InfoLMScorer
from infolm_metric.kernel.idf.counting import LARGE
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs, check_pairs

REFERENCES = [
    "the cat sat on the mat",
    "a dog ran in the park",
    "the rain in spain",
    "hello world",
    "the old man saw a boat",
    "a small red boat near the river",
    "dogs run in parks",
    "the bridge and the river",
    "the world saw rain",
    "a park near the bridge",
    "the man ran again",
]
CANDIDATES = [f"{text} again" for text in REFERENCES]


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=tiny_bert)


@contextmanager
def suppress_bars():
    """As a caller of `datasets` may do."""
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def scored(scorer, number, references=None, **settings):
    """The result for the first pairs, and the warnings about the corpus that idf rests on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = scorer.score(CANDIDATES[:number], (references or REFERENCES)[:number], **settings)
    return result, [str(w.message) for w in caught if "distinct text" in str(w.message)]


def weights(result):
    """What the signature says of the weights asked for and used."""
    entries = dict(entry.split(":", 1) for entry in result.signature.split("|"))
    return entries["idf"], entries.get("weights")


@pytest.mark.parametrize(
    "references", [None, [REFERENCES[0]] * 5, [REFERENCES[0]] + [REFERENCES[0] + " "] * 4]
)
@pytest.mark.parametrize("idf", ["references", "separate"])
def test_one_distinct_document_weighs_all_tokens_alike(scorer, references, idf):
    number = 1 if references is None else 5
    result, warned = scored(scorer, number, references, idf=idf)
    uniform, _ = scored(scorer, number, references, idf=False)
    assert result.scores == uniform.scores
    assert weights(result) == (idf, "uniform")
    assert weights(uniform) == ("no", None)
    assert result.remarks.distinct_documents == 1
    assert len(warned) == 1 and "one distinct text does not tell" in warned[0]


def test_separate_is_uniform_on_both_sides_if_one_of_them_says_nothing(scorer):
    result = scorer.score(["a cat"] * 3, REFERENCES[:3], idf="separate")
    assert result.scores == scorer.score(["a cat"] * 3, REFERENCES[:3], idf=False).scores
    assert weights(result) == ("separate", "uniform")


@pytest.mark.parametrize("number", [2, 9])
def test_a_corpus_of_few_documents_is_used_and_warned_of(scorer, number):
    result, warned = scored(scorer, number)
    assert weights(result) == ("references", "idf")
    assert result.scores != scored(scorer, number, idf=False)[0].scores
    assert len(warned) == 1 and f"known from {number} distinct texts only" in warned[0]
    assert result.remarks.distinct_documents == number


@pytest.mark.parametrize("number", [10, 11])
def test_ten_distinct_documents_are_enough(scorer, number):
    result, warned = scored(scorer, number)
    assert warned == [] and result.remarks.distinct_documents == 10


def test_documents_are_distinct_by_what_is_left_of_them_after_the_cut(scorer):
    references = [f"the cat sat {word}" for word in ("again", "on the mat", "near the river")]
    assert scored(scorer, 3, references)[0].remarks.distinct_documents == 3
    assert scored(scorer, 3, references, max_length=5)[0].remarks.distinct_documents == 1


def test_a_given_table_is_always_used(scorer):
    table = IDF.from_corpus([REFERENCES[0]], scorer.tokenizer)
    result, _ = scored(scorer, 1, idf=table)
    assert weights(result) == (f"table-{table.fingerprint}", None)
    assert result.scores != scored(scorer, 1, idf=False)[0].scores


def test_parts_of_a_corpus_are_told_together(scorer):
    pairs, inner, settings = check_pairs(CANDIDATES, REFERENCES), scorer.inner, scorer.settings
    parts = [inner.count(pairs.part(i, i + 1), settings) for i in range(len(pairs))]
    whole = inner.count(pairs, settings)
    total = sum(parts, Statistics())
    assert [part.distinct for part in parts] == [1] * len(pairs)
    assert total.distinct == whole.distinct == 10
    assert (parts[0] + parts[0]).distinct == 1 and not (parts[0] + parts[0]).tell
    assert (parts[0] + parts[1]).distinct == 2 and (parts[0] + parts[1]).tell


@pytest.mark.parametrize(("verbose", "disabled"), [(False, False), (True, False), (True, True)])
def test_counting_shows_bars_where_asked_and_leaves_their_switch(scorer, verbose, disabled, capfd):
    settings = scorer.settings.replace(verbose=verbose)
    with suppress_bars() if disabled else nullcontext():
        scorer.inner.count(Pairs(["a"] * LARGE, [["a"]] * LARGE), settings)
        assert datasets.are_progress_bars_disabled() == disabled
    assert ("Counting documents" in capfd.readouterr().err) == (verbose and not disabled)


def test_a_table_keeps_its_digests_in_its_file(scorer, tmp_path):
    table = IDF.from_corpus(REFERENCES[:3], scorer.tokenizer)
    table.save(tmp_path / "table")
    assert len(table.digests) == 3 and IDF.load(tmp_path / "table").digests == table.digests
    record = json.loads((tmp_path / "table").read_text())
    del record["digests"]  # as tables were saved before
    (tmp_path / "old").write_text(json.dumps(record))
    assert IDF.load(tmp_path / "old") == table


def test_every_way_to_score_one_pair_has_the_same_score(scorer, tiny_bert):
    pair = ([CANDIDATES[0]], [REFERENCES[0]])
    (score,) = scorer.score(*pair)["scores"]
    assert scorer.explain(pair[0][0], pair[1][0]).score == score
    assert [
        row["fisher_rao_distance"] for row in scorer.stream([(CANDIDATES[0], REFERENCES[0])])
    ] == [score]
    ((_, swept),) = scorer.sweep(*pair)
    assert swept["scores"] == [score]
    assert InfoLM(model_name_or_path=str(tiny_bert)).compute(
        predictions=pair[0], references=pair[1]
    )["scores"] == [score]
    plain, asked = (scorer.distributions(pair[0], idf=idf) for idf in (False, "references"))
    assert np.array_equal(plain, asked)


# What else cannot be judged.


def test_texts_of_one_token_are_warned_of(scorer):
    with pytest.warns(UserWarning, match="2 of 4 texts of one token: the model reads a lone mask"):
        result = scorer.score(["cat", "the cat sat"], ["dog", "a dog ran"], idf=False)
    assert result["scores"][0] == 0.0 and result["remarks"]["one_token"] == 2


def test_tokens_that_the_model_does_not_know_are_warned_of_beyond_a_tenth(scorer):
    with pytest.warns(UserWarning, match="of the tokens are unknown to the model"):
        result = scorer.score(["東京 は 雨", "the cat sat"], ["a dog ran", "the dog"], idf=False)
    assert 0 < result.remarks.unknown_tokens < result.remarks.tokens
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = scorer.score(["the cat sat on the mat"], ["a dog ran"], idf=False)
    assert known.remarks.unknown_tokens == 0
