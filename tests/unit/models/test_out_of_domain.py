"""Detection of texts that are out of domain for the bundled English models."""

import json
import warnings

import pytest

from infolm_metric import IDF, BaryScorer, BERTScorer, InfoLMScorer, MENLIScorer
from infolm_metric.core.results import verdict_obstacles
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.models.out_of_domain import ENGLISH_VOCABULARY, count_out_of_domain
from tests.paraphrases import PARAPHRASES
from tests.project_files import ROOT

PARTS = json.loads((ROOT / "tests/texts_by_language.json").read_text(encoding="utf-8"))
KINDS = [kind for kind in PARTS["reported"] if kind != "English"]
ENTITIES = [
    *("Barack Obama", "Aarhus Airport", "Alan Shepard", "Adirondack"),
    *("Ajoblanco", "3500", "1978-03-26", "$4,300", "Prabhukumar"),
    *("United States Air Force", "Mumbai, Maharashtra, India.", "A Loyal Character Dancer"),
]


@pytest.fixture(scope="module")
def scorer():
    return InfoLMScorer(model_name_or_path="bundled", idf=False)


def count(scorer, texts):
    """Return the number of texts that are out of domain."""
    run = scorer.prepare()
    tokens = (text.tokens for text in run.tokenize(texts))
    return count_out_of_domain(tokens, run.checkpoint.english)


def test_other_languages_and_code_are_out_of_domain(scorer, no_model):
    by_kind = {kind: [text for part in PARTS.values() for text in part[kind]] for kind in KINDS}
    for kind, texts in by_kind.items():
        assert count(scorer, texts) >= 0.9 * len(texts), kind
    texts = sum(by_kind.values(), [])
    assert count(scorer, texts) >= 0.97 * len(texts)


def test_english_is_in_domain(scorer, no_model):
    assert count(scorer, [text for pair in PARAPHRASES for text in pair]) == 0
    assert count(scorer, ENTITIES) == 0
    hard = [text for part in PARTS.values() for text in part["English"]]  # rare names and words
    assert count(scorer, hard) <= 0.1 * len(hard)


@pytest.mark.parametrize("metric", [InfoLMScorer, BaryScorer, BERTScorer, MENLIScorer])
def test_every_metric_reports_out_of_domain_texts_as_unreliable(metric):
    scorer = metric(model_name_or_path="bundled")
    texts = ["Le chien dort sur le canapé."], ["Le gouvernement augmente les impôts demain."]
    with pytest.warns(UserWarning) as caught:
        result = scorer.score(*texts)
    assert result["warnings"]["out_of_domain"] == 2 and verdict_obstacles(result.counts)
    assert sum("another language" in str(warning.message) for warning in caught) == 1


def test_a_small_fraction_of_out_of_domain_texts_is_counted_without_a_warning(scorer):
    predictions = [*(text for text, _ in PARAPHRASES[:9]), "asdf qwer zxcv uiop"]
    references = [paraphrase for _, paraphrase in PARAPHRASES[:10]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = scorer.score(predictions, references)
    assert result["warnings"] == {"out_of_domain": 1} and not verdict_obstacles(result.counts)


def test_texts_are_never_out_of_domain_for_other_vocabularies(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=tiny_bert, idf=False)
    assert count(scorer, [*PARTS["reported"]["German"], *PARTS["reported"]["program code"]]) == 0


def test_the_vocabulary_is_recognized_by_the_fingerprint_of_the_bundled_table(scorer, no_model):
    table = IDF.load(BUNDLED_FOLDER / "idf.json")
    assert table.tokenizer == ENGLISH_VOCABULARY == scorer.prepare().checkpoint.fingerprint
