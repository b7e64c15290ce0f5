"""A model that is kept: a signature names the files that the scores are of."""

import shutil

import pytest
from safetensors.torch import load_file, save_file

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.running.files import PairSource
from infolm_metric.running.resume import run_job
from tests.model_families import edited

PAIR = (["a cat sat on the mat"], ["the dog ran"])
SCORERS = {"infolm": InfoLMScorer, "baryscore": BaryScorer, "menli": MENLIScorer}
OWN = {"infolm": {"idf": False}, "baryscore": {"idf": False, "layers": "all"}, "menli": {}}


@pytest.fixture(params=SCORERS)
def metric(request):
    return request.param


@pytest.fixture
def folder(metric, tiny_bert, tiny_nli, tmp_path):
    """A model of the kind that the metric reads with, which may be written to."""
    return shutil.copytree(tiny_nli() if metric == "menli" else tiny_bert, tmp_path / "model")


@pytest.fixture
def scorer(metric, folder):
    return SCORERS[metric](model_name_or_path=str(folder), **OWN[metric])


def rewrite(folder, factor=1.5):
    """Put other weights in the place of the model's."""
    file = folder / "model.safetensors"
    weights = {name: factor * each for name, each in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})


def afresh(scorer):
    """The result of another scorer with the same settings."""
    return type(scorer).of(scorer.settings).score(*PAIR)


def test_what_is_written_after_a_signature_is_what_is_scored_and_signed(scorer, folder):
    before = scorer.signature()
    rewrite(folder)
    result = scorer.score(*PAIR)
    assert result == afresh(scorer)
    assert result.signature == scorer.signature() != before


def test_a_kept_model_signs_what_it_was_loaded_from(scorer, folder, tiny_bert, tiny_nli):
    result = scorer.score(*PAIR)
    rewrite(folder)
    other = tiny_nli("roberta") if "labels" in vars(scorer.settings) else tiny_bert
    scorer.signature(model_name_or_path=str(other))  # which opens another, and loads nothing
    assert scorer.score(*PAIR) == result
    assert scorer.signature() == result.signature != afresh(scorer).signature
    scorer.unload()
    assert scorer.score(*PAIR) == afresh(scorer)


def test_what_is_written_into_the_very_file_does_not_reach_a_kept_model(scorer, folder):
    result = scorer.score(*PAIR)
    scorer.settings = scorer.settings.replace(reuse_memory=0)
    file = folder / "model.safetensors"
    half = file.stat().st_size // 2
    with file.open("r+b") as stream:
        stream.seek(half)
        stream.write(b"?" * half)
    assert scorer.score(*PAIR) == result


def test_what_is_written_while_pairs_come_changes_neither_score_nor_signature(scorer, folder):
    def pairs():
        for _ in range(300):  # more than are read ahead
            yield PAIR[0][0], PAIR[1][0]
        rewrite(folder)
        yield PAIR[0][0], PAIR[1][0]

    first, *_, last = scorer.stream(pairs())
    assert first == last
    assert scorer.signature() != afresh(scorer).signature


def test_weights_that_are_not_those_that_were_opened_are_refused(scorer, folder):
    kept = getattr(scorer.inner, "reader", None) or scorer.inner.probabilities
    opened = kept.opened(scorer.settings)
    rewrite(folder)
    with pytest.raises(OSError, match=r"files of the model '.*model' changed while it was read"):
        kept._load(opened, scorer.settings)
    assert scorer.score(*PAIR) == afresh(scorer)


def test_a_table_of_the_tokenizer_that_lay_there_before_is_refused(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    scorer = InfoLMScorer(model_name_or_path=str(folder))
    table = IDF.from_corpus(PAIR[1], scorer.tokenizer)
    edited(folder, tmp_path / "cased", "tokenizer_config.json", do_lower_case=False)
    kept = scorer.inner.distributions
    settings = scorer.settings
    kept.opened(settings).check_table(table)
    shutil.copytree(tmp_path / "cased", folder, dirs_exist_ok=True)
    with pytest.raises(ValueError, match="idf table"):
        kept.read([["A cat"]], [table], settings)


def test_a_job_whose_model_is_written_before_it_is_loaded_is_refused(scorer, folder, tmp_path):
    readings = []

    def read():
        readings.append(1)
        if len(readings) == 3:  # two first looks at the source, and then the pairs to score
            rewrite(folder)
        yield PAIR[0][0], [PAIR[1][0]]

    source = PairSource("pairs", read)
    with pytest.raises(OSError, match=r"model was model@sha256:\w+ and is .*; name another output"):
        run_job(scorer, source, tmp_path / "scores.jsonl", progress=False)
    assert not list(tmp_path.glob("*.shards/*.rows"))
